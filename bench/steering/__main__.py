# SPDX-License-Identifier: MIT
"""``python -m bench.steering``: the smallest rate and the number of switches by policy, on held-out layouts."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.steering.layouts import HELD_OUT, Layout, drawn, scenario
from mptcplab.stats import Interval, mean_interval

#: The lines of each policy's table. Nobody steers: all terminals stay where their first subflow is.
POLICIES = {
    "none": 'policy = "none"',
    "ratio": 'policy = "ratio"\nthreshold = 1.05',
    "fair": 'policy = "fair"',
}
_HEAD = '[steering]\nat = "server"\nperiod = "1 s"\nfloor_dbm = -90.0\n'
#: The kernel lets only such a path manager set priorities of single connections.
_SERVER = '[hosts.server.transport]\npath_manager = "userspace"\nendpoints = "none"\n'


@dataclass(frozen=True)
class Row:
    """A layout under one policy: the smallest goodput of its terminals, and the number of switches."""

    layout: int
    policy: str
    smallest_mbps: Interval
    switches: Interval


def measured(layout: Layout, policy: str, folder: Path, *, duration_s: int, repeats: int) -> Row:
    """Run a layout with one policy. :raises RuntimeError: with the message of `mptcplab run` if it fails."""
    out = folder / layout.name / policy
    out.mkdir(parents=True, exist_ok=True)
    steering = f"{_SERVER}{_HEAD}{POLICIES[policy]}"
    file = out / "scenario.toml"
    file.write_text(scenario(layout, duration_s=duration_s, repeats=repeats, steering=steering))
    command = [sys.executable, "-m", "mptcplab", "run", str(file), "--out", str(out), "--jobs", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return row_of(layout.seed, policy, json.loads(done.stdout)["rows"])


def row_of(layout: int, policy: str, rows: Sequence[Any]) -> Row:
    """Return the row of a run's result: the smallest of all terminals seed by seed."""
    rates = [one["goodput_mbps"]["values"] for one in rows]
    switches = rows[0]["metrics"]["switches"]["values"]
    smallest = [min(of_seed) for of_seed in zip(*rates, strict=True)]
    return Row(layout, policy, mean_interval(smallest), mean_interval(switches))


def table(rows: Iterable[Row]) -> str:
    """Return the rows as Markdown."""
    lines = ["| layout | policy | smallest rate, Mbit/s | switches |", "| --- | --- | --- | --- |"]
    for row in rows:
        lines.append(f"| {row.layout} | {row.policy} | {_text(row.smallest_mbps)} | {_text(row.switches)} |")
    return "\n".join(lines)


def _text(value: Interval) -> str:
    half = "" if value.half_width is None else f" ± {value.half_width:.2f}"
    return f"{value.mean:.2f}{half}"


def main() -> None:
    """Run the layouts of the command line with all policies, and print a row as soon as it is measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.steering", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/steering"), help="folder for scenarios and runs")
    parser.add_argument("--layouts", type=int, nargs="*", default=list(HELD_OUT), help="seeds of layouts")
    parser.add_argument("--duration", type=int, default=60, metavar="S", help="of each run, default 60")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each layout and policy, default 3")
    arguments = parser.parse_args()
    rows = []
    for seed in arguments.layouts:
        layout = drawn(seed)
        for policy in POLICIES:
            rows.append(
                measured(layout, policy, arguments.out, duration_s=arguments.duration, repeats=arguments.repeats)
            )
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    (arguments.out / "table.md").write_text(f"{table(rows)}\n")


if __name__ == "__main__":
    main()
