# SPDX-License-Identifier: MIT
"""A scenario file as read: nested tables, and for each key the place it came from.

``extends = "base.toml"`` puts the tables of another file underneath: tables are merged key by key, everything else
(arrays included) is replaced by what the extending file says. A workload that is given another ``kind`` keeps of the
base what workloads of every kind have.
"""

from __future__ import annotations

import copy
import difflib
import fnmatch
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from mptcplab.errors import InputError, Mistake, reason
from mptcplab.scenario.place import KeyPath, Place, key_lines

Table = dict[str, Any]
#: The keys of a workload, whatever its kind.
OF_EVERY_KIND = ("from", "to", "via", "start", "timeout", "congestion_control", "scheduler")
_MAX_FILE_BYTES = 4 << 20
_MAX_DEPTH = 20
_MAX_FILES = 20
_MAX_VALUE = 60
_MAX_MESSAGE = 500
_MAX_NAME = 4096

_BARE_KEY = re.compile(r"[A-Za-z0-9_*?-]+")
_KEY_PART = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[A-Za-z0-9_*?-]+))\s*(?P<end>\.|\Z)"""
)

#: What ``tomllib`` says, in words for someone who does not know the grammar of TOML.
_SYNTAX = {
    "Cannot overwrite a value": ("the key is already set above", "remove one of the two lines"),
    "Cannot mutate immutable namespace": ("the table is already complete", "add the key to the table itself"),
    "Cannot declare": ("the table is already there", "put the keys of one table under one header"),
    "Invalid value": ("a value is missing or not in quotes", 'text stands in quotes, like "20 ms"'),
    "Unclosed array": ("a list is not closed before this line", "end it with ]"),
    "Unterminated string": ("text is not closed", 'end it with "'),
    "Illegal character '\\n'": ("text is not closed", 'end it with "'),
    "Expected ']' at the end of a table declaration": ("a table header is not closed", "write [links.link1]"),
    "Expected '=' after a key in a key/value pair": ("there is no = after the key", "write key = value, like seed = 1"),
    "Expected newline or end of document after a statement": (
        "something follows the value",
        'text stands in quotes, like "20 ms"; one key per line',
    ),
    "Invalid statement": ("the line is neither a key, a table nor a comment", "write key = value, or [table]"),
    "Invalid initial character for a key part": ("this is not a key", "write key = value, or [table]"),
}


class ScenarioError(InputError):
    """A mistake in a scenario: of what ``kind``, at which ``place`` (a line, or an option), and of which ``key``."""

    def __init__(
        self, kind: Mistake, place: Place, message: str, *, hint: str, key: str = "", value: Any = None
    ) -> None:
        shown = f" = {show(value)}" if value is not None and not isinstance(value, dict) else ""
        about = f"{key}{shown}: {message}" if key else message
        super().__init__(_one_line(f"{place}: ", longest=_MAX_NAME) + _one_line(about), hint=_one_line(hint))
        self.kind, self.place, self.key = kind, place, key


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

    def error(self, path: KeyPath, message: str, *, hint: str, kind: Mistake = Mistake.CONFLICT) -> ScenarioError:
        """The one sentence about the key at ``path``: file, line, key, value, what is wrong."""
        value = lookup(self.tables, path)
        place = self.place(path)
        key = dotted(place.written or path)
        return ScenarioError(kind, place, message, hint=hint, key=key, value=value)

    def refusal(self, path: KeyPath, error: PydanticCustomError) -> ScenarioError:
        """The same for what a check of the value at ``path`` has raised; see :func:`mptcplab.fields.invalid`."""
        described = error.context or {}
        return self.error(
            (*path, *described["key"]), str(described["text"]), hint=str(described["hint"]), kind=described["kind"]
        )

    def copy(self) -> Document:
        """An independent copy, for one point of a sweep."""
        return Document(self.file, copy.deepcopy(self.tables), dict(self.places))

    def put(self, path: KeyPath, value: Any, place: Place) -> None:
        """Set the key at ``path``, making tables on the way, and remember ``place`` for all that is new."""
        table: Any = self.tables
        for index, part in enumerate(path[:-1]):
            here = path[: index + 1]
            if isinstance(table, dict) and part not in table:
                self.places[here] = replace(place, written=here)
            if isinstance(table, list):
                self._check_member(path[:index], part, place)
            below = table[int(part)] if isinstance(table, list) else table.setdefault(str(part), {})
            if not isinstance(below, dict | list):
                hint = f"{dotted(here)} = {show(below)} is not a table"
                raise ScenarioError(Mistake.TYPE, place, "cannot be set", hint=hint, key=dotted(path), value=value)
            table = below
        for old in [known for known in self.places if known[: len(path)] == path]:
            del self.places[old]
        if isinstance(table, list):
            self._check_member(path[:-1], path[-1], place)
            table[int(path[-1])] = value
        else:
            table[str(path[-1])] = value
        self.places[path] = place

    def _check_member(self, path: KeyPath, part: str | int, place: Place) -> None:
        """:raises InputError: when ``part`` is not the number of a member of the list at ``path``."""
        members = lookup(self.tables, path)
        if not isinstance(part, int) or part >= len(members):
            named = dotted((*path, str(part)))
            hint = f"{dotted(path)} is a list: its members are {dotted(path)}.0 to {dotted(path)}.{len(members) - 1}"
            raise ScenarioError(Mistake.REFERENCE, place, "there is no such member", hint=hint, key=named)

    def graft(self, path: KeyPath, source: KeyPath, value: Any) -> None:
        """Set the key at ``path`` to a copy of ``value``, whose keys stand in the file below ``source``."""
        below = {p: place for p, place in self.places.items() if p[: len(source)] == source and p != source}
        self.put(path, copy.deepcopy(value), self.place(source))
        for old, place in below.items():
            self.places[path + old[len(source) :]] = replace(place, written=place.written or old)

    def matches(self, pattern: KeyPath) -> list[KeyPath]:
        """The key paths that ``pattern`` means: ``*`` and ``?`` stand for existing names, numbers for members."""
        paths: list[KeyPath] = [()]
        for part in pattern:
            grown: list[KeyPath] = []
            for path in paths:
                if is_wildcard(part):
                    table = lookup(self.tables, path)
                    names = table if isinstance(table, dict) else {}
                    grown += [(*path, name) for name in names if fnmatch.fnmatchcase(name, str(part))]
                else:
                    grown.append((*path, _member(lookup(self.tables, path), part)))
            paths = grown
        return paths


def _member(table: Any, part: str | int) -> str | int:
    """``part``, as a number where it is one of a member of a list."""
    is_number = isinstance(table, list) and str(part).isdigit() and int(part) < len(table)
    return int(part) if is_number else part


def is_wildcard(part: str | int) -> bool:
    """Whether ``part`` of a key path stands for several names."""
    return isinstance(part, str) and any(mark in part for mark in "*?")


def dotted(path: KeyPath) -> str:
    """``("links", "link1", "rate")`` as ``links.link1.rate``; array members as ``[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            quoted = part if _BARE_KEY.fullmatch(part) else f'"{part}"'
            text += f".{quoted}" if text else quoted
    return text


def split_key(text: str) -> KeyPath | None:
    """``links.link1.rate`` as a key path; quotes keep dots together. None when it is no key."""
    parts: list[str] = []
    at = 0
    while (match := _KEY_PART.match(text, at)) is not None:
        parts.append(match["double"] or match["single"] or match["bare"] or "")
        if not match["end"]:
            return tuple(parts)
        at = match.end()
    return None


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


def show(value: Any) -> str:
    """``value`` as TOML writes it, cut when it is long."""
    text = _toml(value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 3] + "..."


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{_one_line(value, longest=_MAX_VALUE)}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        pairs = ", ".join(f"{dotted((key,))} = {_toml(below)}" for key, below in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return str(value)


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The one of ``known`` that ``name`` is probably a misspelling of."""
    names = sorted(known)
    by_case = [other for other in names if other.casefold() == name.casefold()]
    near = by_case or difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    return near[0] if near else None


def name_hint(name: str, known: Iterable[str]) -> str:
    """What to say to someone who wrote ``name`` where one of ``known`` belongs."""
    names = list(known)
    near = nearest(name, names, cutoff=0.5)
    return f"did you mean `{near}`?" if near else f"there is {', '.join(names) or 'none'}"


def _one_line(text: str, *, longest: int = _MAX_MESSAGE) -> str:
    """``text`` with everything escaped that would not print, as what users wrote may hold anything."""
    cut = text if len(text) <= longest else text[: longest - 3] + "..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def read(file: Path) -> Document:
    """Read ``file`` and everything it extends. :raises InputError: when a file cannot be read or is not TOML."""
    return _read(file, ())


def _read(file: Path, chain: tuple[Path, ...]) -> Document:
    """``chain``: the files, as real paths, that extend ``file``."""
    document = _parse(file)
    base_name = document.tables.get("extends")
    if base_name is None:
        return document
    if not isinstance(base_name, str):
        hint = 'for example extends = "base.toml"'
        raise document.error(("extends",), "is not a file name", hint=hint, kind=Mistake.TYPE)
    base_file = file.parent / base_name
    if not os.path.isfile(base_file):
        hint = f"the name is relative to the extending file: looked for {base_file}"
        raise document.error(("extends",), "there is no such file", hint=hint, kind=Mistake.FILE)
    chain = (*chain, file.resolve())
    if base_file.resolve() == chain[-1]:
        hint = "name another file, or remove the line"
        raise document.error(("extends",), "is this file itself", hint=hint, kind=Mistake.FILE)
    if base_file.resolve() in chain:
        hint = f"{base_file.name} extends this file"
        raise document.error(("extends",), "goes round in a circle", hint=hint, kind=Mistake.FILE)
    if len(chain) > _MAX_FILES:
        hint = f"at most {_MAX_FILES} files in a row"
        raise document.error(("extends",), "is one file too many", hint=hint, kind=Mistake.FILE)
    del document.tables["extends"]
    base = _read(base_file, chain)
    _merge(base, document)
    return Document(file, base.tables, base.places)


def _parse(file: Path) -> Document:
    place, hint = Place(file, 0), "name a scenario file in TOML, like scenario.toml"
    try:
        if file.is_dir():
            raise ScenarioError(Mistake.FILE, place, "is a directory", hint=hint)
        if file.stat().st_size > _MAX_FILE_BYTES:
            hint = "a scenario is a text file of a few kB"
            raise ScenarioError(Mistake.FILE, place, "is too large for a scenario", hint=hint)
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(Mistake.FILE, place, "is not UTF-8 text", hint="save the file as UTF-8") from error
    except OSError as error:
        raise ScenarioError(Mistake.FILE, place, reason(error), hint=hint) from error
    except ValueError as error:
        raise ScenarioError(Mistake.FILE, place, "is not a file name", hint=hint) from error
    try:
        tables = tomllib.loads(text)
        lines = key_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(file, text, str(error)) from error
    except RecursionError as error:
        raise _too_deep(file) from error
    except ValueError as error:  # Python reads no decimal number of more than 4300 digits
        raise _too_long(place) from error
    document = Document(file, tables, {path: Place(file, line) for path, line in lines.items()})
    _refuse_extremes(document)
    return document


def _too_deep(file: Path) -> ScenarioError:
    hint = "a scenario needs five levels"
    return ScenarioError(Mistake.SYNTAX, Place(file, 0), "is nested too deeply", hint=hint)


def _too_long(place: Place, key: str = "") -> ScenarioError:
    message, hint = f"{'the' if key else 'a'} number has too many digits", "a number has at most 18 digits"
    return ScenarioError(Mistake.SYNTAX, place, message, hint=hint, key=key)


def _refuse_extremes(document: Document) -> None:
    """Refuse what TOML allows but other parts would stumble over: deep nesting and numbers beyond 64 bits."""
    waiting: list[tuple[KeyPath, Any]] = [((), document.tables)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > _MAX_DEPTH:
            raise _too_deep(document.file)
        if isinstance(value, dict):
            waiting += [((*path, key), below) for key, below in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, index), below) for index, below in enumerate(value)]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise _too_long(document.place(path), dotted(path))


def _syntax_error(file: Path, text: str, said: str) -> ScenarioError:
    reason, _, where = said.rpartition(" (at ")
    line = "".join(filter(str.isdigit, where.split(",")[0])) or str(max(1, len(text.splitlines())))
    words = f"{reason[:1].lower()}{reason[1:]}"
    hint = 'text stands in quotes ("20 ms"), tables in brackets ([links.link1])'
    for beginning, (plain, advice) in _SYNTAX.items():
        if reason.startswith(beginning):
            words, hint = plain, advice
            break
    return ScenarioError(Mistake.SYNTAX, Place(file, int(line)), f"is not TOML: {words}", hint=hint)


def _merge(base: Document, over: Document, path: KeyPath = ()) -> None:
    for key, value in (lookup(over.tables, path) or {}).items():
        here = (*path, key)
        under = lookup(base.tables, here)
        if isinstance(value, dict) and isinstance(under, dict):
            base.places[here] = over.place(here)
            if "kind" in value and value["kind"] != under.get("kind"):
                _drop_keys_of_kind(under)
            _merge(base, over, here)
            continue
        base.put(here, value, over.place(here))
        base.places.update({p: place for p, place in over.places.items() if p[: len(here)] == here})


def _drop_keys_of_kind(workload: Table) -> None:
    """What the base says of a workload that the extending file gives another kind: who talks to whom, and when."""
    for key in [key for key in workload if key not in OF_EVERY_KIND]:
        del workload[key]
