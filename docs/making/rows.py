# SPDX-License-Identifier: MIT
"""Fill tables whose rows come from a folder of results. The page's own head determines the columns.

A column is a swept key under its short name, or a value by its title in the lab's own tables, with the prefix
``WORKLOAD: `` where there are several: ``download: goodput Mbit/s``. ``share of LINK %`` is the payload that went over
a link, and ``MPTCP in use`` and ``gateway`` are as recorded from the sockets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.making.pages import cells_of, table_of

from mptcplab.metrics.registry import METRICS
from mptcplab.report.table import interval_text, number, short_names
from mptcplab.stats import Interval

_TITLES = {metric.heading: name for name, metric in METRICS.items()}
#: Columns of text, as the sockets showed it, and their names in results.json.
_SEEN = {"MPTCP in use": "mptcp", "gateway": "gateways"}
Row = Mapping[str, Any]


def document(folder: Path) -> dict[str, Any]:
    """Return a folder's results.json."""
    loaded: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return loaded


def filled(block: str, folder: Path) -> str:
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
    workload, _, title = column.rpartition(": ")
    wanted = [row for row in rows if not workload or row["workload"] == workload]
    if len(wanted) != 1:
        raise ValueError(f"{column!r}: {len(wanted)} workloads, of {len(rows)}")
    (row,) = wanted
    if title in _SEEN:
        return str(row[_SEEN[title]]).replace("|", "\\|")
    if title.startswith("share of "):
        link = title.split()[2]
        return (
            f"{100 * sum(share for path, share in row['shares'].items() if link in path.replace('>', ' ').split()):.0f}"
        )
    if title not in _TITLES:
        raise ValueError(f"{column!r} is not a column of a table")
    name = _TITLES[title]
    found = row.get(name) or row["metrics"].get(name)
    return "" if found is None else _value(found)


def _value(found: Row) -> str:
    half = found["ci95_half_width"]
    interval = Interval(found["mean"], half, found["n"])
    return number(interval.mean) if half is None else interval_text(interval)
