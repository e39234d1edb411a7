# SPDX-License-Identifier: MIT
"""The figure of a capture: data sequence over time, coloured by subflow, with reinjections marked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.capture.connection import MptcpConnection
from mptcplab.capture.summary import ConnectionSummary
from mptcplab.figure.canvas import COLOURS, open_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_NAMED = 10
#: More points than this become one bitmap inside the SVG: thousands of shapes make it slow to open.
_MAX_SHAPES = 1500

Points = list[tuple[int, int, int]]


def save_data_sequence(connection: MptcpConnection, summary: ConnectionSummary, start_ns: int, file: Path) -> None:
    """Draw ``connection`` into ``file``, whose suffix selects the format; equal captures give equal bytes.

    Times count from ``start_ns``. A direction without data is left out, and beside another one a single packet's.
    """
    senders = _senders(connection)
    ends = min(summary.subflows, key=lambda subflow: subflow.number).ends
    with open_pyplot() as plt:
        drawing, panels = plt.subplots(
            len(senders), 1, figsize=(8.0, 3.8 * len(senders)), sharex=True, squeeze=False, layout="constrained"
        )
        for axes, sender in zip(panels[:, 0], senders, strict=True):
            _draw(axes, connection, summary, sender, start_ns)
            axes.set_title(
                f"Connection {summary.number}: data from {ends[sender]} to {ends[1 - sender]}",
                loc="left",
                fontsize=11,
                fontweight="bold",
            )
        panels[-1, 0].set_xlabel("time since the first packet (s)")
        metadata = {"Date": None} if file.suffix == ".svg" else {"Software": None}
        drawing.savefig(file, dpi=160, metadata=metadata)
        plt.close(drawing)


def _senders(connection: MptcpConnection) -> list[int]:
    """Return the sides whose data is drawn: of a single point, there is nothing to see."""
    points = [{point for some in space.points.values() for point in some.points} for space in connection.spaces]
    for least in (2, 1):
        numbers = [side for side in (0, 1) if len(points[side]) >= least]
        if numbers:
            return numbers
    return [0]


def _draw(axes: Axes, connection: MptcpConnection, summary: ConnectionSummary, sender: int, start_ns: int) -> None:
    names = _names(connection, summary)
    space = connection.spaces[sender]
    unit, symbol = next(((unit, symbol) for unit, symbol in _UNITS if space.last >= unit), (1, "B"))
    points: dict[bool, Points] = {False: [], True: []}
    for (flow, is_reinjected), thinned in space.points.items():
        points[is_reinjected] += [(x - start_ns, y, names[flow][0]) for x, y in thinned.points]
    for is_reinjected, point in points.items():
        # In time order, so that no subflow hides another.
        point.sort()
        axes.scatter(
            [x / 1e9 for x, _, _ in point],
            [y / unit for _, y, _ in point],
            c=[COLOURS[number % len(COLOURS)] for _, _, number in point],
            marker="x" if is_reinjected else "o",
            s=36 if is_reinjected else 3,
            linewidths=1.4 if is_reinjected else 0,
            zorder=3 if is_reinjected else 2,
            rasterized=len(point) > _MAX_SHAPES,
        )
    _legend(axes, sorted(names.values()), summary, sender, has_reinjections=bool(points[True]))
    axes.set_ylabel(f"data sequence ({symbol})")
    axes.grid(color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _names(connection: MptcpConnection, summary: ConnectionSummary) -> dict[int, tuple[int, str]]:
    """Return the index of the colour and the name of each flow, by its number in the analysis."""
    members = sorted(connection.flows, key=lambda member: (member[0].start_ns, member[0].number))
    return {
        flow.number: (number, f"{subflow.number}: {_host(subflow.ends[0])} > {_host(subflow.ends[1])}")
        for number, ((flow, _), subflow) in enumerate(zip(members, summary.subflows, strict=True))
    }


def _host(end: str) -> str:
    return end.rpartition(":")[0]


def _legend(
    axes: Axes, names: list[tuple[int, str]], summary: ConnectionSummary, sender: int, *, has_reinjections: bool
) -> None:
    for number, name in names[:_NAMED]:
        share = summary.subflows[number].directions[sender].share
        label = f"subflow {name}" if share is None else f"subflow {name}, {share:.1%}"
        axes.plot([], [], linestyle="none", marker="o", markersize=5, color=COLOURS[number % len(COLOURS)], label=label)
    if len(names) > _NAMED:
        axes.plot([], [], linestyle="none", label=f"and {len(names) - _NAMED} more")
    if has_reinjections:
        reinjected = f"reinjected ({summary.reinjected_bytes[sender]:,} B)"
        axes.plot([], [], linestyle="none", marker="x", markersize=6, color="0.3", label=reinjected)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
