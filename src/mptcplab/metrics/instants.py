# SPDX-License-Identifier: MIT
"""Changes of the network in a run (``events.parquet``), and the instants at which links and gateways changed."""

from __future__ import annotations

from dataclasses import dataclass

from mptcplab.gateway.words import DOWN, UP
from mptcplab.metrics.manifest import read_links, read_paths, read_tracks
from mptcplab.node.words import OF_PATH_MANAGERS
from mptcplab.recording.record import Recording

# Changes of the network in a run, from ``events.parquet``; docs/events.md has their kinds.

_BOTH = "both"


@dataclass(frozen=True)
class NetworkEvent:
    """A change of ``link``, which is the name of a gateway or node for the kinds of events that these have.

    ``direction`` is ``both`` unless it changes one. ``value`` is empty if the event sets none.
    """

    instant_ns: int
    kind: str
    link: str
    direction: str = _BOTH
    value: str = ""


def read_events(recording: Recording) -> list[NetworkEvent]:
    """Return the changes of the network, in the order in which they are recorded."""
    rows = recording.events.iter_rows(named=True)
    return [
        NetworkEvent(
            int(row["instant_ns"]), row["kind"], row["link"], row.get("direction") or _BOTH, row.get("value") or ""
        )
        for row in rows
    ]


# The instants of a run at which links and gateways failed, came back or changed (``events.parquet``).

_NS_PER_S = 1e9
#: Kinds of events that take a path away from its hosts, and that give it back.
_REMOVED, _SILENT = "address-removed", "silent"
_FAILURES, _RESTORATIONS = ("down", _REMOVED), ("up", "address-added")
#: Of all radios of a node, whose name is in the place of a link's.
_RADIOS_OFF, _RADIOS_ON = "radios-off", "radios-on"
_BEGINS = (*_FAILURES, DOWN, _RADIOS_OFF)
_KINDS = (*_BEGINS, *_RESTORATIONS, UP, _RADIOS_ON)


@dataclass(frozen=True)
class Instant:
    """A failure or restoration at a time in s. A restoration belongs to its failure at the same ``place``.

    That is a link, or one side of a gateway.
    """

    time_s: float
    is_failure: bool
    place: str = ""


def read_instants(recording: Recording) -> list[Instant]:
    """Return failures and restorations in time order. Both directions of a link count as one."""
    events = [event for event in read_events(recording) if event.kind in _KINDS]
    pairs = {(event.instant_ns, event.kind, _place(event)) for event in events}
    return [Instant(instant / _NS_PER_S, kind in _BEGINS, place) for instant, kind, place in sorted(pairs)]


def changes_rates(recording: Recording) -> bool:
    """Return whether the rate of any link may have changed during the run."""
    neutral = (DOWN, UP, *OF_PATH_MANAGERS)
    return any(event.kind not in neutral for event in read_events(recording)) or _has_trace(recording)


def changes_shape(recording: Recording) -> bool:
    """Return whether a link's rate may have changed while it was up: by an event of another kind, by a trace, or
    because a node with radios moved."""
    neutral = (*_KINDS, *OF_PATH_MANAGERS)
    changed = any(event.kind not in neutral for event in read_events(recording)) or _has_trace(recording)
    return changed or any(len(track) > 1 for track in read_tracks(recording).values())


def follows_trace(recording: Recording, workload: str) -> bool:
    """Return whether a link of a workload's paths follows a trace, so that its rates are never those from before."""
    links = read_links(recording)
    steps = (step for path in read_paths(recording, workload).values() for step in path)
    return any(links[link].in_direction(direction).has_trace for link, direction in steps)


def _has_trace(recording: Recording) -> bool:
    return any(direction.has_trace for link in read_links(recording).values() for direction in link.directions)


def is_emptied(recording: Recording, link: str) -> bool:
    """Return whether an interface of ``link`` lost its carrier or was set down, which empties its queues."""
    return any(event.kind == "down" and event.value != _SILENT for event in _events_of(recording, link))


def is_silent(recording: Recording, link: str) -> bool:
    """Return whether ``link`` failed silently: its interfaces stayed up."""
    return any(event.kind == "down" and event.value == _SILENT for event in _events_of(recording, link))


def has_failed(recording: Recording, link: str) -> bool:
    """Return whether ``link`` was down for some time, or one of its ends lost its address."""
    return any(event.kind in _FAILURES for event in _events_of(recording, link))


def links_without_address(recording: Recording) -> set[tuple[str, str]]:
    """Return the links that lost an address for good, each with the host that the event names; "" if it names none."""
    last: dict[tuple[str, str], str] = {}
    for event in read_events(recording):
        if event.kind.startswith("address"):
            last[event.link, event.value] = event.kind
    return {place for place, kind in last.items() if kind == _REMOVED}


def path_manager_events(recording: Recording) -> list[NetworkEvent]:
    """Return the events of endpoints and limits, in the order in which they happened."""
    return [event for event in read_events(recording) if event.kind in OF_PATH_MANAGERS]


def _place(event: NetworkEvent) -> str:
    if event.kind in (_RADIOS_OFF, _RADIOS_ON):
        return f"radios of {event.link}"
    return f"gateway {event.link} {event.value}" if event.kind in (DOWN, UP) else event.link


def _events_of(recording: Recording, link: str) -> list[NetworkEvent]:
    return [event for event in read_events(recording) if event.link == link]
