# SPDX-License-Identifier: MIT
"""``python -m validation.fidelity.older``: why a file takes longer on Linux 6.1 than on 6.12, by one change at a time.

Each change takes from both kernels what only the newer one has, or gives to both what only the newer one does by
itself. Where the two agree with it, it is the cause. Finished runs are kept in the results folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tools.docs.making.pages import table_of
from validation.fidelity import forms, sides
from validation.fidelity.execution import execute_points
from validation.fidelity.reason_programs import rows_of_file

from mptcplab.errors import LabError
from mptcplab.report.table import interval_text
from mptcplab.scenario.schema import Scenario
from mptcplab.stats import mean_interval
from mptcplab.steps import Call, shell
from mptcplab.units import Size
from mptcplab.workload import transfer
from mptcplab.workload.transfer import Transfer

FILE = Path(__file__).with_name("older.json")
_EXAMPLE, _WORKLOAD = "transfer", "bulk"
KERNELS = ("stock:6.1", "stock:6.12")
#: More than a connection of the example has under way.
_SEND_BUFFER = tuple(map(Size, (4096, 4_000_000, 4_000_000)))
#: Makes the kernel's thread for softirqs a real-time one, which the scheduler prefers to all programs.
_PRECEDENCE = (
    "for one in /proc/[0-9]*; do "
    'read -r name <$one/comm && [ "$name" = ksoftirqd/0 ] && chrt --fifo --pid 50 ${one#/proc/}; done'
)
_DIGITS = 4


def _large_send_buffer(scenario: Scenario) -> Scenario:
    hosts = {
        name: host.model_copy(update={"transport": host.own_transport.model_copy(update={"tcp_wmem": _SEND_BUFFER})})
        for name, host in scenario.node_tables["hosts"].items()
        if host.own_transport is not None
    }
    return scenario.model_copy(update={"hosts": hosts})


def _each_packet() -> AbstractContextManager[object]:
    """Return a context in which the reader asks for no minimum, so that each packet wakes it up."""
    return patch.object(transfer, "_WAKE_BYTES", 1)


def _softirqs_first() -> AbstractContextManager[object]:
    """Return a context in which the server gives the thread of softirqs precedence before it listens.

    The machine has one CPU, so this holds for all nodes.
    """
    listen = Transfer._listen

    def call_with_precedence(self: Transfer, *words: Any, **named: Any) -> Call:
        call = listen(self, *words, **named)
        return shell(f"{_PRECEDENCE}; exec {call}", call, Call(("chrt",)))

    return patch.object(Transfer, "_listen", call_with_precedence)


@dataclass(frozen=True)
class Variant:
    """One change of the transfer, in the words of the table."""

    title: str
    change: Callable[[Scenario], Scenario] = lambda scenario: scenario
    patched: Callable[[], AbstractContextManager[object]] = nullcontext


VARIANTS = {
    "as-it-is": Variant("as it is"),
    "each-packet": Variant("the reader wakes up for each packet", patched=_each_packet),
    "send-buffer": Variant("a send buffer of 4 MB from the start", _large_send_buffer),
    "softirqs": Variant("`ksoftirqd` goes before programs", patched=_softirqs_first),
    "softirqs-buffer": Variant("both of these", _large_send_buffer, patched=_softirqs_first),
}


@dataclass(frozen=True)
class OlderRow:
    """The duration of one transfer."""

    kernel: str
    variant: str
    seed: int
    seconds: float


def measure(variant: str, kernel: str, seeds: int, folder: Path) -> Iterator[OlderRow]:
    """Yield the runs of one variant on one kernel, which are executed unless they are in ``folder``.

    :raises LabError: if one fails.
    """
    form = forms.form_of(_EXAMPLE, forms.files()[_EXAMPLE], sides.SIDES[sides.REFERENCE].engine)
    choice = VARIANTS[variant]
    points = [replace(point, scenario=choice.change(point.scenario)) for point in form.points[-1:]]
    with choice.patched():
        done = execute_points(points, kernel, seeds=seeds, folder=folder)
    for run in done:
        assert run.result is not None
        (workload,) = run.result.measured
        yield OlderRow(kernel, variant, run.run.seed, round(workload.metrics["duration_s"], _DIGITS))


def table() -> str:
    """Return the duration of each variant on both kernels, and how much longer the older one takes."""
    rows = rows_of_file(FILE, OlderRow)
    lines = []
    for key, variant in VARIANTS.items():
        by_kernel = {
            kernel: [row.seconds for row in rows if (row.kernel, row.variant) == (kernel, key)] for kernel in KERNELS
        }
        old, new = by_kernel.values()
        if not old or len(old) != len(new):
            continue
        longer = mean_interval([100 * (duration / other - 1) for duration, other in zip(old, new, strict=True)])
        cells = [interval_text(mean_interval([1000 * second for second in values])) for values in (old, new)]
        lines.append([variant.title, *cells, interval_text(longer), str(len(old))])
    return table_of(["transfer", "6.1, ms", "6.12, ms", "6.1 longer, %", "n"], lines)


def main() -> None:
    """Measure, and write the rows."""
    parser = argparse.ArgumentParser(prog="python -m validation.fidelity.older", description=__doc__)
    parser.add_argument("--variant", choices=VARIANTS, action="append", help="only this one; repeatable")
    parser.add_argument("--seeds", type=int, default=3, help="runs with the seeds 1 to this; default %(default)s")
    parser.add_argument("--out", type=Path, default=Path("results/fidelity-older"), help="folder of the runs")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the rows into this JSON file")
    arguments = parser.parse_args()
    rows: list[OlderRow] = []
    for variant in arguments.variant or VARIANTS:
        for kernel in KERNELS:
            try:
                new = list(measure(variant, kernel, arguments.seeds, arguments.out / variant))
            except LabError as error:
                print(f"python -m validation.fidelity.older: {error.message}\n  hint: {error.hint}", file=sys.stderr)
                sys.exit(error.status)
            print(f"{variant} on {kernel}: {[row.seconds for row in new]} s", file=sys.stderr, flush=True)
            rows += new
    if arguments.write:
        kept = {(row.variant, row.kernel, row.seed): row for row in (*rows_of_file(arguments.write, OlderRow), *rows)}
        arguments.write.write_text(json.dumps({"rows": [asdict(row) for row in kept.values()]}, indent=1) + "\n")


if __name__ == "__main__":
    main()
