# SPDX-License-Identifier: MIT
"""Compile the events of a scenario to commands at instants.

A silent failure drops every packet where it enters the link's direction (step 1 of docs/scenario.md): a filter before
the queueing disciplines, so that their packets are not lost and packets in flight arrive. An interface is set down at
the node that the scenario names; a carrier is lost because the other end of the link is set down, as with a switch
that loses power. When an interface is set down, Linux removes its addresses (IPv6) and routes, and the lab has no
network manager to restore them: so the commands that restore a link set all of them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mptcplab.configuration import Route
from mptcplab.guest.direct import nudge
from mptcplab.network.behaviour import TraceValues
from mptcplab.network.registry import OWNERS, VARIABLE_KEYS, largest_packet
from mptcplab.node.endpoint_list import EndpointList
from mptcplab.node.graph import Port
from mptcplab.node.words import LIMITS, EndpointEvent, limits_value
from mptcplab.plan.links import action_changes, change_commands
from mptcplab.plan.radios import air_kind, air_value, is_of_air
from mptcplab.scenario import events as described
from mptcplab.scenario import gateways
from mptcplab.scenario.links import DirectionSettings, ShapedDirection
from mptcplab.scenario.network import Network
from mptcplab.scenario.trace import Trace, TraceSeries
from mptcplab.steps import Command, Event

# Compile traces to events: each step of a trace changes parameters of a direction's queueing disciplines.


def trace_events(network: Network) -> Iterator[Event]:
    """Yield every step of every trace; the steps of a repeating trace are periodic."""
    for direction in network.directions.values():
        if direction.settings.traced is not None:
            yield from _events(network, direction, direction.settings.traced)


def _events(network: Network, direction: ShapedDirection, trace: Trace) -> Iterator[Event]:
    settings = direction.settings
    series, repeats = trace.read, trace.end == "repeat"
    mtu = int(network.scenario.links[direction.link].mtu)
    followed = _follow_traces(settings, series, largest_packet(settings, mtu))
    # The first step sets all values, since it follows the set-up, and later the last step.
    before: DirectionSettings | None = None
    commands: tuple[Command, ...] = ()
    for step, new in zip(series.steps, followed, strict=True):
        changed = replace(direction, settings=settings.model_copy(update=dict(new.values)))
        earlier, commands = commands, tuple(change_commands(network, changed))
        different = [*action_changes(network, changed, before), *_changed_commands(commands, earlier)]
        before = changed.settings
        if new.wakes:
            # A frame of an experimental protocol, which hosts ignore, makes the shaper evaluate its rate.
            argv = commands[-1].argv
            different.append(Command(commands[-1].node, nudge(argv[argv.index("dev") + 1])))
        value = ", ".join(f"{key} {VARIABLE_KEYS[key].quantity(value)}" for key, value in step.values)
        period_ns = series.period_ns if repeats and len(series.steps) > 1 else 0
        yield Event(step.at_ns, "trace", *direction.key, value, tuple(different), period_ns)


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


#: Before all other filters.
_DROP = ("pref", "1", "matchall", "action", "drop")


@dataclass
class _LinkStates:
    """The state of the links between two events."""

    directions: dict[tuple[str, str], ShapedDirection]
    #: The keys of the directions that drop all packets.
    silent: set[tuple[str, str]] = field(default_factory=set)
    #: The nodes whose end of a link is set down.
    down: dict[str, str] = field(default_factory=dict)
    without_address: set[Port] = field(default_factory=set)
    endpoints: dict[str, EndpointList | None] = field(default_factory=dict)

    def endpoints_of(self, network: Network, node: str) -> EndpointList | None:
        """Return the endpoints of ``node``; None without MPTCP."""
        if node not in self.endpoints:
            self.endpoints[node] = network.nodes[node].endpoint_list(network.context_of(node))
        return self.endpoints[node]


def event_list(network: Network) -> Iterator[Event]:
    """Yield all events: of traces, of the scenario, of nodes, of gateways; the order at the same instant."""
    yield from trace_events(network)
    scenario = network.scenario
    state = _LinkStates(dict(network.directions))
    for event in sorted(scenario.events, key=lambda event: int(event.at)):
        if is_of_air(network, event):
            # The medium has been told: see mptcplab.plan.radios.
            yield Event(int(event.at), air_kind(event), event.link or event.node or "", "both", _value(event), ())
            continue
        if event.is_of_path_manager:
            yield _path_manager_event(network, state, event)
            continue
        commands = tuple(_commands(network, state, event))
        yield Event(int(event.at), event.type, event.link, event.direction, _value(event), commands)
    for name, node in network.nodes.items():
        yield from node.events(network.context_of(name))
    for name, gateway in scenario.gateways.items():
        yield from gateway.events(gateways.context_of(network, name))


def hook_commands(network: Network) -> Iterator[Command]:
    """Yield the commands that prepare a hook for the filters of silent failures; an existing hook is kept."""
    for key in dict.fromkeys(_silenced_directions(network)):
        node, device, _ = _drop_point(network, key)
        yield Command(node, ("tc", "qdisc", "replace", "dev", device, "clsact"))


def _commands(network: Network, state: _LinkStates, event: described.Event) -> Iterator[Command]:
    if event.type == "change":
        for name in event.directions:
            before = state.directions[event.link, name]
            changed = replace(before, settings=event.apply(before.settings))
            state.directions[changed.key] = changed
            yield from action_changes(network, changed, before.settings)
            yield from change_commands(network, changed)
    elif event.type == "down":
        yield from _fail(network, state, event)
    elif event.type == "up":
        yield from _restore(network, state, event)
    else:
        yield from _readdress(network, state, event)


def _path_manager_event(network: Network, state: _LinkStates, event: described.Event) -> Event:
    """Return an event of endpoints or limits, with what the node has from then on as its value."""
    if event.type == LIMITS:
        assert event.node is not None, "checked when the scenario was loaded"
        endpoints = state.endpoints_of(network, event.node)
        assert endpoints is not None, "checked when the scenario was loaded"
        command = endpoints.set_limits(event.new_limits(endpoints.limits))
        value = limits_value(endpoints.limits.subflows, endpoints.limits.add_addr_accepted)
        return Event(int(event.at), event.type, event.node, "both", value, (command,))
    port = end_of(network, event)
    endpoints = state.endpoints_of(network, port.node)
    assert endpoints is not None, "checked when the scenario was loaded"
    command = endpoints.apply(event.type, port, event.port, event.words)
    entry = endpoints.find(event.link, event.port)
    value = str(EndpointEvent(port.node, port.ip, event.port, entry.flags if entry is not None else ()))
    return Event(int(event.at), event.type, event.link, "both", value, (command,))


def _fail(network: Network, state: _LinkStates, event: described.Event) -> Iterator[Command]:
    if event.failure_mode == "silent":
        for key in ((event.link, name) for name in event.directions):
            state.silent.add(key)
            node, device, hook = _drop_point(network, key)
            yield Command(node, ("tc", "filter", "add", "dev", device, hook, *_DROP))
        return
    port = end_of(network, event)
    node = port.node if event.failure_mode == "interface" else port.peer
    state.down[event.link] = node
    yield Command(node, ("ip", "link", "set", "dev", event.link, "down"))


def _restore(network: Network, state: _LinkStates, event: described.Event) -> Iterator[Command]:
    for key in ((event.link, name) for name in event.directions):
        if key in state.silent:
            state.silent.remove(key)
            node, device, hook = _drop_point(network, key)
            yield Command(node, ("tc", "filter", "delete", "dev", device, hook, "pref", "1"))
    node_down = state.down.pop(event.link, None)
    if node_down is not None:
        port = network.ports[node_down, event.link]
        if port.address.version == 6:
            # As at set-up (nodad): the addresses are unique, and duplicate address detection takes a few seconds.
            yield Command(node_down, ("sysctl", "-qw", f"net.ipv6.conf.{event.link}.accept_dad=0"))
        yield Command(node_down, ("ip", "link", "set", "dev", event.link, "up"))
        if port not in state.without_address:
            yield _address(port)
            yield from _routes(network, port)


def _readdress(network: Network, state: _LinkStates, event: described.Event) -> Iterator[Command]:
    """Yield the commands that remove or add an address and the endpoint that names it, as network managers do."""
    port = end_of(network, event)
    endpoints = state.endpoints_of(network, port.node)
    is_down = state.down.get(event.link) == port.node
    state.without_address ^= {port}
    if event.type == "address-removed":
        yield from endpoints.address_removed(port) if endpoints is not None else ()
        # An interface that is set down has no IPv6 addresses.
        if not (is_down and port.address.version == 6):
            yield Command(port.node, ("ip", "address", "delete", str(port.address), "dev", port.link))
        return
    yield _address(port)
    if not is_down:
        yield from _routes(network, port)
    yield from endpoints.address_added(port) if endpoints is not None else ()


def _address(port: Port) -> Command:
    """Return the command that sets the address of ``port``, whether or not it exists."""
    address = ("ip", "address", "replace", str(port.address), "dev", port.link)
    return Command(port.node, (*address, "nodad") if port.address.version == 6 else address)


def _routes(network: Network, port: Port) -> Iterator[Command]:
    """Yield the commands that set all routes by ``port``, whether or not they exist."""
    for route in network.nodes[port.node].routes(network.context_of(port.node)):
        if isinstance(route, Route) and route.device == port.device:
            yield route.command(port.node, "replace")


def end_of(network: Network, event: described.Event) -> Port:
    """Return the end of the link that ``event`` concerns."""
    ends = [network.ports[node, event.link] for node in network.scenario.links[event.link].between]
    if event.node is not None:
        return next(port for port in ends if port.node == event.node)
    return next(port for port in ends if not network.nodes[port.node].forwards)


def _silenced_directions(network: Network) -> Iterator[tuple[str, str]]:
    for event in network.scenario.events:
        if event.type == "down" and event.failure_mode == "silent" and not is_of_air(network, event):
            yield from ((event.link, name) for name in event.directions)


def _drop_point(network: Network, key: tuple[str, str]) -> tuple[str, str, str]:
    """Return node, interface and hook where a silent failure drops packets of a direction: before its shaping."""
    source, target = network.ends(network.directions[key])
    if network.nodes[source.node].shapes:
        return source.node, source.link, "egress"
    return target.node, target.link, "ingress"


def _value(event: described.Event) -> str:
    """Return the event's values as a line of text."""
    if event.is_of_node:
        return air_value(event)
    if event.type == "down":
        return event.failure_mode
    if event.type == "change":
        return ", ".join(f"{key} {value}" for key, value in event.new.items())
    return event.node or ""
