# SPDX-License-Identifier: MIT
"""Which keys the scenarios of a study set, in the file, in what it extends and in its sweep; and which nobody names.

The other direction than :mod:`mptcplab.study.parameters`, which goes from the study's table of parameters to scenarios.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mptcplab.scenario.document import join_key, split_key
from mptcplab.scenario.extends import read
from mptcplab.scenario.links import DirectionSettings
from mptcplab.scenario.presets import Topology, expand
from mptcplab.study.library import SelectedTable
from mptcplab.study.parameters import spread
from mptcplab.study.parts import Parameter

Key = tuple[str, ...]
Names = Mapping[str, tuple[str, ...]]

#: Keys that are not parameters of a test bed, as resolved scenarios have them, and why.
NO_PARAMETERS = {
    "title": "words",
    "question": "words",
    "seed": "the number of the first run; another one gives another sample of the same",
    "copies.*.count": "how many terminals there are: the rows and titles of tables say it",
    "topology.preset": "which nodes there are: `test_bed` of the study says it in words",
    "hosts.*": "a node without keys of its own",
    "routers.*": "a node without keys of its own",
    "links.*.between": "which nodes a link joins: `test_bed` says it in words",
    "workloads.*.from": "which host sends: TCP's and MPTCP's own ones, where there are several",
    "workloads.*.to": "which host receives; a study's test bed has one per sender",
}

#: The number of a copy in names.
_PLACEHOLDER = re.compile(r"\{([0-9]+\+)?n\}")
#: Keys that decide results also where no scenario sets them: every study says which value they have.
ALWAYS = ("kernel", "phases", "record.interval", "repeats", "transport.path_manager", "transport.protocol")


@dataclass(frozen=True)
class SetKey:
    """A key that the scenario of one table sets, as a resolved scenario has it, and as it is written."""

    key: Key
    written: str


def find_unnamed(tables: Sequence[SelectedTable], parameters: Sequence[Parameter]) -> list[str]:
    """``TABLE: KEY`` for what a scenario of ``tables`` sets, and none of ``parameters`` is about."""
    lacking = {(number, key.written) for (number, key), about in namers(tables, parameters).items() if not about}
    return [f"{number}: {written}" for number, written in sorted(lacking)]


def namers(
    tables: Sequence[SelectedTable], parameters: Sequence[Parameter]
) -> dict[tuple[str, SetKey], list[Parameter]]:
    """Return for every key that a table's scenario sets, or that every study has to name, what names it.

    A table of the study's own needs a parameter that is about this table. For evidence and questions of ours, which
    change what the study's own tables have, a parameter of the study is enough.
    """
    patterns = [
        (parameter, [tuple(map(str, form)) for text in parameter.key for form in spread(split_key(text) or ())])
        for parameter in parameters
    ]
    patterns_of = {}
    for selected in tables:
        is_of_source = selected.table.is_of_the_source
        about = [
            (pattern, its)
            for pattern, its in patterns
            if not is_of_source or pattern.is_about(selected.number, is_of_source=is_of_source)
        ]
        for key in (*keys_of(selected.scenario), *(constant_keys(selected.scenario) if is_of_source else ())):
            if allowance(key.key) is None:
                patterns_of[selected.number, key] = [parameter for parameter, its in about if _is_among(key.key, its)]
    return patterns_of


def _is_among(key: Key, patterns: Iterable[Key]) -> bool:
    """Return True if one of ``patterns`` is the key, or a table or list that contains it."""
    return any(len(pattern) <= len(key) and all(map(fnmatch.fnmatchcase, key, pattern)) for pattern in patterns)


@cache
def constant_keys(file: Path) -> tuple[SetKey, ...]:
    """Every key of :data:`ALWAYS`, as a resolved scenario has it."""
    names = _names(_merge_copies(read(file).tables))
    return tuple(SetKey(key, text) for text in ALWAYS for key in _resolve(tuple(text.split(".")), names))


@cache
def keys_of(file: Path) -> tuple[SetKey, ...]:
    """Every key that a scenario sets: itself, in what it extends, and in its sweep."""
    tables = _merge_copies(read(file).tables)
    sweep = dict(tables.pop("sweep", {}))
    names = _names(tables)
    written = [(join_key(key), key) for key, _ in _leaves(tables)]
    for axis in (sweep, *sweep.pop("zip", [])):
        for text, values in axis.items():
            path = tuple(map(str, split_key(text) or ()))
            written += [(text, path + below) for value in values for below, _ in _leaves(value)]
    keys = {SetKey(whole, text): None for text, key in written for whole in _resolve(key, names)}
    return tuple(keys)


def _merge_copies(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables with the first copy of what exists several times; other copies have the same keys."""
    copies = {kind: dict(table) if isinstance(table, dict) else table for kind, table in tables.items()}
    for group in copies.pop("copies", {}).values():
        for kind, members in group.items():
            if kind == "count":
                continue
            for name, member in members.items():
                copy = copies.setdefault(kind, {}).get(first := _PLACEHOLDER.sub("1", name), {})
                copies[kind][first] = {**_first_names(member), **copy}
    return copies


def _first_names(member: Any) -> Any:
    if isinstance(member, dict):
        return {_PLACEHOLDER.sub("1", key): _first_names(below) for key, below in member.items()}
    return member


def allowance(key: Key) -> str | None:
    """Return the pattern of :data:`NO_PARAMETERS` that the key is among."""
    for pattern in NO_PARAMETERS:
        parts = pattern.split(".")
        if len(key) == len(parts) and all(map(fnmatch.fnmatchcase, key, parts)):
            return pattern
    return None


def _leaves(value: Any, before: Key = ()) -> Iterator[tuple[Key, Any]]:
    """Yield keys and values. An array, also one of tables, is a value."""
    if isinstance(value, dict) and (value or not before):
        for name, below in value.items():
            yield from _leaves(below, (*before, name))
    else:
        yield before, value


def _names(tables: Mapping[str, Any]) -> Names:
    """Return what hosts, routers, links and workloads a scenario has."""
    made = expand(Topology.model_validate(tables["topology"])) if "topology" in tables else {}
    return {kind: (*made.get(kind, {}), *tables.get(kind, {})) for kind in ("hosts", "routers", "links", "workloads")}


def _resolve(key: Key, names: Names) -> Iterator[Key]:
    """Yield the keys of a resolved scenario that a written one is about: of every host, of both directions."""
    if key[0] == "transport":
        yield from _resolve(("hosts", "*", *key), names)
    elif len(key) > 2 and key[0] == "links" and key[2] in DirectionSettings.model_fields:
        for direction in ("forward", "backward"):
            yield from _resolve((*key[:2], direction, *key[2:]), names)
    elif key[0] in names:
        alike = [name for name in names[key[0]] if fnmatch.fnmatchcase(name, key[1])]
        yield from ((key[0], name, *key[2:]) for name in alike)
    else:
        yield key
