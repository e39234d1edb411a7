# SPDX-License-Identifier: MIT
"""Results as CSV for other programs: one number per cell, in the unit of its metric, never rounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mptcplab.metrics.registry import BASIC, METRICS, columns
from mptcplab.metrics.rows import SOCKET_TEXTS, ResultRow
from mptcplab.report.table import csv_text

_Cell = str | int | float | None


def wide_csv(rows: Sequence[ResultRow], unavailable: Sequence[tuple[Mapping[str, str], str]] = ()) -> str:
    """Return a line per point and workload, with mean, half width of the 95 % interval and n of every metric.

    An empty cell is a value that does not exist; its n is 0 if what it waits for did not happen within any run. The
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
    return [*BASIC, *columns((row.known for row in rows), hidden=True)]


def _interval(row: ResultRow, name: str) -> tuple[_Cell, ...]:
    metric = row.metrics.get(name)
    if metric is None:
        return None, None, 0 if name in row.never else None
    return metric.mean, metric.half_width, metric.n
