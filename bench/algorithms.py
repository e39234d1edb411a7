# SPDX-License-Identifier: MIT
"""What each congestion control and scheduler of ours costs, against mainline's default, in alternating runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bench import lab, scenarios

DEFAULT = "mainline's default"
MOST = 1.10
"""The target: at most this times the time of mainline's default."""
_CONTROLS = ("lia", "olia", "balia", "wvegas", "lia_v09", "olia_v09", "balia_v09", "wvegas_v09")
_SCHEDULERS = ("minrtt", "roundrobin", "weighted", "redundant", "blest", "ecf", "priority")
_SECONDS = 60


@dataclass
class Cost:
    """One algorithm. ``wall``: its wall time by that of the default just before it, per packet and hop.

    An algorithm that sends other packets than the default, as redundant does, is not dearer for that: so times are
    divided by the packets that all nodes sent. ``whole`` is the same without that division.
    """

    name: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)


def measure(repeats: int, say: Callable[[str], None]) -> list[Cost]:
    """Every algorithm beside the default, ``repeats`` times each, MPTCP over two 100 Mbit/s lines for 60 s.

    The first cost is the default against itself: how much two equal runs differ on this machine.
    """
    default = lab.plan_of(_scenario())
    plans = {DEFAULT: default}
    plans |= {name: lab.plan_of(_scenario(congestion_control=name)) for name in _CONTROLS}
    plans |= {name: lab.plan_of(_scenario(scheduler=name)) for name in _SCHEDULERS}
    costs = [Cost(name) for name in plans]
    lab.measure(default)
    for _ in range(repeats):
        for cost in costs:
            before, run = lab.measure(default), lab.measure(plans[cost.name])
            packets = run.packet_hops / before.packet_hops
            cost.wall.append(run.usage.wall / before.usage.wall / packets)
            cost.cpu.append(run.usage.cpu / before.usage.cpu / packets)
            cost.whole.append(run.usage.wall / before.usage.wall)
            say(f"{cost.name}: {cost.wall[-1]:.2f} per packet, {cost.whole[-1]:.2f} for the whole run")
    return costs


def _scenario(**transport: str) -> str:
    settings = "".join(f'{key} = "{value}"\n' for key, value in transport.items())
    return scenarios.two_lines("flow", f"{_SECONDS} s") + f"[transport]\n{settings}"
