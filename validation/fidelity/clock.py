# SPDX-License-Identifier: MIT
"""``python -m validation.fidelity.clock``: why a proxy takes another path on a stock kernel than in the lab.

``ss-redir`` has two servers, behind a path each, and takes one at random for each connection. It seeds its generator
with the second at which it starts. Here that second is set, to the same ones in the lab and on the stock kernel. Where
the two agree for each second, it is the cause. Finished runs are kept in the results folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tools.docs.making.pages import table_of
from validation.fidelity import sides
from validation.fidelity.execution import execute_points, last_point
from validation.fidelity.reason_programs import measure, rows_of_file

from mptcplab.engine.virtual.machine import WALL_CLOCK_NS
from mptcplab.gateway.base import GatewayContext
from mptcplab.gateway.shadowsocks_libev import ShadowsocksLibev
from mptcplab.metrics.rows import rows_of
from mptcplab.steps import Call, shell

FILE = Path(__file__).with_name("clock.json")
SCENARIO, PATH = "subramani2018/gateway-delay", "lan1>line1"
LAB = "virtual-7.2-slower"
#: The sides with the heads of their columns.
SIDES = {
    LAB: "lab, %",
    "virtual-7.2-hz250-slower": "lab with a resolution of 4 ms, %",
    "stock-7.2-slower": "stock 7.2, %",
}
#: Where the lab's clock begins, and the seconds after it that are tried.
EPOCH_S, SECONDS = WALL_CLOCK_NS // 10**9, range(6)
_HALF, _DIGITS = 50, 2


@dataclass(frozen=True)
class ClockRow:
    """The part of the payload that crosses the first path, in percent, with the second at which the proxy starts."""

    side: str
    second: int
    share_percent: float


def start_clock_at(second: int) -> AbstractContextManager[object]:
    """Return a context in which the entry's program sets the clock to ``second`` of the lab's first day, and starts."""
    entry_call = ShadowsocksLibev.entry_call

    def call_after_date(self: ShadowsocksLibev, context: GatewayContext) -> Call:
        call = entry_call(self, context)
        date = Call(("date", "--set", f"@{EPOCH_S + second}"))
        return shell(f"{date} >/dev/null && {call}", call, date)

    return patch.object(ShadowsocksLibev, "entry_call", call_after_date)


def measure_share(side: str, second: int, folder: Path) -> Iterator[ClockRow]:
    """Yield the share of one run on a side; a finished run is kept in ``folder``. :raises LabError: if it fails."""
    with start_clock_at(second):
        done = execute_points(last_point(SCENARIO, side), sides.SIDES[side].engine, seeds=1, folder=folder)
    for row in rows_of([run.result for run in done if run.result is not None]):
        yield ClockRow(side, second, round(100 * row.shares.get(PATH, 0.0), _DIGITS))


def reason(name: str) -> str:
    """Return why a scenario is outside, if this shows it; or empty.

    That is so if all sides take the same path at each second, and one path in some of the seconds and the other in the
    rest.
    """
    taken = {(row.side, row.second): row.share_percent > _HALF for row in rows_of_file(FILE, ClockRow)}
    by_side = [[taken.get((side, second)) for second in SECONDS] for side in SIDES]
    agree = by_side[0] == by_side[1] == by_side[2] and {True, False} == set(by_side[0])
    return "the second at which its proxy starts" if agree and name == SCENARIO else ""


def table() -> str:
    """Return the share of the first path by the second of the start, on each side."""
    shares = {(row.side, row.second): row.share_percent for row in rows_of_file(FILE, ClockRow)}
    lines = [
        [str(second), *(f"{shares[side, second]:.1f}" for side in SIDES)]
        for second in SECONDS
        if all((side, second) in shares for side in SIDES)
    ]
    return table_of(["start of the proxy, s", *SIDES.values()], lines)


def _measure(options: argparse.Namespace) -> Iterator[ClockRow]:
    for side in SIDES:
        for second in SECONDS:
            yield from measure_share(side, second, options.out / side / str(second))


def main() -> None:
    """Measure, and write the rows."""
    measure("validation.fidelity.clock", __doc__, _measure)


if __name__ == "__main__":
    main()
