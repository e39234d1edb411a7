# SPDX-License-Identifier: MIT
"""Standard streams and terminals between a program in the lab and this process: the host's half."""

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
from dataclasses import dataclass
from pathlib import Path

# Standard streams between a program in the lab and this process: the host's half.
#
# They pass through files in a folder that both sides share, which is exact and takes no virtual time. A console of
# User-Mode Linux would lose bytes while nobody reads it, and the guest's virtual time would advance.
#
#     in.0, in.1, ...    standard input in pieces of `_PIECE`, the last one empty; the guest removes those it has read
#     out.0, out.1, ...  standard output, and err.0, ... standard error; this side removes those it has passed on
#
# The guest writes without waiting, so a slow reader takes no virtual time. Users of these classes must stop the lab's
# process while an `Output` is `behind` or an `Input` is `starved`.

#: The fixed size of input pieces: the guest must not notice the speed of the sender.
_PIECE = 1 << 16
#: The maximum number of pieces that wait for the guest.
_MAX_PIECES = 64
_READ_BYTES = 1 << 16
#: A writable pipe accepts this much without blocking (PIPE_BUF).
_WRITE_BYTES = 1 << 12
#: The maximum output in files before the lab must wait for its reader.
_MAX_BEHIND_BYTES = 1 << 26
_WRITE_TIMEOUT_S = 0.01


@dataclass(frozen=True)
class Streams:
    """Descriptors of this process. If ``merged``, both outputs go to ``stdout`` in the order of their writes."""

    stdin: int | None
    stdout: int
    stderr: int
    merged: bool = False


class Input:
    """Standard input, from descriptor ``source`` to the files ``in.N`` in ``folder``."""

    def __init__(self, source: int | None, folder: Path) -> None:
        self._source, self._folder = source, folder
        self._piece = bytearray()
        self._number = 0

    @property
    def watched_descriptors(self) -> list[int]:
        """The descriptors to poll."""
        return [self._source] if self._source is not None and not self._full else []

    @property
    def starved(self) -> bool:
        """True if the guest has or soon will have read all input so far, before the end of input."""
        return self._source is not None and self._waiting == 0

    def step(self) -> None:
        """Read the available input."""
        while self._source is not None and not self._full and select.select([self._source], [], [], 0)[0]:
            data = os.read(self._source, _PIECE - len(self._piece))
            self._piece += data
            if len(self._piece) == _PIECE or (not data and self._piece):
                self._write_piece()
            if not data:
                self._write_piece()
                self._source = None

    @property
    def _waiting(self) -> int:
        return sum(1 for name in os.listdir(self._folder) if name.startswith("in."))

    @property
    def _full(self) -> bool:
        return self._waiting >= _MAX_PIECES

    def _write_piece(self) -> None:
        new = self._folder / "new"
        new.write_bytes(self._piece)
        new.rename(self._folder / f"in.{self._number}")
        self._number, self._piece = self._number + 1, bytearray()


class Output:
    """One output stream, from the files ``NAME.N`` in ``folder`` to descriptor ``target``."""

    def __init__(self, name: str, folder: Path, target: int) -> None:
        self._name, self._folder, self._target = name, folder, target
        self._number = 0
        self._file: int | None = None
        self._held = memoryview(b"")

    @property
    def behind(self) -> bool:
        """True if the reader is so far behind that the lab should wait."""
        return self._pending_bytes() > _MAX_BEHIND_BYTES

    def step(self) -> bool:
        """Pass on the available output while the reader accepts it; return False if some is left.

        :raises BrokenPipeError: if the reader has closed the stream.
        """
        while self._fill():
            if not select.select([], [self._target], [], _WRITE_TIMEOUT_S)[1]:
                return False
            self._held = self._held[os.write(self._target, self._held[:_WRITE_BYTES]) :]
        return True

    def _fill(self) -> bool:
        while not self._held:
            if self._file is None:
                try:
                    self._file = os.open(self._path(self._number), os.O_RDONLY | os.O_CLOEXEC)
                except FileNotFoundError:
                    return False
            # Checked before reading: if the next file exists, this one is complete.
            complete = os.path.exists(self._path(self._number + 1))
            self._held = memoryview(os.read(self._file, _READ_BYTES))
            if self._held:
                return True
            if not complete:
                return False
            os.close(self._file)
            os.unlink(self._path(self._number))
            self._file, self._number = None, self._number + 1
        return True

    def _pending_bytes(self) -> int:
        number, total = self._number, -os.lseek(self._file, 0, os.SEEK_CUR) if self._file is not None else 0
        while True:
            try:
                total += os.stat(self._path(number)).st_size
            except FileNotFoundError:
                return total
            number += 1

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}.{number}"

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


# Connects a user's terminal to a terminal of the lab: the host's half of ``mptcplab exec --shell``.
#
# The host sends messages: a letter (k for keys, s for the window's size), the payload's length in two bytes, and the
# payload. The guest sends a byte whenever its shell waits at the prompt; the lab is then stopped until the next key.
# Output passes through files.

_HEAD = struct.Struct("=cH")
_TERMINAL_READ_BYTES = 1024
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
    def watched_descriptors(self) -> list[int]:
        """The descriptors of the guest and the keyboard."""
        return [self._guest.fileno(), *([] if self._ended else [self._keyboard])]

    def step(self) -> bool:
        """Carry keys and output; return True while the guest's shell waits at its prompt."""
        with contextlib.suppress(BlockingIOError, ConnectionError):
            self._waits = bool(self._guest.recv(_TERMINAL_READ_BYTES)) or self._waits
        self._output.step()
        size = window_size(self._keyboard)
        if size != self._size:
            self._size = size
            self._send(b"s", struct.pack("=HH", *size))
        if not self._ended and select.select([self._keyboard], [], [], 0)[0]:
            keys = os.read(self._keyboard, _TERMINAL_READ_BYTES)
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
