# SPDX-License-Identifier: MIT
"""Tables and figures of docs/wifi.md, from bench/wifi/measured.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.wifi import page
from docs.figures.draw import Curve, draw_curves, save
from matplotlib import pyplot as plt
from matplotlib import rc_context

from mptcplab.figure.canvas import COLOURS
from mptcplab.stats import Interval

_IMAGES = Path(__file__).resolve().parents[1] / "images"
SATURATION = _IMAGES / "wifi-saturation.svg"
DISTANCE = _IMAGES / "wifi-distance.svg"
AGGREGATION = _IMAGES / "wifi-aggregation.svg"


def _curve(name: str, rows: Sequence[Mapping[str, Any]], key: str) -> Curve:
    return Curve(name, tuple((row["stations"], Interval(row[key], None, 1)) for row in rows))


def saturation() -> str:
    """Draw goodput by stations, and return the table."""
    rows = page.rows_of("saturation")
    curves = []
    for phy in dict.fromkeys(row["phy"] for row in rows):
        of_phy = [row for row in rows if row["phy"] == phy]
        curves += [_curve(f"{phy}, model", of_phy, "model_mbps"), _curve(f"{phy}, measured", of_phy, "goodput_mbps")]
    draw_curves(curves, ("stations that always send", "goodput in Mbit/s"), SATURATION)
    return page.saturation_table()


def aggregation() -> str:
    """Draw goodput of 802.11n by stations, and return the table."""
    rows = page.rows_of("aggregation")
    curves = [_curve("802.11n, model", rows, "model_mbps"), _curve("802.11n, measured", rows, "goodput_mbps")]
    draw_curves(curves, ("stations that always send", "goodput in Mbit/s"), AGGREGATION)
    return page.aggregation_table()


def distance() -> str:
    """Draw goodput and RSSI by distance, and return the table."""
    rows = page.rows_of("distance")
    heard = [row for row in rows if row["rssi_dbm"] is not None]
    plt.switch_backend("Agg")
    with rc_context({"svg.hashsalt": "mptcplab", "svg.fonttype": "none", "font.size": 10}):
        drawing, axes = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
        right = axes.twinx()
        metres = [row["metres"] for row in rows]
        axes.plot(metres, [row["goodput_mbps"] for row in rows], "-o", color=COLOURS[0], markersize=5)
        right.plot([row["metres"] for row in heard], [row["rssi_dbm"] for row in heard], "s", color=COLOURS[1])
        right.plot(metres, [row["model_rssi_dbm"] for row in rows], "-", color=COLOURS[1], linewidth=1)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("distance in m")
        axes.set_ylabel("goodput in Mbit/s (circles)")
        right.set_ylabel("RSSI in dBm (squares), path loss (line)")
        axes.grid(axis="y", color="0.9", linewidth=0.8)
        save(drawing, DISTANCE)
    return page.distance_table()
