# SPDX-License-Identifier: MIT
"""The table of an experiment: a line per point and workload; its tables on a page, and as one number per cell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from mptcplab.errors import InputError
from mptcplab.kernel.config import clock_text, kernel_kind
from mptcplab.metrics.named import OF_POINTS, OTHER_WORDS, find_key, names_of, unit_of, with_part
from mptcplab.metrics.registry import IN_EVERY_ROW, METRICS, list_metric_names
from mptcplab.metrics.rows import SOCKET_TEXTS, ResultRow
from mptcplab.metrics.values import IDENTICAL, Unit, changed_keys_note, short_names
from mptcplab.metrics.warnings import merge_similar_warnings
from mptcplab.report.choosing import drop_constants, fits
from mptcplab.report.notes import collect_beginnings, later_outage_notes, overlap_notes
from mptcplab.report.table import Cell, Note, Table, TableColumn, csv_text
from mptcplab.scenario.document import suggest_name

# The table of an experiment: a line per point and workload.

#: More columns of metrics than this are merged into one.
_MAX_METRIC_COLUMNS = 7
#: This number is never too many, even where most of their cells are empty.
_FEW_METRIC_COLUMNS = 5
_ALL_METRICS = "metrics"
#: A column, and its cell in each row.
_Filled = tuple[TableColumn, tuple[str, ...]]
#: Other names by which users choose columns about sockets.
_ALIASES = {"congestion_control": ("cc",)}
_SHARE_HEAD, _SHARE_NAMES = "share by path", ("shares", "share")
_FAILED_HEAD, _FAILED_NAMES = "failed connections", ("failed",)
#: The note of a table with such a cell.
IDENTICAL_NOTE = Note(
    "(identical): every seed gave exactly this value, so there is no interval. Where nothing else in the row varies "
    "either, the runs may be the same, and n of them show no more than one.",
    about=re.escape(IDENTICAL),
)
#: The metric of workloads that also have payload of any size in the other direction, and the note of their rows.
RESPONSES = "response_p50_ms"
RESPONSES_NOTE = Note(
    "Of requests and responses, MPTCP in use and share by path count the responses: requests may have taken "
    "other subflows.",
    about=r"^(MPTCP in use|share by path)$",
)


def result_table(
    title: str,
    rows: Sequence[ResultRow],
    changes: Sequence[str] = (),
    *,
    every: bool = False,
    apart: bool = False,
    unavailable: Sequence[tuple[Mapping[str, str], str]] = (),
) -> Table:
    """Return the table of an experiment, with warnings, reasons and the changes by the command line as notes.

    With ``every``, each metric that a row has is a column, also metrics that are otherwise only in JSON; with
    ``apart``, each that is in tables, however many these are. ``unavailable`` are settings of points that cannot be
    run, each with the reason; their rows come last.
    """
    warnings = merge_similar_warnings(warning for row in rows for warning in row.warnings)
    explained = merge_similar_warnings(note for row in rows for note in row.notes)
    words = dict.fromkeys(warnings.values(), "Warning") | dict.fromkeys(explained.values(), "Reason")
    marks = {text: f"[{number}]" for number, text in enumerate(words, start=1)}
    reasons = dict.fromkeys(reason for _, reason in unavailable)
    why = {reason: f"[{number}]" for number, reason in enumerate(reasons, start=len(marks) + 1)}
    result_columns = [
        *_settings(rows),
        *_workloads(rows),
        *_metrics(rows, every=every, apart=apart),
        *_failures(rows),
        *_socket_columns(rows),
        _runs(rows, {sentence: marks[text] for sentence, text in (warnings | explained).items()}),
    ]
    cells = tuple(zip(*(texts for _, texts in result_columns), strict=True))
    lacking = tuple(_unavailable_row(settings, why[reason], len(result_columns)) for settings, reason in unavailable)
    changed = [f"{changed_keys_note(changes)}."] if changes else []
    return Table.build(
        title,
        [column for column, _ in result_columns],
        (*cells, *lacking),
        (
            *(f"{mark} {words[text]}: {text}." for text, mark in marks.items()),
            *_notes(rows, cells, every=every),
            *(f"{mark} Not available: {reason}." for reason, mark in why.items()),
            *changed,
        ),
    )


def are_alike(rows: Sequence[ResultRow]) -> bool:
    """Return whether one table has a column for each metric of all workloads."""
    return _are_alike(rows, list_metric_names(row.shown for row in rows))


def result_tables(
    title: str,
    rows: Sequence[ResultRow],
    changes: Sequence[str] = (),
    *,
    every: bool = False,
    unavailable: Sequence[tuple[Mapping[str, str], str]] = (),
) -> list[Table]:
    """Return :func:`result_table`; if that would have all metrics in one cell, a table of each workload's in its place.

    The last one has the notes.
    """
    table = result_table(title, rows, changes, every=every, unavailable=unavailable)
    if _ALL_METRICS not in table.headings:
        return [table]
    merged_at = table.headings.index(_ALL_METRICS)
    first = table.with_columns([index for index in range(len(table.columns)) if index != merged_at])
    workloads = dict.fromkeys(row.workload for row in rows)
    tables = [_table_of(name, [row for row in rows if row.workload == name], rows) for name in workloads]
    shown = [replace(first, notes=()), *(item for item in tables if len(item.columns) > len(item.keys))]
    return [*shown[:-1], replace(shown[-1], notes=table.notes)]


def _table_of(workload: str, shown: Sequence[ResultRow], rows: Sequence[ResultRow]) -> Table:
    """Return the table of one workload's metrics, in the units that they have in all ``rows``."""
    result_columns = [
        *_settings(shown),
        *(_metric(name, shown, rows) for name in list_metric_names(row.shown for row in shown)),
    ]
    cells = zip(*(texts for _, texts in result_columns), strict=True)
    return Table.build(workload, [column for column, _ in result_columns], cells)


def check_columns(columns: Sequence[str], sort: str | None, settings: Iterable[str]) -> None:
    """Refuse names of columns that the table of no result with these swept keys has, before anything runs.

    :raises InputError: for such a name.
    """
    keys = list(settings)
    names = [name for key, short in short_names(keys).items() for name in (short, key)]
    names += ["workload", *METRICS, *(text.heading for text in SOCKET_TEXTS), _SHARE_HEAD, "gateway", "n"]
    names += [_FAILED_HEAD, *_FAILED_NAMES]
    names += [*_SHARE_NAMES, *(name for text in SOCKET_TEXTS for name in (text.name, *_ALIASES.get(text.name, ())))]
    names += [name for metric in METRICS.values() for name in (metric.noun, metric.heading)]
    known = {name.casefold() for name in (*names, *(text for metric in METRICS.values() for text in names_of(metric)))}
    for name in (*columns, *([sort.removeprefix("-")] if sort else [])):
        if name.casefold() not in known and find_key(name, keys) is None:
            near = suggest_name(name, names)
            hint = f"did you mean `{near}`?" if near else "name a swept key, a metric, or the head of a column"
            others = OTHER_WORDS.get(name.casefold()) or with_part(name, METRICS)
            hint = f"did you mean {', or '.join(f'`{text}`' for text in others)}?" if others else hint
            hint = OF_POINTS.get(name.casefold(), hint)
            raise InputError(f"no table has a column '{name}'", hint=hint)


def _settings(rows: Sequence[ResultRow]) -> list[_Filled]:
    names = short_names(list(rows[0].settings)) if rows else {}
    return [
        (TableColumn(name, (key,), is_key=True), tuple(row.settings[key] for row in rows))
        for key, name in names.items()
    ]


def _workloads(rows: Sequence[ResultRow]) -> list[_Filled]:
    several = len({row.workload for row in rows}) > 1
    return [(TableColumn("workload", is_key=True), tuple(row.workload for row in rows))] if several else []


def _metrics(rows: Sequence[ResultRow], *, every: bool, apart: bool) -> list[_Filled]:
    shown = list_metric_names((row.shown for row in rows), hidden=every)
    in_every_row = [_metric(name, rows) for name in IN_EVERY_ROW]
    if every or apart or _are_alike(rows, shown):
        return [*in_every_row, *(_metric(name, rows) for name in shown)]
    units = {name: unit_of(METRICS[name], rows) for name in shown}
    return [*in_every_row, (TableColumn(_ALL_METRICS), tuple(_all_metrics(row, units) for row in rows))]


def _are_alike(rows: Sequence[ResultRow], shown: Sequence[str]) -> bool:
    """Return whether each metric gets a column: if all workloads have the same metrics, or these are few.

    Of three kinds of workloads, each has a value in a third of the columns: most of a wide table would be empty.
    """
    kinds = {tuple(name for name in list_metric_names([row.metrics]) if not METRICS[name].of_failures) for row in rows}
    if len(kinds) == 1 or len(shown) <= _FEW_METRIC_COLUMNS:
        return True
    filled = sum(name in row.known for row in rows for name in shown)
    return len(shown) <= _MAX_METRIC_COLUMNS and 2 * filled >= len(shown) * len(rows)


def _metric(name: str, rows: Sequence[ResultRow], every: Sequence[ResultRow] = ()) -> _Filled:
    """Return the column of a metric of ``rows``, in the unit that it has in ``every`` row of a table."""
    metric = METRICS[name]
    unit = unit_of(metric, every or rows)
    cells = tuple(_metric_text(row, name, unit) for row in rows)
    return TableColumn(metric.heading_in(unit.name), names_of(metric), is_numeric=True), cells


def _all_metrics(row: ResultRow, units: Mapping[str, Unit]) -> str:
    """Return all metrics in one cell, each with its unit."""
    return ", ".join(
        f"{METRICS[name].noun} {_with_unit(_metric_text(row, name, unit), unit.name if name in row.metrics else '')}"
        for name, unit in units.items()
        if name in row.known
    )


def _with_unit(text: str, unit: str) -> str:
    """Return ``1.2 ± 0.1 ms``, and ``0.00 % (identical)``: the unit belongs to the number."""
    value, mark, rest = text.partition(f" {IDENTICAL}")
    return f"{value} {unit}".rstrip() + mark + rest


def _metric_text(row: ResultRow, name: str, unit: Unit) -> str:
    """Return the metric's value, with the number of runs that have it if some do not.

    Without a value it is ``never (0 of 5)``, which is longer than any time, or empty if it has no meaning.
    """
    metric, interval = METRICS[name], row.metrics.get(name)
    if interval is None and name in row.never:
        return Cell(f"{metric.display.never} (0 of {row.n})" if row.n > 1 else metric.display.never, math.inf)
    if interval is None:
        return ""
    text = unit.interval(interval) if metric.display.with_spread else unit.text(interval.mean)
    shown = text if interval.n == row.n or metric.in_every_row else f"{text} ({interval.n} of {row.n})"
    return Cell(shown, interval.mean)


def _failures(rows: Sequence[ResultRow]) -> list[_Filled]:
    """Return the column of failed connections, if one failed."""
    cells = tuple(row.failed_text for row in rows)
    return [(TableColumn(_FAILED_HEAD, _FAILED_NAMES), cells)] if any(cells) else []


def _socket_columns(rows: Sequence[ResultRow]) -> list[_Filled]:
    with_gateways = any(row.gateways for row in rows)
    gateways = [(TableColumn("gateway"), tuple(row.gateways for row in rows))] if with_gateways else []
    shares = (TableColumn(_SHARE_HEAD, _SHARE_NAMES), tuple(_format_shares(row.shares) for row in rows))
    first, *others = (
        (
            TableColumn(text.heading, (text.name, *_ALIASES.get(text.name, ()))),
            tuple(text.compute(row) for row in rows),
        )
        for text in SOCKET_TEXTS
    )
    return [first, *gateways, shares, *others]


def _format_shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())


def _runs(rows: Sequence[ResultRow], marks: Mapping[str, str]) -> _Filled:
    mark = (dict.fromkeys(marks[sentence] for sentence in (*row.warnings, *row.notes)) for row in rows)
    cells = tuple(Cell(" ".join((str(row.n), *some)), row.n) for row, some in zip(rows, mark, strict=True))
    return TableColumn("n", ("n",)), cells


def _unavailable_row(settings: Mapping[str, str], mark: str, columns: int) -> tuple[str, ...]:
    """Return the row of a point that cannot be run: its settings, and a mark in the last column, which counts runs."""
    return (*settings.values(), *[""] * (columns - len(settings) - 1), f"not available {mark}")


def missing_run_notes(rows: Sequence[ResultRow], names: Iterable[str]) -> Iterator[str]:
    """Yield what the words of cells mean whose runs have no value of these metrics, and why means lack such runs."""
    pairs = [(row, METRICS[name]) for name in names for row in rows if name in row.never]
    for word in dict.fromkeys(metric.display.never for _, metric in pairs):
        lacking = [(row, metric) for row, metric in pairs if metric.display.never == word]
        parts = dict.fromkeys(metric.noun for row, metric in lacking if metric.name in row.metrics)
        if any(metric.name not in row.metrics for row, metric in lacking):
            yield Note(f"{word}: not within the run.", about=rf"\b{word}\b")
        if parts:
            text = f"(m of n) of {', '.join(parts)}: the mean of m runs; in the others {word} within the run."
            yield Note(text, about=r"\([1-9]\d* of \d+\)")


def _notes(rows: Sequence[ResultRow], cells: Sequence[Sequence[str]], *, every: bool) -> list[str]:
    notes: list[str] = []
    if any(row.goodput_mbps.half_width is not None for row in rows):
        text = "Mean ± half width of the 95 % confidence interval (Student's t) over n seeds."
        notes.append(Note(text, about="±"))
    else:
        notes.append("One run each: no confidence interval. Use --repeats for one.")
    if any(RESPONSES in row.metrics and "subflow" in f"{row.mptcp} {row.gateways}" for row in rows):
        notes.append(RESPONSES_NOTE)
    notes += missing_run_notes(rows, list_metric_names((row.shown for row in rows), hidden=every))
    notes += later_outage_notes(rows)
    notes += overlap_notes(collect_beginnings(rows))
    # Not every metric of a row has a column.
    if any(IDENTICAL in cell for line in cells for cell in line):
        notes.append(IDENTICAL_NOTE)
    kernels: dict[str, set[str]] = {}
    for row in rows:
        kernels.setdefault(row.time, set()).add(row.kernel_name)
    where = (f"{kernel_kind(time)} {'; '.join(sorted(names))}; {clock_text(time)}." for time, names in kernels.items())
    notes.append(" ".join(("Goodput is payload at the receiver.", *where)))
    return notes


# The tables of results on a page: a table for each workload if these differ in their metrics, no wider than a page.
#
# So each metric has a column that can be sorted.

#: Columns with the same cell in all rows move below a table that is wider than this, in characters: about 1200 pixels.
_WIDEST = 140
_KEPT = ("n",)


def page_tables(
    title: str,
    rows: Sequence[ResultRow],
    changes: Sequence[str] = (),
    *,
    unavailable: Sequence[tuple[Mapping[str, str], str]] = (),
) -> tuple[Table, ...]:
    """Return the tables of an experiment on a page. The notes that are not about one of them are below the last."""
    table = result_table(title, rows, changes, apart=True, unavailable=unavailable)
    lacking = range(len(rows), len(table.rows))
    if are_alike(rows):
        parts = [table]
    else:
        parts = [
            _select_workload(table, name, [at for at, row in enumerate(rows) if row.workload == name], lacking)
            for name in dict.fromkeys(row.workload for row in rows)
        ]
    made = [_fit_table(counts_first(part), len(part.rows) - len(lacking)) for part in parts]
    tables = [replace(item, notes=notes) for item, notes in made]
    return (*tables[:-1], tables[-1].with_notes(*table.notes))


def _select_workload(table: Table, name: str, indices: Sequence[int], lacking: Sequence[int]) -> Table:
    """Return the rows of one workload, with the columns in which one of them has a value."""
    part = table.with_rows([*indices, *lacking])
    kept = [
        index
        for index, head in enumerate(table.headings)
        if head != "workload" and any(row[index] for row in part.rows[: len(indices)])
    ]
    return replace(part.with_columns(kept), title=f"Workload {name}")


def counts_first(table: Table) -> Table:
    """Return a result table for a page, whose last columns are behind a scroll bar: the last one beside the keys.

    It counts runs, refers to warnings, and says which points are not available.
    """
    last = len(table.columns) - 1
    return table.with_columns([*table.keys, last, *(index for index in range(last) if index not in table.keys)])


def narrow_tables(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return tables for a page, with constant columns in their notes if they are wide."""
    made = [(_fit_table(item, len(item.rows)), item.notes) for item in tables]
    return tuple(replace(table, notes=(*table_notes, *notes)) for (table, table_notes), notes in made)


def _fit_table(table: Table, counted: int) -> tuple[Table, tuple[str, ...]]:
    """Return a table without columns that say nothing more, and notes for these, if it is wide.

    The first ``counted`` rows count.
    """
    if fits(table, _WIDEST, wrapped=True):
        return table, ()
    # The runs are counted beside marks of warnings, which a note cannot have.
    narrow, notes = drop_constants(table, counted, _KEPT)
    narrow, more = _drop_copies(narrow, counted)
    return narrow, (*notes, *more)


def _drop_copies(table: Table, counted: int) -> tuple[Table, list[str]]:
    """Return the table without columns that repeat a column of keys, as the scheduler found that was asked for."""
    cells = [[row[index] for row in table.rows[:counted]] for index in range(len(table.columns))]
    keys = [cells[index] for index in table.keys] if counted > 1 else []
    copies = {index for index in range(len(cells)) if index not in table.keys and cells[index] in keys}
    heads = ", ".join(table.headings[index] for index in sorted(copies))
    kept = [index for index in range(len(cells)) if index not in copies]
    return table.with_columns(kept), [f"As asked for in all rows: {heads}."] if copies else []


# Results as CSV for other programs: one number per cell, in the unit of its metric, never rounded.

_Cell = str | int | float | None


def wide_csv(rows: Sequence[ResultRow], unavailable: Sequence[tuple[Mapping[str, str], str]] = ()) -> str:
    """Return a line per point and workload, with mean, half width of the 95 % interval and n of every metric.

    An empty cell is a value that does not exist; its n is 0 if the measured event did not occur within any run. The
    lines of points that are ``unavailable``, given with the reason, come last, with 0 runs.
    """
    keys, names = _keys(rows), _names(rows)
    paths = sorted({path for row in rows for path in row.shares})
    parts = [(name, f"{name}_ci95_half_width", f"{name}_n") for name in names]
    head = [*keys, "workload", "runs", *(column for part in parts for column in part)]
    head += [*(text.name for text in SOCKET_TEXTS), *(f"share {path}" for path in paths), "warnings"]
    lines = (
        [
            *(row.settings.get(key) for key in keys),
            row.workload,
            row.n,
            *(cell for name in names for cell in _interval(row, name)),
            *(text.compute(row) for text in SOCKET_TEXTS),
            *(row.shares.get(path) for path in paths),
            "; ".join(row.warnings),
        ]
        for row in rows
    )
    lacking = (
        [*(settings.get(key) for key in keys), "", 0, *[None] * (len(head) - len(keys) - 3), f"not available: {reason}"]
        for settings, reason in unavailable
    )
    return csv_text(head, [*lines, *lacking])


def long_csv(rows: Sequence[ResultRow]) -> str:
    """Return a line per point, workload and metric."""
    keys = _keys(rows)
    head = [*keys, "workload", "metric", "unit", "mean", "ci95_half_width", "n"]
    lines = (
        [*(row.settings.get(key) for key in keys), row.workload, name, METRICS[name].unit, *_interval(row, name)]
        for row in rows
        for name in _names(rows)
        if name in row.known
    )
    return csv_text(head, lines)


def _keys(rows: Sequence[ResultRow]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row.settings))


def _names(rows: Sequence[ResultRow]) -> list[str]:
    return [*IN_EVERY_ROW, *list_metric_names((row.known for row in rows), hidden=True)]


def _interval(row: ResultRow, name: str) -> tuple[_Cell, ...]:
    metric = row.metrics.get(name)
    if metric is None:
        return None, None, 0 if name in row.never else None
    return metric.mean, metric.half_width, metric.n
