# SPDX-License-Identifier: MIT
"""A person's terminal, carried to a terminal of the lab: the host's half of ``mptcplab exec --shell``.

To the guest go messages: a letter (k for keys, s for the window's size), the length of what follows in two bytes, and
that. From the guest comes a byte whenever its shell waits at the prompt; the lab is stopped from then to the next key.
Output takes the way of all output, see mptcplab/engine/virtual/streams.py.
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
    """Rows and columns of a terminal; of the most common one when ``descriptor`` is none."""
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:
        return _LINES, _COLUMNS
    return size.lines or _LINES, size.columns or _COLUMNS


class Terminal:
    """The attendant of a program on a terminal. ``line`` leads to the guest's /dev/tty1."""

    def __init__(self, line: socket.socket, folder: Path, *, keyboard: int, screen: int) -> None:
        self._line, self._keyboard = line, keyboard
        self._output = Output("out", folder, screen)
        self._size = window_size(keyboard)
        self._waits = False
        self._ended = False
        line.setblocking(False)

    @property
    def watched(self) -> list[int]:
        """The keyboard, and the guest."""
        return [self._line.fileno(), *([] if self._ended else [self._keyboard])]

    def step(self) -> bool:
        """Carry keys and output. True while the guest's shell waits at its prompt."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            self._waits = bool(self._line.recv(_READ_BYTES)) or self._waits
        self._output.step()
        size = window_size(self._keyboard)
        if size != self._size:
            self._size = size
            self._send(b"s", struct.pack("=HH", *size))
        if not self._ended and select.select([self._keyboard], [], [], 0)[0]:
            keys = os.read(self._keyboard, _READ_BYTES)
            self._ended = not keys
            # The end of a keyboard that is none, such as a file: what Ctrl-D sends.
            self._send(b"k", keys or b"\x04")
        return self._waits

    def finish(self) -> None:
        """Show the rest."""
        while not self._output.step():
            pass
        self._output.close()

    def _send(self, kind: bytes, payload: bytes) -> None:
        self._waits = False
        with contextlib.suppress(ConnectionError):
            self._line.setblocking(True)
            self._line.sendall(_HEAD.pack(kind, len(payload)) + payload)
            self._line.setblocking(False)


@contextlib.contextmanager
def raw_mode(descriptor: int) -> Iterator[None]:
    """Every key goes to the lab, Ctrl-C and Ctrl-Z too. Nothing when ``descriptor`` is no terminal."""
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    # Resizing ends the wait for the next key, so that it is told at once.
    handler = signal.signal(signal.SIGWINCH, lambda *_: None)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, handler)
