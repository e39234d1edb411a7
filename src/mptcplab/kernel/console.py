# SPDX-License-Identifier: MIT
"""Shows the progress of a build on stderr: a bar on a terminal, a line from time to time elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from mptcplab.kernel.progress import LineReporter, share_text


class StderrReporter:
    """Shows progress on stderr. Use it as a context manager, which removes the bar at the end."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._lines = LineReporter(self._print)
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
        self._bar.reset(self._task, total=None, description=text, share="")
        if not self._console.is_terminal:
            self._lines.stage(text)

    def count(self, done: int, expected: int) -> None:
        """Move the bar, or print a line every 15 seconds."""
        share = share_text(done, expected)
        self._bar.update(self._task, completed=min(done, expected), total=expected, share=share)
        if not self._console.is_terminal:
            self._lines.count(done, expected)

    def warn(self, text: str) -> None:
        """Print a warning line above the bar."""
        self._lines.warn(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)
