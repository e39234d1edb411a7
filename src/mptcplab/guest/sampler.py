# SPDX-License-Identifier: MIT
"""Runs the program that samples sockets and queues while the workloads run: tools/sampler.

It is a program of its own, since a sample by Python takes a hundred times as long as one in C, and short intervals
have thousands of samples.
"""

from __future__ import annotations

import os

from mptcplab.guest import system
from mptcplab.guest.json_text import parse_json
from mptcplab.guest.nodes import GuestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from signal import SIGTERM
    from typing import Any

    from mptcplab.guest.nodes import Nodes
else:
    from _signal import SIGTERM  # `signal` around it loads slowly

#: Its name in plans.
SAMPLER = "mptcplab-sampler"


class Sampler:
    """The sampler of one plan; no program runs if the plan has nothing to sample."""

    def __init__(self, nodes: Nodes, plan: dict[str, Any]) -> None:
        self._nodes, self._interval_ns = nodes, plan["sample_interval_ns"]
        self._description = "".join(f"{line}\n" for line in _statements(plan))
        self._pid: int | None = None
        self._output, self._errors = -1, -1
        self._report: dict[str, Any] = {}

    def start(self, zero_ns: int) -> None:
        """Start it. The instants of samples count from ``zero_ns``, so it must be started well before."""
        if not self._description:
            return
        description, self._output, self._errors = (os.memfd_create("sampler") for _ in range(3))
        os.write(description, self._description.encode())
        os.lseek(description, 0, os.SEEK_SET)
        argv = [SAMPLER, system.LAB, str(zero_ns), str(self._interval_ns)]
        self._pid = self._nodes.spawn(None, argv, stdin=description, stdout=self._output, stderr=self._errors)
        os.close(description)

    def stop(self) -> None:
        """Make it write its rows and its report, and end; does nothing if it does not run."""
        if self._pid is None:
            return
        os.kill(self._pid, SIGTERM)
        _, status = os.waitpid(self._pid, 0)
        self._pid = None
        if status == 0:
            self._report = parse_json(_content(self._output))

    def handle_exit(self, pid: int) -> None:
        """Handle a child that the caller has reaped.

        :raises GuestError: if it is the sampler, which exits by itself only if it fails.
        """
        if pid == self._pid:
            self._pid = None
            raise self._failure()

    def _failure(self) -> GuestError:
        return GuestError(_content(self._errors).strip() or "the sampler ended without a report")

    @property
    def tcp_pages_peak(self) -> int | None:
        """The peak of TCP's memory in pages at the instants of samples; None if there were none.

        :raises GuestError: if the sampler has failed.
        """
        peak: int | None = self._report_value("tcp_pages_peak")
        return peak

    def sockets_of(self, node: str) -> list[dict[str, Any]]:
        """Return the sockets of a watched node by their ends, with all algorithms that the sampler saw each use.

        :raises GuestError: if the sampler has failed.
        """
        sockets: list[dict[str, Any]] = (self._report_value("watched") or {}).get(node, [])
        return sockets

    def _report_value(self, key: str) -> Any:
        if self._description and not self._report:
            raise self._failure()
        return self._report.get(key)


def _statements(plan: dict[str, Any]) -> Iterator[str]:
    """Yield what to sample, in the sampler's language: see `sampler --help`."""
    for node in plan["sampled"]:
        yield f"sockets {node}"
    for node in plan["watched"]:
        yield f"watch {node}"
    for queue in plan["queues"]:
        words = (queue[key] for key in ("node", "device", "handle", "link", "direction"))
        yield f"queue {' '.join(map(str, words))}"


def _content(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")
