# SPDX-License-Identifier: MIT
"""The tables of docs/wifi.md, from what ``python -m bench.wifi --write`` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("measured.json")


def _read(file: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def _table(head: str, rows: list[list[str]]) -> str:
    width = head.count("|") - 1
    lines = [head, "|" + " --- |" * width, *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def saturation_table(file: Path = FILE) -> str:
    """Return goodput and collision probability by number of stations, beside Bianchi's model."""
    rows = [
        [
            row["phy"],
            str(row["stations"]),
            f"{row['goodput_mbps']:.2f}",
            f"{row['model_mbps']:.2f}",
            f"{100 * (row['goodput_mbps'] / row['model_mbps'] - 1):+.1f} %",
            f"{row['collision']:.3f}",
            f"{row['model_collision']:.3f}",
            f"{row['slots_collision']:.3f}",
        ]
        for row in _read(file)["saturation"]
    ]
    head = "| mode | stations | goodput, Mbit/s | model | difference | collision probability | model | slot by slot |"
    return _table(head, rows)


def anomaly_table(file: Path = FILE) -> str:
    """Return the goodput of each station with and without a slow one."""
    rows = [
        [
            row["phy"],
            str(row["stations"]),
            f"{row['fast_mbps']:.3f}",
            f"{row['slow_mbps']:.3f}",
            f"{row['model_mbps']:.3f}",
            f"{row['alone_mbps']:.3f}",
            f"{100 * row['survived']:.0f} %",
        ]
        for row in _read(file)["anomaly"]
    ]
    head = "| mode | stations | each fast one | the slow one | model | model without it | collisions that it survived |"
    return _table(head, rows)


def distance_table(file: Path = FILE) -> str:
    """Return goodput, RSSI and rates by distance."""
    rows = []
    for row in _read(file)["distance"]:
        attempts = sum(row["rates"].values())
        rates = [f"{rate}: {100 * count / attempts:.0f} %" for rate, count in row["rates"].items() if count]
        heard = "-" if row["rssi_dbm"] is None else f"{row['rssi_dbm']:.0f}"
        goodput = f"{row['goodput_mbps']:.2f}"
        rows.append([str(row["metres"]), goodput, heard, f"{row['model_rssi_dbm']:.1f}", ", ".join(rates) or "-"])
    return _table("| distance, m | goodput, Mbit/s | RSSI, dBm | path loss gives | attempts by rate, Mbit/s |", rows)


def cost_table(file: Path = FILE) -> str:
    """Return what a frame costs this machine."""
    rows = [
        [
            row["network"],
            f"{row['virtual_s']:.0f}",
            f"{row['cpu_s']:.1f}",
            str(row["attempts"]),
            f"{row['us_per_attempt']:.0f}",
        ]
        for row in _read(file)["cost"]
    ]
    return _table("| network | virtual time, s | CPU time, s | frames in the air | CPU time per frame, us |", rows)
