# SPDX-License-Identifier: MIT
"""The cost of each of our congestion controls and schedulers against mainline's default, in alternating runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bench import lab, scenarios
from bench.extent import FULL, Extent

DEFAULT = "mainline's default"
MAX_RATIO = 1.10
"""The target: at most this multiple of the time of mainline's default."""
_CONGESTION_CONTROLS = ("lia", "olia", "balia", "wvegas", "lia_v09", "olia_v09", "balia_v09", "wvegas_v09")
#: Mainline's own congestion control that keeps queues short, for comparison with wVegas.
_YARDSTICK = "vegas"
_SCHEDULERS = (
    *("minrtt", "roundrobin", "weighted", "redundant", "blest", "ecf", "priority"),
    *("minrtt_v09", "blest_v09", "ecf_v09"),
)


@dataclass
class Cost:
    """The wall time of one algorithm, divided by the default's in the run just before, over one path and over two.

    The times are per packet and hop: an algorithm whose packets arrive in another order or at other times causes other
    acknowledgements, but is not more expensive. ``whole_one`` and ``whole_two`` are the same without that division.
    """

    name: str
    one_path: list[float] = field(default_factory=list)
    two_paths: list[float] = field(default_factory=list)
    whole_one: list[float] = field(default_factory=list)
    whole_two: list[float] = field(default_factory=list)


def measure(repeats: int, report: Callable[[str], None], extent: Extent = FULL) -> list[Cost]:
    """Measure every algorithm and the default ``repeats`` times each: MPTCP over one and two 100 Mbit/s paths.

    The first cost is the default against itself: the difference between two equal runs on this machine.
    """
    settings: dict[str, dict[str, str]] = {DEFAULT: {}}
    settings |= {name: {"congestion_control": name} for name in (*_CONGESTION_CONTROLS, _YARDSTICK)}
    settings |= {name: {"scheduler": name} for name in _SCHEDULERS}
    if extent.algorithms is not None:
        settings = {name: chosen for name, chosen in settings.items() if name in (DEFAULT, *extent.algorithms)}
    duration = f"{extent.algorithms_s} s"
    single, two = (
        {name: lab.workload_of(_scenario(paths, chosen, duration)) for name, chosen in settings.items()}
        for paths in (1, 2)
    )
    costs = [Cost(name) for name in settings]
    lab.measure(two[DEFAULT])
    for _ in range(repeats):
        for cost in costs:
            _compare(single[DEFAULT], single[cost.name], cost.one_path, cost.whole_one)
            _compare(two[DEFAULT], two[cost.name], cost.two_paths, cost.whole_two)
            report(
                f"{cost.name}: one path {cost.one_path[-1]:.2f} per packet, "
                f"{cost.whole_one[-1]:.2f} for the whole run; "
                f"two paths {cost.two_paths[-1]:.2f} and {cost.whole_two[-1]:.2f}"
            )
    return costs


def _compare(default: lab.Workload, other: lab.Workload, per_packet: list[float], whole: list[float]) -> None:
    before, run = lab.measure(default), lab.measure(other)
    whole.append(run.usage.wall / before.usage.wall)
    per_packet.append(whole[-1] * before.packet_hops / run.packet_hops)


def _scenario(paths: int, settings: dict[str, str], duration: str) -> str:
    network = scenarios.two_paths("flow", duration)
    if paths == 1:
        network = scenarios.one_path("100 Mbit/s", duration, protocol="mptcp")
    keys = "".join(f'{key} = "{value}"\n' for key, value in settings.items())
    return f"{network}[hosts.client.transport]\n{keys}[hosts.server.transport]\n{keys}"
