# SPDX-License-Identifier: MIT
"""The nodes of a lab: their namespaces, the commands that set them up, and the programs started on them."""

from __future__ import annotations

import os
import sys

from mptcplab.guest import system
from mptcplab.guest.direct import Place

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
        self._places: dict[str | None, Place] = {}
        self._families: dict[str, int] = {}

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

    def place(self, node: str | None) -> Place:
        """Return the namespace of ``node``, for commands that the guest executes itself."""
        if node not in self._places:
            self._places[node] = Place(self._namespaces[node], self._namespaces, self._families)
        return self._places[node]

    def run(self, node: str | None, argv: list[str]) -> tuple[int, bytes, bytes]:
        """Execute a command; return its exit status, standard output and standard error."""
        place = self.place(node)
        place.forget()  # programs of the plan may have changed interfaces
        execute = place.prepare(argv)
        if execute is not None:
            try:
                execute()
            except OSError:
                pass  # the program reports the error
            else:
                return 0, b"", b""
        return self.run_program(node, argv)

    def run_program(self, node: str | None, argv: list[str], *, text: str = "") -> tuple[int, bytes, bytes]:
        """Run a program to its end; return its exit status, standard output and standard error."""
        with _Scratch(text.encode()) as stdin, _Scratch() as stdout, _Scratch() as stderr:
            pid = self.spawn(node, argv, stdin=stdin.fd, stdout=stdout.fd, stderr=stderr.fd)
            _, status = os.waitpid(pid, 0)
            self.place(node).forget()
            return os.waitstatus_to_exitcode(status), stdout.read(), stderr.read()


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
