# SPDX-License-Identifier: MIT
"""How a long build says where it is; `console` shows it to a person."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """What a build tells while it works."""

    def stage(self, text: str) -> None:
        """Another stage begins; `text` says which."""

    def count(self, done: int, expected: int) -> None:
        """So many steps of this stage are done of so many expected (an estimate)."""

    def warn(self, text: str) -> None:
        """Something may matter for results and does not stop the build."""


class SilentProgress:
    """Tells nothing; for callers that only want the kernel."""

    def stage(self, text: str) -> None:
        """Ignore it."""

    def count(self, done: int, expected: int) -> None:
        """Ignore it."""

    def warn(self, text: str) -> None:
        """Ignore it."""
