# SPDX-License-Identifier: MIT
"""Shows the progress of a build on stderr: a bar on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

LINE_EVERY_S = 15.0


class StderrReporter:
    """Shows progress on stderr. Use it as a context manager, which removes the bar at the end."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._last_line = time.monotonic()
        self._text = ""
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[share]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, share="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def stage(self, text: str) -> None:
        """Show the name of the stage; without a terminal, on a separate line."""
        self._text = text
        self._bar.reset(self._task, total=None, description=text, share="")
        if not self._console.is_terminal:
            self._print(text)

    def count(self, done: int, expected: int) -> None:
        """Move the bar, or print a line every 15 seconds."""
        # The expected number is an estimate: never show more than 99 %.
        share = f"{min(99, 100 * done // max(expected, 1))} %"
        self._bar.update(self._task, completed=min(done, expected), total=expected, share=share)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last_line >= LINE_EVERY_S:
            self._print(f"{self._text}: {share}")

    def warn(self, text: str) -> None:
        """Print a warning line above the bar."""
        self._console.print(f"warning: {text}", markup=False, soft_wrap=True)

    def _print(self, text: str) -> None:
        self._last_line = time.monotonic()
        self._console.print(text, markup=False, soft_wrap=True)
