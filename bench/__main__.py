# SPDX-License-Identifier: MIT
"""``python -m bench``: measure everything, print it, and write tables and figures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench import algorithms, curves, overhead, present, ratios, sweep
from mptcplab.report.files import write_table
from mptcplab.report.table import Table

_CURVES = ("rate", "flows", "hops")
_PARTS = ("real-time", "ns3", "native", "overhead", "algorithms", "sweep", *_CURVES)
_OVERHEAD_REPEATS = 3
"""Times the other repeats: these runs are short."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="where tables and figures go")
    parser.add_argument("--repeats", type=int, default=3, help="of every measurement; default 3")
    parser.add_argument("--only", choices=_PARTS, action="append", help="only this part; may be given several times")
    arguments = parser.parse_args()
    if arguments.repeats < 1:
        parser.error("--repeats: at least one")
    return arguments


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _ratios(parts: tuple[str, ...], repeats: int) -> list[ratios.Ratio]:
    jobs: list[tuple[str, Callable[[], list[ratios.Ratio]]]] = [
        ("real-time", lambda: [ratios.real_time("plain", "flow", 20, repeats, _say)]),
        ("real-time", lambda: [ratios.real_time("plain", "iperf3", 4, repeats, _say)]),
        ("real-time", lambda: [ratios.real_time("Table 4.1's", "flow", 20, repeats, _say)]),
        ("real-time", lambda: [ratios.real_time("Table 4.1's", "iperf3", 4, repeats, _say)]),
        ("ns3", lambda: [ratios.against_ns3("100 Mbit/s", repeats, _say)]),
        ("ns3", lambda: [ratios.against_ns3("1 Gbit/s", repeats, _say)]),
        ("native", lambda: ratios.against_native(repeats, _say)),
        ("sweep", lambda: [sweep.all_cpus(repeats, _say), sweep.estimates(repeats, _say)]),
    ]
    return [ratio for part, job in jobs if part in parts for ratio in job()]


def main() -> None:
    """Everything that was asked for."""
    arguments = _arguments()
    parts = tuple(arguments.only or _PARTS)
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)

    def show(table: Table, name: str) -> None:
        write_table(table, folder, name)
        console.print(table.to_rich(console.width), *table.notes, sep="\n")

    before = os.getloadavg()[0]
    measured = _ratios(parts, arguments.repeats)
    if measured:
        show(present.ratio_table(measured, (before, os.getloadavg()[0])), "ratios")
    if "overhead" in parts:
        show(present.overhead_table(overhead.measure(_OVERHEAD_REPEATS * arguments.repeats, _say)), "overhead")
    if "algorithms" in parts:
        show(present.algorithm_table(algorithms.measure(arguments.repeats, _say)), "algorithms")
    for name in _CURVES:
        if name in parts:
            curve = curves.measure(name, arguments.repeats, _say)
            show(present.curve_table(curve), f"cost-{name}")
            present.draw(curve, folder)


if __name__ == "__main__":
    main()
