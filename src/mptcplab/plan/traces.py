# SPDX-License-Identifier: MIT
"""Compile traces to events: each step of a trace changes parameters of a direction's queueing disciplines."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.guest.direct import nudge
from mptcplab.network.behaviour import TraceValues
from mptcplab.network.registry import OWNERS, VARIABLE_KEYS, largest_packet
from mptcplab.plan.links import action_changes, change_commands
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings
from mptcplab.scenario.network import Network
from mptcplab.scenario.trace import TraceSeries
from mptcplab.steps import Command, Event


def traced_directions(network: Network) -> set[tuple[str, str]]:
    """Return the directions that follow a trace."""
    links = network.scenario.links.items()
    return {
        (name, direction)
        for name, link in links
        for direction in DIRECTIONS
        if getattr(link, direction).traced is not None
    }


def trace_events(network: Network) -> Iterator[Event]:
    """Yield every step of every trace; the steps of a repeating trace are periodic."""
    for name, link in network.scenario.links.items():
        for direction in DIRECTIONS:
            settings: DirectionSettings = getattr(link, direction)
            if settings.traced is not None:
                yield from _events(network, name, direction, settings)


def _events(network: Network, name: str, direction: str, settings: DirectionSettings) -> Iterator[Event]:
    assert settings.traced is not None
    series, repeats = settings.traced.read, settings.traced.end == "repeat"
    followed = _follow_traces(settings, series, largest_packet(settings, int(network.scenario.links[name].mtu)))
    # The first step sets all values, since it follows the set-up, and later the last step.
    before: DirectionSettings | None = None
    commands: tuple[Command, ...] = ()
    for step, new in zip(series.steps, followed, strict=True):
        changed = settings.model_copy(update=dict(new.values))
        earlier, commands = commands, tuple(change_commands(network, name, direction, changed))
        different = [*action_changes(network, name, direction, changed, before), *_changed_commands(commands, earlier)]
        before = changed
        if new.wakes:
            # A frame of an experimental protocol, which hosts ignore, makes the shaper evaluate its rate.
            argv = commands[-1].argv
            different.append(Command(commands[-1].node, nudge(argv[argv.index("dev") + 1])))
        value = ", ".join(f"{key} {VARIABLE_KEYS[key].quantity(value)}" for key, value in step.values)
        period_ns = series.period_ns if repeats and len(series.steps) > 1 else 0
        yield Event(step.at_ns, "trace", name, direction, value, tuple(different), period_ns)


def _follow_traces(settings: DirectionSettings, series: TraceSeries, frame: int) -> list[TraceValues]:
    """Return the direction's values at each step, from all behaviours in the trace."""
    trace_values: list[TraceValues] = []
    for owner in dict.fromkeys(OWNERS[key] for key in series.keys):
        values = {key: series.values(key) for key in series.keys if OWNERS[key] is owner}
        steps = owner.follow(settings, values, series.durations_ns, frame)
        trace_values = [
            TraceValues({**others.values, **step.values}, others.wakes or step.wakes)
            for others, step in zip(trace_values or [TraceValues({})] * len(steps), steps, strict=True)
        ]
    return trace_values


def _changed_commands(commands: tuple[Command, ...], before: tuple[Command, ...]) -> tuple[Command, ...]:
    """Return the commands from the first change on: a change of a discipline may reset those below it."""
    for index, command in enumerate(commands):
        if index >= len(before) or before[index] != command:
            return commands[index:]
    return ()
