# SPDX-License-Identifier: MIT
"""Sweeps: all combinations of the values of swept keys; the keys of a ``zip`` vary together."""

from __future__ import annotations

import fnmatch
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mptcplab.errors import Mistake
from mptcplab.node.registry import NODE_KINDS
from mptcplab.scenario.document import (
    Document,
    ScenarioError,
    is_wildcard,
    join_key,
    lookup,
    members,
    name_hint,
    show,
    split_key,
    suggest_name,
)
from mptcplab.scenario.keys import table_of_key
from mptcplab.scenario.place import SET, SWEPT, KeyPath, SourcePlace
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.writing import format_value

# Sweeps: all combinations of the values of swept keys; the keys of a ``zip`` vary together.
#
# A point has one value of every axis; the last axis changes fastest, and axes of ``[[sweep.zip]]`` come last. A swept
# key replaces the same key in the file. The positions of a zip may have names, which stand for its keys in results.
#
#     [sweep]
#     "transport.protocol" = ["tcp", "mptcp"]
#     "links.link*.rate" = ["8 Mbit/s", "16 Mbit/s"]
#
#     [[sweep.zip]]
#     name = ["left", "right"]
#     "links.link1.delay" = ["10 ms", "20 ms"]
#     "links.link2.delay" = ["20 ms", "10 ms"]

_MAX_POINTS = 100_000
_NOT_SWEPT = ("sweep", "repeats", "seed", "extends", "without", "title", "question")
#: The key of a zip with the names of its positions.
NAME = "name"
_KEY_HINT = "write it with dots, like links.link1.rate"
#: Tables whose members have names, and the noun for a member.
_NAMED = {**{kind.table: name for name, kind in NODE_KINDS.items()}, "links": "link", "workloads": "workload"}


@dataclass(frozen=True)
class Setting:
    """One key with one value. ``pattern`` may match several keys (``links.*.rate``).

    A label is the name of a position of a zip: it sets nothing, and stands for the zip's keys, which are then hidden.
    """

    pattern: KeyPath
    value: Any
    place: SourcePlace
    is_label: bool = False
    is_hidden: bool = False

    @property
    def name(self) -> str:
        """The key as written in the scenario."""
        return join_key(self.pattern)

    @property
    def text(self) -> str:
        """The value as a label, whole: another value has another label, and the command line takes it."""
        return self.value if isinstance(self.value, str) else format_value(self.value)

    def covers(self, other: Setting) -> bool:
        """Return whether this setting replaces all keys that ``other`` sets."""
        if other.is_label:
            return False
        pairs = zip(self.pattern, other.pattern, strict=False)
        return len(self.pattern) <= len(other.pattern) and all(fnmatch.fnmatchcase(str(b), str(a)) for a, b in pairs)


#: One position on an axis: a key and its value, or several keys that vary together.
Position = tuple[Setting, ...]
#: The settings of one point: a position of each axis, joined.
Choice = tuple[Setting, ...]


@dataclass(frozen=True)
class Sweep:
    """The ``document`` that all points of a file share, and the settings over it: the ``choices``, one for each point,
    and the ``fixed`` settings of the command line, at every point.

    ``first_uses`` has the indices of the choices in which a value of an axis is used for the first time.
    """

    document: Document
    choices: tuple[Choice, ...]
    fixed: Choice = ()
    first_uses: tuple[int, ...] = ()


def read_sweep(document: Document, fixed: Sequence[Setting] = ()) -> Sweep:
    """Return the points of ``document``, and what it has beside ``[sweep]``.

    Swept keys that a setting of ``fixed`` covers are left out: the command line has set them.
    """
    table = document.tables.get("sweep", {})
    if not isinstance(table, dict):
        hint = 'write [sweep], then "key" = [values]'
        raise document.error(("sweep",), "is not a table", hint=hint, kind=Mistake.TYPE)
    axes = [_axis(document, key, values) for key, values in table.items() if key != "zip"]
    axes += _parse_zips(document, table.get("zip", []))
    for axis in axes:
        _refuse_hidden(document, axis[0])
    left = [axis for axis in (_drop_covered(axis, fixed) for axis in axes) if axis != [()]]
    points = math.prod(map(len, left))
    if points > _MAX_POINTS:
        hint = f"split the sweep into several files of at most {_MAX_POINTS} points"
        raise document.error(("sweep",), f"has {points} points", hint=hint, kind=Mistake.VALUE)
    choices = tuple(tuple(itertools.chain.from_iterable(choice)) for choice in itertools.product(*left))
    return Sweep(document.drop(("sweep",)), choices, tuple(fixed), tuple(_first_uses([len(axis) for axis in left])))


def _first_uses(lengths: Sequence[int]) -> list[int]:
    """Return the first index of each value in the product of axes with these lengths, in order."""
    indices, stride = {0}, 1
    for length in reversed(lengths):
        indices.update(range(0, length * stride, stride))
        stride *= length
    return sorted(indices)


def _refuse_hidden(document: Document, choice: Choice) -> None:
    """Refuse a key that the extending file sets while its base sweeps it: the sweep would override it.

    An axis of the command line overrides the file on purpose.
    """
    for setting in choice:
        if setting.is_label or setting.place.file == document.file or setting.place.rank >= SET:
            continue
        for path in document.matches(setting.pattern):
            place = document.own_place(path)
            if place is not None and place.file == document.file:
                hint = f'set it with --set, or sweep it in this file: [sweep] "{setting.name}" = [...]'
                raise document.error(
                    path, f"does nothing, because {setting.place} sweeps it", hint=hint, kind=Mistake.IDLE
                )


def _drop_covered(axis: list[Choice], fixed: Sequence[Setting]) -> list[Choice]:
    """Return ``axis`` without covered settings; choices that differed only in these are merged."""
    left: dict[str, Choice] = {}
    for choice in axis:
        kept = tuple(setting for setting in choice if not any(other.covers(setting) for other in fixed))
        if all(setting.is_label for setting in kept):
            kept = ()
        left.setdefault(repr([setting.value for setting in kept if not setting.is_label]), kept)
    if len(left) == len(axis):
        return list(left.values())
    # What is left of a position is no longer what its name stands for.
    return [
        tuple(replace(setting, is_hidden=False) for setting in choice if not setting.is_label)
        for choice in left.values()
    ]


def _axis(document: Document, key: str, values: Any) -> list[Choice]:
    path: KeyPath = ("sweep", key)
    if key == NAME:
        hint = "write it and the keys that vary together in [[sweep.zip]]"
        raise document.error(path, "names the positions of a zip, and is not an axis", hint=hint, kind=Mistake.UNKNOWN)
    settings = _settings(document, path, values)
    seen: set[str] = set()
    for index, setting in enumerate(settings):
        if repr(setting.value) in seen:
            hint = "use `repeats` to run a point several times, or [[sweep.zip]] for keys that vary together"
            raise document.error((*path, index), "is listed twice", hint=hint, kind=Mistake.IDLE)
        seen.add(repr(setting.value))
    return [(setting,) for setting in settings]


def _parse_zips(document: Document, tables: Any) -> Iterator[list[Choice]]:
    zip_path: KeyPath = ("sweep", "zip")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        hint = 'write [[sweep.zip]] with two brackets, then "key" = [values]'
        raise document.error(zip_path, "is not an array of tables", hint=hint, kind=Mistake.TYPE)
    named = itertools.count(1)
    for number, table in enumerate(tables):
        path: KeyPath = (*zip_path, number)
        if not table.keys() - {NAME}:
            hint = 'add keys that vary together: "key" = [values]'
            raise document.error(path, "is empty", hint=hint, kind=Mistake.MISSING)
        columns = [_settings(document, (*path, key), values) for key, values in table.items() if key != NAME]
        if NAME in table:
            columns = [[replace(setting, is_hidden=True) for setting in column] for column in columns]
            columns.insert(0, _names(document, (*path, NAME), table[NAME], next(named)))
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(f'"{key}" has {len(values)}' for key, values in table.items())
            raise document.error(path, "has lists of different lengths", hint=f"make them equally long: {lengths}")
        positions = list(zip(*columns, strict=True))
        if NAME in table:
            _check_names(document, (*path, NAME), positions)
        else:
            _check_positions(document, path, positions)
        yield positions


def _check_positions(document: Document, path: KeyPath, positions: Sequence[Choice]) -> None:
    """Refuse a position that is listed twice, as a value of an axis is."""
    seen: dict[str, int] = {}
    for number, settings in enumerate(positions, start=1):
        first = seen.setdefault(repr([setting.value for setting in settings]), number)
        if first != number:
            hint = "use `repeats` to run a point several times, or add the key in which they differ"
            raise document.error(path, f"has position {first} again as position {number}", hint=hint, kind=Mistake.IDLE)


def _check_names(document: Document, path: KeyPath, positions: Sequence[Choice]) -> None:
    """Refuse names of the same point: only one of them would be run, without a word about the other."""
    seen: dict[str, str] = {}
    for index, (label, *settings) in enumerate(positions):
        other = seen.setdefault(repr([setting.value for setting in settings]), label.text)
        if other != label.text:
            keys = ", ".join(f'"{setting.name}"' for setting in settings)
            raise document.error(
                (*path, index),
                f"names the same point as '{other}'",
                hint=f"add the key in which they differ to {keys}, or remove one of the names",
                kind=Mistake.IDLE,
            )


def _names(document: Document, path: KeyPath, values: Any, number: int) -> list[Setting]:
    """Return the labels of a zip's positions. The first zip with names has the axis ``name``, then ``name2``."""
    is_good = isinstance(values, list) and all(isinstance(value, str) and value.strip() for value in values)
    if not is_good or len(set(values)) < len(values):
        hint = 'write a name for each position, each a different one: name = ["cable", "lte", "both"]'
        raise document.error(path, "is not a list of different names", hint=hint, kind=Mistake.VALUE)
    axis = name_of_axis(number)
    places = [document.place((*path, index)) for index in range(len(values))]
    return [Setting((axis,), value, place, is_label=True) for value, place in zip(values, places, strict=True)]


def name_of_axis(number: int) -> str:
    """Return the key under which results have the names of the zip with this number among those with names."""
    return NAME if number == 1 else f"{NAME}{number}"


def _settings(document: Document, path: KeyPath, values: Any) -> list[Setting]:
    """Return the swept key at ``path`` with each of its ``values``."""
    key = str(path[-1])
    if isinstance(values, dict):
        whole, leaf = _join_unquoted_key(key, values)
        hint = f'put the swept key in quotes: "{join_key(whole)}" = {show(leaf)}'
        raise document.error(path, "is a table", hint=hint, kind=Mistake.TYPE)
    if not isinstance(values, list) and key in _NOT_SWEPT:
        # TOML gives a line at the end of a file to the table above it.
        hint = f"`{key}` belongs {table_of_key(key)}"
        raise document.error(path, "is not a swept key", hint=hint, kind=Mistake.UNKNOWN)
    if not isinstance(values, list) or not values:
        example = show([values] if values != [] else ["value", "another value"])
        message = "has no values" if values == [] else "is not a list of values"
        hint = f'write for example "{key}" = {example}'
        if values != [] and "." not in key and table_of_key(key):
            hint += f", or {key} = {show(values)} {table_of_key(key)}, for all points"
        raise document.error(path, message, hint=hint, kind=Mistake.TYPE)
    pattern = split_key(key)
    if pattern is None:
        raise document.error(path, "is not a key", hint=_KEY_HINT, kind=Mistake.VALUE)
    if pattern[0] in _NOT_SWEPT:
        hint = "sweep a key of nodes, links, transport or workloads"
        if pattern[0] in ("seed", "repeats"):
            hint = "write repeats = N at the top of the file to run every point with N seeds"
        raise document.error(path, "cannot be swept", hint=hint)
    value_places = [document.place((*path, index)) for index in range(len(values))]
    places = [replace(place, written=pattern, rank=max(place.rank, SWEPT)) for place in value_places]
    return [Setting(pattern, value, place) for value, place in zip(values, places, strict=True)]


def _join_unquoted_key(key: str, values: dict[str, Any]) -> tuple[KeyPath, Any]:
    """Return the key that TOML has read as nested tables, for lack of quotes, and its values."""
    path: tuple[str, ...] = (key,)
    leaf: Any = values
    while isinstance(leaf, dict) and leaf:
        name = next(iter(leaf))
        path, leaf = (*path, name), leaf[name]
    return path, leaf if isinstance(leaf, list) and leaf else ["value", "another value"]


def apply(document: Document, settings: Iterable[Setting]) -> Document:
    """Return ``document`` with the keys of one choice set. :raises InputError: if a pattern matches nothing."""
    for setting in settings:
        if setting.is_label:
            continue
        _check_name(document, setting)
        paths = document.matches(setting.pattern)
        if not paths:
            wildcard = next(index for index, part in enumerate(setting.pattern) if is_wildcard(part))
            known = lookup(document.tables, setting.pattern[:wildcard])
            names = ", ".join(map(str, members(known)))
            table = suggest_name(str(setting.pattern[0]), document.tables)
            hint = f"use a pattern that matches one of {names}" if names else "use a key of this scenario"
            hint = f"did you mean `{table}`?" if table not in (None, setting.pattern[0]) else hint
            raise _error(document, setting, "matches no key of this scenario", hint=hint)
        for path in paths:
            document = document.put(path, setting.value, setting.place)
    return document


def _check_name(document: Document, setting: Setting) -> None:
    """Refuse a key of a node, link or workload that does not exist: it would create a new one."""
    table, *below = setting.pattern
    known = lookup(document.tables, (table,))
    if table not in _NAMED or not isinstance(known, dict) or len(below) < 2 or is_wildcard(below[0]):
        return
    if below[0] not in known:
        message = f"there is no {_NAMED[str(table)]} '{below[0]}'"
        raise _error(document, setting, message, hint=name_hint(str(below[0]), known))


def _error(document: Document, setting: Setting, message: str, *, hint: str) -> ScenarioError:
    """Return the error for a ``setting`` of something that does not exist."""
    alone = Document(document.file, {}).put(setting.pattern, setting.value, setting.place)
    return alone.error(setting.pattern, message, hint=hint, kind=Mistake.REFERENCE)


# Values of a file that its sweep replaces at every point. They do nothing, but a mistake in one is still reported.

#: Mistakes of a value itself. Others may only follow from what the sweep sets beside it.
_OF_THE_VALUE = (Mistake.TYPE, Mistake.CHOICE, Mistake.QUANTITY, Mistake.VALUE, Mistake.UNKNOWN)


def removal_hint(hint: str) -> str:
    """Return the hint for a mistake in such a value."""
    return f"{hint}{' Or' if hint.endswith('?') else ', or'} remove it: the sweep replaces it"


def with_replaced(sweep: Sweep, scenario_of: Callable[[Choice], Scenario]) -> Iterator[Scenario]:
    """Yield the first point once for each swept key that the file has a value for, with this value.

    ``scenario_of`` returns the scenario of a choice.
    :raises ScenarioError: if such a value is not possible.
    """
    choice = sweep.choices[0]
    for setting in choice:
        paths = () if setting.is_label else sweep.document.matches(setting.pattern)
        written = [sweep.document.place(path) for path in paths if sweep.document.own_place(path) is not None]
        if not written:
            continue
        try:
            yield scenario_of(tuple(other for other in choice if other is not setting))
        except ScenarioError as error:
            if error.kind in _OF_THE_VALUE and any(_is_at(error.place, place) for place in written):
                error.hint = removal_hint(str(error.hint))
                raise


def _is_at(source_place: SourcePlace, place: SourcePlace) -> bool:
    """Return whether ``source_place`` is the key at ``place``, or below it."""
    key = place.written or ()
    return source_place.file == place.file and (source_place.written or ())[: len(key)] == key
