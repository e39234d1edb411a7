# SPDX-License-Identifier: MIT
"""Traces as events: at every step of a trace, the numbers of a direction's queueing disciplines are changed.

The shaper is ``tbf``, and two of its habits need care.

Changing it fills its bucket. What waits at the head of a busy line's queue is sent when the timer ends that was set
for it before, as if nothing had happened, and leaves in the bucket what it holds beyond one frame. The next frame is
that much earlier. So every step's rate is lowered by as much.

It looks at its rate when a packet comes or when a timer ends that it set at the rate of before. After a pause that
could be long after the line is back. So a frame of an experimental protocol, which no host takes, is given to the
interface when a pause ends, and makes it look.

A rate of zero is 1 kbit/s, the least that is safe to give: the first frame of a pause still passes, and then one in 12
s. The queue keeps the length in bytes that it has at the mean rate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mptcplab.guest.direct import nudge
from mptcplab.plan.disciplines import full_frame
from mptcplab.plan.links import DEFAULT_MTU, WAYS, change_commands
from mptcplab.scenario.links import Direction
from mptcplab.scenario.network import Network
from mptcplab.scenario.trace import QUANTITIES, Series
from mptcplab.steps import Command, Event
from mptcplab.units import QueueLength, Rate, Size

_SECOND_NS = 10**9
_LEAST_RATE = 1000
#: A step up from a rate at which a frame takes longer than this wakes the shaper.
_PAUSE_NS = 20_000_000
_DEFAULT_BURST = 1600


def traced(network: Network) -> set[tuple[str, str]]:
    """The directions that follow a trace."""
    links = network.scenario.links.items()
    return {(name, way) for name, link in links for way in WAYS if getattr(link, way).traced is not None}


def trace_events(network: Network) -> Iterator[Event]:
    """Every step of every trace; those of a trace that repeats return after its period."""
    for name, link in network.scenario.links.items():
        for way in WAYS:
            direction: Direction = getattr(link, way)
            if direction.traced is not None:
                yield from _events(network, name, way, direction)


def _events(network: Network, name: str, way: str, direction: Direction) -> Iterator[Event]:
    assert direction.traced is not None
    series, repeats = direction.traced.read, direction.traced.end == "repeat"
    rates = _lowered(network, name, direction, series)
    # The first step sets everything, since it comes behind the set-up, and again behind the last step.
    before: tuple[Command, ...] = ()
    for index, step in enumerate(series.steps):
        commands = _commands(network, name, way, _at(direction, series, index, rates))
        new = _different(commands, before)
        before = commands
        if rates and _ends_pause(network, name, rates, index):
            new = (*new, Command(commands[-1].node, nudge(_device(commands[-1]))))
        value = ", ".join(f"{key} {QUANTITIES[key](value)}" for key, value in step.values)
        period_ns = series.period_ns if repeats and len(series.steps) > 1 else 0
        yield Event(step.at_ns, "trace", name, way, value, new, period_ns)


def _at(direction: Direction, series: Series, index: int, rates: list[int]) -> Direction:
    """The direction as it is from one step on."""
    new: dict[str, Any] = {key: QUANTITIES[key](value) for key, value in series.steps[index].values}
    if rates:
        new["rate"] = Rate(rates[index])
        held = direction.queue.bytes_at(direction.rate) if direction.rate is not None else None
        if held is not None:
            new["queue"] = QueueLength(size=Size(held))
    return direction.model_copy(update=new)


def _commands(network: Network, name: str, way: str, direction: Direction) -> tuple[Command, ...]:
    return tuple(change_commands(network, name, way, direction))


def _different(commands: tuple[Command, ...], before: tuple[Command, ...]) -> tuple[Command, ...]:
    """From the first discipline that changes on: changing one may reset those below it."""
    for index, command in enumerate(commands):
        if index >= len(before) or before[index] != command:
            return commands[index:]
    return ()


def _lowered(network: Network, name: str, direction: Direction, series: Series) -> list[int]:
    """The rate to set at every step, in bit/s; empty when the trace has none."""
    if "rate" not in series.keys:
        return []
    frame = full_frame(int(network.scenario.links[name].mtu))
    bucket = int(direction.burst or max(_DEFAULT_BURST, frame + _DEFAULT_BURST - full_frame(DEFAULT_MTU)))
    beyond = 0 if direction.discipline == "cake" else bucket - frame
    ends = [*(step.at_ns for step in series.steps[1:]), series.period_ns]
    lowered = []
    for step, end_ns in zip(series.steps, ends, strict=True):
        given = 8 * beyond * _SECOND_NS // (end_ns - step.at_ns)
        lowered.append(max(_LEAST_RATE, dict(step.values)["rate"] - given))
    return lowered


def _ends_pause(network: Network, name: str, rates: list[int], index: int) -> bool:
    frame_bits = 8 * full_frame(int(network.scenario.links[name].mtu))
    before = rates[index - 1]
    return rates[index] > before and frame_bits * _SECOND_NS // before > _PAUSE_NS


def _device(command: Command) -> str:
    return command.argv[command.argv.index("dev") + 1]
