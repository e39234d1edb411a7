# SPDX-License-Identifier: MIT
"""Whether events can happen as they are written: links and nodes that exist, and an order that makes sense."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import ValidationError

from mptcplab.errors import Mistake
from mptcplab.network.registry import VARIABLE_KEYS
from mptcplab.scenario.document import Document, name_hint
from mptcplab.scenario.events import Event
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.schema import Scenario


@dataclass
class _State:
    """What is true of the links before an event."""

    directions: dict[tuple[str, str], DirectionSettings]
    silent: set[tuple[str, str]] = field(default_factory=set)
    down: set[str] = field(default_factory=set)
    without_address: set[tuple[str, str]] = field(default_factory=set)


def check_events(document: Document, scenario: Scenario) -> None:
    """:raises InputError: for the first event that cannot happen."""
    directions = {
        (name, direction): getattr(link, direction) for name, link in scenario.links.items() for direction in DIRECTIONS
    }
    state = _State(directions)
    end_ns = _end_ns(scenario)
    numbered = sorted(enumerate(scenario.events), key=lambda pair: int(pair[1].at))
    for index, event in numbered:
        path: KeyPath = ("events", index)
        _check_place(document, path, scenario, event)
        if end_ns is not None and event.at >= end_ns:
            hint = "every workload has ended by then: use an earlier instant, or a longer duration"
            raise document.error((*path, "at"), "comes too late to do anything", hint=hint, kind=Mistake.IDLE)
        if event.type == "change":
            _check_change(document, path, state, event)
        elif event.type in ("down", "up"):
            _check_failure(document, path, state, event)
        else:
            _check_address(document, path, scenario, state, event)


def _end_ns(scenario: Scenario) -> int | None:
    """When the last workload ends; None when the time that one takes is not known."""
    ends = []
    for workload in scenario.workloads.values():
        duration = getattr(workload, "duration", None)
        if duration is None:
            return None
        ends.append(int(workload.start) + int(duration))
    return max(ends)


def _check_place(document: Document, path: KeyPath, scenario: Scenario, event: Event) -> None:
    if event.link not in scenario.links:
        hint = name_hint(event.link, scenario.links)
        raise document.error((*path, "link"), f"there is no link '{event.link}'", hint=hint, kind=Mistake.REFERENCE)
    ends = scenario.links[event.link].between
    if event.node is not None and event.node not in ends:
        hint = f"the link joins {ends[0]} and {ends[1]}"
        raise document.error((*path, "node"), f"is not at link '{event.link}'", hint=hint, kind=Mistake.REFERENCE)
    hosts = [node for node in ends if not scenario.nodes[node].forwards]
    if event.needs_node and event.node is None and len(hosts) != 1:
        hint = f'name one end: node = "{ends[0]}" or node = "{ends[1]}"'
        many = "two hosts" if hosts else "no host"
        message = f"does not say which end is meant, and the link has {many}"
        raise document.error((*path, "type"), message, hint=hint, kind=Mistake.MISSING)


def _check_change(document: Document, path: KeyPath, state: _State, event: Event) -> None:
    for direction in event.directions:
        before = state.directions[event.link, direction]
        measured = before.traced.read.keys if before.traced is not None else ()
        for key in event.new:
            if key in measured:
                hint = "put the change into the trace, or take the trace away"
                raise document.error((*path, key), f"is what the trace of '{event.link}' decides", hint=hint)
            if VARIABLE_KEYS[key].needs_value and getattr(before, key) is None:
                hint = f"give links.{event.link} a {key} to begin with"
                raise document.error((*path, key), f"cannot be given to a direction without a {key}", hint=hint)
        try:
            changed = event.changed(before)
        except ValidationError as error:
            raise _impossible(document, path, event, error) from error
        if changed == before:
            new = next(iter(event.new))
            message, hint = "changes nothing", f"the {direction} direction has these values then already"
            raise document.error((*path, new), message, hint=hint, kind=Mistake.IDLE)
        state.directions[event.link, direction] = changed


def _impossible(document: Document, path: KeyPath, event: Event, error: ValidationError) -> Exception:
    """What the changed direction would be wrong in, said of the event that makes it so."""
    details = error.errors()[0]
    context = details.get("ctx", {})
    named = str(context.get("key", ("",))[0]) if context.get("key") else ""
    key = named if named in event.new else next(iter(event.new))
    text = str(context.get("text", details["msg"]))
    message = text if key == named else f"leaves a {named} that {text}"
    hint, kind = str(context.get("hint", "use another value")), context.get("kind", Mistake.VALUE)
    return document.error((*path, key), message, hint=hint, kind=kind)


def _check_failure(document: Document, path: KeyPath, state: _State, event: Event) -> None:
    directions = {(event.link, direction) for direction in event.directions}
    if event.type == "up":
        if event.link in state.down and event.direction != "both":
            hint = "leave `direction` out: the interface is down for both"
            raise document.error((*path, "direction"), "is not of one direction", hint=hint)
        if event.link not in state.down and not directions & state.silent:
            hint = 'an event with type = "down" comes before it'
            raise document.error((*path, "type"), f"restores link '{event.link}', which is not down then", hint=hint)
        state.silent -= directions
        state.down.discard(event.link)
        return
    if event.link in state.down or directions & state.silent:
        hint = 'restore it before by an event with type = "up"'
        raise document.error((*path, "type"), f"takes link '{event.link}' down, which is down then already", hint=hint)
    if event.failure_mode == "silent":
        state.silent |= directions
    else:
        state.down.add(event.link)


def _check_address(document: Document, path: KeyPath, scenario: Scenario, state: _State, event: Event) -> None:
    ends = scenario.links[event.link].between
    node = event.node or next(node for node in ends if not scenario.nodes[node].forwards)
    port = (node, event.link)
    if (event.type == "address-removed") == (port in state.without_address):
        there = "does not have" if event.type == "address-removed" else "has"
        hint = "addresses are there at the beginning, and each goes before it comes back"
        raise document.error((*path, "type"), f"is of an address that '{node}' {there} then", hint=hint)
    state.without_address ^= {port}
