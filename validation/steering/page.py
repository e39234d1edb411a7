# SPDX-License-Identifier: MIT
"""The table of docs/steering.md: policies on held-out layouts, from ``python -m validation.steering --write``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from validation.steering.layouts import draw

from mptcplab.report.table import interval_text
from mptcplab.stats import Interval, mean_interval

FILE = Path(__file__).with_name("layouts.json")
_HEAD = (
    "layout",
    "access points, terminals",
    "none: smallest Mbit/s",
    "ratio: smallest Mbit/s",
    "fair: smallest Mbit/s",
    "fair - ratio Mbit/s",
    "ratio: switches",
    "fair: switches",
    "fair - ratio switches",
    "n",
)


@dataclass(frozen=True)
class LayoutRow:
    """A layout under one policy: by seed, the smallest goodput of its terminals, and the number of switches."""

    layout: int
    policy: str
    smallest_mbps: list[float]
    switches: list[float]


def rows(file: Path = FILE) -> list[LayoutRow]:
    """Return what was measured."""
    return [LayoutRow(**row) for row in json.loads(file.read_text())["rows"]]


def table(measured: Sequence[LayoutRow]) -> str:
    """Return the layouts as Markdown. The differences are of runs with the same seed."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{' --- |' * 2}{' ---: |' * (len(_HEAD) - 2)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in _cells(measured))]) + "\n"


def _cells(measured: Sequence[LayoutRow]) -> Iterator[tuple[str, ...]]:
    by_policy = {(row.layout, row.policy): row for row in measured}
    for seed in dict.fromkeys(row.layout for row in measured):
        none, ratio, fair = (by_policy[seed, policy] for policy in ("none", "ratio", "fair"))
        layout = draw(seed)
        yield (
            str(seed),
            f"{len(layout.access_points)}, {len(layout.terminals)}",
            *(interval_text(mean_interval(row.smallest_mbps)) for row in (none, ratio, fair)),
            interval_text(_difference(fair.smallest_mbps, ratio.smallest_mbps)),
            *(interval_text(mean_interval(row.switches)) for row in (ratio, fair)),
            interval_text(_difference(fair.switches, ratio.switches)),
            str(len(fair.switches)),
        )


def _difference(of: Sequence[float], to: Sequence[float]) -> Interval:
    return mean_interval([value - other for value, other in zip(of, to, strict=True)])
