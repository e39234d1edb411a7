# SPDX-License-Identifier: MIT
"""Fill tables whose rows come from a folder of results. The page's own head determines the columns.

A column is a swept key under its short name, or a value by its title in the lab's own tables, with the prefix
``WORKLOAD: `` where there are several: ``download: goodput Mbit/s``. The title may have another unit of the same
quantity, ``completion p95 ms``: the values are then in it, with the digits that the lab's own tables have. ``share of
LINK %`` is the payload that went over a link, and ``MPTCP in use`` and ``gateway`` are as recorded from the sockets.
``sum: ``, ``min: `` and ``max: `` are over the workloads of each run, and ``Jain's index`` is over their goodputs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.docs.making.pages import cells_of, table_of

from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.values import Unit, short_names, units
from mptcplab.report.table import interval_text, number
from mptcplab.stats import Interval, jain_index, mean_interval

#: The metric of each title, and the unit in which the title has its values.
_TITLES = {
    metric.heading_in(unit.name): (name, unit) for name, metric in METRICS.items() for unit in units(metric.unit)
}
#: Columns of text, as the sockets showed it, and their names in results.json.
_SEEN = {"MPTCP in use": "mptcp", "gateway": "gateways"}
_FAIRNESS = "Jain's index"
_OVER_WORKLOADS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "min": min,
    "max": max,
    _FAIRNESS: jain_index,
}
Row = Mapping[str, Any]


def document(folder: Path) -> dict[str, Any]:
    """Return a folder's results.json."""
    loaded: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return loaded


def fill(block: str, folder: Path) -> str:
    """Return the table with the same head, and one row for each point of the results in ``folder``.

    :raises ValueError: for a column that the results do not have.
    """
    head, rule = cells_of(block)[0], block.splitlines()[1]
    rows = document(folder)["rows"]
    names = {short: key for key, short in short_names(list(rows[0]["settings"])).items()}
    points: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        points.setdefault(tuple(row["settings"].values()), []).append(row)
    lines = [[_cell(column, of_point, names) for column in head] for of_point in points.values()]
    if not any(any(line) for line in lines):
        raise ValueError(f"{folder} has none of the columns {', '.join(head)}")
    return table_of(head, lines, rule)


def _cell(column: str, rows: Sequence[Row], names: Mapping[str, str]) -> str:
    if column in names:
        return str(rows[0]["settings"][names[column]])
    written = f"{_FAIRNESS}: goodput Mbit/s" if column == _FAIRNESS else column
    workload, _, title = written.rpartition(": ")
    if workload in _OVER_WORKLOADS:
        name, unit = _find_metric(title)
        of_workloads = [_measure(row, name)["values"] for row in rows]
        of_runs = [_OVER_WORKLOADS[workload](of_run) for of_run in zip(*of_workloads, strict=True)]
        return _text(mean_interval(of_runs), unit)
    wanted = [row for row in rows if not workload or row["workload"] == workload]
    if len(wanted) != 1:
        raise ValueError(f"{column!r}: {len(wanted)} workloads, of {len(rows)}")
    (row,) = wanted
    if title in _SEEN:
        return str(row.get(_SEEN[title], "")).replace("|", "\\|")
    if title.startswith("share of "):
        link = title.split()[2]
        return (
            f"{100 * sum(share for path, share in row['shares'].items() if link in path.replace('>', ' ').split()):.0f}"
        )
    name, unit = _find_metric(title)
    measurement = _measure(row, name)
    return (
        ""
        if measurement is None
        else _text(Interval(measurement["mean"], measurement["ci95_half_width"], measurement["n"]), unit)
    )


def _find_metric(title: str) -> tuple[str, Unit]:
    """Return the metric with this title, and the unit that the title names. :raises ValueError: if there is none."""
    if title not in _TITLES:
        raise ValueError(f"{title!r} is not a column of a table")
    return _TITLES[title]


def _measure(row: Row, name: str) -> Any:
    return row.get(name) or row["metrics"].get(name)


def _text(interval: Interval, unit: Unit) -> str:
    if unit.factor != 1:
        return unit.interval(interval)
    return number(interval.mean) if interval.half_width is None else interval_text(interval)
