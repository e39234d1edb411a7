# SPDX-License-Identifier: MIT
"""The events of a run in words, as marks in figures over time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mptcplab.gateway.words import event_words, words_at_instant
from mptcplab.metrics.manifest import read_nodes
from mptcplab.metrics.radios import Association, changes_of_stations
from mptcplab.node.words import path_manager_words
from mptcplab.recording.record import Recording
from mptcplab.units import Duration

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
    ends = {(link, kind): iter(nodes) for (link, kind), nodes in _ends(recording.manifest).items()}
    texts = []
    for row in sorted(recording.events.iter_rows(named=True), key=lambda entry: int(entry["instant_ns"])):
        node = next(ends.get((row["link"], row["kind"]), iter(())), "")
        if row["kind"] != "trace":
            texts.append((row["instant_ns"], _event_words(row, node)))
    texts += [
        (changes_of_station.time_ns, _association_words(changes_of_station))
        for changes_of_station in changes_of_stations(recording)
    ]
    names: dict[float, list[str]] = {}
    for instant_ns, text in sorted(texts, key=lambda pair: pair[0]):
        names.setdefault(instant_ns / _NS, []).append(text)
    return [{"t": time, "text": "; ".join(words_at_instant(texts))} for time, texts in list(names.items())[:_MAX_MARKS]]


def _ends(manifest: Mapping[str, Any]) -> dict[tuple[str, str], list[str]]:
    """Return the nodes of the events of each link and kind, in the order of time; "" for an event of both ends.

    Recordings of events have a link only.
    """
    described = sorted(
        manifest.get("scenario", {}).get("events", ()), key=lambda entry: int(Duration.parse(entry["at"]))
    )
    ends: dict[tuple[str, str], list[str]] = {}
    for event in described:
        at_end = event.get("mode") in ("interface", "carrier") or event["type"] in _OF_ADDRESSES
        node = event.get("node") or next(_hosts(manifest, event["link"]), "") if at_end else ""
        ends.setdefault((event["link"], event["type"]), []).append(node)
    return ends


def _hosts(manifest: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the hosts at a link: an event that names no end is at the only one."""
    hosts = {node.name for node in read_nodes(manifest).values() if node.kind == _HOST}
    for link in manifest["links"]:
        if link["name"] == name:
            yield from (node for node in link["between"] if node in hosts)


def _event_words(row: Mapping[str, Any], node: str) -> str:
    """Return an event in words, with the ``node`` at whose end of the link it happens, if it is at one."""
    known = event_words(row["kind"], row["link"], row["value"])
    known = known or path_manager_words(row["kind"], row["link"], row["value"])
    if known is not None:
        return known
    at = f" at {node}" if node else ""
    if row["kind"] in _OF_ADDRESSES and node:
        return f"{row['link']}: {row['kind'].replace('-', ' ')}{at}"
    if (row["kind"], row["value"]) in _FAILURES and node:
        return f"{row['link']}: {_FAILURES[row['kind'], row['value']]}{at}"
    direction = f" {row['direction']}" if row["direction"] != "both" else ""
    value = _NO_LOSS.sub("0 %", row["value"])
    return f"{row['link']}{direction}: {row['kind'].replace('-', ' ')} {value}".rstrip()


def _association_words(change: Association) -> str:
    verb = {"associated": "associated with", "roamed": "roamed to"}.get(change.kind, f"{change.kind} from")
    return f"{change.link}: {verb} {change.peer}"
