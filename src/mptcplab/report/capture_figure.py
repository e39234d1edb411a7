# SPDX-License-Identifier: MIT
"""Data sequence over time, coloured by subflow, with reinjections marked. As large as thinned points are, at most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.capture.connection import Connection
from mptcplab.capture.summary import ConnectionSummary
from mptcplab.report.figure import COLOURS, plotting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_NAMED = 10
#: More points than these are one picture inside of an SVG: thousands of shapes make it slow to open.
_MOST_SHAPES = 1500

Points = list[tuple[int, int, int]]


def save_data_sequence(connection: Connection, summary: ConnectionSummary, start_ns: int, file: Path) -> None:
    """Draw ``connection`` into ``file``, whose suffix says how; equal captures give equal bytes.

    Times count from ``start_ns``. A direction without data is left out.
    """
    ways = [way for way in (0, 1) if connection.spaces[way].total] or [0]
    ends = min(summary.subflows, key=lambda subflow: subflow.number).ends
    with plotting() as plt:
        drawing, panels = plt.subplots(
            len(ways), 1, figsize=(8.0, 3.8 * len(ways)), sharex=True, squeeze=False, layout="constrained"
        )
        for axes, way in zip(panels[:, 0], ways, strict=True):
            _draw(axes, connection, summary, way, start_ns)
            axes.set_title(
                f"Connection {summary.number}: data from {ends[way]} to {ends[1 - way]}",
                loc="left",
                fontsize=11,
                fontweight="bold",
            )
        panels[-1, 0].set_xlabel("time since the first packet (s)")
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        drawing.savefig(file, dpi=160, metadata=metadata)
        plt.close(drawing)


def _draw(axes: Axes, connection: Connection, summary: ConnectionSummary, way: int, start_ns: int) -> None:
    names = _names(connection, summary)
    space = connection.spaces[way]
    unit, word = next(((unit, word) for unit, word in _UNITS if space.last >= unit), (1, "B"))
    points: dict[bool, Points] = {False: [], True: []}
    for (flow, is_again), thinned in space.points.items():
        points[is_again] += [(x - start_ns, y, names[flow][0]) for x, y in thinned.points]
    for is_again, found in points.items():
        # In the order of time, so that no subflow hides another one.
        found.sort()
        axes.scatter(
            [x / 1e9 for x, _, _ in found],
            [y / unit for _, y, _ in found],
            c=[COLOURS[number % len(COLOURS)] for _, _, number in found],
            marker="x" if is_again else "o",
            s=36 if is_again else 3,
            linewidths=1.4 if is_again else 0,
            zorder=3 if is_again else 2,
            rasterized=len(found) > _MOST_SHAPES,
        )
    _legend(axes, sorted(names.values()), summary, way, has_reinjections=bool(points[True]))
    axes.set_ylabel(f"data sequence ({word})")
    axes.grid(color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _names(connection: Connection, summary: ConnectionSummary) -> dict[int, tuple[int, str]]:
    """By the analysis's number of a flow: the place of its colour and its name."""
    members = sorted(connection.flows, key=lambda member: (member[0].start_ns, member[0].number))
    return {
        flow.number: (number, f"{subflow.number}: {_host(subflow.ends[0])} > {_host(subflow.ends[1])}")
        for number, ((flow, _), subflow) in enumerate(zip(members, summary.subflows, strict=True))
    }


def _host(end: str) -> str:
    return end.rpartition(":")[0]


def _legend(
    axes: Axes, names: list[tuple[int, str]], summary: ConnectionSummary, way: int, *, has_reinjections: bool
) -> None:
    for number, name in names[:_NAMED]:
        share = summary.subflows[number].directions[way].share
        label = f"subflow {name}" if share is None else f"subflow {name}, {share:.1%}"
        axes.plot([], [], linestyle="none", marker="o", markersize=5, color=COLOURS[number % len(COLOURS)], label=label)
    if len(names) > _NAMED:
        axes.plot([], [], linestyle="none", label=f"and {len(names) - _NAMED} more")
    if has_reinjections:
        again = f"reinjected ({summary.reinjected_bytes[way]:,} B)"
        axes.plot([], [], linestyle="none", marker="x", markersize=6, color="0.3", label=again)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
