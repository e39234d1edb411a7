# SPDX-License-Identifier: MIT
"""A scenario file as read: nested tables, and for each key the place it came from.

``extends = "base.toml"`` puts the tables of another file underneath: tables are merged key by key, everything else
(arrays included) is replaced by what the extending file says.
"""

from __future__ import annotations

import copy
import fnmatch
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError
from mptcplab.scenario.place import KeyPath, Place, key_lines

Table = dict[str, Any]
_LARGEST_FILE = 4 << 20


@dataclass
class Document:
    """Tables and where their keys stand. ``file`` is what the user named."""

    file: Path
    tables: Table
    places: dict[KeyPath, Place] = field(default_factory=dict)

    def place(self, path: KeyPath) -> Place:
        """The line of ``path``, or of the nearest table around it that has one; ``written`` is always set."""
        for length in range(len(path), 0, -1):
            found = self.places.get(path[:length])
            if found is not None:
                return replace(found, written=(found.written or path[:length]) + path[length:])
        return Place(self.file, 0, path)

    def error(self, path: KeyPath, message: str, *, hint: str) -> InputError:
        """The one sentence about the key at ``path``: file, line, key, value, what is wrong."""
        value = lookup(self.tables, path)
        shown = f" = {_show(value)}" if value is not None and not isinstance(value, dict) else ""
        place = self.place(path)
        return InputError(f"{place}: {dotted(place.written or path)}{shown}: {message}", hint=hint)

    def copy(self) -> Document:
        """An independent copy, for one point of a sweep."""
        return Document(self.file, copy.deepcopy(self.tables), dict(self.places))

    def put(self, path: KeyPath, value: Any, place: Place) -> None:
        """Set the key at ``path``, making tables on the way, and remember ``place`` for it."""
        table = self.tables
        for index, part in enumerate(path[:-1]):
            below = table.setdefault(str(part), {})
            if not isinstance(below, dict):
                raise self.error(path[: index + 1], "is not a table", hint=f"{dotted(path)} cannot be set below it")
            table = below
        for old in [known for known in self.places if known[: len(path)] == path]:
            del self.places[old]
        table[str(path[-1])] = value
        self.places[path] = place

    def graft(self, path: KeyPath, source: KeyPath, value: Any) -> None:
        """Set the key at ``path`` to a copy of ``value``, whose keys stand in the file below ``source``."""
        below = {p: place for p, place in self.places.items() if p[: len(source)] == source and p != source}
        self.put(path, copy.deepcopy(value), self.place(source))
        for old, place in below.items():
            self.places[path + old[len(source) :]] = replace(place, written=place.written or old)

    def matches(self, pattern: KeyPath) -> list[KeyPath]:
        """The key paths that ``pattern`` means: parts with ``*`` or ``?`` stand for existing names."""
        paths: list[KeyPath] = [()]
        for part in pattern:
            grown: list[KeyPath] = []
            for path in paths:
                if any(mark in str(part) for mark in "*?"):
                    table = lookup(self.tables, path)
                    names = table if isinstance(table, dict) else {}
                    grown += [(*path, name) for name in names if fnmatch.fnmatchcase(name, str(part))]
                else:
                    grown.append((*path, part))
            paths = grown
        return paths


def dotted(path: KeyPath) -> str:
    """``("links", "line1", "rate")`` as ``links.line1.rate``; array members as ``[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            quoted = f'"{part}"' if "." in part else part
            text += f".{quoted}" if text else quoted
    return text


def split_key(text: str) -> KeyPath:
    """``links.line1.rate`` as a key path; quotes keep dots together. :raises InputError: when it is no key."""
    lines = None
    try:
        parsed = tomllib.loads("\n" + _quote_wildcards(text) + " = 0")
        lines = max(key_lines(_quote_wildcards(text) + " = 0"), key=len)
    except tomllib.TOMLDecodeError:
        parsed = {}
    if not parsed or lines is None:
        raise InputError(f"'{text}' is not a key", hint="write it with dots, like links.line1.rate")
    return lines


def _quote_wildcards(text: str) -> str:
    if '"' in text or "'" in text:
        return text
    return ".".join(f'"{part}"' if set(part) & set("*?") else part for part in text.split("."))


def lookup(tables: Any, path: KeyPath) -> Any:
    """The value at ``path``, or None."""
    for part in path:
        if isinstance(tables, dict):
            tables = tables.get(part)
        elif isinstance(tables, list) and isinstance(part, int) and part < len(tables):
            tables = tables[part]
        else:
            return None
    return tables


def read(file: Path, *, _chain: tuple[Path, ...] = ()) -> Document:
    """Read ``file`` and everything it extends. :raises InputError: when a file cannot be read or is not TOML."""
    real = file.resolve()
    if real in _chain:
        raise InputError(f"{file}: extends itself by way of {_chain[-1].name}", hint="remove one `extends` line")
    document = _parse(file)
    base_name = document.tables.pop("extends", None)
    if base_name is None:
        return document
    if not isinstance(base_name, str):
        document.tables["extends"] = base_name
        raise document.error(("extends",), "is not a file name", hint='for example extends = "base.toml"')
    base_file = file.parent / base_name
    if not base_file.is_file():
        document.tables["extends"] = base_name
        raise document.error(("extends",), "no such file", hint="the name is relative to the extending file")
    base = read(base_file, _chain=(*_chain, real))
    _merge(base, document)
    return Document(file, base.tables, base.places)


def _parse(file: Path) -> Document:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            raise InputError(f"{file}: is too large for a scenario", hint="a scenario is a text file of a few kB")
        text = file.read_text("utf-8")
        tables = tomllib.loads(text)
    except OSError as error:
        hint = "`mptcplab show FILE` needs a scenario file in TOML"
        raise InputError(f"{file}: {(error.strerror or str(error)).lower()}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text", hint="save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(file, str(error)) from error
    except RecursionError as error:
        raise InputError(f"{file}: is nested too deeply", hint="a scenario needs four levels") from error
    lines = key_lines(text)
    return Document(file, tables, {path: Place(file, line) for path, line in lines.items()})


def _syntax_error(file: Path, said: str) -> InputError:
    reason, _, where = said.partition(" (at ")
    line = "".join(filter(str.isdigit, where.split(",")[0]))
    place = f"{file}:{line}" if line else str(file)
    reason = reason[:1].lower() + reason[1:]
    hint = 'strings stand in quotes ("20 ms"), tables in brackets ([links.line1])'
    return InputError(f"{place}: is not TOML: {reason}", hint=hint)


def _merge(base: Document, over: Document, path: KeyPath = ()) -> None:
    for key, value in (lookup(over.tables, path) or {}).items():
        here = (*path, key)
        if isinstance(value, dict) and isinstance(lookup(base.tables, here), dict):
            base.places[here] = over.place(here)
            _merge(base, over, here)
            continue
        base.put(here, value, over.place(here))
        base.places.update({p: place for p, place in over.places.items() if p[: len(here)] == here})


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
