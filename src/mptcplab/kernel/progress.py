# SPDX-License-Identifier: MIT
"""The progress of a long build, as its steps report it, and in lines; `console` shows it on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

_LINE_EVERY_S = 15.0


class Reporter(Protocol):
    """Receives the progress of a build."""

    def stage(self, text: str) -> None:
        """Begin the stage that `text` names."""

    def count(self, done: int, expected: int) -> None:
        """Report the steps of this stage that are done, of the number expected (an estimate)."""

    def warn(self, text: str) -> None:
        """Report something that may affect results and does not stop the build."""


class SilentProgress:
    """Discards all progress, for callers that only need the kernel."""

    def stage(self, text: str) -> None:
        """Ignore it."""

    def count(self, done: int, expected: int) -> None:
        """Ignore it."""

    def warn(self, text: str) -> None:
        """Ignore it."""


class LineReporter:
    """Writes each stage as a line, and every 15 seconds its share that is done."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._stage = ""
        self._last_line = time.monotonic()

    def stage(self, text: str) -> None:
        """Write the name of the stage."""
        self._stage = text
        self._write_now(text)

    def count(self, done: int, expected: int) -> None:
        """Write the share from time to time."""
        if time.monotonic() - self._last_line >= _LINE_EVERY_S:
            self._write_now(f"{self._stage}: {share_text(done, expected)}")

    def warn(self, text: str) -> None:
        """Write a warning."""
        self._write(f"warning: {text}")

    def _write_now(self, text: str) -> None:
        self._last_line = time.monotonic()
        self._write(text)


def share_text(done: int, expected: int) -> str:
    """Return the share that is done. The expected number is an estimate: never more than 99 %."""
    return f"{min(99, 100 * done // max(expected, 1))} %"
