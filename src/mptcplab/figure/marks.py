# SPDX-License-Identifier: MIT
"""The events of a run in words, as marks in figures over time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mptcplab.gateway.words import event_words, words_at_instant
from mptcplab.metrics.events import NetworkEvent, read_events
from mptcplab.metrics.manifest import read_links, read_nodes, read_scheduled_events
from mptcplab.metrics.radios import Association, changes_of_stations
from mptcplab.node.words import path_manager_words
from mptcplab.recording.record import Recording

#: More marks than this hide the curves.
_MAX_MARKS = 24
_NS = 1e9
#: No loss as recordings have it, in the smallest unit, which nobody writes.
_NO_LOSS = re.compile(r"\b0 ppb\b")
_HOST = "host"
#: The words for failures at one end of a link, and the other kinds of events at one.
_FAILURES = {("down", "interface"): "interface down", ("down", "carrier"): "no carrier"}
_OF_ADDRESSES = ("address-removed", "address-added")


def marks(recording: Recording) -> list[dict[str, Any]]:
    """Return the events of a run, except the steps of traces, by instant; only the first if there are many.

    What stations associate with and lose is among them.
    """
    ends = {(link, kind): iter(nodes) for (link, kind), nodes in _ends(recording).items()}
    texts = []
    for event in sorted(read_events(recording), key=lambda event: event.instant_ns):
        node = next(ends.get((event.link, event.kind), iter(())), "")
        if event.kind != "trace":
            texts.append((event.instant_ns, _event_words(event, node)))
    texts += [
        (changes_of_station.time_ns, _association_words(changes_of_station))
        for changes_of_station in changes_of_stations(recording)
    ]
    names: dict[float, list[str]] = {}
    for instant_ns, text in sorted(texts, key=lambda pair: pair[0]):
        names.setdefault(instant_ns / _NS, []).append(text)
    return [{"t": time, "text": "; ".join(words_at_instant(texts))} for time, texts in list(names.items())[:_MAX_MARKS]]


def _ends(recording: Recording) -> dict[tuple[str, str], list[str]]:
    """Return the nodes of the events of each link and kind, in the order of time; "" for an event of both ends.

    Recordings of events have a link only.
    """
    ends: dict[tuple[str, str], list[str]] = {}
    for event in read_scheduled_events(recording):
        at_end = event.mode in ("interface", "carrier") or event.type in _OF_ADDRESSES
        node = event.node or next(_hosts(recording, event.link), "") if at_end else ""
        ends.setdefault((event.link, event.type), []).append(node)
    return ends


def _hosts(recording: Recording, name: str) -> Iterator[str]:
    """Yield the hosts at a link: an event that names no end is at the only one."""
    hosts = {node.name for node in read_nodes(recording).values() if node.kind == _HOST}
    link = read_links(recording).get(name)
    if link is not None:
        yield from (node for node in link.between if node in hosts)


def _event_words(event: NetworkEvent, node: str) -> str:
    """Return an event in words, with the ``node`` at whose end of the link it happens, if it is at one."""
    known = event_words(event.kind, event.link, event.value)
    known = known or path_manager_words(event.kind, event.link, event.value)
    if known is not None:
        return known
    at = f" at {node}" if node else ""
    if event.kind in _OF_ADDRESSES and node:
        return f"{event.link}: {event.kind.replace('-', ' ')}{at}"
    if (event.kind, event.value) in _FAILURES and node:
        return f"{event.link}: {_FAILURES[event.kind, event.value]}{at}"
    direction = f" {event.direction}" if event.direction != "both" else ""
    value = _NO_LOSS.sub("0 %", event.value)
    return f"{event.link}{direction}: {event.kind.replace('-', ' ')} {value}".rstrip()


def _association_words(change: Association) -> str:
    verb = {"associated": "associated with", "roamed": "roamed to"}.get(change.kind, f"{change.kind} from")
    return f"{change.link}: {verb} {change.peer}"
