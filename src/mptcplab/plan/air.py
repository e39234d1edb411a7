# SPDX-License-Identifier: MIT
"""Compile events of radios to lines of the medium's configuration: they need no commands while workloads run.

A silent failure of a radio link switches the station's radio off in the air, one of a node all its radios: they neither
hear nor are heard, and the programs that use them find out as on real machines. A station's interface that is set down
is not an event of the air.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.node.placed import Waypoint
from mptcplab.scenario.events import Event
from mptcplab.scenario.network import Network

#: Kinds of events of all radios of a node, in recordings.
RADIOS_OFF, RADIOS_ON = "radios-off", "radios-on"
_NS = 10**9
_STATES = {"down": "off", "up": "on"}


def is_of_air(network: Network, event: Event) -> bool:
    """Return whether the medium carries the event out."""
    if event.is_of_node:
        return True
    if event.is_of_path_manager:
        return False
    if network.scenario.links[event.link].radio is None:
        return False
    return event.type in _STATES and not _is_of_interface(network, event)


def air_kind(event: Event) -> str:
    """Return the kind that recordings call the event."""
    if event.is_of_node and event.type in _STATES:
        return RADIOS_OFF if event.type == "down" else RADIOS_ON
    return event.type


def air_value(event: Event) -> str:
    """Return what an event of a node changes, as text; empty if its kind says all."""
    if event.position is not None:
        return "to {:g}, {:g} m".format(*event.position)
    return f"{event.power_dbm:g} dBm" if event.power_dbm is not None else ""


def air_lines(network: Network, node: str, links: tuple[str, ...], radio: str) -> Iterator[str]:
    """Yield the changes of the ``radio`` of ``node`` at the end of ``links``, in the order of time."""
    for event in _sort_events(network):
        is_own = event.node == node if event.is_of_node else links == (event.link,)
        if not is_own or event.type == "move":
            continue
        word = f" {event.power_dbm:g}" if event.power_dbm is not None else ""
        yield f"{_STATES.get(event.type, event.type)} {radio} {seconds(int(event.at))}{word}"


def insert_jumps(network: Network, node: str) -> Iterator[Waypoint]:
    """Yield the waypoints of a node that events move: it leaves its place a nanosecond before it is at the next."""
    here = network.nodes[node].position
    for event in _sort_events(network):
        if event.type == "move" and event.node == node and event.position is not None and here is not None:
            if event.at > 1:
                yield Waypoint(int(event.at) - 1, here)
            yield Waypoint(int(event.at), event.position)
            here = event.position


def changes_air(network: Network) -> bool:
    """Return whether any event is the medium's."""
    return any(_sort_events(network))


def seconds(time_ns: int) -> str:
    """Return a time in seconds, to the nanosecond."""
    return f"{time_ns // _NS}.{time_ns % _NS:09}".rstrip("0").rstrip(".")


def _sort_events(network: Network) -> list[Event]:
    events = (event for event in network.scenario.events if is_of_air(network, event))
    return sorted(events, key=lambda event: int(event.at))


def _is_of_interface(network: Network, event: Event) -> bool:
    """Return whether a failure, or the failure that an ``up`` ends, sets the interface down."""
    if event.type == "down":
        return event.failure_mode == "interface"
    before = (
        this_event
        for this_event in network.scenario.events
        if this_event.link == event.link and this_event.type == "down"
    )
    last = max(
        (this_event for this_event in before if this_event.at <= event.at), key=lambda item: int(item.at), default=None
    )
    return last is not None and last.failure_mode == "interface"
