# SPDX-License-Identifier: MIT
"""The growth of cost with rate, flows and hops. The claim is that it is close to packets times hops."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench import lab, scenarios
from bench.extent import FULL, Extent

_SHORT = "1 ms"


@dataclass
class Point:
    """One position of a curve. ``empty``: CPU seconds of the same lab with almost no traffic, which are subtracted."""

    label: str
    cpu: list[float] = field(default_factory=list)
    empty: list[float] = field(default_factory=list)
    packet_hops: int = 0
    virtual_seconds: float = 1.0

    @property
    def carrying(self) -> list[float]:
        """The CPU seconds for the packets alone, per repeat."""
        base = statistics.median(self.empty)
        return [max(cpu - base, 1e-6) for cpu in self.cpu]

    @property
    def ns_per_packet_hop(self) -> list[float]:
        """The total cost of carrying one packet over one link."""
        return [1e9 * cpu / self.packet_hops for cpu in self.carrying]


@dataclass(frozen=True)
class Curve:
    """The cost at every position of one axis."""

    name: str
    axis: str
    points: tuple[Point, ...]

    @property
    def spread(self) -> float:
        """The largest cost of a packet and hop by the smallest, of the points' medians. 1 is exactly proportional."""
        costs = [statistics.median(point.ns_per_packet_hop) for point in self.points]
        return max(costs) / min(costs)

    @property
    def exponent(self) -> float | None:
        """The exponent of cost as a power of packets times hops, per virtual second; None if these hardly differ."""
        work = [point.packet_hops / point.virtual_seconds for point in self.points]
        if max(work) < 2 * min(work):
            return None
        costs = [statistics.median(point.carrying) / point.virtual_seconds for point in self.points]
        return power_law(work, costs)


def power_law(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the exponent b of y = a * x**b, by least squares of the logarithms."""
    slope, _ = statistics.linear_regression([math.log(x) for x in xs], [math.log(y) for y in ys])
    return slope


def measure(name: str, repeats: int, report: Callable[[str], None], extent: Extent = FULL) -> Curve:
    """Measure the curve "rate", "flows" or "hops". Each repeat covers it, so that a disturbance affects all points."""
    axis, cases = _cases(name, extent)
    points = [Point(label) for label, _, _ in cases]
    plans = [(lab.plan_of(full), lab.plan_of(short)) for _, full, short in cases]
    for _ in range(repeats):
        for point, (full, short) in zip(points, plans, strict=True):
            empty, run = lab.measure(short), lab.measure(full)
            point.empty.append(empty.usage.cpu)
            point.cpu.append(run.usage.cpu)
            point.packet_hops = run.packet_hops - empty.packet_hops
            point.virtual_seconds = run.virtual_seconds - empty.virtual_seconds
            report(f"{name} {point.label}: {point.ns_per_packet_hop[-1]:.0f} ns per packet and hop")
    return Curve(name, axis, tuple(points))


def _cases(name: str, extent: Extent) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the axis title, and per position: label, scenario, and the same with almost no traffic."""
    path = scenarios.one_path
    if name == "rate":
        return "rate", [
            (rate, path(rate, f"{seconds} s"), path(rate, _SHORT)) for rate, seconds in extent.rates.items()
        ]
    if name == "flows":
        return "flows, 1 Gbit/s in total", [
            (
                str(n),
                path("1 Gbit/s", f"{extent.flows_s} s", connections=n),
                path("1 Gbit/s", _SHORT, connections=n),
            )
            for n in extent.flows
        ]
    return "routers, 300 Mbit/s", [
        (str(n), path("300 Mbit/s", f"{extent.hops_s} s", routers=n), path("300 Mbit/s", _SHORT, routers=n))
        for n in extent.hops
    ]
