# SPDX-License-Identifier: MIT
"""Connections that fail: a workload reports them beside its results, or lets them end the run."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from mptcplab.lazy import pl
from mptcplab.steps import CONNECTION_FAILED
from mptcplab.units import Duration
from mptcplab.workload.base import WorkloadBase
from mptcplab.workload.outputs import NS, Failures, last_failure_s, read_failures
from mptcplab.workload.recorded import read_zero_ns

if TYPE_CHECKING:
    from mptcplab.recording.record import Recording

#: Names of errnos by their texts.
_NAMES = {os.strerror(number): name for number, name in errno.errorcode.items()}


class WorkloadWithFailures(WorkloadBase):
    """A workload whose connections may fail without ending the run."""

    recorded_if_set: ClassVar[tuple[str, ...]] = (*WorkloadBase.recorded_if_set, "failures")

    failures: Literal["report", "end"] = Field(
        default="report",
        description="a connection that fails is counted in the workload's row, or ends the run",
    )


class FlowWorkload(WorkloadWithFailures):
    """A workload of ``flow``, which reports every connection that fails."""

    connects_at_once: ClassVar[bool] = False
    """Its client opens all its connections when it starts."""

    @property
    def accepted_statuses(self) -> tuple[int, ...]:
        """See the base class."""
        return (CONNECTION_FAILED,) if self.failures == "report" else ()

    @property
    def accepted_server_statuses(self) -> tuple[int, ...]:
        """See the base class."""
        return self.accepted_statuses

    def failed_connections(self, recording: Recording, name: str) -> Failures:
        """See the base class."""
        return read_failures(recording, name, at_once=self.connects_at_once)

    def last_ns(self, recording: Recording, name: str, begun_ns: int, last_ns: int) -> int:
        """Return the instant, since boot, at which the time of its goodput ends: at its last data, ``last_ns``.

        If a connection failed, it is not before the end that was asked for, or with a size before the last failure: a
        transfer that broke off did not have the rate that it had until then.
        """
        failures = self.failed_connections(recording, name)
        if not failures.failed:
            return last_ns
        duration: Duration | None = getattr(self, "duration", None)
        if duration is not None:
            return max(last_ns, begun_ns + int(duration))
        return max(last_ns, read_zero_ns(recording) + round(NS * last_failure_s(failures)))


def errno_at_end(message: str) -> str | None:
    """Return the name of the errno whose text ends the message of a program, as in ``connect: Connection refused``."""
    return _NAMES.get(message.rpartition(": ")[2])


def sampled_bytes(recording: Recording, node: str, ports: Collection[int]) -> int:
    """Return the bytes that came to the sockets of ``node`` at its ``ports``, by their last samples.

    For what a program received that did not come to report it. What MPTCP sent twice counts twice.
    """
    samples = recording.subflows
    if not set(samples.columns) >= {"node", "local", "remote", "bytes_received"}:
        return 0
    local_port = pl.col("local").str.split(":").list.last()
    at_ports = samples.filter((pl.col("node") == node) & local_port.is_in([str(port) for port in ports]))
    return int(at_ports.group_by("local", "remote").agg(pl.col("bytes_received").max())["bytes_received"].sum())
