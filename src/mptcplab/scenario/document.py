# SPDX-License-Identifier: MIT
"""A scenario file as read: nested tables, and the place where each key was written."""

from __future__ import annotations

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
from mptcplab.files import expand_home
from mptcplab.prebuilt import find_shipped_folder
from mptcplab.scenario.place import SET, KeyPath, Places, SourcePlace, key_lines

# The files that a scenario names: bases, traces, sources of eBPF programs. They are noted as they are found.
#
# A scenario of the user's own may name any file. A stranger's scenario is confined to the folder that it came in.


@dataclass(frozen=True)
class ReferencedFile:
    """A file that a scenario names, with its ``name`` as written there.

    A run ``executes`` what it contains, or reads it as data.
    """

    path: Path
    name: str
    executes: bool

    @property
    def is_portable(self) -> bool:
        """True if the name leads to the file also in a copy of the scenario's folder."""
        return not (self.name.startswith("~") or os.path.isabs(self.name))


@dataclass
class NamedFiles:
    """Finds the files that a scenario names. With a ``root``, all must be regular files in that folder."""

    root: Path | None = None
    files: dict[Path, ReferencedFile] = field(default_factory=dict)

    def locate(self, folder: Path, name: str, *, executes: bool, confined: bool) -> Path | None:
        """Return the path of ``name`` in ``folder``, and note it.

        None if it is ``confined`` and outside of the root.
        """
        if self.root is not None and confined:
            path = _locate_inside(self.root, folder, name)
            if path is None:
                return None
        else:
            path = folder / expand_home(name)
        # A file that is executed once is code, however else it is read.
        before = self.files.get(path)
        self.files[path] = ReferencedFile(path, name, executes or (before is not None and before.executes))
        return path


def _locate_inside(root: Path, folder: Path, name: str) -> Path | None:
    """Return the path of ``name`` if it is in ``root``, by its text and with links followed; None otherwise."""
    if "\0" in name:
        return None
    path = Path(os.path.normpath(folder / name))
    real = Path(os.path.realpath(path))
    inside = path.is_relative_to(root) and real.is_relative_to(os.path.realpath(root))
    return path if inside else None


Table = dict[str, Any]
_MAX_FILE_BYTES = 4 << 20
_FILE_HINT = "name a scenario file in TOML, like scenario.toml"
_MAX_DEPTH = 20
_MAX_VALUE = 60
_MAX_MESSAGE = 500
_MAX_NAME = 4096

_BARE_KEY = re.compile(r"[A-Za-z0-9_*?-]+")
_KEY_PART = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[A-Za-z0-9_*?-]+))\s*(?P<end>\.|\Z)"""
)

#: A name that is a key or a part of a table's header, not in quotes, with a letter that these cannot have.
_NOT_ASCII = re.compile(r"(?:(?<=^)|(?<=[\[.]))[A-Za-z0-9_-]*[^\W\x00-\x7f][\w-]*(?=[^\"'#]*(?:\]|=))")

#: The header of a member of a list of tables.
_ARRAY_HEADER = re.compile(r"\s*\[\[\s*([\w.-]+)\s*\]\]")

#: Messages of ``tomllib``, reworded for readers who do not know the grammar of TOML, each with a hint.
_SYNTAX = {
    "Cannot overwrite a value": ("the key is already set above", "remove one of the two lines"),
    "Cannot mutate immutable namespace": ("the table is closed already", "add the key inside the table itself"),
    "Cannot declare": ("the table is defined twice", "put the keys of one table under one header"),
    "Invalid value": ("a value is missing or not in quotes", 'put text in quotes, like "20 ms"'),
    "Unclosed array": ("a list is not closed before this line", "end it with ]"),
    "Unterminated string": ("text is not closed", 'end it with "'),
    "Illegal character '\\n'": ("text is not closed", 'end it with "'),
    "Expected ']' at the end of a table declaration": ("a table header is not closed", "write [links.link1]"),
    "Expected '=' after a key in a key/value pair": ("there is no = after the key", "write key = value, like seed = 1"),
    "Expected newline or end of document after a statement": (
        "something follows the value",
        'put text in quotes, like "20 ms", and one key on each line',
    ),
    "Invalid statement": ("the line is neither a key, a table nor a comment", "write key = value, or [table]"),
    "Invalid initial character for a key part": ("this is not a key", "write key = value, or [table]"),
}


class ScenarioError(InputError):
    """A mistake in a scenario: its ``kind``, its ``place`` (a line or an option), and the ``key`` concerned.

    ``about`` is the message without the place.
    """

    def __init__(
        self, kind: Mistake, place: SourcePlace, message: str, *, hint: str, key: str = "", value: Any = None
    ) -> None:
        shown = f" = {show(value)}" if value is not None and not isinstance(value, dict) else ""
        about = f"{key}{shown}: {message}" if key else message
        super().__init__(escape_text(f"{place}: ", longest=_MAX_NAME) + escape_text(about), hint=escape_text(hint))
        self.kind, self.place, self.key, self.about = kind, place, key, escape_text(about)


@dataclass(frozen=True)
class Document:
    """The tables of a scenario, with the place of each key. ``file`` is the name that the user gave.

    A document never changes, nor do its tables: each stage of loading returns a new one, which shares what is equal.
    ``named`` notes the files that the scenario names, and says where they may be.
    """

    file: Path
    tables: Table
    places: Places = field(default_factory=Places)
    named: NamedFiles = field(default_factory=NamedFiles)

    def place(self, path: KeyPath) -> SourcePlace:
        """Return the line of ``path``, or of the nearest enclosing table that has one; ``written`` is always set."""
        place, depth = self.places.find_nearest(path)
        if place is None:
            return SourcePlace(self.file, 0, path)
        return SourcePlace(place.file, place.line, (place.written or path[:depth]) + path[depth:], place.rank)

    def own_place(self, path: KeyPath) -> SourcePlace | None:
        """Return the place of the key at ``path`` if somebody wrote this very key; None otherwise."""
        return self.places.find(path).place

    def error(self, path: KeyPath, message: str, *, hint: str, kind: Mistake = Mistake.CONFLICT) -> ScenarioError:
        """Return an error about the key at ``path``, with its file, line, key and value."""
        value = lookup(self.tables, path)
        place = self.place(path)
        key = join_key(place.written or path)
        return ScenarioError(kind, place, message, hint=hint, key=key, value=value)

    def to_error(self, path: KeyPath, error: PydanticCustomError) -> ScenarioError:
        """Return the error about the value at ``path`` for an exception that a check of it raised.

        See :func:`mptcplab.fields.value_error`.
        """
        described = error.context or {}
        return self.error(
            (*path, *described["key"]), str(described["text"]), hint=str(described["hint"]), kind=described["kind"]
        )

    def locate(self, path: KeyPath, name: str, *, executes: bool = False) -> Path:
        """Return the file ``name`` that the key at ``path`` names, relative to the file with that key.

        ``executes`` says that a run executes what the file contains; otherwise our code reads it as data. Every file
        that a scenario names is found here, so that a pack can contain it, and a pack of a stranger name no other.
        :raises ScenarioError: if it is outside of the folder that the scenario is confined to.
        """
        place = self.place(path)
        folder = place.file.parent if place.line else self.file.parent
        # The command line is the user's own, also beside the file of a stranger.
        file = self.named.locate(folder, name, executes=executes, confined=place.rank != SET)
        if file is None:
            hint = "it can only name files that came with it"
            raise self.error(path, "names a file outside of the pack", hint=hint, kind=Mistake.FILE)
        return file

    def put(self, path: KeyPath, value: Any, place: SourcePlace) -> Document:
        """Return the document with another value at ``path``. Missing tables are created, also at ``place``.

        :raises ScenarioError: if ``path`` leads through a value, or to a member that a list does not have.
        """
        return self._put(path, value, Places(place), place)

    def copy_value(self, path: KeyPath, value: Any, source: KeyPath) -> Document:
        """Return the document with ``value``, which was written at ``source``, at ``path``: messages name both."""
        place = self.place(source)
        return self._put(path, value, Places(place, self.places.find(source).mark_copies(source).below), place)

    def copy_from(self, path: KeyPath, other: Document) -> Document:
        """Return the document with the value at ``path``, and its places, copied from ``other``."""
        place = other.place(path)
        return self._put(path, lookup(other.tables, path), Places(place, other.places.find(path).below), place)

    def _put(self, path: KeyPath, value: Any, places: Places, place: SourcePlace) -> Document:
        known = self.places
        table: Any = self.tables
        for index, part in enumerate(path[:-1], start=1):
            here = path[:index]
            if isinstance(table, dict) and part not in table:
                known = known.put(here, Places(replace(place, written=here), known.find(here).below))
            if isinstance(table, list):
                self._check_member(here[:-1], part, place)
            table = table[int(part)] if isinstance(table, list) else table.get(str(part), {})
            if not isinstance(table, dict | list):
                hint = f"use another key: {join_key(here)} = {show(table)} is not a table"
                message = "cannot be set below a value"
                raise ScenarioError(Mistake.TYPE, place, message, hint=hint, key=join_key(path), value=value)
        if isinstance(table, list):
            self._check_member(path[:-1], path[-1], place)
        return replace(self, tables=_with_value(self.tables, path, value), places=known.put(path, places))

    def _check_member(self, path: KeyPath, part: str | int, place: SourcePlace) -> None:
        """Check that ``part`` is the index of a member of the list at ``path``. :raises InputError: if not."""
        members = lookup(self.tables, path)
        if not isinstance(part, int) or part >= len(members):
            named = join_key((*path, str(part)))
            hint = f"use a member of this list: {join_key(path)}.0 to {join_key(path)}.{len(members) - 1}"
            raise ScenarioError(Mistake.REFERENCE, place, "is not a member of the list", hint=hint, key=named)

    def inherit(self, path: KeyPath, shared: Table, source: KeyPath) -> Document:
        """Return the document with the keys of ``shared``, written below ``source``, in the table at ``path``.

        Keys that the table has already stay.
        """
        document = self
        existing = lookup(self.tables, path) or {}
        for key, value in shared.items():
            if key not in existing:
                document = document.copy_value((*path, key), value, (*source, key))
            elif isinstance(existing[key], dict) and isinstance(value, dict):
                document = document.inherit((*path, key), value, (*source, key))
        return document

    def with_value(self, path: KeyPath, value: Any) -> Document:
        """Return the document with another form of the value at ``path``: no place changes."""
        return replace(self, tables=_with_value(self.tables, path, value))

    def drop(self, *paths: KeyPath) -> Document:
        """Return the document without the keys at ``paths``. Their places stay known, for messages."""
        tables = self.tables
        for path in paths:
            left = {key: value for key, value in lookup(tables, path[:-1]).items() if key != path[-1]}
            tables = _with_value(tables, path[:-1], left)
        return replace(self, tables=tables)

    def matches(self, pattern: KeyPath) -> list[KeyPath]:
        """Return the key paths that ``pattern`` matches.

        ``*`` and ``?`` match existing names and the indices of list members. A part without them stays as it is,
        whether the key exists or not.
        """
        paths: list[KeyPath] = [()]
        for part in pattern:
            grown: list[KeyPath] = []
            for path in paths:
                if is_wildcard(part):
                    names = members(lookup(self.tables, path))
                    grown += [(*path, name) for name in names if fnmatch.fnmatchcase(str(name), str(part))]
                else:
                    grown.append((*path, _member(lookup(self.tables, path), part)))
            paths = grown
        return paths


def _with_value(table: Any, path: KeyPath, value: Any) -> Any:
    """Return a copy of ``table`` with ``value`` at ``path``; the parts beside the path are shared with it."""
    if not path:
        return value
    part, *below = path
    if isinstance(table, list):
        index = int(part)
        return [*table[:index], _with_value(table[index], tuple(below), value), *table[index + 1 :]]
    return {**table, str(part): _with_value(table.get(str(part), {}), tuple(below), value)}


def members(table: Any) -> list[str | int]:
    """Return the keys of a table, or the numbers of the members of a list; nothing for a value."""
    if isinstance(table, list):
        return list(range(len(table)))
    return list(table) if isinstance(table, dict) else []


def is_index(text: str) -> bool:
    """Return whether a part of a key is the number of a list member."""
    return text.isascii() and text.isdigit()


def _member(table: Any, part: str | int) -> str | int:
    """Return ``part``, as a number if it is the index of a list member."""
    is_number = isinstance(table, list) and is_index(str(part)) and int(part) < len(table)
    return int(part) if is_number else part


def is_wildcard(part: str | int) -> bool:
    """Return whether ``part`` of a key path can match several names."""
    return isinstance(part, str) and any(mark in part for mark in "*?")


def join_key(path: KeyPath) -> str:
    """Return ``("links", "link1", "rate")`` as ``links.link1.rate``; list members as ``[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            quoted = part if _BARE_KEY.fullmatch(part) else f'"{part}"'
            text += f".{quoted}" if text else quoted
    return text


def split_key(text: str) -> KeyPath | None:
    """Return ``links.link1.rate`` as a key path; dots in quotes do not split. None if it is not a key."""
    parts: list[str] = []
    at = 0
    while (match := _KEY_PART.match(text, at)) is not None:
        parts.append(match["double"] or match["single"] or match["bare"] or "")
        if not match["end"]:
            return tuple(parts)
        at = match.end()
    return None


def lookup(tables: Any, path: KeyPath) -> Any:
    """Return the value at ``path``, or None."""
    for part in path:
        if isinstance(tables, dict):
            tables = tables.get(part)
        elif isinstance(tables, list) and isinstance(part, int) and part < len(tables):
            tables = tables[part]
        else:
            return None
    return tables


def show(value: Any) -> str:
    """Return ``value`` as TOML for a message, shortened if it is long, and with unprintable characters escaped.

    :func:`mptcplab.scenario.writing.format_value` is for TOML that is read again.
    """
    text = _printable(value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 3] + "..."


def _printable(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{escape_text(value, longest=_MAX_VALUE)}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_printable, value))}]"
    if isinstance(value, dict):
        pairs = ", ".join(f"{join_key((key,))} = {_printable(below)}" for key, below in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return str(value)


def suggest_name(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the one of ``known`` that ``name`` is probably a misspelling of."""
    names = sorted(known)
    by_case = [other for other in names if other.casefold() == name.casefold()]
    near = by_case or difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    return near[0] if near else None


def name_hint(name: str, known: Iterable[str]) -> str:
    """Return the hint for an unknown ``name`` in place of one of ``known``."""
    names = list(known)
    near = suggest_name(name, names, cutoff=0.5)
    return f"did you mean `{near}`?" if near else f"use one of {', '.join(names)}" if names else "define it first"


def escape_text(text: str, *, longest: int = _MAX_MESSAGE) -> str:
    """Return ``text`` with unprintable characters escaped, since user input may contain anything."""
    cut = text if len(text) <= longest else text[: longest - 3] + "..."
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


def parse(file: Path, *, rank: int = 0, named: NamedFiles | None = None) -> Document:
    """Read one file, which notes the files that it names in ``named``. A key of a higher ``rank`` replaces a lower one.

    :raises InputError: if it cannot be read or is not TOML.
    """
    place, hint = SourcePlace(file, 0), _FILE_HINT
    try:
        if file.is_dir():
            raise ScenarioError(Mistake.FILE, place, "is a directory", hint=hint)
        # A pipe or device has no size, and can be endless.
        with file.open(encoding="utf-8-sig") as opened:
            text = opened.read(_MAX_FILE_BYTES + 1)
        if len(text) > _MAX_FILE_BYTES:
            hint = f"use a scenario file of at most {_MAX_FILE_BYTES >> 20} MiB"
            raise ScenarioError(Mistake.FILE, place, "is too large for a scenario", hint=hint)
        if "\0" in text:
            raise ScenarioError(Mistake.FILE, place, "is not a text file", hint=_FILE_HINT)
    except UnicodeDecodeError as error:
        raise ScenarioError(
            Mistake.FILE, place, "is not UTF-8 text", hint=f"save it as UTF-8, or {_FILE_HINT}"
        ) from error
    except OSError as error:
        near = _file_like(file) or _shipped_example(file)
        hint = f"did you mean {near}?" if near is not None else hint
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
    document = Document(file, tables, Places.from_lines(file, lines, rank), named or NamedFiles())
    _refuse_extremes(document)
    return document


def _file_like(file: Path) -> Path | None:
    """Return the scenario file beside a missing ``file`` whose name is like it, with or without its suffix."""
    try:
        names = [path.name for path in file.parent.iterdir() if path.suffix == ".toml"]
    except OSError:
        return None
    wanted = file.name if file.suffix else f"{file.name}.toml"
    near = suggest_name(wanted, names, cutoff=0.75)
    return file.with_name(near) if near is not None else None


def _shipped_example(file: Path) -> str | None:
    """Return ``@NAME`` for a missing file ``NAME`` or ``examples/NAME.toml`` that mptcplab has; None for others."""
    folder = find_shipped_folder("examples", "examples", proof="two-paths.toml")
    root = next((parent for parent in file.parents if parent.name == "examples"), Path())
    if folder is None or not file.is_relative_to(root):
        return None
    name = file.relative_to(root).with_suffix(".toml")
    # A name can be too long for a file, for which `Path.is_file` raises.
    is_there = ".." not in name.parts and os.path.isfile(folder / name)
    return f"@{name.with_suffix('')}" if is_there else None


def _too_deep(file: Path) -> ScenarioError:
    hint = f"use at most {_MAX_DEPTH} levels: a scenario needs five"
    return ScenarioError(Mistake.SYNTAX, SourcePlace(file, 0), "is nested too deeply", hint=hint)


def _too_long(place: SourcePlace, key: str = "") -> ScenarioError:
    message, hint = f"{'the' if key else 'a'} number has too many digits", "use at most 18 digits"
    return ScenarioError(Mistake.SYNTAX, place, message, hint=hint, key=key)


def _refuse_extremes(document: Document) -> None:
    """Refuse deep nesting and numbers beyond 64 bits, which TOML allows and later stages do not handle."""
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
            raise _too_long(document.place(path), join_key(path))


def _syntax_error(file: Path, text: str, message: str) -> ScenarioError:
    reason, _, where = message.rpartition(" (at ")
    line = "".join(filter(str.isdigit, where.split(",")[0])) or str(max(1, len(text.splitlines())))
    words = f"{reason[:1].lower()}{reason[1:]}"
    hint = 'put text in quotes ("20 ms") and tables in brackets ([links.link1])'
    written = next(iter(text.splitlines()[int(line) - 1 : int(line)]), "")
    if bare := _NOT_ASCII.search(written):
        words = f"'{bare[0]}' has a letter outside ASCII"
        hint = "use the letters a to z, digits, '-' and '_' in names of links, hosts and keys"
        return ScenarioError(Mistake.SYNTAX, SourcePlace(file, int(line)), words, hint=hint)
    if written.strip() == "[events]":
        words, hint = "is not TOML: events are a list", "write [[events]] with two brackets for each of them"
        return ScenarioError(Mistake.SYNTAX, SourcePlace(file, int(line)), words, hint=hint)
    if reason.startswith("Cannot mutate") and (header := _ARRAY_HEADER.match(written)):
        name = header[1]
        words = f"is not TOML: `{name.rpartition('.')[2]}` is already a list above"
        hint = f"remove that line: [[{name}]] begins the list, which replaces the list of a file that this one extends"
        return ScenarioError(Mistake.SYNTAX, SourcePlace(file, int(line)), words, hint=hint)
    for beginning, (plain, advice) in _SYNTAX.items():
        if reason.startswith(beginning):
            words, hint = plain, advice
            break
    return ScenarioError(Mistake.SYNTAX, SourcePlace(file, int(line)), f"is not TOML: {words}", hint=hint)
