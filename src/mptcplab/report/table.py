# SPDX-License-Identifier: MIT
"""One result as a table: for the terminal, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from mptcplab.metrics.registry import BASIC, METRICS, columns
from mptcplab.metrics.rows import ResultRow
from mptcplab.stats import Interval

#: More columns of metrics than this are one.
_MOST_FIGURES = 7
_ALL_METRICS = "metrics"
#: Characters that rich puts between columns, and around the table.
_BETWEEN, _FRAME = 3, 2
#: Digits of small numbers behind the point.
_DIGITS = 2
IDENTICAL = "(identical)"
#: Below a table with such a cell.
IDENTICAL_NOTE = (
    "(identical): every seed gave exactly this value. Nothing random mattered to it, so n runs say no more than one, "
    "and there is no interval."
)


@dataclass(frozen=True)
class Table:
    """Text in rows and columns. ``notes`` stand below it; ``styles`` colours single cells (row, column).

    On a page ``links`` lead from single cells (row, column) to an anchor, and ``anchors`` has the names of each row
    that others lead to.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    styles: tuple[tuple[int, int, str], ...] = ()
    links: tuple[tuple[int, int, str], ...] = ()
    anchors: tuple[tuple[str, ...], ...] = ()

    def to_rich(self, width: int) -> Group:
        """For a terminal of this width. Words are broken only where whole ones do not fit."""
        # rich would break a title where its table ends.
        title = [Text(self.title, style="bold")] if self.title else []
        table = RichTable(box=box.SIMPLE_HEAD)
        for column, wide in zip(self.columns, self._widths(width), strict=True):
            justify: Literal["left", "right"] = "right" if column in self.numeric else "left"
            table.add_column(column, justify=justify, overflow="fold", width=wide)
        styles = {(row, column): style for row, column, style in self.styles}
        for number, row in enumerate(self.rows):
            table.add_row(*(Text(cell, style=styles.get((number, index), "")) for index, cell in enumerate(row)))
        return Group(*title, table)

    def _widths(self, width: int) -> list[int | None]:
        """Of columns: the widest give way first, none below its longest word. None where rich has to break words."""
        cells = [[name, *(row[number] for row in self.rows)] for number, name in enumerate(self.columns)]
        widths = [max(map(cell_len, column)) for column in cells]
        least = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in cells]
        spare = width - sum(widths) - _BETWEEN * len(widths) - _FRAME
        for _ in range(-spare):
            narrower = [number for number, wide in enumerate(widths) if wide > least[number]]
            if not narrower:
                return [None] * len(widths)
            widths[max(narrower, key=lambda number: widths[number])] -= 1
        return list(widths)

    def to_markdown(self) -> str:
        """With the title as heading and the notes as a list."""
        lines = [f"## {self.title}", "", _line(self.columns)]
        lines.append(_line(["---:" if column in self.numeric else "---" for column in self.columns]))
        lines += [_line(row) for row in self.rows]
        lines += ["", *(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Columns and rows only."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def number(value: float, digits: int | None = None) -> str:
    """Four significant digits, or so many ``digits`` behind the point; never an exponent."""
    if digits is not None:
        return f"{value:.{digits}f}"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.{1 if abs(value) >= 100 else 2}f}"


def interval_text(interval: Interval, digits: int | None = None) -> str:
    """``95.15 ± 0.12``, or only the value when one run says nothing of the spread."""
    return f"{number(interval.mean, digits)}{spread_text(interval.half_width, digits)}"


def spread_text(half_width: float | None, digits: int | None = None) -> str:
    """Return what follows a mean: `` ± 0.12``, as :func:`number` prints it or with so many ``digits`` behind the point.

    A half width that would be printed as zero becomes `` ± <0.01``. None of a single value is left out, and exactly
    zero becomes `` (identical)``: several equal values have no interval.
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


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Column titles for swept keys: the last part, more where two would be the same; of a link all behind ``links``."""
    for length in range(1, 8):
        names = {key: _last_parts(key, length) for key in keys}
        if len(set(names.values())) == len(names):
            return names
    return {key: key for key in keys}


def point_text(settings: Mapping[str, str]) -> str:
    """The swept keys and values of a point in one line."""
    names = short_names(list(settings))
    return ", ".join(f"{names[key]} {value}" for key, value in settings.items())


def swept_values(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """The swept keys with the values that rows have, in the order of the sweep."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for key, value in row.settings.items():
            found.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in found.items()}


def _last_parts(key: str, length: int) -> str:
    parts = key.split(".")
    return ".".join(parts[1:] if parts[0] == "links" else parts[-length:])


def result_table(title: str, rows: Sequence[ResultRow], changes: Sequence[str] = ()) -> Table:
    """Every row of an experiment; warnings, and what the command line changed, below."""
    names = short_names(list(rows[0].settings)) if rows else {}
    several = len({row.workload for row in rows}) > 1
    shown = columns(row.metrics for row in rows)
    basic = [METRICS[name].heading for name in BASIC]
    own = [METRICS[name].heading for name in shown] if _are_alike(rows, shown) else [_ALL_METRICS]
    titles = [*names.values(), *(["workload"] if several else []), *basic, *own, "MPTCP in use"]
    titles += ["share by path", "CC on sockets", "scheduler", "n"]
    cells = tuple(_cells(row, several, shown, alike=own != [_ALL_METRICS]) for row in rows)
    warnings = {warning: None for row in rows for warning in row.warnings}
    marks = {warning: f"[{number}]" for number, warning in enumerate(warnings, start=1)}
    marked = tuple(
        (*cell[:-1], cell[-1] + "".join(f" {marks[warning]}" for warning in row.warnings))
        for cell, row in zip(cells, rows, strict=True)
    )
    numeric = frozenset({*basic, *own} - {_ALL_METRICS})
    changed = [f"Changed on the command line: {', '.join(changes)}."] if changes else []
    return Table(title, tuple(titles), marked, numeric, (*_notes(rows, cells, marks), *changed))


def _cells(row: ResultRow, several: bool, shown: Sequence[str], *, alike: bool) -> tuple[str, ...]:
    return (
        *row.settings.values(),
        *([row.workload] if several else []),
        *(_value_text(row, name) for name in BASIC),
        *_figure_cells(row, shown, alike=alike),
        row.mptcp,
        ", ".join(f"{name} {share:.0%}" for name, share in row.shares.items()),
        row.congestion,
        row.scheduler,
        str(row.n),
    )


def _are_alike(rows: Sequence[ResultRow], shown: Sequence[str]) -> bool:
    """Whether the rows' figures fit columns: those of workloads of one kind, or few."""
    kinds = {tuple(name for name in columns([row.metrics]) if not METRICS[name].of_failures) for row in rows}
    return len(kinds) == 1 or len(shown) <= _MOST_FIGURES


def _figure_cells(row: ResultRow, shown: Sequence[str], *, alike: bool) -> list[str]:
    """A column each, or one for all where workloads of several kinds would have too many."""
    texts = {name: _figure_text(row, name) for name in shown}
    if alike:
        return list(texts.values())
    return [", ".join(f"{METRICS[name].heading} {text}" for name, text in texts.items() if text)]


def _figure_text(row: ResultRow, name: str) -> str:
    """Nothing where the figure means nothing; of how many runs where some have none."""
    text, interval = _value_text(row, name), row.metrics.get(name)
    return text if interval is None or interval.n == row.n else f"{text} ({interval.n} of {row.n})"


def _value_text(row: ResultRow, name: str) -> str:
    metric, interval = METRICS[name], row.metrics.get(name)
    if interval is None:
        return ""
    if metric.with_spread:
        return interval_text(interval, metric.digits)
    return number(interval.mean, metric.digits)


def _notes(rows: Sequence[ResultRow], cells: Sequence[Sequence[str]], marks: dict[str, str]) -> list[str]:
    notes = [f"{mark} Warning: {warning}." for warning, mark in marks.items()]
    if any(row.goodput_mbps.half_width is not None for row in rows):
        notes.append("Mean ± half width of the 95 % confidence interval (Student's t) over n seeds.")
    else:
        notes.append("One run each: no confidence interval. Use --repeats for one.")
    # Not every figure of a row has a column.
    if any(IDENTICAL in cell for line in cells for cell in line):
        notes.append(IDENTICAL_NOTE)
    kernels = sorted({row.kernel_name for row in rows})
    notes.append(f"Goodput is payload at the receiver. Lab kernel {'; '.join(kernels)}; virtual time.")
    return notes
