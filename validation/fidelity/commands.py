# SPDX-License-Identifier: MIT
"""``python -m validation.fidelity.commands``: why a download over a path that comes back is slower on stock kernels.

The commands of an event take no time in the lab, so that an interface is up, and has its address and its routes, in the
same instant. On a stock kernel a program starts for each. Here the lab pauses before each command of an `up` event.
Where it then has what a stock kernel has, that is the cause. Finished runs are kept in the results folder.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tools.docs.making.pages import table_of
from validation.fidelity import sides
from validation.fidelity.cells import document
from validation.fidelity.execution import execute_points, last_point
from validation.fidelity.reason_programs import measure, rows_of_file

from mptcplab.campaign import record
from mptcplab.metrics.rows import rows_of
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.report.table import interval_text
from mptcplab.stats import mean_interval
from mptcplab.steps import Command

FILE = Path(__file__).with_name("commands.json")
SCENARIO, _METRIC = "ride/6-failure", "goodput_mbps"
#: Each lab kernel with the stock kernel of its version.
SIDES = {
    "virtual-7.2-slower": "stock-7.2-slower",
    "virtual-6.12-slower": "stock-6.12-slower",
    "virtual-6.1-slower": "stock-6.1-slower",
}
#: About what the emulated CPU takes to start a program.
_PAUSE_S = 0.02
_DIGITS = 3


@dataclass(frozen=True)
class CommandRow:
    """The goodput of one run of the lab with pauses."""

    side: str
    seed: int
    goodput_mbps: float


def pause() -> AbstractContextManager[object]:
    """Return a context in which plans pause before each command of an `up` event."""

    def slow(*words: Any, **named: Any) -> Plan:
        plan = compile_plan(*words, **named)
        events = (
            replace(event, commands=tuple(map(_delay_command, event.commands))) if event.kind == "up" else event
            for event in plan.events
        )
        return replace(plan, events=tuple(events))

    return patch.object(record, "compile_plan", slow)


def _delay_command(command: Command) -> Command:
    line = f"sleep {_PAUSE_S} && exec {shlex.join(command.argv)}"
    return replace(command, argv=("sh", "-c", line), starts=(*command.starts, "sleep", command.argv[0]))


def measure_runs(side: str, seeds: int, folder: Path) -> Iterator[CommandRow]:
    """Yield runs of the lab with pauses; finished runs are kept in ``folder``. :raises LabError: if one fails."""
    with pause():
        done = execute_points(last_point(SCENARIO, side), sides.SIDES[side].engine, seeds=seeds, folder=folder)
    for run in done:
        assert run.result is not None
        (row,) = rows_of([run.result])
        yield CommandRow(side, run.run.seed, round(row.goodput_mbps.mean, _DIGITS))


def table() -> str:
    """Return the goodput of each version in the lab, in the lab with pauses, and on its stock kernel."""
    lines = []
    for lab, stock in SIDES.items():
        goodputs = [row.goodput_mbps for row in rows_of_file(FILE, CommandRow) if row.side == lab]
        beside = document()["scenarios"][SCENARIO]["sides"].get(stock, {}).get("rows", ())
        of_stock = next((row["values"] for row in beside if row["metric"] == _METRIC), None)
        if goodputs and of_stock:
            cells = (interval_text(mean_interval(values)) for values in (of_stock[0], goodputs, of_stock[1]))
            runs = ", ".join(str(len(column)) for column in (of_stock[0], goodputs, of_stock[1]))
            lines.append([lab.split("-")[1], *cells, runs])
    head = ["Linux", "lab, Mbit/s", "lab with pauses, Mbit/s", "stock kernel, Mbit/s", "runs"]
    return table_of(head, lines)


def _measure(options: argparse.Namespace) -> Iterator[CommandRow]:
    for side in SIDES:
        yield from measure_runs(side, options.seeds, options.out / side)


def main() -> None:
    """Measure, and write the rows."""
    measure("validation.fidelity.commands", __doc__, _measure, seeds=8)


if __name__ == "__main__":
    main()
