# SPDX-License-Identifier: MIT
"""Keys that hold for several places: of a link for both directions, of ``[transport]`` for all nodes, of a link preset.

A place's own key takes precedence. A shared key that every place overrides does nothing. It is refused, unless one of
the keys over it is stronger: a swept key or one of the command line may replace a key of the file in a more special
form, and so may a key of a file that extends another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mptcplab.errors import Mistake
from mptcplab.node.registry import NODE_KINDS
from mptcplab.scenario.document import Document, ScenarioError, Table, join_key, lookup
from mptcplab.scenario.link_presets import LINK_PRESETS, keys_of
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings
from mptcplab.scenario.place import SET, SWEPT, KeyPath

_MAX_NAMED = 3


@dataclass
class Idle:
    """The shared keys of a point that do nothing, with the error for each.

    A key of ``[copies]`` does nothing if it does nothing in every copy.
    """

    errors: dict[KeyPath, ScenarioError] = field(default_factory=dict)
    _used: set[KeyPath] = field(default_factory=set)

    def note(self, document: Document, source: KeyPath, over: Sequence[KeyPath | None]) -> None:
        """Note which keys of its places are ``over`` the shared key at ``source``; None where there is none."""
        place = document.place(source)
        written = place.written or source
        key = written if written[0] == "copies" else source
        ranks = [document.place(path).rank for path in over if path is not None]
        if len(ranks) < len(over) or any(rank > place.rank for rank in ranks):
            self._used.add(key)
            self.errors.pop(key, None)
        elif key not in self._used:
            self.errors[key] = _error(document, source, [path for path in over if path is not None])


def _error(document: Document, source: KeyPath, over: Sequence[KeyPath]) -> ScenarioError:
    names = list(dict.fromkeys(join_key(document.place(path).written or path) for path in over))
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    which = f"{', '.join(names[:_MAX_NAMED])}{more}" if more else " and ".join(names)
    rank = document.place(source).rank
    hint = "remove it, or those over it"
    if rank >= SWEPT:
        hint = f"{'set' if rank == SET else 'sweep'} {which} instead, or remove those from the file"
    does = "overrides" if len(names) == 1 else "override"
    return document.error(source, f"does nothing, because {which} {does} it", hint=hint, kind=Mistake.IDLE)


def share_link_keys(document: Document, idle: Idle) -> None:
    """Copy keys of a direction from a link to its ``forward`` and ``backward``, whose own keys take precedence."""
    links = document.tables.get("links")
    for name, link in links.items() if isinstance(links, dict) else ():
        if not isinstance(link, dict):
            continue
        shared = {key: link[key] for key in DirectionSettings.model_fields if key in link}
        source: KeyPath = ("links", name)
        targets: list[KeyPath] = [(*source, side) for side in DIRECTIONS if isinstance(link.get(side, {}), dict)]
        _note(document, source, shared, targets, idle)
        for key in shared:
            del link[key]
        for target in targets if shared else ():
            document.inherit(target, shared, source)


def share_transport(document: Document, idle: Idle) -> None:
    """Copy ``[transport]``, a valid one, to all nodes that share it; the keys of a node's own table take precedence."""
    transport = document.tables.get("transport", {})
    targets = list(_transports(document))
    _note(document, ("transport",), transport, targets, idle)
    document.tables.pop("transport", None)
    for target in targets:
        document.inherit(target, transport, ("transport",))


def _transports(document: Document) -> Iterator[KeyPath]:
    for kind in (kind for kind in NODE_KINDS.values() if kind.shares_transport):
        nodes = document.tables.get(kind.table)
        for name, node in nodes.items() if isinstance(nodes, dict) else ():
            if not isinstance(node, dict) or (kind.transport_is_optional and "transport" not in node):
                continue
            if isinstance(node.get("transport", {}), dict):
                yield (kind.table, name, "transport")


def note_link_presets(document: Document, idle: Idle) -> None:
    """Note the link presets of which the link's own keys leave nothing."""
    links = document.tables.get("links")
    for name, link in links.items() if isinstance(links, dict) else ():
        preset = LINK_PRESETS.get(str(link.get("preset"))) if isinstance(link, dict) else None
        if preset is None:
            continue
        source: KeyPath = ("links", name)
        own_texts = [
            next((path for path in ((*source, side, key), (*source, key)) if _has_key(document, path)), None)
            for side in DIRECTIONS
            for key, _ in keys_of(preset, side)
        ]
        idle.note(document, (*source, "preset"), own_texts)


def _note(document: Document, source: KeyPath, shared: Table, targets: Sequence[KeyPath], idle: Idle) -> None:
    """Note for each key of ``shared``, and of its tables, which of the ``targets`` have it."""
    for key, value in shared.items():
        here, there = (*source, key), [(*target, key) for target in targets]
        if not targets:
            continue
        if isinstance(value, dict) and all(isinstance(lookup(document.tables, path), dict) for path in there):
            _note(document, here, value, there, idle)
        else:
            idle.note(document, here, [path if _replaces(document, path, value) else None for path in there])


def _replaces(document: Document, path: KeyPath, shared: Any) -> bool:
    """Return whether the place's own value hides all of the ``shared`` one: two tables are merged."""
    own_entry = lookup(document.tables, path)
    return _has_key(document, path) and not (isinstance(own_entry, dict) and isinstance(shared, dict))


def _has_key(document: Document, path: KeyPath) -> bool:
    table = lookup(document.tables, path[:-1])
    return isinstance(table, dict) and path[-1] in table
