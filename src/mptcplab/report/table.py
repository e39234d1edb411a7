# SPDX-License-Identifier: MIT
"""Tables of results: for the terminal, as Markdown and as CSV."""

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

#: More columns of metrics than this are merged into one.
_MAX_METRIC_COLUMNS = 7
_ALL_METRICS = "metrics"
#: Characters that rich adds between columns, and around the table.
_BETWEEN, _FRAME = 3, 2
#: Decimals of small numbers.
_DIGITS = 2
IDENTICAL = "(identical)"
#: The note of a table with such a cell.
IDENTICAL_NOTE = (
    "(identical): every seed gave exactly this value. Nothing random affected it, so n runs show no more than one, and "
    "there is no interval."
)


@dataclass(frozen=True)
class Table:
    """Text in rows and columns. ``notes`` are printed below it; ``styles`` colours single cells (row, column).

    On a page, ``links`` link single cells (row, column) to an anchor, and ``anchors`` has the anchor names of each row.
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
        """Return the table for a terminal of this width. Words are broken only if whole ones do not fit."""
        # rich would wrap a title at the width of its table.
        title = [Text(self.title, style="bold")] if self.title else []
        table = RichTable(box=box.SIMPLE_HEAD)
        for column, column_width in zip(self.columns, self._widths(width), strict=True):
            justify: Literal["left", "right"] = "right" if column in self.numeric else "left"
            table.add_column(column, justify=justify, overflow="fold", width=column_width)
        styles = {(row, column): style for row, column, style in self.styles}
        for number, row in enumerate(self.rows):
            table.add_row(*(Text(cell, style=styles.get((number, index), "")) for index, cell in enumerate(row)))
        return Group(*title, table)

    def _widths(self, width: int) -> list[int | None]:
        """Return the columns' widths: the widest shrink first, to the longest word; None if rich has to break words."""
        cells = [[name, *(row[number] for row in self.rows)] for number, name in enumerate(self.columns)]
        widths = [max(map(cell_len, column)) for column in cells]
        minimums = [max(cell_len(word) for cell in column for word in cell.split() or [""]) for column in cells]
        spare = width - sum(widths) - _BETWEEN * len(widths) - _FRAME
        for _ in range(-spare):
            shrinkable = [number for number, width in enumerate(widths) if width > minimums[number]]
            if not shrinkable:
                return [None] * len(widths)
            widths[max(shrinkable, key=lambda number: widths[number])] -= 1
        return list(widths)

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


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Return column titles for swept keys: the last part, or more parts if two were equal; of a link all parts.

    A number in a list is no title: the part before it belongs to it.
    """
    for length in range(1, 8):
        names = {key: _last_parts(key, length) for key in keys}
        if len(set(names.values())) == len(names):
            return names
    return {key: key for key in keys}


def point_text(settings: Mapping[str, str]) -> str:
    """Return the swept keys and values of a point as one line."""
    names = short_names(list(settings))
    return ", ".join(f"{names[key]} {value}" for key, value in settings.items())


def swept_values(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """Return the swept keys with their values in ``rows``, in the order of the sweep."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for key, value in row.settings.items():
            found.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in found.items()}


def _last_parts(key: str, length: int) -> str:
    parts = key.split(".")
    length += parts[-1].isdigit()
    return ".".join(parts[1:] if parts[0] == "links" else parts[-length:])


def result_table(title: str, rows: Sequence[ResultRow], changes: Sequence[str] = ()) -> Table:
    """Return the table of an experiment, with warnings and the changes by the command line as notes."""
    names = short_names(list(rows[0].settings)) if rows else {}
    several = len({row.workload for row in rows}) > 1
    shown = columns(row.metrics for row in rows)
    basic = [METRICS[name].heading for name in BASIC]
    own = [METRICS[name].heading for name in shown] if _are_alike(rows, shown) else [_ALL_METRICS]
    titles = [*names.values(), *(["workload"] if several else []), *basic, *own, "MPTCP in use"]
    with_gateways = any(row.gateways for row in rows)
    titles += [*(["gateway"] if with_gateways else []), "share by path", "CC on sockets", "scheduler", "n"]
    alike = own != [_ALL_METRICS]
    cells = tuple(_cells(row, several, shown, alike=alike, with_gateways=with_gateways) for row in rows)
    warnings = {warning: None for row in rows for warning in row.warnings}
    marks = {warning: f"[{number}]" for number, warning in enumerate(warnings, start=1)}
    marked = tuple(
        (*cell[:-1], cell[-1] + "".join(f" {marks[warning]}" for warning in row.warnings))
        for cell, row in zip(cells, rows, strict=True)
    )
    numeric = frozenset({*basic, *own} - {_ALL_METRICS})
    changed = [f"Changed on the command line: {', '.join(changes)}."] if changes else []
    return Table(title, tuple(titles), marked, numeric, (*_notes(rows, cells, marks), *changed))


def _cells(row: ResultRow, several: bool, shown: Sequence[str], *, alike: bool, with_gateways: bool) -> tuple[str, ...]:
    return (
        *row.settings.values(),
        *([row.workload] if several else []),
        *(_value_text(row, name) for name in BASIC),
        *_metric_cells(row, shown, alike=alike),
        row.mptcp,
        *([row.gateways] if with_gateways else []),
        ", ".join(f"{name} {share:.0%}" for name, share in row.shares.items()),
        row.congestion,
        row.scheduler,
        str(row.n),
    )


def _are_alike(rows: Sequence[ResultRow], shown: Sequence[str]) -> bool:
    """Return whether each metric gets a column: if all workloads have the same metrics, or these are few."""
    kinds = {tuple(name for name in columns([row.metrics]) if not METRICS[name].of_failures) for row in rows}
    return len(kinds) == 1 or len(shown) <= _MAX_METRIC_COLUMNS


def _metric_cells(row: ResultRow, shown: Sequence[str], *, alike: bool) -> list[str]:
    """Return a cell per metric, or one for all if workloads of several kinds would need too many columns."""
    texts = {name: _metric_text(row, name) for name in shown}
    if alike:
        return list(texts.values())
    return [", ".join(f"{METRICS[name].heading} {text}" for name, text in texts.items() if text)]


def _metric_text(row: ResultRow, name: str) -> str:
    """Return the metric's value, with the number of runs that have it if some do not; empty without a value."""
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
    # Not every metric of a row has a column.
    if any(IDENTICAL in cell for line in cells for cell in line):
        notes.append(IDENTICAL_NOTE)
    kernels = sorted({row.kernel_name for row in rows})
    notes.append(f"Goodput is payload at the receiver. Lab kernel {'; '.join(kernels)}; virtual time.")
    return notes
