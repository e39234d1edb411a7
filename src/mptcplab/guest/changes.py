# SPDX-License-Identifier: MIT
"""Changes the network while workloads run: executes every event's commands at its instant.

Starting a program takes some ms of real time, and traces have thousands of changes. Therefore one ``tc -batch`` and one
``ip -batch`` per node wait at a pipe from the first change on. Virtual time stops while any process can run, except
that reading the clock advances it a little. Once more than that has passed, the commands have been executed.
"""

from __future__ import annotations

import os
from _heapq import heapify, heappop, heappush  # `heapq` around it loads slowly

from mptcplab.guest import instants
from mptcplab.guest.nodes import GuestError
from mptcplab.guest.shell_words import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from signal import SIGKILL
    from typing import Any

    from mptcplab.guest.nodes import Nodes
else:
    from _signal import SIGKILL  # `signal` around it loads slowly

_NEVER_NS = 1 << 62
#: Programs that read commands from a pipe.
_BATCHED = ("ip", "tc")
#: More than such a program's start and commands advance the clock, see `instants.COMMAND_STEP_NS`.
_EXECUTION_NS = 50_000


class Changes:
    """Executes the events of one plan. ``executed`` lists the executed ones, for the recording."""

    def __init__(self, nodes: Nodes, events: list[dict[str, Any]]) -> None:
        self._nodes = nodes
        # Events of the same instant are executed in the order of the plan.
        self._due = [(event["at_ns"], number, event) for number, event in enumerate(events)]
        heapify(self._due)
        self._batches: dict[tuple[str | None, str], _Batch] = {}
        self.executed: list[dict[str, Any]] = []

    @property
    def next_ns(self) -> int:
        """The instant of the next event."""
        return self._due[0][0] if self._due else _NEVER_NS

    @property
    def pending(self) -> bool:
        """Whether events are left. If not, there is no need to read the clock for them, which would advance it."""
        return bool(self._due)

    def carry_out(self, now_ns: int) -> None:
        """Execute all events that are due. :raises GuestError: if a command fails."""
        while self._due and self._due[0][0] <= now_ns:
            at_ns, number, event = heappop(self._due)
            if event["every_ns"]:
                heappush(self._due, (at_ns + event["every_ns"], number, event))
            self._run(event["commands"])
            description = {key: event[key] for key in ("kind", "link", "direction", "value")}
            self.executed.append({"instant_ns": at_ns, **description})

    def _run(self, commands: list[dict[str, Any]]) -> None:
        used: list[_Batch] = []
        for command in commands:
            node, argv = command["node"], command["argv"]
            batch = self._batch(node, argv) if argv[0] in _BATCHED and not argv[1].startswith("-") else None
            if used and used[-1] is not batch:
                used.pop().finish()
            if batch is None:
                self._run_alone(node, argv)
                continue
            batch.write(argv)
            used = [batch]
        for batch in used:
            batch.finish()

    def _run_alone(self, node: str | None, argv: list[str]) -> None:
        status, _, errors = self._nodes.run(node, argv)
        if status:
            raise _failure(node, argv, errors)

    def _batch(self, node: str | None, argv: list[str]) -> _Batch:
        key = (node, argv[0])
        if key not in self._batches:
            self._batches[key] = _Batch(self._nodes, node, argv[0])
        return self._batches[key]

    def handle_exit(self, pid: int) -> None:
        """Handle a child that the caller has reaped: one of our programs exits only if a command fails."""
        for key, batch in list(self._batches.items()):
            if batch.pid == pid:
                del self._batches[key]
                raise batch.failure()

    def close(self) -> None:
        """Kill the programs that wait for commands."""
        for batch in self._batches.values():
            os.kill(batch.pid, SIGKILL)
        self._batches.clear()


class _Batch:
    """A program that reads commands of one node from a pipe, and exits at the first that fails."""

    def __init__(self, nodes: Nodes, node: str | None, program: str) -> None:
        self._node, self._program = node, program
        #: The commands written since the last wait, and the number of commands before them.
        self._recent: list[list[str]] = []
        self._before = 0
        reader, self._pipe = os.pipe2(os.O_CLOEXEC)
        self._output = os.memfd_create("output")
        self.pid = nodes.spawn(node, [program, "-batch", "-"], stdin=reader, stdout=self._output, stderr=self._output)
        os.close(reader)

    def write(self, argv: list[str]) -> None:
        """Pass one command to the program."""
        self._recent.append(argv)
        os.write(self._pipe, f"{join(argv[1:])}\n".encode())

    def finish(self) -> None:
        """Wait until all commands have been executed. :raises GuestError: if one failed."""
        instants.sleep_for(_EXECUTION_NS)
        if os.fstat(self._output).st_size:
            raise self.failure()
        self._before += len(self._recent)
        self._recent.clear()

    def failure(self) -> GuestError:
        """Return the program's error for the command that it names by its line: ``Command failed -:LINE``."""
        output = os.pread(self._output, 1 << 16, 0)
        line = output.decode(errors="replace").strip().rpartition(":")[2]
        at = int(line) - self._before - 1 if line.isdigit() else -1
        return _failure(self._node, self._recent[at] if self._recent[at:] else [self._program], output)


def _failure(node: str | None, argv: list[str], output: bytes) -> GuestError:
    prefix = f"ip netns exec {node} " if node else ""
    lines = output.decode(errors="replace").strip().splitlines()
    return GuestError(f"an event's command failed: {prefix}{join(argv)}: {lines[0] if lines else 'no message'}")
