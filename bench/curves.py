# SPDX-License-Identifier: MIT
"""The growth of cost with rate, flows, hops, hosts, subflows and samples, as CPU time by packets times hops."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

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


@dataclass(frozen=True)
class CurveCase:
    """One position of a curve: the scenario, and the same with almost no traffic."""

    label: str
    full: str
    empty: str


def measure(name: str, repeats: int, report: Callable[[str], None], extent: Extent = FULL) -> Curve:
    """Measure a curve of ``AXES``. Each repeat covers it, so that a disturbance affects all points."""
    cases = cases_of(name, extent)
    points = [Point(case.label) for case in cases]
    workloads = [(lab.workload_of(case.full), lab.workload_of(case.empty)) for case in cases]
    for _ in range(repeats):
        for point, (full, short) in zip(points, workloads, strict=True):
            empty, run = lab.measure(short), lab.measure(full)
            point.empty.append(empty.usage.cpu)
            point.cpu.append(run.usage.cpu)
            point.packet_hops = run.packet_hops - empty.packet_hops
            point.virtual_seconds = run.virtual_seconds - empty.virtual_seconds
            report(f"{name} {point.label}: {point.ns_per_packet_hop[-1]:.0f} ns per packet and hop")
    return Curve(name, AXES[name], tuple(points))


def cases_of(name: str, extent: Extent = FULL) -> list[CurveCase]:
    """Return the positions of a curve of ``AXES``."""
    return list(_CASES[name](extent))


def _case(label: str, seconds: float, scenario: Callable[[str], str]) -> CurveCase:
    """Return the position of ``scenario``, which takes the duration."""
    return CurveCase(label, scenario(f"{seconds} s"), scenario(_SHORT))


def _rates(extent: Extent) -> Iterator[CurveCase]:
    for rate, seconds in extent.rates.items():
        yield _case(rate, seconds, partial(scenarios.one_path, rate))


def _flows(extent: Extent) -> Iterator[CurveCase]:
    for n in extent.flows:
        yield _case(str(n), extent.flows_s, partial(scenarios.one_path, "1 Gbit/s", connections=n))


def _hops(extent: Extent) -> Iterator[CurveCase]:
    for n in extent.hops:
        yield _case(str(n), extent.hops_s, partial(scenarios.one_path, "300 Mbit/s", routers=n))


def _hosts(extent: Extent) -> Iterator[CurveCase]:
    for n in extent.hosts:
        yield _case(str(n), extent.hosts_s, partial(scenarios.star, n, 1000 / (n // 2)))


def _subflows(extent: Extent) -> Iterator[CurveCase]:
    for n in extent.subflows:
        yield _case(str(n), extent.subflows_s, partial(scenarios.many_paths, n))


def _samples(extent: Extent) -> Iterator[CurveCase]:
    for interval in extent.samples:
        yield _case(interval, extent.samples_s, partial(scenarios.two_paths, "flow", sampled=interval))


AXES = {
    "rate": "rate",
    "flows": "flows, 1 Gbit/s in total",
    "hops": "routers, 300 Mbit/s",
    "hosts": "hosts around a router, 1 Gbit/s in total",
    "subflows": "subflows, 100 Mbit/s each",
    "sampling": "time between samples, two paths of 100 Mbit/s",
}
"""The title of each curve's axis, by the curve's name."""
_CASES: dict[str, Callable[[Extent], Iterator[CurveCase]]] = {
    "rate": _rates,
    "flows": _flows,
    "hops": _hops,
    "hosts": _hosts,
    "subflows": _subflows,
    "sampling": _samples,
}
