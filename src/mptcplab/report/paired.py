# SPDX-License-Identifier: MIT
"""Paired differences as notes of a table."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from mptcplab.metrics.column_units import unit_of
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.paired import GOODPUT, PairedDifference, paired_rows
from mptcplab.metrics.points import point_text
from mptcplab.metrics.registry import METRICS, headline_metric
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import Unit
from mptcplab.report.table import number, spread_text

_PROTOCOL = "transport.protocol"
_MAX_LINES = 12


def paired_notes(rows: Sequence[ResultRow], folder: Path) -> list[str]:
    """Return the differences of MPTCP and TCP in what each workload is about, one line per point and workload.

    ``folder`` has the results: a command shows those that are too many, and those of other keys.
    """
    workloads: dict[str, dict[str, None]] = {}
    for row in rows:
        workloads.setdefault(row.workload, {}).update(dict.fromkeys(row.metrics))
    metrics = {workload: headline_metric(names).name for workload, names in workloads.items()}
    pairs = [pair for pair in paired_rows(rows, metrics) if pair.key == _PROTOCOL]
    units = {name: unit_of(METRICS[name], rows) for name in metrics.values()}
    lines = [_line(pair, units[pair.metric], several=len(metrics) > 1) for pair in pairs[:_MAX_LINES]]
    if len(pairs) > _MAX_LINES:
        lines.append(f"MPTCP - TCP: {len(pairs) - _MAX_LINES} more; all with `{_command(folder, metrics)}`.")
    return lines


def _command(folder: Path, metrics: Mapping[str, str]) -> str:
    """Return the command that prints all differences."""
    words = ["mptcplab", "compare", str(folder), "--by", _PROTOCOL, "--reference", "tcp"]
    if set(metrics.values()) != {GOODPUT}:
        for workload, metric in metrics.items():
            words += ["--metric", f"{workload}:{metric}"]
    return shlex.join(words)


def _line(pair: PairedDifference, unit: Unit, *, several: bool) -> str:
    metric = METRICS[pair.metric]
    # Mbit/s says that it is goodput.
    what = "" if pair.metric == GOODPUT else metric.noun
    where = point_text(pair.settings)
    parts = [f"{pair.second.upper()} - {pair.first.upper()}", what, where, pair.workload if several else ""]
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
