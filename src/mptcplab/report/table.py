# SPDX-License-Identifier: MIT
"""Tables of results: for the terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from mptcplab.metrics.values import IDENTICAL

if TYPE_CHECKING:
    from mptcplab.stats import Interval

#: Characters that rich adds between columns, and around the table.
_BETWEEN, _FRAME = 3, 2
#: Decimals of small numbers.
_DIGITS = 2


class NumberCell(str):
    """The text of a cell, with the number that it shows: unrounded, and in one unit for all cells of its column.

    Rows are ordered by ``number``. Texts cannot serve for that: two values may be printed alike, and the largest of
    them last.
    """

    __slots__ = ("number",)
    number: float

    def __new__(cls, text: str, number: float) -> Self:
        cell = super().__new__(cls, text)
        cell.number = number
        return cell


class Note(str):
    """A note about some columns or cells, which have the expression ``about``: it is idle below a table of others."""

    __slots__ = ("about",)
    about: re.Pattern[str]

    def __new__(cls, text: str, about: str) -> Self:
        note = super().__new__(cls, text)
        note.about = re.compile(about)
        return note


@dataclass(frozen=True)
class Table:
    """Text in rows and columns. ``notes`` are printed below it; ``styles`` colours single cells (row, column).

    A cell that shows a measured value is a :class:`NumberCell`, which keeps the value beside its text.

    The first ``keys`` columns tell the rows apart. ``names`` has for each column the names by which users choose it,
    besides its head. On a page, ``links`` link single cells (row, column) to an anchor, and ``anchors`` has the anchor
    names of each row.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    styles: tuple[tuple[int, int, str], ...] = ()
    links: tuple[tuple[int, int, str], ...] = ()
    anchors: tuple[tuple[str, ...], ...] = ()
    keys: int = 0
    names: tuple[tuple[str, ...], ...] = ()

    def to_rich(self, width: int) -> Group:
        """Return the table for a terminal of this width. Words are broken only if whole ones do not fit."""
        # rich would wrap a title at the width of its table.
        title = [Text(self.title, style="bold")] if self.title else []
        table = RichTable(box=box.SIMPLE_HEAD)
        for column, column_width in zip(self.columns, self._shrink_columns(width), strict=True):
            justify: Literal["left", "right"] = "right" if column in self.numeric else "left"
            table.add_column(column, justify=justify, overflow="fold", width=column_width)
        styles = {(row, column): style for row, column, style in self.styles}
        for number, row in enumerate(self.rows):
            table.add_row(*(Text(cell, style=styles.get((number, index), "")) for index, cell in enumerate(row)))
        return Group(*title, table)

    def widths(self, *, wrapped: bool = False) -> list[int]:
        """Return the columns' widths, with cells in one line each or ``wrapped`` to a word per line.

        A cell of a numeric column stays in one line: a value and its interval are one word.
        """
        return [self._width(place, wrapped=wrapped) for place in range(len(self.columns))]

    def _width(self, place: int, *, wrapped: bool) -> int:
        head, cells = self.columns[place], [row[place] for row in self.rows]
        words = [*head.split(), *(cells if head in self.numeric else " ".join(cells).split())]
        return max(map(cell_len, words if wrapped else [head, *cells]), default=0)

    def fits(self, width: int, *, wrapped: bool = False) -> bool:
        """Return whether the table is at most this wide, with cells ``wrapped`` or in one line each."""
        return _total(self.widths(wrapped=wrapped)) <= width

    def _shrink_columns(self, width: int) -> list[int | None]:
        """Return the columns' widths: the widest shrink first, to the longest word; None if rich has to break words."""
        widths, minimums = self.widths(), self.widths(wrapped=True)
        for _ in range(_total(widths) - width):
            shrinkable = [number for number, width in enumerate(widths) if width > minimums[number]]
            if not shrinkable:
                return [None] * len(widths)
            widths[max(shrinkable, key=lambda number: widths[number])] -= 1
        return list(widths)

    def with_columns(self, places: Sequence[int]) -> Table:
        """Return the table with these of its columns, in this order."""
        new = {old: number for number, old in enumerate(places)}
        return replace(
            self,
            columns=tuple(self.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in self.rows),
            styles=tuple((row, new[column], style) for row, column, style in self.styles if column in new),
            links=tuple((row, new[column], link) for row, column, link in self.links if column in new),
            names=tuple(self.names[place] for place in places) if self.names else (),
            keys=sum(place < self.keys for place in places),
        )

    def with_rows(self, places: Sequence[int]) -> Table:
        """Return the table with these of its rows, in this order."""
        new = {old: number for number, old in enumerate(places)}
        return replace(
            self,
            rows=tuple(self.rows[place] for place in places),
            styles=tuple((new[row], column, style) for row, column, style in self.styles if row in new),
            links=tuple((new[row], column, link) for row, column, link in self.links if row in new),
            anchors=tuple(self.anchors[place] for place in places) if self.anchors else (),
        )

    def to_markdown(self) -> str:
        """Return the table as Markdown, with the title as heading and the notes as a list."""
        lines = [f"## {self.title}", "", _line(self.columns)]
        lines.append(_line(["---:" if column in self.numeric else "---" for column in self.columns]))
        lines += [_line(row) for row in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Return columns and rows as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _BETWEEN * len(widths) + _FRAME


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def number(value: float, digits: int | None = None) -> str:
    """Return a number with up to four significant digits, or this many decimals (``digits``); never an exponent."""
    if digits is not None:
        return f"{value:.{digits}f}"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.{1 if abs(value) >= 100 else 2}f}"


def interval_text(interval: Interval, digits: int | None = None) -> str:
    """Return ``95.15 ± 0.12``, or only the value of a single run."""
    return f"{number(interval.mean, digits)}{spread_text(interval.half_width, digits)}"


def spread_text(half_width: float | None, digits: int | None = None) -> str:
    """Return the text after a mean: `` ± 0.12``, as :func:`number` prints it or with this many decimals (``digits``).

    A half width that would be printed as zero becomes `` ± <0.01``. Without a half width the text is empty; if it is
    exactly zero, the text is `` (identical)``, because equal values have no interval.
    """
    if half_width is None:
        return ""
    if half_width == 0:
        return f" {IDENTICAL}"
    text = number(half_width, digits)
    if float(text) == 0:
        shown = _DIGITS if digits is None else digits
        return f" ± <{10.0**-shown:.{shown}f}"
    return f" ± {text}"
