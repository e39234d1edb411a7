# SPDX-License-Identifier: MIT
"""``python -m validation.wifi``: calibrates the radio medium (tools/radio) in the lab, against published models."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from validation.wifi import cost, experiments, ht
from validation.wifi.bianchi import DOT11B, DOT11G
from validation.wifi.experiments import Measure, measure_in

#: Virtual seconds per run, for some 20,000 frames of each mode.
_SECONDS_B = 40.0
_SECONDS_G = 10.0
#: For some 10,000 aggregates.
_SECONDS_N = 60.0
_SECONDS_DISTANCE = 5.0
_ANOMALY = (2, 3, 5, 10)

#: The part that runs scenarios, not networks of its own.
_SCENARIOS = "scenarios"
#: The part with networks and scenarios of 802.11n.
_COST_N = "cost-n"
_Part = Callable[[Measure], list[Any]]


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_each(rows: list[Any]) -> list[Any]:
    for row in rows:
        _report(str(row))
    return rows


PARTS: dict[str, _Part] = {
    "saturation": lambda run: experiments.all_saturated(run, _report, (_SECONDS_B, _SECONDS_G)),
    "anomaly": lambda run: _print_each(
        [
            experiments.anomaly(phy, n, run, seconds=seconds)
            for phy, seconds in ((DOT11B, _SECONDS_B), (DOT11G, _SECONDS_G))
            for n in _ANOMALY
        ]
    ),
    "distance": lambda run: _print_each(
        [experiments.distance(metres, run, seconds=_SECONDS_DISTANCE) for metres in experiments.DISTANCES_M]
    ),
    "aggregation": lambda run: ht.all_aggregated(run, _report, _SECONDS_N),
    "distance-n": lambda run: _print_each(
        [ht.distance_n(metres, run, seconds=_SECONDS_DISTANCE) for metres in ht.DISTANCES_N_M]
    ),
    "cost": lambda run: _print_each([cost.measure(name, run) for name in cost.NETWORKS]),
}


def main() -> None:
    """Measure all parts, or the named ones, and print them as JSON."""
    parser = argparse.ArgumentParser(prog="python -m validation.wifi", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/wifi"), help="folder for what the runs write")
    parser.add_argument(
        "--only", choices=[*PARTS, _SCENARIOS, _COST_N], action="append", help="measure only this part; repeatable"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of all draws; default 1")
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the parts into this JSON file")
    arguments = parser.parse_args()
    run = measure_in(arguments.out, seed=arguments.seed)
    measures: dict[str, Callable[[], list[Any]]] = {
        **{name: partial(part, run) for name, part in PARTS.items()},
        _SCENARIOS: lambda: _print_each(
            [cost.measured_scenario(name, arguments.out, seed=arguments.seed) for name in cost.SCENARIOS]
        ),
        _COST_N: lambda: _print_each(
            [
                *(cost.measure(name, run) for name in cost.NETWORKS_N),
                *(cost.measured_scenario(name, arguments.out, seed=arguments.seed) for name in cost.SCENARIOS_N),
            ]
        ),
    }
    parts = {name: [asdict(row) for row in measures[name]()] for name in arguments.only or measures}
    print(json.dumps(parts, indent=1))
    if arguments.write:
        old = json.loads(arguments.write.read_text()) if arguments.write.exists() else {}
        arguments.write.write_text(json.dumps({**old, **parts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
