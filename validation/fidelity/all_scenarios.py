# SPDX-License-Identifier: MIT
"""All scenarios together: is the stock kernel faster or slower than the lab where chance leaves single ones open?

Three runs a side cannot settle a scenario whose losses are drawn. Its difference is as often above zero as below,
though, if the engines are alike, and so is every other scenario's. The median over scenarios therefore has a
narrow interval around zero, and would not if all of one kind were faster on one side.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from validation.fidelity.classes import SLOWER, Class, class_of
from validation.fidelity.totals import TOGETHER

from mptcplab.scenario.schema import Scenario

#: With fewer scenarios, the interval of a median says little.
MIN_POOLED = 8
ALL, DRAWN, NOT_DRAWN = "all", "with random losses or delays", "without"


def difference_of(rows: Iterable[Mapping[str, Any]]) -> float | None:
    """Return a scenario's difference of goodput in percent: of all its flows together, else the mean of its rows."""
    differences = [row for row in rows if row["metric"] == "goodput_mbps" and row["percent"] is not None]
    together = [row for row in differences if row["workload"] == TOGETHER]
    return statistics.mean(row["percent"] for row in together or differences) if differences else None


def pool(
    scenarios: Mapping[str, dict[str, Any]], drawn: Collection[str], kernel: str = SLOWER
) -> dict[str, list[float]]:
    """Return the differences of scenarios on a fast CPU: of all, then of the ``drawn`` ones, and of the others.

    ``kernel`` is the side of a stock kernel. Left out are scenarios that the newest one shows to be outside of the
    margins for a reason that is shown, and those whose short forms executed the same as another's.
    """
    values: dict[str, list[float]] = {ALL: [], DRAWN: [], NOT_DRAWN: []}
    executed: set[tuple[str, ...]] = set()
    for name, sides in scenarios.items():
        side = sides.get(kernel, {})
        value, ran = difference_of(side.get("rows", ())), tuple(side.get("ran", ()))
        kind, reason = class_of(sides, "")
        if value is None or ran in executed or (kind is Class.OUTSIDE and reason):
            continue
        executed.add(ran)
        values[ALL].append(value)
        values[DRAWN if name in drawn else NOT_DRAWN].append(value)
    return values


def is_drawn(scenario: Scenario) -> bool:
    """Return whether a direction of a link draws the loss or the delay of single packets."""
    sides = [side for link in scenario.links.values() for side in (link.forward, link.backward)]
    return any(side.loss or side.burst_loss or side.jitter or side.extra_delay or side.reorder for side in sides)
