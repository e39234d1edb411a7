# SPDX-License-Identifier: MIT
"""``python -m bench``: measures everything, prints it, and writes tables, figures and a file about this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench import algorithms, curves, machines, overhead, present, ratios, sweep
from bench.extent import FULL, SMOKE, Extent
from mptcplab.errors import LabError, reason
from mptcplab.report.choosing import to_rich
from mptcplab.report.table import Table, write_table

PARTS = ("real-time", "ns3", "native", "overhead", "algorithms", "sweep", *curves.AXES)
_OVERHEAD_REPEATS = 3
"""A factor for the repeats of these runs, which are short."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder for tables and figures")
    parser.add_argument("--repeats", type=int, default=3, help="repeats of every measurement; default 3")
    parser.add_argument("--only", choices=PARTS, action="append", help="measure only this part; repeatable")
    parser.add_argument(
        "--smoke", action="store_true", help="run everything in its shortest form: a check, not a measurement"
    )
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="also write the file of this machine, bench/machines/NAME.json"
    )
    arguments = parser.parse_args()
    if arguments.repeats < 1:
        parser.error("--repeats: at least one")
    if arguments.write and (arguments.only or arguments.smoke):
        parser.error("--write: a machine's file has all parts in their full form; leave --only and --smoke out")
    if arguments.write and (arguments.write.suffix != ".json" or not arguments.write.parent.is_dir()):
        parser.error(f"--write: {arguments.write} is not a file bench/machines/NAME.json in an existing folder")
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out: {arguments.out} cannot be created: {reason(error)}")
    return arguments


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _ratios(parts: tuple[str, ...], repeats: int, extent: Extent) -> list[ratios.Ratio]:
    jobs: list[tuple[str, Callable[[], list[ratios.Ratio]]]] = [
        ("real-time", lambda: [ratios.real_time("plain", "flow", 40, repeats, _report, extent)]),
        ("real-time", lambda: [ratios.real_time("plain", "iperf3", 10, repeats, _report, extent)]),
        ("real-time", lambda: [ratios.real_time("Table 4.1's", "flow", 20, repeats, _report, extent)]),
        ("real-time", lambda: [ratios.real_time("Table 4.1's", "iperf3", 20, repeats, _report, extent)]),
        ("ns3", lambda: [ratios.against_ns3("100 Mbit/s", repeats, _report, extent)]),
        ("ns3", lambda: [ratios.against_ns3("1 Gbit/s", repeats, _report, extent)]),
        ("native", lambda: ratios.against_native(repeats, _report, extent)),
        ("sweep", lambda: [sweep.all_cpus(repeats, _report, extent), sweep.estimates(repeats, _report, extent)]),
    ]
    return [ratio for part, job in jobs if part in parts for ratio in job()]


def _measure(arguments: argparse.Namespace) -> None:
    parts = tuple(arguments.only or PARTS)
    extent: Extent = SMOKE if arguments.smoke else FULL
    folder: Path = arguments.out
    console = Console(highlight=False)

    def show(table: Table, name: str) -> None:
        write_table(table, folder, name)
        console.print(to_rich(table, console.width), *table.notes, sep="\n")

    before = os.getloadavg()[0]
    measured = _ratios(parts, arguments.repeats, extent)
    if measured:
        show(present.ratio_table(measured, (before, os.getloadavg()[0])), "ratios")
    if "overhead" in parts:
        stages = overhead.measure(_OVERHEAD_REPEATS * arguments.repeats, _report)
        measured.append(overhead.whole_run(stages))
        show(present.overhead_table(stages), "overhead")
    costs: list[algorithms.Cost] = []
    if "algorithms" in parts:
        costs = algorithms.measure(arguments.repeats, _report, extent)
        show(present.algorithm_table(costs), "algorithms")
    for name in curves.AXES:
        if name in parts:
            curve = curves.measure(name, arguments.repeats, _report, extent)
            show(present.curve_table(curve), f"cost-{name}")
            present.draw(curve, folder)
    for file in () if arguments.smoke else (folder / "machine.json", arguments.write):
        if file is not None:
            machines.write(file, measured, costs, load=(before, os.getloadavg()[0]))


def main() -> None:
    """Measure the requested parts."""
    arguments = _arguments()
    try:
        _measure(arguments)
    except LabError as error:
        hint = f"\n  hint: {error.hint}" if error.hint else ""
        print(f"python -m bench: {error.message}{hint}", file=sys.stderr)
        sys.exit(error.status)


if __name__ == "__main__":
    main()
