# SPDX-License-Identifier: MIT
"""Events of a scenario as commands at instants.

A silent failure drops every packet where it enters the link's direction (step 1 of docs/scenario.md): a filter in
front of the queueing disciplines, so that nothing of them is lost and what is already on the way arrives. An interface
is set down where the scenario says; a carrier is lost because the other end of the wire is set down, as by a switch
that loses power. Linux throws addresses (IPv6) and routes away with an interface, and nobody in the lab brings them
back as a network manager would: so what restores a link says them all again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mptcplab.node.graph import Port
from mptcplab.plan.links import action_changes, change_commands
from mptcplab.plan.traces import trace_events, traced
from mptcplab.scenario import events as described
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings
from mptcplab.scenario.network import Network
from mptcplab.steps import Command, Event

#: Before all other filters.
_DROP = ("pref", "1", "matchall", "action", "drop")


@dataclass
class _State:
    """What is true of the links between two events."""

    directions: dict[tuple[str, str], DirectionSettings]
    silent: set[tuple[str, str]] = field(default_factory=set)
    #: The nodes whose end of a link is set down.
    down: dict[str, str] = field(default_factory=dict)
    without_address: set[Port] = field(default_factory=set)


def event_list(network: Network) -> Iterator[Event]:
    """All events: of traces, of the scenario, of nodes; those of one instant happen in this order."""
    yield from trace_events(network)
    scenario = network.scenario
    directions = {
        (name, direction): getattr(link, direction) for name, link in scenario.links.items() for direction in DIRECTIONS
    }
    state = _State(directions)
    for event in sorted(scenario.events, key=lambda one: int(one.at)):
        commands = tuple(_commands(network, state, event))
        yield Event(int(event.at), event.type, event.link, event.direction, _value(event), commands)
    for name, node in network.nodes.items():
        yield from node.events(network.context_of(name))


def changing(network: Network) -> set[tuple[str, str]]:
    """The directions that get other values while the workloads run."""
    changes = (event for event in network.scenario.events if event.type == "change")
    return traced(network) | {(event.link, direction) for event in changes for direction in event.directions}


def hook_commands(network: Network) -> Iterator[Command]:
    """What silent failures need from the beginning: a place for their filters; one that is there already stays."""
    for link, direction in dict.fromkeys(_silenced(network)):
        node, device, _ = _drop_place(network, link, direction)
        yield Command(node, ("tc", "qdisc", "replace", "dev", device, "clsact"))


def _commands(network: Network, state: _State, event: described.Event) -> Iterator[Command]:
    if event.type == "change":
        for direction in event.directions:
            before = state.directions[event.link, direction]
            changed = event.changed(before)
            state.directions[event.link, direction] = changed
            yield from action_changes(network, event.link, direction, changed, before)
            yield from change_commands(network, event.link, direction, changed)
    elif event.type == "down":
        yield from _fail(network, state, event)
    elif event.type == "up":
        yield from _restore(network, state, event)
    else:
        yield from _readdress(network, state, event)


def _fail(network: Network, state: _State, event: described.Event) -> Iterator[Command]:
    if event.failure_mode == "silent":
        for direction in event.directions:
            state.silent.add((event.link, direction))
            node, device, side = _drop_place(network, event.link, direction)
            yield Command(node, ("tc", "filter", "add", "dev", device, side, *_DROP))
        return
    port = end_of(network, event)
    node = port.node if event.failure_mode == "interface" else port.peer
    state.down[event.link] = node
    yield Command(node, ("ip", "link", "set", "dev", event.link, "down"))


def _restore(network: Network, state: _State, event: described.Event) -> Iterator[Command]:
    for direction in event.directions:
        if (event.link, direction) in state.silent:
            state.silent.remove((event.link, direction))
            node, device, side = _drop_place(network, event.link, direction)
            yield Command(node, ("tc", "filter", "delete", "dev", device, side, "pref", "1"))
    node_down = state.down.pop(event.link, None)
    if node_down is not None:
        port = network.ports[node_down, event.link]
        if port.address.version == 6:
            # As at the beginning (nodad): nobody else has these addresses, and looking for one takes some seconds.
            yield Command(node_down, ("sysctl", "-qw", f"net.ipv6.conf.{event.link}.accept_dad=0"))
        yield Command(node_down, ("ip", "link", "set", "dev", event.link, "up"))
        if port not in state.without_address:
            yield _address(port)
            yield from _routes(network, port)


def _readdress(network: Network, state: _State, event: described.Event) -> Iterator[Command]:
    """An address goes or comes, and with it the endpoint that names it, as network managers do."""
    port = end_of(network, event)
    node = network.nodes[port.node]
    is_down = state.down.get(event.link) == port.node
    state.without_address ^= {port}
    if event.type == "address-removed":
        yield from node.readdress(network.context_of(port.node), port, add=False)
        # An interface that is set down has no addresses of IPv6 any more.
        if not (is_down and port.address.version == 6):
            yield Command(port.node, ("ip", "address", "delete", str(port.address), "dev", port.link))
        return
    yield _address(port)
    if not is_down:
        yield from _routes(network, port)
    yield from node.readdress(network.context_of(port.node), port, add=True)


def _address(port: Port) -> Command:
    """The address of ``port``, said so that it does no harm when it is there already."""
    address = ("ip", "address", "replace", str(port.address), "dev", port.link)
    return Command(port.node, (*address, "nodad") if port.address.version == 6 else address)


def _routes(network: Network, port: Port) -> Iterator[Command]:
    """All routes that leave by ``port``, likewise."""
    for command in network.nodes[port.node].routes(network.context_of(port.node)):
        argv = command.argv
        if argv[:3] == ("ip", "route", "add") and argv[argv.index("dev") + 1] == port.link:
            yield Command(port.node, ("ip", "route", "replace", *argv[3:]))


def end_of(network: Network, event: described.Event) -> Port:
    """The end of the link that ``event`` is about."""
    ends = [network.ports[node, event.link] for node in network.scenario.links[event.link].between]
    if event.node is not None:
        return next(port for port in ends if port.node == event.node)
    return next(port for port in ends if not network.nodes[port.node].forwards)


def _silenced(network: Network) -> Iterator[tuple[str, str]]:
    for event in network.scenario.events:
        if event.type == "down" and event.failure_mode == "silent":
            yield from ((event.link, direction) for direction in event.directions)


def _drop_place(network: Network, link: str, direction: str) -> tuple[str, str, str]:
    """Node, interface and side of it where packets of a direction vanish: in front of what shapes it."""
    source, target = network.ends(link, direction)
    if network.nodes[source.node].shapes:
        return source.node, source.link, "egress"
    return target.node, target.link, "ingress"


def _value(event: described.Event) -> str:
    """What is new, in a line."""
    if event.type == "down":
        return event.failure_mode
    if event.type == "change":
        return ", ".join(f"{key} {value}" for key, value in event.new.items())
    return event.node or ""
