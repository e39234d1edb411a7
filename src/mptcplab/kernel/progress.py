# SPDX-License-Identifier: MIT
"""The progress of a long build, as its steps report it; `console` shows it on a terminal."""

from __future__ import annotations

from typing import Protocol


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
