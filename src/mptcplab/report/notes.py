# SPDX-License-Identifier: MIT
"""Notes below tables: few seeds, outages that begin later, workloads that overlap, paired differences."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.metrics.column import Metric
from mptcplab.metrics.named import unit_of
from mptcplab.metrics.paired import GOODPUT, PairedDifference, best_path_pairs, paired_rows
from mptcplab.metrics.registry import METRICS, headline_metric
from mptcplab.metrics.rows import INTERRUPTION, OUTAGE, ResultRow, later_outages
from mptcplab.metrics.stored import StoredRow
from mptcplab.metrics.values import Unit, point_text
from mptcplab.report.table import Note, number, spread_text
from mptcplab.units import Rate

# The note about results of few seeds, in the words of the report and of comparisons.

#: The quantile of Student's t for 95 % is 2.8 with 5 runs, 4.3 with 3 and 12.7 with 2; with many it is 2.0.
MIN_SEEDS = 5


def few_seeds_note(fewest: int) -> str:
    """Return the note for results whose smallest number of seeds, ``fewest``, is below :data:`MIN_SEEDS`."""
    return f"Intervals for n = {fewest} are wide (Student's t). Use at least {MIN_SEEDS} seeds for comparisons."


# The note below a table about outages that are not what a failure interrupts: they begin long after it.

#: Rows that the note names.
_NAMED = 6


def later_outage_notes(rows: Sequence[ResultRow]) -> Iterator[Note]:
    """Yield a note if rows have runs whose outage begins later than a second after the failure."""
    texts = {_name(row, rows): later for row in rows if (later := _late_outage_text(row))}
    if not texts:
        return
    named = [f"{name} ({text})" for name, text in list(texts.items())[:_NAMED]]
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    yield Note(
        "Outage: in some runs the longest one begins only later than a second after the failure, so it is not what the "
        f"failure interrupts: {'; '.join(named)}{more}. `--metric {METRICS[INTERRUPTION].noun}` of `compare` and "
        "`figure` is what begins with the failure.",
        about=rf"\b{METRICS[OUTAGE].noun}\b",
    )


def _name(row: ResultRow, rows: Sequence[ResultRow]) -> str:
    several = len({result_row.workload for result_row in rows}) > 1
    return ", ".join([*row.settings.values(), *([row.workload] if several or not row.settings else [])])


def _late_outage_text(row: ResultRow) -> str:
    """Return in how many runs of a row the outage begins late, and when; empty if in none."""
    late = later_outages(row)
    if not late:
        return ""
    low, high = f"{min(late):.1f}", f"{max(late):.1f}"
    return f"{len(late)} of {row.n} runs, {low if low == high else f'{low} to {high}'} s after it"


# Notes below a table whose workloads began while an earlier one was still running: in some runs, or unequally long.
#
# Where they do so in all runs and for the same part of their time, or in none, all rows are results of the same mix.

#: Parts of a workload's time that differ by less are alike.
_ALIKE = 0.1
_TOLD = 3
_CURE = "Let later workloads start later, or give each a scenario of its own."


@dataclass(frozen=True)
class Beginning:
    """The beginnings of a workload in the runs of a point: in how many of them each earlier workload was still running.

    ``parts`` are the parts of its time in which it was.
    """

    point: str
    workload: str
    runs: int
    during: Mapping[str, int]
    parts: Mapping[str, float]


def collect_beginnings(rows: Iterable[ResultRow]) -> list[Beginning]:
    """Return how the workloads of a result began."""
    return [_describe_beginning(row) for row in rows]


def compared_beginnings(rows: Iterable[tuple[str, StoredRow]]) -> list[Beginning]:
    """Return how the workloads of compared rows began, each with its side: A, B, or nothing."""
    return [_describe_beginning(row, side) for side, row in rows]


def _describe_beginning(row: ResultRow | StoredRow, side: str = "") -> Beginning:
    during = {
        earlier: len(overlap)
        for earlier, overlap in row.overlaps.items()
        # Who sweeps a start compares such overlaps on purpose.
        if not any(f"workloads.{name}.start" in row.settings for name in (row.workload, earlier, "*"))
    }
    point = f"{side} {', '.join(row.settings.values())}".strip()
    return Beginning(point, row.workload, len(row.seeds), during, row.overlap_parts)


def overlap_notes(notes: Sequence[Beginning]) -> Iterator[str]:
    """Yield a note if a workload began while an earlier one was still running, in some of its runs but not in all.

    And one if it did so in all, but for different parts of its time.
    """
    yield from _unequal_overlap_notes(notes)
    alike: dict[tuple[str, str], list[str]] = {}
    for later, earlier in dict.fromkeys(
        (beginning.workload, earlier) for beginning in notes for earlier in beginning.during
    ):
        points = _points([beginning for beginning in notes if beginning.workload == later], earlier)
        if points:
            alike.setdefault((earlier, points), []).append(later)
    if not alike:
        return
    told = [
        f"{_abbreviate(later, ', ')} began while {earlier} was still running in {points}"
        for (earlier, points), later in list(alike.items())[:_TOLD]
    ]
    more = f"; and {len(alike) - _TOLD} more overlaps" if len(alike) > _TOLD else ""
    yield (f"Overlap in some runs only: {'; and '.join(told)}{more}. Results differ by that, too. {_CURE}")


def _unequal_overlap_notes(notes: Sequence[Beginning]) -> Iterator[str]:
    told = []
    for later, earlier in dict.fromkeys(
        (beginning.workload, earlier) for beginning in notes for earlier in beginning.during
    ):
        beginnings = [beginning for beginning in notes if beginning.workload == later]
        if not all(
            beginning.during.get(earlier) == beginning.runs and earlier in beginning.parts for beginning in beginnings
        ):
            continue
        ordered = sorted(beginnings, key=lambda beginning: beginning.parts[earlier])
        low, high = ordered[0], ordered[-1]
        if high.parts[earlier] - low.parts[earlier] > _ALIKE:
            told.append(
                f"{earlier} was still running during {100 * low.parts[earlier]:.0f} % of {later} in {low.point} and "
                f"{100 * high.parts[earlier]:.0f} % in {high.point}"
            )
    if told:
        more = f"; and {len(told) - _TOLD} more overlaps" if len(told) > _TOLD else ""
        yield f"Overlap of different lengths: {'; '.join(told[:_TOLD])}{more}. Results differ by that, too. {_CURE}"


def _points(beginnings: Sequence[Beginning], earlier: str) -> str:
    """Return in which points a workload began during an earlier one; empty if in all runs, or in none."""
    counts = [(beginning, beginning.during.get(earlier, 0)) for beginning in beginnings]
    if all(count == beginning.runs for beginning, count in counts):
        return ""
    texts = [
        beginning.point
        if beginning.point and count == beginning.runs
        else f"{beginning.point} ({count} of {beginning.runs} runs)".strip()
        for beginning, count in counts
        if count
    ]
    if [beginning.point for beginning in beginnings] == [""]:
        return texts[0].strip("()") if texts else ""
    return _abbreviate(texts, "; ")


def _abbreviate(names: Sequence[str], between: str) -> str:
    more = f"{between}and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{between.join(names[:_NAMED])}{more}"


# Paired differences as notes of a table.

_PROTOCOL = "transport.protocol"
_MAX_LINES = 12


def paired_notes(rows: Sequence[ResultRow], folder: Path) -> list[str]:
    """Return the differences of MPTCP and TCP in what each workload is about, one line per point and workload.

    Where a zip has TCP on each path, MPTCP is compared with the best of them. ``folder`` has the results: a command
    shows the differences that are too many, and those on other paths. A note says where TCP had the slower path.
    """
    workloads: dict[str, dict[str, None]] = {}
    for row in rows:
        workloads.setdefault(row.workload, {}).update(dict.fromkeys(row.metrics))
    metrics = {workload: headline_metric(names).name for workload, names in workloads.items()}
    pairs = [pair for pair in paired_rows(rows, metrics) if pair.key == _PROTOCOL]
    units = {name: unit_of(METRICS[name], rows) for name in metrics.values()}
    lines = [_line(pair, units[pair.metric], several=len(metrics) > 1) for pair in pairs[:_MAX_LINES]]
    if len(pairs) > _MAX_LINES:
        command = _command(folder, metrics, _PROTOCOL, "tcp")
        lines.append(f"MPTCP - TCP: {len(pairs) - _MAX_LINES} more; all with `{command}`.")
    return [*lines, *(_slower_path_notes(rows) if pairs else ()), *_best_path_notes(rows, metrics, units, folder)]


def _best_path_notes(
    rows: Sequence[ResultRow], metrics: Mapping[str, str], units: Mapping[str, Unit], folder: Path
) -> Iterator[str]:
    """Yield MPTCP against the best single path, and the command that compares with each path."""
    pairs = best_path_pairs(rows, metrics)
    for pair in pairs[:_MAX_LINES]:
        sides = f"MPTCP - TCP on the best path ({pair.second} - {pair.first})"
        yield _line(pair, units[pair.metric], several=len(metrics) > 1, sides=sides)
    if pairs:
        more = f"{len(pairs) - _MAX_LINES} more, and each path" if len(pairs) > _MAX_LINES else "Each path"
        yield f"{more}: `{_command(folder, metrics, pairs[0].key, pairs[0].first)}`."


def _slower_path_notes(rows: Sequence[ResultRow]) -> list[str]:
    """Return a note for each path of TCP whose rate is lower than another path's, over which MPTCP sent."""
    rows_of_points: dict[tuple[tuple[tuple[str, str], ...], str], list[ResultRow]] = {}
    for row in rows:
        others = tuple((name, value) for name, value in row.settings.items() if name != _PROTOCOL)
        rows_of_points.setdefault((others, row.workload), []).append(row)
    notes: dict[str, None] = {}
    for together in rows_of_points.values():
        used = {path for row in together if not row.is_tcp for path, share in row.shares.items() if share > 0}
        for row in together:
            paths = [path for path in row.shares if path in row.path_rates]
            if row.is_tcp and len(row.shares) == len(paths) == 1:
                notes |= dict.fromkeys(_slower_path_note(paths[0], row.path_rates, used))
    return list(notes)


def _slower_path_note(path: str, rates: Mapping[str, float], used: Collection[str]) -> Iterator[str]:
    fastest = max((other for other in used if other in rates), key=lambda other: rates[other], default=path)
    if rates[fastest] > rates[path]:
        yield (
            f"TCP was on {path} ({Rate(int(rates[path]))}), and {fastest} has a higher rate "
            f"({Rate(int(rates[fastest]))}): TCP there may be better. `via` of the workload chooses the path of TCP."
        )


def _command(folder: Path, metrics: Mapping[str, str], key: str, reference: str) -> str:
    """Return the command that prints all differences from one value of a swept key."""
    words = ["mptcplab", "compare", str(folder), "--by", key, "--reference", reference]
    if set(metrics.values()) != {GOODPUT}:
        for workload, metric in metrics.items():
            words += ["--metric", f"{workload}:{metric}"]
    return shlex.join(words)


def _line(pair: PairedDifference, unit: Unit, *, several: bool, sides: str = "") -> str:
    metric = METRICS[pair.metric]
    # Mbit/s says that it is goodput.
    what = "" if pair.metric == GOODPUT else metric.noun
    where = point_text(pair.settings)
    parts = [sides or f"{pair.second.upper()} - {pair.first.upper()}", what, where, pair.workload if several else ""]
    change = f"{_difference(pair, metric, unit)}{_percent(pair, metric)}"
    return f"{', '.join(part for part in parts if part)}: {change}, paired over {pair.difference.n[0]} seeds."


def _difference(pair: PairedDifference, metric: Metric, unit: Unit) -> str:
    mean, half_width = pair.difference.mean, pair.difference.half_width
    if pair.metric != GOODPUT:
        return f"{unit.with_spread(mean, half_width, sign=True)} {unit.name}".strip()
    sign = "+" if mean >= 0 else ""
    return f"{sign}{number(mean)}{spread_text(half_width)} {metric.unit}"


def _percent(pair: PairedDifference, metric: Metric) -> str:
    """Return the difference in percent, of a metric that begins at zero: a MOS does not."""
    has = pair.percent is not None and metric.display.lowest == 0 and metric.unit != "%"
    return f" ({pair.percent:+.1f} %)" if has else ""
