# SPDX-License-Identifier: MIT
"""Runs a program on a terminal of the guest, for a user: the guest's half of ``mptcplab exec --shell``.

Keys and window sizes come from the host through /dev/tty1, in the messages of engine/virtual/streams.py; the program's
output passes through files. While a program runs in the foreground, virtual time advances as fast as it can. It stops
while a shell waits at its prompt: otherwise years would pass in the lab while the user types a line.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import tty

from mptcplab.guest.session import OutputFiles, reap, start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mptcplab.guest.nodes import Nodes

_CONSOLE = "/dev/tty1"
_HEAD = struct.Struct("=cH")
_KEYS, _SIZE = b"k", b"s"
#: The message to the host that nothing will happen before the next key.
_IDLE = b"."
#: Virtual time without output after which a shell in the foreground is assumed to wait for keys.
_QUIET_MS = 1
#: Without any timer the kernel would have no event to wait for, and panic.
_BEAT_MS = 1000
_READ_BYTES = 1 << 16


class Terminal:
    """A program, usually a shell, on a pseudo terminal."""

    def __init__(self, nodes: Nodes, session: dict[str, Any], wake: int) -> None:
        self._wake, self._outlet = wake, OutputFiles("out")
        self._has_prompt = session["prompt"]
        self._console = os.open(_CONSOLE, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        tty.setraw(self._console)
        self._received = b""
        self._master, slave = os.openpty()
        os.set_blocking(self._master, False)
        self._resize(session["terminal"])
        name = os.ttyname(slave)
        # The first terminal that the leader of a session opens becomes its controlling one.
        files: list[Any] = [(os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0)]
        files += [(os.POSIX_SPAWN_DUP2, 0, number) for number in (1, 2)]
        self._pid = start(nodes, session, files)
        os.close(slave)
        # A worker of the kernel delivers input; a process with real-time priority would prevent it from running.
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))

    def run(self) -> int:
        """Run until the program exits, and return its status."""
        poll = select.poll()
        for descriptor in (self._wake, self._console, self._master):
            poll.register(descriptor, select.POLLIN)
        while True:
            ready = [descriptor for descriptor, _ in poll.poll(_QUIET_MS if self._at_prompt() else _BEAT_MS)]
            # Checked again: time has passed, so the shell has completed its pending work.
            if not ready and self._at_prompt():
                self._wait_for_host()
            if self._master in ready and not self._print():
                poll.unregister(self._master)
            if self._console in ready:
                self._receive()
            if self._wake in ready:
                os.read(self._wake, _READ_BYTES)
                status = reap(self._pid)
                if status is not None:
                    self._print()
                    return status

    def _at_prompt(self) -> bool:
        """Return whether the shell itself, not one of its commands, owns the terminal and edits a line.

        While the shell executes its own `wait`, it edits no line.
        """
        try:
            edits = not termios.tcgetattr(self._master)[3] & termios.ICANON
            return self._has_prompt and edits and os.tcgetpgrp(self._master) == self._pid
        except (OSError, termios.error):
            return False

    def _wait_for_host(self) -> None:
        """Notify the host and spin until it answers, which stops virtual time."""
        os.write(self._console, _IDLE)
        while not self._receive():
            os.sched_yield()

    def _receive(self) -> bool:
        """Process messages of the host; return False if there were none."""
        try:
            data = os.read(self._console, _READ_BYTES)
        except BlockingIOError:
            return False
        self._received += data
        while len(self._received) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._received)
            if len(self._received) < _HEAD.size + length:
                break
            payload = self._received[_HEAD.size : _HEAD.size + length]
            self._received = self._received[_HEAD.size + length :]
            if kind == _SIZE:
                self._resize(struct.unpack("=HH", payload))
            elif kind == _KEYS:
                self._type(payload)
        return bool(data)

    def _type(self, keys: bytes) -> None:
        # A terminal buffers 4096 bytes of a line that no process reads; further keys are lost, as on any terminal.
        try:
            os.write(self._master, keys)
        except BlockingIOError:
            os.write(self._console, b"\a")

    def _resize(self, size: Any) -> None:
        rows, columns = size
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("=HHHH", rows, columns, 0, 0))

    def _print(self) -> bool:
        """Pass on the program's output; return False if the terminal is closed."""
        while True:
            try:
                self._outlet.write(os.read(self._master, _READ_BYTES))
            except BlockingIOError:
                return True
            except OSError:  # EIO: the last process has closed it
                return False
