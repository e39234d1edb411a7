# SPDX-License-Identifier: MIT
"""The memory of labs: the limits that follow from it, the memory that this machine has for labs, and its division
among labs that run at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from mptcplab.errors import MissingError
from mptcplab.metrics.values import memory_text
from mptcplab.plan.model import TCP_PAGES, USUAL_MEMORY_BYTES, Plan
from mptcplab.steps import Command

#: Pages of UDP's memory in a lab of the usual size, as :data:`mptcplab.plan.model.TCP_PAGES` of TCP's.
UDP_PAGES = (24000, 32000, 48000)
_WAIT_SECONDS = 0.2


def with_limits(plan: Plan) -> Plan:
    """Return ``plan`` with the limits of TCP's and UDP's memory that belong to its memory.

    Linux derives them from the memory at boot, with some pages more or less each time. The guest sets the values of the
    usual memory.
    """
    if plan.memory_bytes == USUAL_MEMORY_BYTES:
        return plan
    scaled = (
        f"net.ipv4.{name}={' '.join(str(number * plan.memory_bytes // USUAL_MEMORY_BYTES) for number in pages)}"
        for name, pages in (("tcp_mem", TCP_PAGES), ("udp_mem", UDP_PAGES))
    )
    return replace(plan, setup=(Command(None, ("sysctl", "-qw", *scaled)), *plan.setup))


def available_memory() -> int:
    """Return the bytes that this process can still use, as limited by the machine and by its control groups."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    values = {key: value for key, _, value in (line.partition(":") for line in lines)}
    free = int(values["MemAvailable"].split()[0]) * 1024
    for limit, used in _group_files():
        try:
            free = min(free, int(limit.read_text()) - int(used.read_text()))
        except (OSError, ValueError):  # the file does not exist, or the limit is "max"
            continue
    return max(free, 0)


def _group_files() -> Iterator[tuple[Path, Path]]:
    """Yield the files with the memory limit and use of this process's control groups, versions 2 and 1."""
    root = Path("/sys/fs/cgroup")
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    paths = [line.split(":", 2)[2].lstrip("/") for line in lines if line.startswith("0::")]
    for path in {"", *paths}:
        group = root / path
        yield group / "memory.max", group / "memory.current"
    yield root / "memory/memory.limit_in_bytes", root / "memory/memory.usage_in_bytes"


def find_memory_missing(free: int, sizes: Iterable[int]) -> Iterator[MissingError]:
    """Yield an error if ``free`` bytes are too few for the largest of some labs.

    A lab of the usual size is left to try: it takes only the pages that it touches.
    """
    largest = max(sizes, default=0)
    if largest > max(USUAL_MEMORY_BYTES, free):
        message = f"a lab needs {memory_text(largest)} of memory, and this machine has {memory_text(free)} free for it"
        hint = "use smaller buffers (tcp_rmem, tcp_wmem), or a smaller `memory`, with which the kernel may restrain TCP"
        yield MissingError(message, hint=hint, subject=f"memory for a lab of {memory_text(largest)}")


class MemoryBudget:
    """Divides the memory of this machine among labs: a lab that does not fit beside the running ones waits for them.

    Labs of the usual size never wait for each other: there are as many as jobs.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        #: Of the labs that run.
        self._sizes: list[int] = []
        self._changed = threading.Condition()

    @contextmanager
    def reserve(self, size: int, is_stopped: Callable[[], bool]) -> Iterator[None]:
        """Wait until ``size`` bytes fit, and take them inside; ``is_stopped`` ends the wait."""
        with self._changed:
            while not self._fits(size) and not is_stopped():
                self._changed.wait(_WAIT_SECONDS)
            self._sizes.append(size)
        try:
            yield
        finally:
            with self._changed:
                self._sizes.remove(size)
                self._changed.notify_all()

    def _fits(self, size: int) -> bool:
        usual = max((size, *self._sizes)) <= USUAL_MEMORY_BYTES
        return not self._sizes or usual or sum(self._sizes) + size <= self._total


def labs_at_once(size: int, jobs: int, free: int) -> int:
    """Return how many labs of ``size`` bytes run at the same time with ``jobs`` jobs and ``free`` bytes of memory."""
    return jobs if size <= USUAL_MEMORY_BYTES else max(1, min(jobs, free // size))
