# SPDX-License-Identifier: MIT
"""The nodes of a lab: their namespaces, the commands that set them up, and the programs started on them."""

from __future__ import annotations

import itertools
import os
import shlex
import sys

from mptcplab.guest import direct, instants, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Links to a plan's programs by their names in the plan. Only programs that the plan declares are found here.
_PROGRAMS = "/run/programs"
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LC_ALL": "C.UTF-8",
    "TERM": "dumb",
}
#: The name of the path manager in plans; it is part of the guest.
PATH_MANAGER = "mptcplab-path-manager"
#: Programs that read many commands from standard input, which needs one start instead of dozens.
_BATCHED = ("ip", "tc")


def provide(programs: dict[str, str]) -> None:
    """Create links to programs, given as paths by names, where commands find them."""
    os.mkdir(_PROGRAMS)
    for name, path in programs.items():
        os.symlink(path, f"{_PROGRAMS}/{name}")


class GuestError(Exception):
    """The lab cannot be set up, or a workload failed: one sentence for the user, and perhaps a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Nodes:
    """Runs commands on nodes. ``programs`` maps the names of all that the commands use to their paths."""

    def __init__(self, names: list[str], programs: dict[str, str]) -> None:
        self._programs = programs
        self._outside = system.open_namespace(None)
        for name in names:
            system.add_namespace(name)
        self._namespaces: dict[str | None, int] = {name: system.open_namespace(name) for name in names}
        self._namespaces[None] = self._outside
        system.enter_namespace(self._outside)

    def enter(self, node: str | None) -> None:
        """Move this process to the namespace of ``node``."""
        system.enter_namespace(self._namespaces[node])

    def spawn(self, node: str | None, argv: list[str], *, stdin: int, stdout: int, stderr: int) -> int:
        """Start a program on ``node`` in a new session, and return its process id."""
        program = self._programs.get(argv[0])
        if argv[0] == PATH_MANAGER:
            program, argv = sys.executable, _python(argv)
        if program is None:
            raise GuestError(f"the plan does not declare the program '{argv[0]}'")
        self.enter(node)
        try:
            files = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate((stdin, stdout, stderr))]
            environment = {**ENVIRONMENT, "PATH": _PROGRAMS}
            return os.posix_spawn(program, argv, environment, file_actions=files, setsid=True, setsigmask=[])
        finally:
            self.enter(None)

    def run(self, node: str | None, argv: list[str], *, text: str = "") -> tuple[int, bytes, bytes]:
        """Run a command to its end; return its exit status, standard output and standard error."""
        if not text and self._do_directly(node, argv):
            return 0, b"", b""
        with _Scratch(text.encode()) as stdin, _Scratch() as stdout, _Scratch() as stderr:
            pid = self.spawn(node, argv, stdin=stdin.fd, stdout=stdout.fd, stderr=stderr.fd)
            _, status = os.waitpid(pid, 0)
            return os.waitstatus_to_exitcode(status), stdout.read(), stderr.read()

    def _do_directly(self, node: str | None, argv: list[str]) -> bool:
        self.enter(node)
        try:
            return direct.carry_out(argv)
        finally:
            self.enter(None)

    def set_up(self, commands: list[dict[str, Any]]) -> None:
        """Run all commands in order. :raises GuestError: with the command that failed and its message."""
        for node, batch in _batches(commands):
            instants.sleep_to_next(instants.COMMAND_STEP_NS)
            if len(batch) == 1:
                status, _, errors = self.run(node, batch[0])
                failed = batch[0]
            else:
                head = _head(batch[0])
                lines = "".join(f"{shlex.join(argv[len(head) :])}\n" for argv in batch)
                status, _, errors = self.run(node, [*head, "-batch", "-"], text=lines)
                failed = _failed(batch, errors)
            if status:
                prefix = f"ip netns exec {node} " if node else ""
                text = errors.decode(errors="replace").strip()
                reason = text.splitlines()[0] if text else f"status {status}"
                raise GuestError(f"a command failed: {prefix}{shlex.join(failed)}: {reason}")


def _batches(commands: list[dict[str, Any]]) -> Iterator[tuple[str | None, list[list[str]]]]:
    node, batch = None, list[list[str]]()
    for command in commands:
        argv = command["argv"]
        joins = batch and command["node"] == node and argv[0] in _BATCHED and _head(argv) == _head(batch[0])
        if not joins:
            if batch:
                yield node, batch
            node, batch = command["node"], []
        batch.append(argv)
    if batch:
        yield node, batch


def _head(argv: list[str]) -> list[str]:
    """Return the program and its options, which apply to a whole batch: ``ip -6``."""
    options = itertools.takewhile(lambda word: word.startswith("-"), argv[1:])
    return [argv[0], *options]


def _failed(batch: list[list[str]], errors: bytes) -> list[str]:
    """Return the command that failed: both programs end with ``Command failed -:LINE``."""
    number = errors.decode(errors="replace").strip().rpartition(":")[2]
    return batch[int(number) - 1] if number.isdigit() and int(number) <= len(batch) else batch[0]


def _python(argv: list[str]) -> list[str]:
    """Return the command that runs the path manager, which is a module of the guest."""
    source = __file__.rpartition("/mptcplab/guest/")[0]
    start = (
        f"import sys; sys.path.insert(0, {source!r}); from mptcplab.guest.path_manager import main; main(sys.argv[1])"
    )
    return [sys.executable, "-I", "-S", "-c", start, *argv[1:]]


class _Scratch:
    """An unnamed file in memory, which is passed to a child and read afterwards."""

    def __init__(self, content: bytes = b"") -> None:
        self.fd = os.memfd_create("scratch")
        if content:
            os.write(self.fd, content)
            os.lseek(self.fd, 0, os.SEEK_SET)

    def __enter__(self) -> _Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def read(self) -> bytes:
        """Return the whole content."""
        size = os.fstat(self.fd).st_size
        return os.pread(self.fd, size, 0)
