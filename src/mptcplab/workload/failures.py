# SPDX-License-Identifier: MIT
"""Connections that fail: a workload may report them beside its results, in place of ending the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mptcplab.steps import Call, shell
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.context import FLOW
from mptcplab.workload.outputs import Failures, read_failures

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

#: The status of ``flow`` if a connection failed. It is the same if the system refused something.
_FAILED_STATUS = 1
#: The shell outlives the signal that ends a server, which then writes its last samples.
_BEFORE, _AFTER = "trap : TERM; ", f" || [ $? -eq {_FAILED_STATUS} ]"


class WorkloadWithFailures(WorkloadBase):
    """A workload of ``flow``, whose connections may fail without ending the run."""

    recorded_if_set: ClassVar[tuple[str, ...]] = (*WorkloadBase.recorded_if_set, "failures")
    connects_at_once: ClassVar[bool] = False
    """Its client opens all its connections when it starts."""

    failures: Literal["end", "report"] = Field(
        default="end", description="a connection that fails ends the run, or is counted in a warning below the table"
    )

    def tolerate_failures(self, call: Call) -> Call:
        """Return ``call`` of ``flow`` so that failed connections do not fail the run, if they are to be reported."""
        if self.failures == "end":
            return call
        return shell(f"{_BEFORE}{call}{_AFTER}", call)

    def failed_connections(self, recording: Recording, name: str) -> Failures:
        """See the base class; as its client saw them."""
        if self.failures == "end":
            return Failures(0, ())
        return read_failures(recording, name, at_once=self.connects_at_once)


def is_flow(argv: Sequence[str]) -> bool:
    """Return whether a command line of a plan is ``flow``, perhaps in the shell that tolerates failed connections."""
    return argv[0] == FLOW or (tuple(argv[:2]) == ("sh", "-c") and argv[2].startswith(f"{_BEFORE}{FLOW} "))
