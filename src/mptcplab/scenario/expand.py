# SPDX-License-Identifier: MIT
"""Expand what a file writes once for several places, or by a name: copies, topologies, link presets, keys of a link for
both directions, ``[transport]`` for all nodes. Each function returns a document with the keys at each of these places.

A place's own key takes precedence. A shared key that every place overrides does nothing. It is refused, unless one of
the keys over it is stronger: a swept key or one of the command line may replace a key of the file in a more special
form, and so may a key of a file that extends another.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from mptcplab.errors import Mistake
from mptcplab.node.registry import NODE_KINDS
from mptcplab.node.transport import Transport
from mptcplab.scenario.copies import NAMED, Copies, fill_number
from mptcplab.scenario.document import (
    Document,
    ScenarioError,
    Table,
    is_wildcard,
    join_key,
    lookup,
    suggest_name,
)
from mptcplab.scenario.explain import validate
from mptcplab.scenario.keys import WrittenLink, find_meant_key
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings
from mptcplab.scenario.place import SET, SWEPT, KeyPath, Places
from mptcplab.scenario.presets import LINK_PRESETS, Topology, expand, keys_of

_MAX_NAMED = 3
#: A shared key, and for each of its places the key there that overrides it; None if there is none.
_SharedKey = tuple[KeyPath, Sequence[KeyPath | None]]


def expand_copies(document: Document) -> Document:
    """Replace ``[copies]`` by what it describes. :raises ScenarioError: for a name without ``{n}``, or made twice."""
    tables = document.tables.get("copies", {})
    if not isinstance(tables, dict):
        raise document.error(("copies",), "is not a table", hint="write [copies.NAME]", kind=Mistake.TYPE)
    made: set[KeyPath] = set()
    for name in tables:
        source: KeyPath = ("copies", name)
        for number in range(1, validate(document, Copies, source).count + 1):
            for path, here, value in _members_of_copy(document, source, number):
                if path in made:
                    hint = "give the copies names of their own"
                    raise document.error(here, f"is '{path[1]}' in two copies", hint=hint, kind=Mistake.CONFLICT)
                made.add(path)
                document = _add_member(document, path, here, value)
            document = _add_events(document, source, number)
    return document.drop(("copies",))


def _members_of_copy(document: Document, source: KeyPath, number: int) -> Iterator[tuple[KeyPath, KeyPath, Any]]:
    """Yield each named member of one copy: its path, where it is written, and its value."""
    group = lookup(document.tables, source)
    for table in (table for table in NAMED if table in group):
        for written, value in group[table].items():
            here = (*source, table, written)
            name = fill_number(written, number)
            if name == written:
                hint = f'write its number into the name, like "{written}{{n}}"'
                raise document.error(here, "is the name of every copy", hint=hint, kind=Mistake.CONFLICT)
            yield (table, str(name)), here, fill_number(value, number)


def _add_member(document: Document, path: KeyPath, source: KeyPath, value: Any) -> Document:
    """Add a member that the file may have given keys of its own."""
    members = document.tables.get(str(path[0]), {})
    if not isinstance(members, dict) or not isinstance(members.get(path[1], {}), dict):
        raise document.error(path, "is not a table", hint=f"write [{path[0]}.{path[1]}]", kind=Mistake.TYPE)
    if path[1] in members:
        return document.inherit(path, value, source)
    return document.with_value(path[:1], members).copy_value(path, value, source)


def _add_events(document: Document, source: KeyPath, number: int) -> Document:
    for index, event in enumerate(lookup(document.tables, source).get("events", [])):
        listed = document.tables.get("events", [])
        if not isinstance(listed, list):
            raise document.error(("events",), "is not a list", hint="write [[events]]", kind=Mistake.TYPE)
        document = document.with_value(("events",), [*listed, {}])
        document = document.copy_value(("events", len(listed)), fill_number(event, number), (*source, "events", index))
    return document


def expand_topology(document: Document) -> Document:
    """Replace ``[topology]`` by its nodes and links; keys of the file take precedence."""
    if document.tables.get("topology") is None:
        return document
    topology = validate(document, Topology, ("topology",))
    place = document.place(("topology",))
    for kind, made in expand(topology).items():
        written = document.tables.get(kind, {})
        if not isinstance(written, dict):
            hint = f"write [{kind}.{next(iter(made), 'NAME')}]"
            raise document.error((kind,), "is not a table", hint=hint, kind=Mistake.TYPE)
        for name in made:
            if not isinstance(written.get(name, {}), dict):
                raise document.error((kind, name), "is not a table", hint=f"write [{kind}.{name}]", kind=Mistake.TYPE)
            if document.own_place((kind, name)) is None:
                places = document.places.put((kind, name), Places(place, document.places.find((kind, name)).below))
                document = replace(document, places=places)
        if kind == "links":
            _refuse_unknown_links(document, topology, written, made)
        members = {name: {**table, **written.get(name, {})} for name, table in made.items()}
        document = document.with_value((kind,), {**members, **written, **members})
    return document.drop(("topology",))


def _is_between(key: str) -> bool:
    """Return whether ``key`` of a link is ``between``, misspelled or called otherwise."""
    return bool(difflib.get_close_matches("between", [key])) or find_meant_key(key, [WrittenLink]) == "between"


def _refuse_unknown_links(document: Document, topology: Topology, written: Table, made: Table) -> None:
    """Refuse links without ``between`` that the preset does not have."""
    for name, link in written.items():
        if name in made or not isinstance(link, dict) or any(_is_between(key) for key in link):
            continue
        near = suggest_name(name, made, cutoff=0.8)
        hint = f"use one of its links, {', '.join(made)}, or add between = [...] for a link of your own"
        if is_wildcard(name):
            hint = f'use wildcards in [sweep] only: "links.{name}.KEY" = [VALUE]'
        elif near is not None and near.rstrip("0123456789") != name.rstrip("0123456789"):
            hint = f"did you mean `{near}`? A link of your own needs between = [...]"
        raise document.error(("links", name), f"is not part of {topology}", hint=hint, kind=Mistake.REFERENCE)


def expand_link_presets(document: Document) -> Document:
    """Replace the ``preset`` of every link by its keys. :raises ScenarioError: for an unknown preset."""
    for name, link in _links(document):
        if "preset" not in link:
            continue
        path: KeyPath = ("links", name)
        at: KeyPath = (*path, "preset")
        preset = LINK_PRESETS.get(link["preset"]) if isinstance(link["preset"], str) else None
        if preset is None:
            near = suggest_name(str(link["preset"]), LINK_PRESETS)
            hint = f'did you mean "{near}"?' if near else f"use one of {', '.join(LINK_PRESETS)}"
            raise document.error(at, "is not the name of a link preset", hint=hint, kind=Mistake.CHOICE)
        place = document.place(at)
        document = document.drop(at)
        for direction in DIRECTIONS:
            settings = link.get(direction, {})
            for key, text in keys_of(preset, direction):
                if isinstance(settings, dict) and key not in settings and key not in link:
                    document = document.put((*path, direction, key), text, place)
    return document


def share_link_keys(document: Document) -> Document:
    """Copy keys of a direction from a link to its ``forward`` and ``backward``."""
    for name, link in _links(document):
        source: KeyPath = ("links", name)
        shared = _shared_keys(link)
        document = document.drop(*((*source, key) for key in shared)) if shared else document
        for target in _directions(source, link) if shared else ():
            document = document.inherit(target, shared, source)
    return document


def share_transport(document: Document) -> Document:
    """Copy ``[transport]`` to all nodes that share it. :raises ScenarioError: for a mistake in it."""
    source: KeyPath = ("transport",)
    # Checked here, an error has the key as the user wrote it.
    transport = document.tables.get("transport", {})
    validate(document, Transport, source, transport)
    for target in _transports(document):
        document = document.inherit(target, transport, source)
    return document.drop(source)


def _links(document: Document) -> Iterator[tuple[str, Table]]:
    """Yield the links that are tables; others are reported when they are validated."""
    links = document.tables.get("links")
    yield from (
        (name, link) for name, link in (links.items() if isinstance(links, dict) else ()) if isinstance(link, dict)
    )


def _shared_keys(link: Table) -> Table:
    """Return the keys of a link that hold for both directions."""
    return {key: link[key] for key in DirectionSettings.model_fields if key in link}


def _directions(source: KeyPath, link: Table) -> list[KeyPath]:
    return [(*source, direction) for direction in DIRECTIONS if isinstance(link.get(direction, {}), dict)]


def _transports(document: Document) -> Iterator[KeyPath]:
    for kind in (kind for kind in NODE_KINDS.values() if kind.shares_transport):
        nodes = document.tables.get(kind.table)
        for name, node in nodes.items() if isinstance(nodes, dict) else ():
            if not isinstance(node, dict) or (kind.transport_is_optional and "transport" not in node):
                continue
            if isinstance(node.get("transport", {}), dict):
                yield (kind.table, name, "transport")


def find_ineffective_keys(document: Document) -> dict[KeyPath, ScenarioError]:
    """Return the shared keys that have no effect, since every use overrides them, with the error for each.

    A key of ``[copies]`` does nothing if it does nothing in every copy.
    """
    errors: dict[KeyPath, ScenarioError] = {}
    used: set[KeyPath] = set()
    for source, over in (*_preset_uses(document), *_link_uses(document), *_transport_uses(document)):
        place = document.place(source)
        key = place.written if place.written and place.written[0] == "copies" else source
        overriding = [path for path in over if path is not None]
        if len(overriding) < len(over) or any(document.place(path).rank > place.rank for path in overriding):
            used.add(key)
        else:
            errors[key] = _ineffective_error(document, source, overriding)
    return {key: error for key, error in errors.items() if key not in used}


def find_ineffective(by_point: Sequence[dict[KeyPath, ScenarioError]]) -> ScenarioError | None:
    """Return the error about a shared key that does nothing at any point; None if there is no such key.

    ``by_point`` has the result of :func:`find_ineffective_keys` for each point.
    """
    return next((error for key, error in by_point[0].items() if all(key in errors for errors in by_point)), None)


def refuse_ineffective_keys(by_point: Sequence[dict[KeyPath, ScenarioError]]) -> None:
    """Refuse a shared key that does nothing at any point. ``by_point`` is as for :func:`find_ineffective`."""
    error = find_ineffective(by_point)
    if error is not None:
        raise error


def _ineffective_error(document: Document, source: KeyPath, over: Sequence[KeyPath]) -> ScenarioError:
    names = list(dict.fromkeys(join_key(document.place(path).written or path) for path in over))
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    which = f"{', '.join(names[:_MAX_NAMED])}{more}" if more else " and ".join(names)
    rank = document.place(source).rank
    hint = "remove it, or those over it"
    if rank >= SWEPT:
        hint = f"{'set' if rank == SET else 'sweep'} {which} instead, or remove those from the file"
    does = "overrides" if len(names) == 1 else "override"
    return document.error(source, f"does nothing, because {which} {does} it", hint=hint, kind=Mistake.IDLE)


def _preset_uses(document: Document) -> Iterator[_SharedKey]:
    """Yield the link presets, each with the link's own keys over it."""
    for name, link in _links(document):
        preset = LINK_PRESETS.get(str(link.get("preset")))
        if preset is not None:
            source: KeyPath = ("links", name)
            yield (
                (*source, "preset"),
                [
                    next(
                        (path for path in ((*source, direction, key), (*source, key)) if _has_key(document, path)), None
                    )
                    for direction in DIRECTIONS
                    for key, _ in keys_of(preset, direction)
                ],
            )


def _link_uses(document: Document) -> Iterator[_SharedKey]:
    for name, link in _links(document):
        source: KeyPath = ("links", name)
        yield from _uses(document, source, _shared_keys(link), _directions(source, link))


def _transport_uses(document: Document) -> Iterator[_SharedKey]:
    transport = document.tables.get("transport")
    if isinstance(transport, dict):
        yield from _uses(document, ("transport",), transport, list(_transports(document)))


def _uses(document: Document, source: KeyPath, shared: Table, targets: Sequence[KeyPath]) -> Iterator[_SharedKey]:
    """Yield each key of ``shared``, and of its tables, with the keys over it in ``targets``."""
    for key, value in shared.items() if targets else ():
        here, there = (*source, key), [(*target, key) for target in targets]
        if isinstance(value, dict) and all(isinstance(lookup(document.tables, path), dict) for path in there):
            yield from _uses(document, here, value, there)
        else:
            yield here, [path if _replaces(document, path, value) else None for path in there]


def _replaces(document: Document, path: KeyPath, shared: Any) -> bool:
    """Return whether the place's own value hides all of the ``shared`` one: two tables are merged."""
    value = lookup(document.tables, path)
    return _has_key(document, path) and not (isinstance(value, dict) and isinstance(shared, dict))


def _has_key(document: Document, path: KeyPath) -> bool:
    table = lookup(document.tables, path[:-1])
    return isinstance(table, dict) and path[-1] in table
