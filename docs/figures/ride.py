# SPDX-License-Identifier: MIT
"""The figure of docs/first-scenario.md: the rates that two operators offer along the ride, and the goodput.

    python -m docs.figures.ride results/7-ride results/7-modem examples/ride docs/images/ride.svg

The two folders are those of the page's step 7; ``make docs`` calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.axes import Axes

from mptcplab.figure.canvas import COLOURS
from mptcplab.results import open_results

#: Payload's share of an Ethernet frame of 1514 bytes.
_PAYLOAD = 1448 / 1514
_SECONDS = 90
#: Tunnels of 7-ride.toml: begin, end, and the paths that are lost.
_TUNNELS = ((30, 35, (1, 2)), (60, 66, (1,)))
#: Runs of the first folder: protocol and scheduler; all begin on path 1.
_PANELS = (
    ("tcp", "default", "TCP, path 1"),
    ("mptcp", "default", "MPTCP, mainline's scheduler"),
    ("mptcp", "minrtt", "MPTCP, scheduler minrtt"),
)
_LAST = "MPTCP, minrtt, and a modem that reports the loss of its network"


def _offered(folder: Path) -> dict[int, list[float]]:
    """Return Mbit/s of payload by path and second, 0 in tunnels."""
    offered = {}
    for number in (1, 2):
        table = pl.read_csv(folder / f"operator{number}.csv", comment_prefix="#")
        rates = [_PAYLOAD * rate for rate in table["rate_mbit_s"]]
        gone = {second for begin, end, numbers in _TUNNELS if number in numbers for second in range(begin, end)}
        offered[number] = [0.0 if second in gone else rate for second, rate in enumerate(rates)]
    return offered


def _arrived(samples: pl.DataFrame) -> dict[int, list[float]]:
    """Return Mbit/s by path and second from one run's samples at the client, even between two samples."""
    arrived = {number: [0.0] * _SECONDS for number in (1, 2)}
    for (path, *_), subflow in samples.sort("time_ns").group_by("path", "local", "remote"):
        of_path = arrived[1 if "link1" in str(path) else 2]
        time_s, received = 0.0, 0
        for now_ns, total in subflow.select("time_ns", "bytes_received").iter_rows():
            middle = int((time_s + now_ns / 1e9) / 2)
            if middle < _SECONDS:
                of_path[middle] += 8e-6 * (total - received)
            time_s, received = now_ns / 1e9, total
    return arrived


def _panel(axes: Axes, title: str, offered: list[float], arrived: Mapping[int, list[float]]) -> None:
    axes.stairs(offered, color="0.45", linewidth=0.9, label="offered")
    below = [0.0] * _SECONDS
    for number, values in arrived.items():
        if sum(values):
            above = [low + value for low, value in zip(below, values, strict=True)]
            axes.stairs(above, baseline=below, fill=True, color=COLOURS[number - 1], label=f"arrived by path {number}")
            below = above
    for begin, end, numbers in _TUNNELS:
        axes.axvspan(begin, end, color="0.5", alpha=0.35 if len(numbers) > 1 else 0.18, linewidth=0)
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylim(0, 65)
    axes.set_ylabel("Mbit/s")


def _samples(results: Path) -> pl.DataFrame:
    return open_results(results).subflows.filter(pl.col("node") == "client")


def main(results: Path, modem: Path, traces: Path, file: Path) -> None:
    """Draw four panels, one per run."""
    plt.switch_backend("Agg")
    samples, offered = _samples(results), _offered(traces)
    both = [sum(values) for values in zip(*offered.values(), strict=True)]
    with rc_context({"svg.hashsalt": "mptcplab", "svg.fonttype": "none", "font.size": 9}):
        drawing, panels = plt.subplots(4, figsize=(7.2, 6.6), sharex=True, layout="constrained")
        for axes, (protocol, scheduler, title) in zip(panels, _PANELS, strict=False):
            mine = samples.filter(
                pl.col("transport.protocol") == protocol,
                pl.col("transport.scheduler") == scheduler,
                pl.col("workloads.*.via") == "link1",
            )
            _panel(axes, title, both if protocol == "mptcp" else offered[1], _arrived(mine))
        _panel(panels[-1], _LAST, both, _arrived(_samples(modem)))
        panels[0].set_xlim(0, _SECONDS)
        panels[-1].set_xlabel("s")
        panels[1].legend(loc="lower right", bbox_to_anchor=(1, 0.97), ncols=3, fontsize=8, frameon=False)
        drawing.savefig(file, metadata={"Date": None})
        plt.close(drawing)
    # matplotlib leaves blanks at the ends of lines, which git complains of.
    file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
