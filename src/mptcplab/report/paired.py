# SPDX-License-Identifier: MIT
"""Paired differences as notes of a table."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mptcplab.metrics.column_units import unit_of
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.paired import GOODPUT, PairedDifference, best_path_pairs, paired_rows
from mptcplab.metrics.points import point_text
from mptcplab.metrics.registry import METRICS, headline_metric
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import Unit
from mptcplab.report.table import number, spread_text
from mptcplab.units import Rate

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
    rows_of_points: dict[tuple[Any, ...], list[ResultRow]] = {}
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
