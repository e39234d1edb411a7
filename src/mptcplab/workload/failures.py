# SPDX-License-Identifier: MIT
"""Connections that fail: a workload reports them beside its results, or lets them end the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mptcplab.steps import CONNECTION_FAILED
from mptcplab.units import Duration
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.outputs import NS, Failures, read_failures
from mptcplab.workload.recorded import read_zero_ns

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording


class WorkloadWithFailures(WorkloadBase):
    """A workload of ``flow``, whose connections may fail without ending the run."""

    recorded_if_set: ClassVar[tuple[str, ...]] = (*WorkloadBase.recorded_if_set, "failures")
    connects_at_once: ClassVar[bool] = False
    """Its client opens all its connections when it starts."""

    failures: Literal["report", "end"] = Field(
        default="report",
        description="a connection that fails is counted in the workload's row, or ends the run",
    )

    @property
    def accepted_statuses(self) -> tuple[int, ...]:
        """See the base class."""
        return (CONNECTION_FAILED,) if self.failures == "report" else ()

    def failed_connections(self, recording: Recording, name: str) -> Failures:
        """See the base class."""
        return read_failures(recording, name, at_once=self.connects_at_once)

    def last_ns(self, recording: Recording, name: str, begun_ns: int, last_ns: int) -> int:
        """Return the instant, since boot, at which the time of its goodput ends: at its last data, ``last_ns``.

        If a connection failed, it is not before the end that was asked for, or with a size before the last failure: a
        transfer that broke off did not have the rate that it had until then.
        """
        failed = self.failed_connections(recording, name).failed
        if not failed:
            return last_ns
        duration: Duration | None = getattr(self, "duration", None)
        if duration is not None:
            return max(last_ns, begun_ns + int(duration))
        return max(last_ns, read_zero_ns(recording) + round(NS * max(failure.at_s for failure in failed)))
