# SPDX-License-Identifier: MIT
"""All kinds of workloads by name: those of the modules beside this one and of :mod:`mptcplab.plugins`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from mptcplab import workload
from mptcplab.plugins import tagged_models
from mptcplab.recording.record import Recording
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.outputs import Items, Reading, TimedMessages

#: The class of each kind of workload; the kind for beginners comes first.
KINDS = dict(sorted(tagged_models(WorkloadBase, workload, "kind"), key=lambda kind: (kind[0] != "flow", kind[0])))

if TYPE_CHECKING:
    Workload = WorkloadBase
else:
    Workload = Annotated[reduce(or_, KINDS.values()), Field(discriminator="kind")]


def read(recording: Recording, name: str, described: Mapping[str, Any]) -> Reading:
    """Return the results of one workload. :raises LabError: if the output of its programs is corrupt."""
    return KINDS[described["kind"]].read(recording, name, described)


def items(recording: Recording, name: str, described: Mapping[str, Any]) -> Items | None:
    """Return what one workload delivered one by one, if it did so."""
    return KINDS[described["kind"]].items(recording, name, described)


def timed_messages(recording: Recording, name: str, described: Mapping[str, Any]) -> TimedMessages | None:
    """Return the messages of one workload with their instants, if it sends such."""
    return KINDS[described["kind"]].timed_messages(recording, name, described)
