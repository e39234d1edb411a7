# SPDX-License-Identifier: MIT
"""Sets up the network: executes a plan's commands in order, itself or by few programs.

Consecutive commands for the same program on the same node, which the guest does not execute itself, go to one
``ip -batch`` or ``tc -batch``.
"""

from __future__ import annotations

import itertools

from mptcplab.guest import instants
from mptcplab.guest.nodes import GuestError, Nodes
from mptcplab.guest.shell_words import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Programs that read many commands from standard input, which needs one start instead of dozens.
_BATCHED = ("ip", "tc")


class SetUp:
    """Executes the commands of one plan."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._node: str | None = None
        #: Commands that wait to be executed by one program.
        self._batch: list[list[str]] = []
        #: Whether the last command was one of this node that the guest executed.
        self._is_direct = False

    def run(self, commands: list[dict[str, Any]]) -> None:
        """Execute ``commands``. :raises GuestError: with the command that failed and its message."""
        for command in commands:
            self._add(command["node"], command["argv"])
        self._run_batch()

    def _add(self, node: str | None, argv: list[str]) -> None:
        place = self._nodes.place(node)
        execute = place.prepare(argv)
        if execute is not None and self._batch:
            self._run_batch()
            execute = place.prepare(argv)  # again, because the batch may have changed interfaces
        if execute is None:
            if self._batch and not self._joins(node, argv):
                self._run_batch()
            self._node, self._is_direct = node, False
            self._batch.append(argv)
            return
        if not self._is_direct or node != self._node:
            instants.sleep_to_next(instants.COMMAND_STEP_NS)
        self._node, self._is_direct = node, True
        try:
            execute()
        except OSError:  # the program reports the error
            self._is_direct = False
            self._batch.append(argv)
            self._run_batch()

    def _joins(self, node: str | None, argv: list[str]) -> bool:
        return node == self._node and argv[0] in _BATCHED and _head(argv) == _head(self._batch[0])

    def _run_batch(self) -> None:
        if not self._batch:
            return
        batch, self._batch = self._batch, []
        instants.sleep_to_next(instants.COMMAND_STEP_NS)
        if len(batch) == 1:
            status, _, errors = self._nodes.run_program(self._node, batch[0])
            failed = batch[0]
        else:
            head = _head(batch[0])
            lines = "".join(f"{join(argv[len(head) :])}\n" for argv in batch)
            status, _, errors = self._nodes.run_program(self._node, [*head, "-batch", "-"], text=lines)
            failed = _failed_command(batch, errors)
        if status:
            prefix = f"ip netns exec {self._node} " if self._node else ""
            text = errors.decode(errors="replace").strip()
            reason = text.splitlines()[0] if text else f"status {status}"
            raise GuestError(f"a command failed: {prefix}{join(failed)}: {reason}")


def _head(argv: list[str]) -> list[str]:
    """Return the program and its options, which apply to a whole batch: ``ip -6``."""
    options = itertools.takewhile(lambda word: word.startswith("-"), argv[1:])
    return [argv[0], *options]


def _failed_command(batch: list[list[str]], errors: bytes) -> list[str]:
    """Return the command that failed: both programs end with ``Command failed -:LINE``."""
    number = errors.decode(errors="replace").strip().rpartition(":")[2]
    return batch[int(number) - 1] if number.isdigit() and int(number) <= len(batch) else batch[0]
