# SPDX-License-Identifier: MIT
"""Runs one program whose standard streams pass to and from the host: the guest's half of ``mptcplab exec``.

The host's half, engine/virtual/streams.py, describes the files through which bytes pass. Virtual time stops whenever
this process waits for the host: it spins, and time advances only when no process can run. Thus the speed of
the host, and of the programs that write and read there, does not affect the guest.
"""

from __future__ import annotations

import os
import select
import signal
import time

from mptcplab.guest import instants, system
from mptcplab.guest.nodes import ENVIRONMENT, GuestError, Nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OUT = "/run/out"
_ZERO_NS = 10_000_000_000
_PIPE_BYTES = 1 << 18
#: Size at which the next file of a stream begins: the host removes files that it has passed on.
_FILE_BYTES = 1 << 24
_STREAMS = f"{system.LAB}/streams"


def run(nodes: Nodes, session: dict[str, Any]) -> dict[str, Any]:
    """Run the program of ``session`` to its end; return its status and times. :raises GuestError: if that fails."""
    if session["out"]:
        system.mount("none", OUT, "hostfs", data=session["out"])
    try:
        os.chdir(session["cwd"])
    except OSError:
        os.chdir("/tmp")
    wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # Time zero of the program does not depend on the duration of the network's set-up.
    instants.sleep_until((time.monotonic_ns() // _ZERO_NS + 1) * _ZERO_NS)
    instants.reseed()
    zero_ns = time.monotonic_ns()
    if session["terminal"]:
        from mptcplab.guest.terminal import Terminal

        status = Terminal(nodes, session, wake).run()
    else:
        status = _Pipes(nodes, session, wake).run(zero_ns + session["timeout_ns"])
    return {"programs": [], "status": status, "zero_ns": zero_ns, "virtual_ns": time.monotonic_ns()}


def start(nodes: Nodes, session: dict[str, Any], files: list[Any]) -> int:
    """Start the program with the file actions ``files``, and return its process id."""
    environment = {**ENVIRONMENT, **session["environment"]}
    nodes.enter(session["node"])
    try:
        return os.posix_spawn(
            session["program"],
            session["argv"],
            environment,
            file_actions=files,
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    except OSError as error:
        raise GuestError(f"'{session['argv'][0]}' cannot be started: {error.strerror}") from None
    finally:
        nodes.enter(None)


def reap(pid: int) -> int | None:
    """Reap all exited children, including orphans; return the status of ``pid`` if it exited: 128 + n for signal n."""
    result = None
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return result
        if child == 0:
            return result
        if child == pid:
            code = os.waitstatus_to_exitcode(status)
            result = code if code >= 0 else 128 - code


class OutputFiles:
    """One output stream: files ``NAME.0``, ``NAME.1``, and so on, which the host reads and removes."""

    def __init__(self, name: str) -> None:
        self._name, self._number, self._size = name, -1, _FILE_BYTES
        self._file = -1

    def write(self, data: bytes) -> None:
        """Pass ``data`` to the host. hostfs writes through, so it is in the host's file when this returns."""
        try:
            if self._size + len(data) > _FILE_BYTES:
                self._open_next()
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            raise GuestError(f"output cannot be stored until it is read: {error.strerror}") from None
        self._size += len(data)

    def _open_next(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._number, self._size = self._number + 1, 0
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.open(f"{_STREAMS}/{self._name}.{self._number}", flags, 0o600)


class _InputFiles:
    """Standard input: complete files ``in.0``, ``in.1``, and so on, from the host; an empty one is the end."""

    def __init__(self) -> None:
        self._number, self._left = 0, memoryview(b"")
        self._ended = False
        self._folder = os.open(_STREAMS, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def feed(self, pipe: int) -> bool:
        """Fill ``pipe``; return False after the end of input. Virtual time stops while the host has no input."""
        while not self._ended:
            if not self._left:
                self._left = memoryview(self._take())
                self._ended = not self._left
                continue
            try:
                self._left = self._left[os.write(pipe, self._left) :]
            except BlockingIOError:
                return True
            except BrokenPipeError:
                return False
        return False

    def _take(self) -> bytes:
        """Wait for the next file and return its content.

        Each lookup of a name that does not exist allocates memory in Linux, and freeing it takes virtual time. Reading
        a directory does neither.
        """
        name = f"in.{self._number}"
        while name not in os.listdir(self._folder):
            pass
        with open(f"{_STREAMS}/{name}", "rb") as file:
            data = file.read()
        os.unlink(f"{_STREAMS}/{name}")
        self._number += 1
        return data


class _Pipes:
    """A program whose standard streams are pipes."""

    def __init__(self, nodes: Nodes, session: dict[str, Any], wake: int) -> None:
        self._session, self._wake = session, wake
        self._poll = select.poll()
        self._poll.register(wake, select.POLLIN)
        self._outlets: dict[int, OutputFiles] = {}
        self._inlet = _InputFiles()
        given, self._input = self._make_input()
        ends = [self._make_output("out")]
        ends.append(ends[0] if session["merged"] else self._make_output("err"))
        files = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate([given, *ends])]
        self._pid = start(nodes, session, files)
        for end in {given, *ends}:
            os.close(end)

    def _make_input(self) -> tuple[int, int]:
        if not self._session["stdin"]:
            return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), -1
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(writer, False)
        self._poll.register(writer, select.POLLOUT)
        return reader, writer

    def _make_output(self, name: str) -> int:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reader, False)
        self._poll.register(reader, select.POLLIN)
        self._outlets[reader] = OutputFiles(name)
        return writer

    def run(self, deadline_ns: int) -> int:
        """Run until the program exits; return its status. Its children end with the machine."""
        while True:
            left_ms = (deadline_ns - time.monotonic_ns()) / 1e6
            if left_ms <= 0:
                seconds = self._session["timeout_ns"] / 1e9
                message = f"'{self._session['argv'][0]}' did not end within {seconds:g} s of virtual time"
                raise GuestError(message, hint=f'allow more time with --timeout "{2 * seconds:g} s"')
            ready = [descriptor for descriptor, _ in self._poll.poll(left_ms)]
            for descriptor in ready:
                self._serve(descriptor)
            if self._wake in ready:
                os.read(self._wake, 1 << 16)
                status = reap(self._pid)
                if status is not None:
                    for descriptor in list(self._outlets):
                        self._pass_on(descriptor)
                    return status

    def _serve(self, descriptor: int) -> None:
        if descriptor in self._outlets:
            self._pass_on(descriptor)
        elif descriptor == self._input and not self._inlet.feed(descriptor):
            self._close(descriptor)

    def _pass_on(self, descriptor: int) -> None:
        """Pass on the present content of an output's pipe."""
        while True:
            try:
                data = os.read(descriptor, _PIPE_BYTES)
            except BlockingIOError:
                return
            if not data:
                del self._outlets[descriptor]
                self._close(descriptor)
                return
            self._outlets[descriptor].write(data)

    def _close(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        os.close(descriptor)
