# SPDX-License-Identifier: MIT
"""Sweeps: which keys take which values, as a cross product of axes; the keys of a ``zip`` move together.

[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"links.line*.rate" = ["8 Mbit/s", "16 Mbit/s"]

[[sweep.zip]]
"links.line1.delay" = ["10 ms", "20 ms"]
"links.line2.delay" = ["20 ms", "10 ms"]
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mptcplab.errors import InputError
from mptcplab.scenario.document import Document, dotted, split_key
from mptcplab.scenario.place import KeyPath, Place

_MOST_POINTS = 100_000
_NOT_SWEPT = ("sweep", "repeats", "seed", "extends", "title", "question")


@dataclass(frozen=True)
class Setting:
    """One key at one value. ``pattern`` may stand for several keys (``links.*.rate``)."""

    pattern: KeyPath
    value: Any
    place: Place

    @property
    def name(self) -> str:
        """The key as written in the scenario."""
        return dotted(self.pattern)

    @property
    def text(self) -> str:
        """The value as a label."""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


#: One position on every axis.
Choice = tuple[Setting, ...]


def take_choices(document: Document, *, without: Collection[str] = ()) -> list[Choice]:
    """Remove ``[sweep]`` from ``document`` and return all its points, the last axis changing fastest.

    Axes named in ``without`` are left out: the command line has fixed their keys.
    """
    table = document.tables.get("sweep", {})
    if not isinstance(table, dict):
        raise document.error(("sweep",), "is not a table", hint='write [sweep], then "key" = [values]')
    axes = [
        _axis(document, ("sweep", key), key, values) for key, values in table.items() if key not in {"zip", *without}
    ]
    axes += _zipped(document, table.get("zip", []), without)
    points = 1
    for axis in axes:
        points *= len(axis)
    if points > _MOST_POINTS:
        hint = f"at most {_MOST_POINTS} points: split the sweep into several files"
        raise document.error(("sweep",), f"has {points} points", hint=hint)
    document.tables.pop("sweep", None)
    return [tuple(itertools.chain.from_iterable(choice)) for choice in itertools.product(*axes)]


def _axis(document: Document, path: KeyPath, key: str, values: Any) -> list[Choice]:
    settings = _settings(document, path, key, values)
    if len({repr(setting.value) for setting in settings}) != len(settings):
        raise document.error(path, "has the same value twice", hint="use `repeats` to run a point several times")
    return [(setting,) for setting in settings]


def _zipped(document: Document, tables: Any, without: Collection[str]) -> Iterator[list[Choice]]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) and table for table in tables):
        raise document.error(("sweep", "zip"), "is not an array of tables", hint="write [[sweep.zip]]")
    for number, table in enumerate(tables):
        path: KeyPath = ("sweep", "zip", number)
        kept = {key: values for key, values in table.items() if key not in without}
        columns = [_settings(document, (*path, key), key, values) for key, values in kept.items()]
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(f'"{key}" has {len(values)}' for key, values in kept.items())
            raise document.error(path, "has lists of different lengths", hint=lengths)
        if columns:
            yield list(zip(*columns, strict=True))


def _settings(document: Document, path: KeyPath, key: str, values: Any) -> list[Setting]:
    hint = f'"{key}" = ["value", "another value"]'
    if isinstance(values, dict):
        raise document.error(path, "is a table", hint=f"a swept key stands in quotes: {hint}")
    if not isinstance(values, list) or not values:
        raise document.error(path, "is not a list of values", hint=hint)
    try:
        pattern = split_key(key)
    except InputError as error:
        raise document.error(path, "is not a key", hint=str(error.hint)) from error
    if pattern[0] in _NOT_SWEPT:
        raise document.error(path, "cannot be swept", hint="sweep a key of the network, transport or workloads")
    place = replace(document.place(path), written=pattern)
    return [Setting(pattern, value, place) for value in values]


def apply(document: Document, settings: tuple[Setting, ...]) -> None:
    """Set the keys of one choice. :raises InputError: when a pattern stands for nothing."""
    for setting in settings:
        paths = document.matches(setting.pattern)
        if not paths:
            raise InputError(
                f"{setting.place}: {setting.name}: matches nothing",
                hint="the names before the wildcard must exist in the scenario or its topology preset",
            )
        for path in paths:
            document.put(path, setting.value, setting.place)
