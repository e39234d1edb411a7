# SPDX-License-Identifier: MIT
"""All kinds of workloads by name, from the modules beside this one and from :mod:`mptcplab.plugins`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from mptcplab import workload
from mptcplab.fields import Tagged
from mptcplab.plugins import TaggedModels
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.outputs import Items, Reading, TimedMessages

#: The class of each kind of workload; the kind for beginners comes first.
KINDS = TaggedModels(WorkloadBase, workload, "kind", first="flow")

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

    Workload = WorkloadBase
else:
    Workload = Annotated[WorkloadBase, Tagged("kind", KINDS)]


def read(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    """Return the results of one workload. :raises LabError: if the output of its programs is corrupt."""
    return KINDS[described["kind"]].read(recording, name, described)


def items(recording: Recording, name: str, described: Mapping[str, Any]) -> Items | None:
    """Return what one workload delivered one by one, if it did so."""
    return KINDS[described["kind"]].items(recording, name, described)


def timed_messages(recording: Recording, name: str, described: Mapping[str, Any]) -> TimedMessages | None:
    """Return the messages of one workload with their instants, if it sends such."""
    return KINDS[described["kind"]].timed_messages(recording, name, described)
