# SPDX-License-Identifier: MIT
"""Check that events of radios are possible: their nodes have radios, and each changes something."""

from __future__ import annotations

from mptcplab.errors import Mistake
from mptcplab.scenario.document import Document
from mptcplab.scenario.events import Event
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known
from mptcplab.scenario.schema import Scenario


def check_radio_event(document: Document, path: KeyPath, scenario: Scenario, event: Event, off: set[str]) -> None:
    """Check an event of all radios of a node. ``off`` has the nodes whose radios earlier events have switched off.

    :raises InputError: if it is impossible.
    """
    node = event.node or ""
    check_known(document, (*path, "node"), node, scenario.nodes, "node")
    if not any(node in link.between and link.radio is not None for link in scenario.links.values()):
        hint = "name a node at a link with a radio, or a link"
        raise document.error((*path, "node"), "has no radio", hint=hint, kind=Mistake.IDLE)
    if event.type == "move":
        _check_move(document, path, scenario, node)
    elif event.type == "down":
        if node in off:
            hint = 'switch them on first by an event with type = "up"'
            raise document.error((*path, "type"), f"switches the radios of '{node}' off, which are off", hint=hint)
        off.add(node)
    elif event.type == "up":
        if node not in off:
            hint = 'add an earlier event with type = "down"'
            raise document.error((*path, "type"), f"switches the radios of '{node}' on, which are on", hint=hint)
        off.remove(node)


def _check_move(document: Document, path: KeyPath, scenario: Scenario, node: str) -> None:
    if scenario.nodes[node].moves:
        key = "walk" if scenario.nodes[node].walk is not None else "waypoints"
        hint = f"remove its {key}, or the event"
        raise document.error((*path, "node"), f"moves by its {key}", hint=hint, kind=Mistake.CONFLICT)
