# SPDX-License-Identifier: MIT
"""All kinds of workloads by name, from the modules beside this one and from :mod:`mptcplab.plugins`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mptcplab import workload
from mptcplab.fields import TaggedTable
from mptcplab.plugins import TaggedModels
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.recorded import RecordedWorkload

#: The class of each kind of workload; the kind for beginners comes first.
KINDS = TaggedModels(WorkloadBase, workload, "kind", first="flow")

if TYPE_CHECKING:
    Workload = WorkloadBase
else:
    Workload = Annotated[WorkloadBase, TaggedTable("kind", KINDS)]


def workload_of(recorded: RecordedWorkload) -> WorkloadBase:
    """Return a workload of a recording as its kind, which reads the outputs of its programs."""
    return KINDS[recorded.kind].from_recording(recorded.keys)
