# SPDX-License-Identifier: MIT
"""Connects a user's terminal to a terminal of the lab: the host's half of ``mptcplab exec --shell``.

The host sends messages: a letter (k for keys, s for the window's size), the payload's length in two bytes, and the
payload. The guest sends a byte whenever its shell waits at the prompt; the lab is then stopped until the next key.
Output passes through files, see mptcplab/engine/virtual/streams.py.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import termios
import tty
from collections.abc import Iterator
from pathlib import Path

from mptcplab.engine.virtual.streams import Output

_HEAD = struct.Struct("=cH")
_READ_BYTES = 1024
_LINES, _COLUMNS = 24, 80


def window_size(descriptor: int) -> tuple[int, int]:
    """Return the rows and columns of a terminal; 24 and 80 if ``descriptor`` is not a terminal."""
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:
        return _LINES, _COLUMNS
    return size.lines or _LINES, size.columns or _COLUMNS


class TerminalRelay:
    """Carries the keys and output of a program on a terminal. ``guest`` is connected to the guest's /dev/tty1."""

    def __init__(self, guest: socket.socket, folder: Path, *, keyboard: int, screen: int) -> None:
        self._guest, self._keyboard = guest, keyboard
        self._output = Output("out", folder, screen)
        self._size = window_size(keyboard)
        self._waits = False
        self._ended = False
        guest.setblocking(False)

    @property
    def watched(self) -> list[int]:
        """The descriptors of the guest and the keyboard."""
        return [self._guest.fileno(), *([] if self._ended else [self._keyboard])]

    def step(self) -> bool:
        """Carry keys and output; return True while the guest's shell waits at its prompt."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            self._waits = bool(self._guest.recv(_READ_BYTES)) or self._waits
        self._output.step()
        size = window_size(self._keyboard)
        if size != self._size:
            self._size = size
            self._send(b"s", struct.pack("=HH", *size))
        if not self._ended and select.select([self._keyboard], [], [], 0)[0]:
            keys = os.read(self._keyboard, _READ_BYTES)
            self._ended = not keys
            # At the end of input that is not a keyboard, such as a file, send the code of Ctrl-D.
            self._send(b"k", keys or b"\x04")
        return self._waits

    def finish(self) -> None:
        """Show the remaining output."""
        while not self._output.step():
            pass
        self._output.close()

    def _send(self, kind: bytes, payload: bytes) -> None:
        self._waits = False
        with contextlib.suppress(ConnectionError):
            self._guest.setblocking(True)
            self._guest.sendall(_HEAD.pack(kind, len(payload)) + payload)
            self._guest.setblocking(False)


@contextlib.contextmanager
def raw_mode(descriptor: int) -> Iterator[None]:
    """Pass every key to the lab while inside, including Ctrl-C and Ctrl-Z. Does nothing without a terminal."""
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    # Resizing interrupts the wait for the next key, so that the guest learns the new size at once.
    handler = signal.signal(signal.SIGWINCH, lambda *_: None)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, handler)
