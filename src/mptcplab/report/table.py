# SPDX-License-Identifier: MIT
"""Tables of results: for the terminal, as Markdown, CSV and LaTeX, and as files."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from mptcplab.files import write_text
from mptcplab.metrics.values import IDENTICAL
from mptcplab.plain_tables import markdown_table

if TYPE_CHECKING:
    from mptcplab.stats import Interval


# One model of tables: what a table says, and how Markdown, CSV and LaTeX write it.
#
# A producer builds a :class:`Table` once. :mod:`mptcplab.report.choosing` arranges it for a terminal, and the macro
# ``table`` of the report's template writes it as HTML.

#: What a cell tells at a glance: a verdict, a difference that matters, or a sum of other rows.
Emphasis = Literal["", "good", "fair", "bad", "notable", "sum"]
#: Decimals of small numbers.
_DIGITS = 2
#: In LaTeX, a hyphen that is a sign: before a number, or between two words.
_MINUS = re.compile(r"(?<!\S)-(?=[\d\s])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{character: f"${character}$" for character in "<>|"},
    # A row that begins with a bracket would be taken for an option of the rule, or of the line break, before it.
    **{character: f"{{{character}}}" for character in "[]"},
    "±": r"$\pm$",
    "µ": r"$\mu$",
    "−": "$-$",
}


class Cell(str):
    """The text of a cell, and what else is known of it.

    ``number`` is the value that the text shows: unrounded, and in one unit for all cells of its column. Rows are
    ordered by it. Texts cannot serve for that: two values may be printed alike, and the largest of them last. On a
    page, the cell leads to the anchor ``link``, and ``anchors`` are its own.
    """

    __slots__ = ("anchors", "emphasis", "link", "number")
    number: float | None
    emphasis: Emphasis
    link: str
    anchors: tuple[str, ...]

    def __new__(
        cls,
        text: str,
        number: float | None = None,
        *,
        emphasis: Emphasis = "",
        link: str = "",
        anchors: tuple[str, ...] = (),
    ) -> Self:
        cell = super().__new__(cls, text)
        cell.number, cell.emphasis, cell.link, cell.anchors = number, emphasis, link, anchors
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
class TableColumn:
    """A column: its heading, with the unit of its values, and the ``names`` by which users choose it besides.

    Numeric columns are aligned on the right, and their cells stay in one line: a value and its interval are one word.
    Columns that are keys tell the rows apart.
    """

    heading: str
    names: tuple[str, ...] = ()
    is_numeric: bool = False
    is_key: bool = False


#: A column that is only a heading has texts.
ColumnOrHeading = TableColumn | str


def number_columns(*headings: str) -> tuple[ColumnOrHeading, ...]:
    """Return numeric columns."""
    return tuple(TableColumn(heading, is_numeric=True) for heading in headings)


def key_columns(*headings: str) -> tuple[ColumnOrHeading, ...]:
    """Return columns that distinguish the rows."""
    return tuple(TableColumn(heading, is_key=True) for heading in headings)


@dataclass(frozen=True)
class Table:
    """Cells in rows and columns, and notes below them. :meth:`build` makes one of plain texts."""

    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def build(
        cls,
        title: str,
        columns: Iterable[ColumnOrHeading],
        rows: Iterable[Iterable[str]],
        notes: Iterable[str] = (),
    ) -> Self:
        """Return a table. Headings become columns, and texts cells."""
        return cls(
            title,
            tuple(TableColumn(column) if isinstance(column, str) else column for column in columns),
            tuple(tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows),
            tuple(notes),
        )

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings of the columns."""
        return tuple(column.heading for column in self.columns)

    @property
    def keys(self) -> list[int]:
        """The indices of the columns that distinguish the rows."""
        return [index for index, column in enumerate(self.columns) if column.is_key]

    def with_columns(self, indices: Sequence[int]) -> Table:
        """Return the table with these of its columns, in this order."""
        rows = tuple(tuple(row[index] for index in indices) for row in self.rows)
        return replace(self, columns=tuple(self.columns[index] for index in indices), rows=rows)

    def with_rows(self, indices: Sequence[int]) -> Table:
        """Return the table with these of its rows, in this order."""
        return replace(self, rows=tuple(self.rows[index] for index in indices))

    def with_links(self, links: Mapping[tuple[int, int], str]) -> Table:
        """Return the table with links from cells (row, column) to anchors of a page."""
        rows = tuple(
            tuple(
                Cell(cell, cell.number, emphasis=cell.emphasis, link=links[line, index], anchors=cell.anchors)
                if (line, index) in links
                else cell
                for index, cell in enumerate(row)
            )
            for line, row in enumerate(self.rows)
        )
        return replace(self, rows=rows)

    def with_notes(self, *notes: str) -> Table:
        """Return the table with further notes, below its own."""
        return replace(self, notes=(*self.notes, *notes))

    def to_markdown(self) -> str:
        """Return the table as Markdown, with the title as heading and the notes as a list."""
        numeric = [column.is_numeric for column in self.columns]
        lines = [f"## {self.title}", "", markdown_table(self.headings, self.rows, numeric)]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Return columns and rows as CSV."""
        return csv_text(self.headings, self.rows)

    def to_latex(self) -> str:
        """Return a ``tabular`` with the rules of booktabs, which a paper reads with ``\\input``.

        Title and notes are comments: the paper has a caption of its own for them.
        """
        alignment = "".join("r" if column.is_numeric else "l" for column in self.columns)
        return "\n".join(
            [
                *_latex_comment(self.title),
                f"\\begin{{tabular}}{{{alignment}}}",
                r"\toprule",
                _latex_line(self.headings),
                r"\midrule",
                *map(_latex_line, self.rows),
                r"\bottomrule",
                r"\end{tabular}",
                *(line for note in self.notes for line in _latex_comment(note)),
                "",
            ]
        )


def csv_text(headings: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue()


def escape_latex(text: str) -> str:
    """Return a text as LaTeX writes it."""
    parts = _MINUS.split(text)
    return "$-$".join("".join(_LATEX.get(character, character) for character in part) for part in parts)


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(escape_latex, cells)) + r" \\"


def _latex_comment(text: str) -> list[str]:
    return [f"% {line}" for line in text.splitlines()]


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


# Write the files of a results folder other than recordings.


def write_table(table: Table, folder: Path, name: str) -> None:
    """Write NAME.md and NAME.csv."""
    write_text(folder / f"{name}.md", table.to_markdown())
    write_text(folder / f"{name}.csv", table.to_csv())


def write_json(document: Any, file: Path) -> None:
    """Write readable JSON."""
    write_text(file, json.dumps(document, indent=1) + "\n")
