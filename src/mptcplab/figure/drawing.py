# SPDX-License-Identifier: MIT
"""A figure that is ready to be drawn: its contents, its size, and the note below it."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.figure.canvas import FigureSheet
from mptcplab.figure.choice import FigureChoice, Kind
from mptcplab.figure.lines import Figure
from mptcplab.figure.paper import Paper

if TYPE_CHECKING:
    from matplotlib.figure import Figure as MplFigure

#: Inches of a figure with one plot: its height, and its width with as many bars as fit.
_HEIGHT, _WIDTH, _PER_BAR, _WIDEST = 4.0, 6.4, 0.22, 14.0


@dataclass(frozen=True)
class FigureSpec:
    """A figure that is ready to be drawn: its usual size in inches, the function that draws it, and what it shows.

    ``note`` stands below it, unless it is left to the caption, and ``paper`` is the size that the user asks for.
    """

    kind: Kind
    size: tuple[float, float]
    draw: Callable[[MplFigure], None] = field(repr=False)
    shows: str
    note: str = ""
    paper: Paper = field(default_factory=Paper)
    has_note: bool = True

    @property
    def sheet(self) -> FigureSheet:
        """The sheet on which it is drawn."""
        lines = self.note.split("\n") if self.has_note else []
        wrapped = (part for line in lines for part in textwrap.wrap(line, self.paper.note_letters(self.size)))
        return FigureSheet(self.size, self.paper, "\n".join(wrapped))

    def write(self, file: Path) -> None:
        """Write ``file`` in the format of its suffix. :raises InputError: if it does not fit."""
        self.sheet.write(file, self.draw)

    def _repr_png_(self) -> bytes:
        """Return what a notebook shows of it."""
        return self.sheet.png(self.draw)


def size_of_plot() -> tuple[float, float]:
    """Return the usual size in inches of a figure with one plot."""
    return _WIDTH, _HEIGHT


def size_of_bars(figure: Figure) -> tuple[float, float]:
    """Return the usual size in inches of a figure with bars: as wide as they need."""
    return min(_WIDEST, max(_WIDTH, 2 + _PER_BAR * len(figure.series) * len(figure.positions))), _HEIGHT


def level_note(choice: FigureChoice) -> Iterator[str]:
    """Yield what the line across the plot is, if there is one."""
    if choice.level is not None:
        number = f"{choice.level:.10g}"
        yield f"dashed line: {f'{choice.level_words} ({number})' if choice.level_words else number}"
