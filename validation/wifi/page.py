# SPDX-License-Identifier: MIT
"""The tables of docs/wifi.md, from what ``python -m validation.wifi --write`` wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.docs.making.pages import table_of

FILE = Path(__file__).with_name("measured.json")
#: Rates with no more of the attempts are left out.
_SHOWN = 0.005
#: The head of a column, and the format of its cells.
_Column = tuple[str, str]
#: The columns of stations that always send, beside their model.
_CONTENTION: tuple[_Column, ...] = (
    ("stations", "{stations}"),
    ("goodput, Mbit/s", "{goodput_mbps:.2f}"),
    ("model", "{model_mbps:.2f}"),
    ("difference", "{difference:+.1f} %"),
    ("collision probability", "{collision:.3f}"),
    ("model", "{model_collision:.3f}"),
    ("slot by slot", "{slots_collision:.3f}"),
)


def rows_of(part: str) -> list[dict[str, Any]]:
    """Return the measurements of one part of the calibration."""
    rows: list[dict[str, Any]] = json.loads(FILE.read_text())[part]
    return rows


def _table(columns: Sequence[_Column], rows: Sequence[dict[str, Any]]) -> str:
    return table_of([head for head, _ in columns], [[cell.format(**row) for _, cell in columns] for row in rows])


def _beside_the_model(part: str) -> list[dict[str, Any]]:
    """Return the rows of a part with the difference of their goodput from the model, in percent."""
    return [{**row, "difference": 100 * (row["goodput_mbps"] / row["model_mbps"] - 1)} for row in rows_of(part)]


def saturation_table() -> str:
    """Return goodput and collision probability by number of stations, beside Bianchi's model."""
    columns = (
        ("mode", "{phy}"),
        *_CONTENTION,
    )
    return _table(columns, _beside_the_model("saturation"))


def anomaly_table() -> str:
    """Return the goodput of each station with and without a slow one."""
    columns = (
        ("mode", "{phy}"),
        ("stations", "{stations}"),
        ("each fast one", "{fast_mbps:.3f}"),
        ("the slow one", "{slow_mbps:.3f}"),
        ("model", "{model_mbps:.3f}"),
        ("model without it", "{alone_mbps:.3f}"),
        ("collisions that it survived", "{percent:.0f} %"),
    )
    return _table(columns, [{**row, "percent": 100 * row["survived"]} for row in rows_of("anomaly")])


def distance_table(part: str = "distance", rates: str = "attempts by rate, Mbit/s") -> str:
    """Return goodput, RSSI and rates by distance; ``rates`` is the head of the last column."""
    columns = (
        ("distance, m", "{metres}"),
        ("goodput, Mbit/s", "{goodput_mbps:.2f}"),
        ("RSSI, dBm", "{heard}"),
        ("path loss gives", "{model_rssi_dbm:.1f}"),
        (rates, "{shares}"),
    )
    rows = []
    for row in rows_of(part):
        attempts = sum(row["rates"].values())
        used = {rate.removeprefix("mcs"): count for rate, count in row["rates"].items() if count > _SHOWN * attempts}
        shares = [f"{rate}: {100 * count / attempts:.0f} %" for rate, count in used.items()]
        heard = "-" if row["rssi_dbm"] is None else f"{row['rssi_dbm']:.0f}"
        rows.append({**row, "heard": heard, "shares": ", ".join(shares) or "-"})
    return _table(columns, rows)


def aggregation_table() -> str:
    """Return goodput, collision probability and length of aggregates by number of stations, beside the model."""
    columns = (
        *_CONTENTION,
        ("MPDUs in an aggregate", "{mpdus:.1f}"),
        ("model", "{model_mpdus}"),
    )
    return _table(columns, _beside_the_model("aggregation"))


def cost_table() -> str:
    """Return what a frame costs this machine."""
    columns = (
        ("network", "{network}"),
        ("virtual time, s", "{virtual_s:.0f}"),
        ("wall time, s", "{wall_s:.1f}"),
        ("CPU time, s", "{cpu_s:.1f}"),
        ("frames in the air", "{attempts}"),
        ("CPU time per frame, us", "{us_per_attempt:.0f}"),
    )
    return _table(columns, rows_of("cost") + rows_of("scenarios"))


def cost_n_table() -> str:
    """Return what an exchange of 802.11n costs this machine, without wall times, which other work makes longer."""
    columns = (
        ("network", "{network}"),
        ("virtual time, s", "{virtual_s:.0f}"),
        ("CPU time, s", "{cpu_s:.1f}"),
        ("frames and aggregates in the air", "{attempts}"),
        ("CPU time for each, us", "{us_per_attempt:.0f}"),
    )
    return _table(columns, rows_of("cost-n"))
