# SPDX-License-Identifier: MIT
"""The timeline of a scenario: its events name what exists, and each fits the state that earlier events leave."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import ValidationError

from mptcplab.errors import Mistake
from mptcplab.network.registry import VARIABLE_KEYS
from mptcplab.node.endpoint_list import EndpointList, changed_flags
from mptcplab.node.words import ADDED, LIMITS
from mptcplab.scenario.document import Document
from mptcplab.scenario.events import Event
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.network import Network
from mptcplab.scenario.place import SWEPT, KeyPath
from mptcplab.scenario.references import check_known
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.wifi import check_radio_event


@dataclass
class _CheckedLinks:
    """The state of the links before an event."""

    directions: dict[tuple[str, str], DirectionSettings]
    silent: set[tuple[str, str]] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    without_address: set[tuple[str, str]] = field(default_factory=set)
    #: The nodes whose radios are off.
    radios_off: set[str] = field(default_factory=set)
    #: The endpoints and limits of the nodes that events have changed.
    endpoints: dict[str, EndpointList] = field(default_factory=dict)


def check_events(document: Document, network: Network) -> None:
    """Check all events in order of time. :raises InputError: for the first impossible one."""
    scenario = network.scenario
    state = _CheckedLinks({key: direction.settings for key, direction in network.directions.items()})
    end_ns = _end_ns(scenario)
    numbered = sorted(enumerate(scenario.events), key=lambda pair: int(pair[1].at))
    for index, event in numbered:
        path: KeyPath = ("events", index)
        if event.link:
            _check_place(document, path, scenario, event)
        if end_ns is not None and event.at >= end_ns:
            hint = "use an earlier time, or a longer duration: all workloads have ended by then"
            raise document.error((*path, "at"), "is too late to have an effect", hint=hint, kind=Mistake.IDLE)
        if event.is_of_node:
            check_radio_event(document, path, scenario, event, state.radios_off)
        elif event.type == "change":
            _check_change(document, scenario, index, state)
        elif event.type in ("down", "up"):
            _check_failure(document, path, state, event)
        elif event.is_of_path_manager:
            _check_path_manager(document, path, network, state, event)
        else:
            _check_address(document, path, network, state, event)


def _end_ns(scenario: Scenario) -> int | None:
    """Return when the last workload ends; None if a workload has no duration."""
    ends = []
    for workload in scenario.workloads.values():
        duration = getattr(workload, "duration", None)
        if duration is None:
            return None
        ends.append(int(workload.latest_start) + int(duration))
    return max(ends)


def _check_place(document: Document, path: KeyPath, scenario: Scenario, event: Event) -> None:
    check_known(document, (*path, "link"), event.link, scenario.links, "link")
    ends = scenario.links[event.link].between
    if event.node is not None and event.node not in ends:
        hint = f"use an end of the link: {ends[0]} or {ends[1]}"
        message = f"is not an end of link '{event.link}'"
        raise document.error((*path, "node"), message, hint=hint, kind=Mistake.REFERENCE)
    hosts = [node for node in ends if not scenario.nodes[node].forwards]
    if event.needs_node and event.node is None and len(hosts) != 1:
        hint = f'name one end: node = "{ends[0]}" or node = "{ends[1]}"'
        many = "two hosts" if hosts else "no hosts"
        message = f"needs one end of the link, which joins {many}"
        raise document.error((*path, "type"), message, hint=hint, kind=Mistake.MISSING)


def _check_change(document: Document, scenario: Scenario, index: int, state: _CheckedLinks) -> None:
    event, path = scenario.events[index], ("events", index)
    for direction in event.directions:
        before = state.directions[event.link, direction]
        measured = before.traced.read.keys if before.traced is not None else ()
        for key in event.new:
            if key in measured:
                hint = f"put the change into the trace, or remove the trace or its {key}"
                raise document.error((*path, key), f"is already set by the trace of '{event.link}'", hint=hint)
            if VARIABLE_KEYS[key].needs_value and getattr(before, key) is None:
                hint = f"give links.{event.link} an initial {key}"
                raise document.error((*path, key), f"cannot change a direction without a {key}", hint=hint)
        try:
            changed = event.apply(before)
        except ValidationError as error:
            raise _change_error(document, path, event, error) from error
        if changed == before and not _is_varied(document, scenario, index, direction):
            new = next(iter(event.new))
            message = "changes nothing"
            hint = f"use another value, or remove the event: the {direction} direction has these values already"
            raise document.error((*path, new), message, hint=hint, kind=Mistake.IDLE)
        state.directions[event.link, direction] = changed


def _is_varied(document: Document, scenario: Scenario, index: int, direction: str) -> bool:
    """Return whether a sweep or the command line sets a value of this event, or of the event that it replaces.

    The point is then what the others are compared with, and no mistake of the file.
    """
    event = scenario.events[index]
    before = [
        number
        for number, other in enumerate(scenario.events)
        if other.link == event.link and direction in other.directions and (other.at, number) < (event.at, index)
    ]
    link: KeyPath = ("links", event.link)
    paths: list[KeyPath] = [("events", index, key) for key in ("link", "at", "direction")]
    paths += [(*path, key) for path in (link, (*link, direction)) for key in event.new]
    paths += [("events", number, key) for number in (*before, index) for key in event.new]
    # A swept table or list has no places for its parts. A link has one for each key that somebody wrote.
    paths += [("events",), *(("events", number) for number in (*before, index))]
    places = map(document.own_place, paths)
    return any(place is not None and place.rank >= SWEPT for place in places)


def _change_error(document: Document, path: KeyPath, event: Event, error: ValidationError) -> Exception:
    """Return the error of the changed direction, reported at the event that causes it."""
    details = error.errors()[0]
    context = details.get("ctx", {})
    named = str(context.get("key", ("",))[0]) if context.get("key") else ""
    key = named if named in event.new else next(iter(event.new))
    text = str(context.get("text", details["msg"]))
    message = text if key == named else f"results in a {named} that {text}"
    hint, kind = str(context.get("hint", "use another value")), context.get("kind", Mistake.VALUE)
    return document.error((*path, key), message, hint=hint, kind=kind)


def _check_failure(document: Document, path: KeyPath, state: _CheckedLinks, event: Event) -> None:
    directions = {(event.link, direction) for direction in event.directions}
    if event.type == "up":
        if event.link in state.down and event.direction != "both":
            hint = "remove `direction`: the interface is down in both"
            raise document.error((*path, "direction"), "cannot restore one direction only", hint=hint)
        if event.link not in state.down and not directions & state.silent:
            hint = 'add an earlier event with type = "down"'
            raise document.error((*path, "type"), f"restores link '{event.link}', which is not down", hint=hint)
        state.silent -= directions
        state.down.discard(event.link)
        return
    if event.link in state.down or directions & state.silent:
        hint = 'restore it first by an event with type = "up"'
        raise document.error((*path, "type"), f"takes link '{event.link}' down, which is down already", hint=hint)
    if event.failure_mode == "silent":
        state.silent |= directions
    else:
        state.down.add(event.link)


def _node_of(scenario: Scenario, event: Event) -> str:
    """Return the node at whose end of the link the event happens."""
    ends = scenario.links[event.link].between if event.link else ()
    return event.node or next(node for node in ends if not scenario.nodes[node].forwards)


def _check_address(document: Document, path: KeyPath, network: Network, state: _CheckedLinks, event: Event) -> None:
    scenario = network.scenario
    node = _node_of(scenario, event)
    port = (node, event.link)
    if (event.type == "address-removed") == (port in state.without_address):
        removed = event.type == "address-removed"
        message = f"removes an address that '{node}' does not have" if removed else f"adds an address that '{node}' has"
        hint = "remove an address before you add it again: all addresses exist at the start"
        raise document.error((*path, "type"), message, hint=hint)
    state.without_address ^= {port}
    if scenario.transports.get(node) is not None and any(other.is_of_path_manager for other in scenario.events):
        endpoints, end = _endpoints_of(network, state, node), network.ports[port]
        list(endpoints.address_removed(end) if event.type == "address-removed" else endpoints.address_added(end))


def _endpoints_of(network: Network, state: _CheckedLinks, node: str) -> EndpointList:
    """Return the endpoints of a node with sockets; an empty list if these are not MPTCP sockets."""
    if node not in state.endpoints:
        state.endpoints[node] = EndpointList(network.context_of(node), network.scenario.transports[node])
    return state.endpoints[node]


def _check_path_manager(
    document: Document, path: KeyPath, network: Network, state: _CheckedLinks, event: Event
) -> None:
    """Check an event of endpoints or limits, and apply it to ``state``."""
    scenario = network.scenario
    if event.node is not None:
        check_known(document, (*path, "node"), event.node, scenario.nodes, "node")
    node = _node_of(scenario, event)
    transport = scenario.transports.get(node)
    if transport is None:
        hint = f"give {node} a transport, or name a host"
        raise document.error((*path, "node"), "has no sockets, and so no endpoints", hint=hint, kind=Mistake.REFERENCE)
    if not network.context_of(node).speaks_mptcp(transport.protocol):
        message = f"does nothing: '{node}' uses TCP"
        hint = f'write protocol = "mptcp" for {node}, or remove the event'
        raise document.error((*path, "type"), message, hint=hint, kind=Mistake.IDLE)
    if transport.path_manager != "kernel":
        hint = 'use path_manager = "kernel", or events of addresses, which the other one watches'
        message = f"is an event of the kernel's path manager, and '{node}' has its own"
        raise document.error((*path, "type"), message, hint=hint, kind=Mistake.UNAVAILABLE)
    endpoints = _endpoints_of(network, state, node)
    if event.type == LIMITS:
        if event.new_limits(endpoints.limits) == endpoints.limits:
            limit = "subflows" if event.subflows is not None else "add_addr_accepted"
            hint = "use another value, or remove the event: these are the limits already"
            raise document.error((*path, limit), "changes nothing", hint=hint, kind=Mistake.IDLE)
        endpoints.set_limits(event.new_limits(endpoints.limits))
        return
    _check_endpoint(document, path, endpoints, state, event, node)
    endpoints.apply(event.type, network.ports[node, event.link], event.port, event.words)


def _check_endpoint(
    document: Document, path: KeyPath, endpoints: EndpointList, state: _CheckedLinks, event: Event, node: str
) -> None:
    """Check that the endpoint exists, or not if it is added, and that the kernel accepts the change."""
    name = f"endpoint of '{node}' at '{event.link}'{f' with port {event.port}' if event.port is not None else ''}"
    entry = endpoints.find(event.link, event.port)
    if event.type == ADDED:
        if (node, event.link) in state.without_address:
            hint = 'add the address first by an event with type = "address-added"'
            raise document.error((*path, "type"), f"adds an {name}, whose address is removed", hint=hint)
        if entry is not None:
            hint = f'it has the flags {", ".join(entry.flags)}: use type = "endpoint-changed", or remove it first'
            raise document.error((*path, "type"), f"adds an {name}, which exists", hint=hint)
        return
    if entry is None:
        others = [str(item.announced_port) for item in endpoints.list_on(event.link) if item.announced_port is not None]
        if (node, event.link) in state.without_address:
            hint = "it went with its address: use an earlier instant, or add the address first"
        elif others:
            hint = f"name its port: port = {others[0]}"
        else:
            hint = f'add it first by type = "{ADDED}", or list it in the endpoints of {node}'
        verb = "changes" if event.type.endswith("changed") else "removes"
        raise document.error((*path, "type"), f"{verb} an {name}, which does not exist", hint=hint)
    if event.type.endswith("changed"):
        flags = changed_flags(entry.flags, event.words)
        if "fullmesh" in event.words and "signal" in flags:
            hint = "remove fullmesh: the kernel refuses it for an endpoint that is announced"
            raise document.error((*path, "flags"), "has fullmesh, and the endpoint has signal", hint=hint)
        if set(flags) == set(entry.flags):
            hint = f"use other flags, or remove the event: it has {', '.join(entry.flags)} already"
            raise document.error((*path, "flags"), "changes nothing", hint=hint, kind=Mistake.IDLE)
