# SPDX-License-Identifier: MIT
"""``python -m validation.fidelity.bursts``: why small messages take other paths on Linux 6.1.

Scenarios run on the lab kernel 7.2 with one of 6.1's rules, which a patch puts back. Where the shares of paths become
6.1's with it, the rule is the cause. The kernel is built if it is not there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tools.docs.making.pages import table_of
from validation.fidelity import forms
from validation.fidelity.cells import document
from validation.fidelity.execution import execute_points, last_point
from validation.fidelity.reason_programs import measure, rows_of_file

from mptcplab.kernel.build import BuildOptions, build_kernel
from mptcplab.metrics.rows import rows_of

FILE = Path(__file__).with_name("bursts.json")
PATCH = Path(__file__).parents[2] / "kernel/experiments/keep-subflow.patch"
#: Scenarios with few data at a time, whose paths are others on 6.1.
SCENARIOS = ("requests", "gateways/bonding-messages")
_OLDER, _LAB = ("virtual-6.1-slower", "stock-6.1-slower"), "virtual-7.2-slower"
_DIGITS = 2


@dataclass(frozen=True)
class BurstRow:
    """The part of a workload's payload that crosses a path, in percent, mean of the seeds, with the older rule."""

    scenario: str
    workload: str
    share_percent: float
    seeds: int


def measure_shares(name: str, kernel: Path, seeds: int, folder: Path) -> Iterator[BurstRow]:
    """Yield the shares of a scenario's short form on a lab kernel; finished runs are kept in ``folder``.

    :raises LabError: if a run fails.
    """
    points = [
        replace(point, scenario=point.scenario.model_copy(update={"kernel": str(kernel)}))
        for point in last_point(name, _LAB)
    ]
    done = execute_points(points, "virtual", seeds=seeds, folder=folder)
    for row in rows_of([run.result for run in done if run.result is not None]):
        for path, share in (row.to_json()["shares"] or {}).items():
            yield BurstRow(name, f"{row.workload} over {path}", round(100 * share, _DIGITS), seeds)


def table() -> str:
    """Return the shares in the lab, with Linux 7.2 and 6.1, on stock 6.1, and in the lab with the rule of 6.1."""
    lines = []
    for row in rows_of_file(FILE, BurstRow):
        of_lab, of_stock = (_share(row, side) for side in _OLDER)
        if of_lab is not None and of_stock is not None:
            shares = (*of_lab, of_stock[1], row.share_percent)
            lines.append([f"`{row.scenario}`", row.workload, *(f"{share:.1f}" for share in shares)])
    head = ["scenario", "workload", "lab 7.2, %", "lab 6.1, %", "stock 6.1, %", "lab 7.2 with the rule of 6.1, %"]
    return table_of(head, lines)


def _share(row: BurstRow, side: str) -> tuple[float, float] | None:
    """Return the share of a row on the lab that ``side`` is compared with, and on ``side``; None if it has none."""
    rows = document()["scenarios"][row.scenario]["sides"].get(side, {}).get("rows", ())
    of_row = (entry for entry in rows if (entry["workload"], entry["metric"]) == (row.workload, "share_percent"))
    return next(((entry["a"], entry["b"]) for entry in of_row), None)


def _measure(options: argparse.Namespace) -> Iterator[BurstRow]:
    kernel = build_kernel(options=BuildOptions(patches=[PATCH])).path
    for name in SCENARIOS:
        yield from measure_shares(name, kernel, options.seeds, options.out / name)


def main() -> None:
    """Measure, and write the rows."""
    measure("validation.fidelity.bursts", __doc__, _measure, seeds=forms.SEEDS)


if __name__ == "__main__":
    main()
