# SPDX-License-Identifier: MIT
"""``python -m validation.steering``: the smallest rate and the number of switches by policy, on held-out layouts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from validation.steering.layouts import HELD_OUT, Layout, draw, scenario
from validation.steering.page import LayoutRow, table

from mptcplab import api

#: The lines of each policy's table. Nobody steers: all terminals stay where their first subflow is.
POLICIES = {
    "none": 'policy = "none"',
    "ratio": 'policy = "ratio"\nthreshold = 1.05',
    "fair": 'policy = "fair"',
}
_HEAD = '[steering]\nat = "server"\nperiod = "1 s"\nfloor_dbm = -90.0\n'
#: The kernel lets only such a path manager set priorities of single connections.
_SERVER = '[hosts.server.transport]\npath_manager = "userspace"\nendpoints = "none"\n'


def measure(layout: Layout, policy: str, folder: Path, *, duration_s: int, repeats: int) -> LayoutRow:
    """Run a layout with one policy. :raises LabError: if a run fails."""
    out = folder / layout.name / policy
    out.mkdir(parents=True, exist_ok=True)
    steering = f"{_SERVER}{_HEAD}{POLICIES[policy]}"
    file = out / "scenario.toml"
    file.write_text(scenario(layout, duration_s=duration_s, repeats=repeats, steering=steering))
    return row_of(layout.seed, policy, api.run(api.load(file), out, jobs=1).document["rows"])


def row_of(layout: int, policy: str, rows: Sequence[Any]) -> LayoutRow:
    """Return the row of a run's result: the smallest of all terminals seed by seed."""
    rates = [row["goodput_mbps"]["values"] for row in rows]
    return LayoutRow(
        layout, policy, [min(of_seed) for of_seed in zip(*rates, strict=True)], rows[0]["metrics"]["switches"]["values"]
    )


def main() -> None:
    """Run the layouts of the command line with all policies, and print each as soon as it is measured."""
    parser = argparse.ArgumentParser(prog="python -m validation.steering", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/steering"), help="folder for scenarios and runs")
    parser.add_argument("--layouts", type=int, nargs="*", default=list(HELD_OUT), help="seeds of layouts")
    parser.add_argument("--duration", type=int, default=60, metavar="S", help="of each run, default 60")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each layout and policy, default 3")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the rows as JSON")
    arguments = parser.parse_args()
    rows = []
    for seed in arguments.layouts:
        layout = draw(seed)
        of_layout = [
            measure(layout, policy, arguments.out, duration_s=arguments.duration, repeats=arguments.repeats)
            for policy in POLICIES
        ]
        print(table(of_layout).splitlines()[-1], flush=True)
        rows += of_layout
    print(table(rows))
    if arguments.write:
        document = {"duration_s": arguments.duration, "rows": [asdict(row) for row in rows]}
        arguments.write.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
