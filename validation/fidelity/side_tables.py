# SPDX-License-Identifier: MIT
"""The tables of docs/fidelity.md that have several sides, each compared with its lab, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.docs.making.pages import table_of
from validation.fidelity.cells import Row, cell, lab_text, label, scenario_text, scenarios
from validation.fidelity.classes import FAR_SLOWER, SLOWER, SLOWEST
from validation.fidelity.place import place
from validation.fidelity.slower import MANY_TIMES, MOST_TIMES, TIMES
from validation.fidelity.totals import TOGETHER

#: The sides of the network as it is, with the heads of their columns.
AS_IT_IS = {"stock-7.2": "stock 7.2", "stock-6.12": "stock 6.12", "stock-6.1": "stock 6.1", "local": "local"}
#: The stock kernels on the slower network, with the heads of their columns.
ON_SLOWER = {
    SLOWER: "stock 7.2, slower",
    "stock-6.12-slower": "stock 6.12, slower",
    "stock-6.1-slower": "stock 6.1, slower",
}
_OLDER = {"stock-6.12-slower": "6.12, %", "stock-6.1-slower": "6.1, %"}
#: At least one of each study whose network has rates, and the first scenarios that a newcomer runs.
_WELL_KNOWN = (
    "two-paths",
    "transfer",
    "shared-bottleneck",
    "unequal-paths",
    "ipv6",
    "nguyen2014/shared",
    "subramani2018/table-4.2",
    "sriaimsard2019/table-4.1",
    "ito2016/rates",
    "gateways/bonding",
    "ride/1-two-paths",
)
#: The side with larger token buckets, which is compared with the lab with the same.
BUCKETS = "stock-7.2-burst"
#: The lab with the resolution of Debian's timers on a slower network.
TIMERS = "virtual-7.2-hz250-slower"
#: The older lab kernels, beside the default one, and the stock kernels of the same versions.
_LAB_OLDER = {
    "virtual-6.12-slower": "lab 6.12 against it, %",
    "stock-6.12-slower": "stock 6.12 against lab 6.12, %",
    "virtual-6.1-slower": "lab 6.1 against it, %",
    "stock-6.1-slower": "stock 6.1 against lab 6.1, %",
}
_LAB_OLDER_ONLY = ("virtual-6.12-slower", "virtual-6.1-slower")
#: The older stock kernels on networks so slow that no CPU limits them.
_OLDER_SLOWEST = {
    f"stock-{version}-{side}": f"{version}, {times} times slower, %"
    for version in ("6.12", "6.1")
    for side, times in (("slower", TIMES), ("far-slower", MANY_TIMES), ("slowest", MOST_TIMES))
}
#: Linux 6.1 with a larger part of receive buffers as window.
WINDOW = "stock-6.1-window-slower"
_HEADS = {
    "duration_s": "duration, s",
    "completion_mean_s": "mean completion, s",
    "response_p50_ms": "median response, ms",
    "gap_s": "gap, s",
    "mos": "MOS",
}
#: In place of a side: the lab's value.
_LAB = ""
#: Settings, workload and metric of a row.
_Key = tuple[str, str, str]


@dataclass(frozen=True)
class SideTable:
    """A table with a column for each of ``columns``: the sides with their heads, and the lab's value under ``""``.

    ``deciding`` are the sides whose rows the table has, and the first of which gives the lab's value; the others only
    add to them. Without any, all sides decide. ``only`` are the scenarios of an excerpt, in their order.
    Where there are more than ``most_flows``, the table has the row of all together. With ``is_outside`` it has only the
    rows in which a deciding side is shown to be outside the margin.
    """

    columns: Mapping[str, str]
    metrics: tuple[str, ...] = ("goodput_mbps",)
    deciding: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    most_flows: int | None = None
    is_outside: bool = False

    def text(self) -> str:
        """Return the table, which names the metric of each row if it has several."""
        several = len(self.metrics) > 1
        head = ["scenario", "workload", *(["metric"] if several else []), *self.columns.values()]
        lines = []
        compared = scenarios()
        for name in self.only or compared:
            for key, rows_of_key in self.rows(compared.get(name, {})).items():
                metric = [_HEADS[key[2]]] if several else []
                cells = (self._cell(side, rows_of_key) for side in self.columns)
                lines.append([scenario_text(name, key[0]), key[1], *metric, *cells])
        return table_of(head, lines)

    def rows(self, sides: Mapping[str, dict[str, Any]]) -> dict[_Key, dict[str, Row]]:
        """Return the rows of all sides by settings, workload and metric, the deciding ones first."""
        named = [side for side in self.columns if side != _LAB]
        deciding = self.deciding or named
        rows: dict[_Key, dict[str, Row]] = {}
        deciding_rows = (row for side in deciding for row in self._rows_of(sides, side))
        wanted = {_key(row) for row in deciding_rows if not self.is_outside or place(row) == "!"}
        for side in (*deciding, *(side for side in named if side not in deciding)):
            for row in self._rows_of(sides, side):
                if (key := _key(row)) in wanted:
                    rows.setdefault(key, {})[side] = row
        sums = {key: rows for key, rows in rows.items() if key[1] == TOGETHER}
        return sums if sums and self.most_flows is not None and len(rows) > self.most_flows else rows

    def _rows_of(self, sides: Mapping[str, dict[str, Any]], side: str) -> list[Row]:
        return [row for row in sides.get(side, {}).get("rows", ()) if row["metric"] in self.metrics]

    def _cell(self, side: str, rows: Mapping[str, Row]) -> str:
        if side == _LAB:
            return lab_text(next(iter(rows.values())))
        return cell(rows[side]) if side in rows else ""


def _key(row: Row) -> _Key:
    return label(row["settings"]), row["workload"], row["metric"]


_SHARES, _RETRANSMISSIONS, _TIMES = ("share_percent",), ("retransmitted_percent",), tuple(_HEADS)
_TABLES = {
    "fidelity-goodput": SideTable({_LAB: "lab, Mbit/s", **AS_IT_IS}),
    "fidelity-shares": SideTable({_LAB: "lab, %", **AS_IT_IS}, _SHARES),
    "fidelity-times": SideTable({_LAB: "lab", **AS_IT_IS}, _TIMES),
    "fidelity-retransmissions": SideTable({_LAB: "lab 7.2", **AS_IT_IS}, _RETRANSMISSIONS),
    "fidelity-excerpt": SideTable(
        {_LAB: "lab 7.2, Mbit/s", SLOWER: "stock 7.2, %", **_OLDER}, deciding=(SLOWER,), only=_WELL_KNOWN
    ),
    "fidelity-slower": SideTable(
        {
            "stock-7.2": "network as it is, %",
            _LAB: "lab 7.2, slower, Mbit/s",
            SLOWER: "slower, %",
            "stock-6.12-slower": "6.12, slower, %",
            "stock-6.1-slower": "6.1, slower, %",
        },
        deciding=tuple(ON_SLOWER),
    ),
    "fidelity-slower-shares": SideTable({_LAB: "lab, slower, %", **ON_SLOWER}, _SHARES),
    "fidelity-slower-times": SideTable({_LAB: "lab, slower", **ON_SLOWER}, _TIMES),
    "fidelity-slower-retransmissions": SideTable({_LAB: "lab, slower", **ON_SLOWER}, _RETRANSMISSIONS),
    "fidelity-buckets": SideTable(
        {"stock-7.2": "buckets of a packet, %", _LAB: "lab with 15 kB, Mbit/s", BUCKETS: "buckets of 15 kB, %"},
        deciding=(BUCKETS,),
    ),
    "fidelity-slowest": SideTable(
        {
            side: f"{times} times slower, %"
            for side, times in zip((SLOWER, FAR_SLOWER, SLOWEST), (TIMES, MANY_TIMES, MOST_TIMES), strict=True)
        },
        deciding=(FAR_SLOWER, SLOWEST),
        most_flows=8,
    ),
    "fidelity-lab-older": SideTable(
        {_LAB: "lab 7.2, Mbit/s", **_LAB_OLDER},
        deciding=_LAB_OLDER_ONLY,
        most_flows=8,
        is_outside=True,
    ),
    "fidelity-lab-older-shares": SideTable(
        {_LAB: "lab 7.2, %", **{side: head.replace("%", "points") for side, head in _LAB_OLDER.items()}},
        _SHARES,
        deciding=_LAB_OLDER_ONLY,
        is_outside=True,
    ),
    "fidelity-older-slowest": SideTable(
        _OLDER_SLOWEST,
        deciding=tuple(side for side in _OLDER_SLOWEST if side not in ON_SLOWER),
        most_flows=8,
    ),
    "fidelity-older-outside": SideTable(
        {SLOWER: "7.2, %", **_OLDER},
        deciding=tuple(_OLDER),
        most_flows=8,
        is_outside=True,
    ),
    "fidelity-older-window": SideTable(
        {
            _LAB: "lab 7.2, Mbit/s",
            "virtual-6.1-slower": "lab 6.1 against it, %",
            "stock-6.1-slower": "stock 6.1 against lab 6.1, %",
            WINDOW: "stock 6.1 with three quarters against it, %",
        },
        deciding=(WINDOW,),
    ),
    "fidelity-timers": SideTable(
        {SLOWER: "stock 7.2, %", _LAB: "lab, slower, Mbit/s", TIMERS: "lab with a resolution of 4 ms, %"},
        deciding=(TIMERS,),
    ),
    "fidelity-timer-shares": SideTable(
        {SLOWER: "stock 7.2, points", _LAB: "lab, slower, %", TIMERS: "lab with a resolution of 4 ms, points"},
        _SHARES,
        deciding=(TIMERS,),
    ),
}
TABLES: dict[str, Callable[[], str]] = {name: table.text for name, table in _TABLES.items()}
