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
    """One algorithm, by wall and CPU time of the default in the run just before it.

    ``one_line``: whole runs over one line, where every algorithm moves the same packets. ``wall`` and ``cpu``: over two
    lines, per packet and hop, because an algorithm whose data comes in another order causes other acknowledgements, and
    is not dearer for that; ``whole`` is the same without that division.
    """

    name: str
    one_line: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)


def measure(repeats: int, say: Callable[[str], None]) -> list[Cost]:
    """Every algorithm beside the default, ``repeats`` times each, MPTCP over one and two 100 Mbit/s lines for 60 s.

    The first cost is the default against itself: how much two equal runs differ on this machine.
    """
    settings: dict[str, dict[str, str]] = {DEFAULT: {}}
    settings |= {name: {"congestion_control": name} for name in _CONTROLS}
    settings |= {name: {"scheduler": name} for name in _SCHEDULERS}
    one, two = ({name: lab.plan_of(_scenario(lines, chosen)) for name, chosen in settings.items()} for lines in (1, 2))
    costs = [Cost(name) for name in settings]
    lab.measure(two[DEFAULT])
    for _ in range(repeats):
        for cost in costs:
            single, run = lab.measure(one[DEFAULT]), lab.measure(one[cost.name])
            cost.one_line.append(run.usage.wall / single.usage.wall)
            before, run = lab.measure(two[DEFAULT]), lab.measure(two[cost.name])
            packets = run.packet_hops / before.packet_hops
            cost.wall.append(run.usage.wall / before.usage.wall / packets)
            cost.cpu.append(run.usage.cpu / before.usage.cpu / packets)
            cost.whole.append(run.usage.wall / before.usage.wall)
            say(
                f"{cost.name}: one line {cost.one_line[-1]:.2f}; "
                f"two lines {cost.wall[-1]:.2f} per packet, {cost.whole[-1]:.2f} for the whole run"
            )
    return costs


def _scenario(lines: int, settings: dict[str, str]) -> str:
    duration = f"{_SECONDS} s"
    network = scenarios.two_lines("flow", duration)
    if lines == 1:
        network = scenarios.one_line("100 Mbit/s", duration, protocol="mptcp")
    keys = "".join(f'{key} = "{value}"\n' for key, value in settings.items())
    return f"{network}[hosts.client.transport]\n{keys}[hosts.server.transport]\n{keys}"
