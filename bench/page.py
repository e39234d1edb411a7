# SPDX-License-Identifier: MIT
"""``python -m bench.page``: writes the numbers of bench/README.md from the files in bench/machines/.

``--check`` writes nothing, and exits with status 1 if the page is out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import machines
from bench.machines import MeasuredMachine, Value

PAGE = Path(__file__).parent / "README.md"
_TARGETS = {
    "real-time-plain-flow": ("times real time, MPTCP over two plain 100 Mbit/s paths, `flow`", ">= 40"),
    "real-time-plain-iperf3": ("the same with `iperf3`", ">= 10"),
    "real-time-table-4.1-flow": ("times real time, the test bed of Subramani's Table 4.1, `flow`", ">= 20"),
    "real-time-table-4.1-iperf3": ("the same with `iperf3`", ">= 20"),
    "real-time-one-router-flow": (
        "times real time, the bench's own form of that test bed (no longer run), `flow`",
        ">= 20",
    ),
    "real-time-one-router-iperf3": ("the same with `iperf3`", ">= 4"),
    "ns3-100-mbit": ("payload per CPU second against ns-3, 100 Mbit/s", ">= 12"),
    "ns3-1000-mbit": ("the same, 1 Gbit/s", ">= 15"),
    "native-payload": ("payload per CPU second against the native kernel", ">= 0.5"),
    "native-packets": ("packets x hops per CPU second against the native kernel", ">= 0.5"),
    "whole-run-wall-s": ("a whole run, wall seconds (no ratio)", "<= 0.7"),
    "sweep-cpus": ("CPU time by wall time x CPUs, a sweep of 500 runs of 0.1 s", ">= 0.9"),
    "sweep-estimates": ("estimated remaining time, by the real one", "0.5 to 2"),
}
"""The description and target of each ratio by its key, in the order of the table."""


def ratio_table(results: Sequence[MeasuredMachine]) -> str:
    """Return the values of all machines, the range of medians over machines, and on how many the target was met."""
    head = [
        "ratio",
        *(f"machine {machine.name.upper()}" for machine in results),
        "range over machines",
        "target",
        "met",
    ]
    rows = [_row(key, results) for key in _TARGETS if any(machine.values.get(key) for machine in results)]
    return _markdown(head, rows)


def _row(key: str, results: Sequence[MeasuredMachine]) -> list[str]:
    title, target = _TARGETS[key]
    by_machine = [machine.values.get(key, []) for machine in results]
    medians = [value.median for values in by_machine for value in values]
    span = f"{min(medians):g}" if len(set(medians)) == 1 else f"{min(medians):g} to {max(medians):g}"
    measured = [values for values in by_machine if values]
    met = sum(all(meets_target(value.median, target) for value in values) for values in measured)
    cells = ["; ".join(map(_text, values)) for values in by_machine]
    return [title, *cells, span, target, f"{met} of {len(measured)}"]


def meets_target(value: float, target: str) -> bool:
    """Return whether ``value`` meets a target such as ``>= 20``, ``<= 0.7`` or ``0.5 to 2``."""
    if " to " in target:
        low, high = map(float, target.split(" to "))
        return low <= value <= high
    sign, bound = target.split()
    return value >= float(bound) if sign == ">=" else value <= float(bound)


def _text(value: Value) -> str:
    if value.min is None or value.max is None:
        text = f"{value.median:g}"
    else:
        text = f"{value.median:g} ({value.min:g} to {value.max:g})"
    details = [f"n = {value.n}"] if value.n is not None else []
    details += [value.note] if value.note else []
    return f"{text}, {', '.join(details)}" if details else text


def algorithm_table(results: Sequence[MeasuredMachine]) -> str:
    """Return the costs of congestion controls and schedulers by mainline's default: medians, one and two paths."""
    columns = {
        "one": "one path, per packet and hop",
        "whole_one": "one path, whole run",
        "two": "two paths, per packet and hop",
        "whole_two": "two paths, whole run",
    }
    measured = [machine for machine in results if machine.algorithms]
    shown = [key for key in columns if any(key in cost for machine in measured for cost in machine.algorithms.values())]
    names = dict.fromkeys(name for machine in measured for name in machine.algorithms)
    rows = []
    for name in names:
        of_name = [machine.algorithms[name] for machine in measured if name in machine.algorithms]
        values = [[cost[key] for cost in of_name if key in cost] for key in shown]
        rows.append([name, *(_span(several) for several in values)])
    return _markdown(["algorithm", *(columns[key] for key in shown)], rows)


def _span(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"


def machine_list(results: Sequence[MeasuredMachine]) -> str:
    """Return a list of the machines with their descriptions and notes."""
    lines = []
    for machine in results:
        lines.append(f"- **Machine {machine.name.upper()}**: {machine.text}.")
        lines += [f"  - {note}" for note in machine.notes]
        lines += [f"  - Of an earlier invocation: {note}" for note in machine.earlier]
    return "\n".join(lines)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def update_blocks(text: str, results: Sequence[MeasuredMachine]) -> str:
    """Return the page with its blocks generated again. :raises ValueError: if it has no place for one."""
    blocks = {"ratios": ratio_table, "algorithms": algorithm_table, "machines": machine_list}
    for name, make in blocks.items():
        begin, end = f"<!-- table bench-{name} -->", f"<!-- end of table bench-{name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            raise ValueError(f"{PAGE.name} has no place for the table bench-{name}")
        text = f"{before}{begin}\n{make(results)}\n{end}{after}"
    return text


def main() -> None:
    """Write the page, or report that it is out of date."""
    parser = argparse.ArgumentParser(prog="python -m bench.page", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with status 1 if the page is out of date"
    )
    arguments = parser.parse_args()
    try:
        now = update_blocks(PAGE.read_text(), machines.load())
    except ValueError as error:
        parser.error(str(error))
    if arguments.check and now != PAGE.read_text():
        print("bench/README.md does not match bench/machines/: run python -m bench.page", file=sys.stderr)
        sys.exit(1)
    if not arguments.check:
        PAGE.write_text(now)


if __name__ == "__main__":
    main()
