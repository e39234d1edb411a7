# SPDX-License-Identifier: MIT
"""Connections that fail: a workload reports them beside its results, or lets them end the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mptcplab.steps import CONNECTION_FAILED
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.outputs import Failures, read_failures

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
