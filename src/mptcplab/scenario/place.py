# SPDX-License-Identifier: MIT
"""The line of each key in a TOML file, so that errors can name it.

``tomllib`` parses the values but drops the lines. This module scans the same text again, only for keys: table headers,
dotted keys, inline tables and arrays, with strings and comments skipped.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

KeyPath = tuple[str | int, ...]

#: Ranks of swept keys and of keys of the command line; keys of the file have 0, keys of its bases less.
SWEPT, SET = 1, 2

_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\r]+|\#[^\n]*)
  | (?P<newline>\n)
  | (?P<string>\"{3}(?:\\.|[^\\])*?\"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
  | (?P<mark>\[\[|\]\]|[\[\]{}=,.])
  | (?P<bare>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class SourcePlace:
    """A line of a file; ``line`` counts from 1 and is 0 if there is none.

    ``written`` is the key as written there, if its value was copied from another path. A key of a higher ``rank``
    replaces keys of lower ranks.
    """

    file: Path
    line: int
    written: KeyPath | None = None
    rank: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


@dataclass(frozen=True)
class Places:
    """The place of a key, None if it has none of its own, and the places of the keys below it."""

    place: SourcePlace | None = None
    below: Mapping[str | int, Places] = field(default_factory=dict)

    @classmethod
    def from_lines(cls, file: Path, lines: Mapping[KeyPath, int], rank: int) -> Places:
        """Return the places of a file's keys from :func:`key_lines`, which has each table before its keys."""
        tables: dict[KeyPath, dict[str | int, Places]] = {(): {}}
        for path, line in lines.items():
            tables[path] = {}
            tables[path[:-1]][path[-1]] = cls(SourcePlace(file, line, rank=rank), tables[path])
        return cls(None, tables[()])

    def find(self, path: KeyPath) -> Places:
        """Return the places of ``path`` and of the keys below it; an empty one if there are none."""
        places = self
        for part in path:
            places = places.below.get(part, _NOWHERE)
        return places

    def find_nearest(self, path: KeyPath) -> tuple[SourcePlace | None, int]:
        """Return the place of ``path`` or of the nearest enclosing table that has one, and the length of its path."""
        nearest, depth = self.place, 0
        places = self
        for length, part in enumerate(path, start=1):
            places = places.below.get(part, _NOWHERE)
            if places.place is not None:
                nearest, depth = places.place, length
        return nearest, depth

    def put(self, path: KeyPath, places: Places) -> Places:
        """Return these places with others at ``path`` and below it."""
        if not path:
            return places
        below = self.below.get(path[0], _NOWHERE).put(path[1:], places)
        return Places(self.place, {**self.below, path[0]: below})

    def mark_copies(self, source: KeyPath) -> Places:
        """Return these places for a copy of the keys at ``source``: each says where its key was written."""
        place = self.place
        if place is not None and place.written is None:
            place = SourcePlace(place.file, place.line, source, place.rank)
        return Places(place, {part: places.mark_copies((*source, part)) for part, places in self.below.items()})


_NOWHERE = Places()


@dataclass
class _Token:
    kind: str
    text: str
    line: int


@dataclass
class _Scanner:
    tokens: list[_Token]
    at: int = 0
    lines: dict[KeyPath, int] = field(default_factory=dict)
    #: The index of the last member so far of each array of tables.
    newest: dict[KeyPath, int] = field(default_factory=dict)

    def peek(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> _Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def note(self, path: KeyPath, line: int) -> None:
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)


@lru_cache(32)
def key_lines(text: str) -> Mapping[KeyPath, int]:
    """Map each key path of a valid TOML document to its line; members of arrays have their index in the path.

    The lines of the latest documents are kept: many scenarios extend the same one.
    """
    scanner = _Scanner(list(_tokens(text)))
    prefix: KeyPath = ()
    while (token := scanner.peek()) is not None:
        if token.kind == "newline":
            scanner.take()
        elif token.text in ("[", "[["):
            prefix = _header(scanner)
        else:
            _pair(scanner, prefix)
    return scanner.lines


def _tokens(text: str) -> Iterator[_Token]:
    line, at = 1, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            at += 1
            continue
        kind = str(match.lastgroup)
        if kind != "blank":
            yield _Token(kind, match.group(), line)
        line += match.group().count("\n")
        at = match.end()


def _key(scanner: _Scanner) -> tuple[KeyPath, int]:
    parts: list[str] = []
    line = 0
    while (token := scanner.peek()) is not None and token.text not in ("=", "]", "]]") and token.kind != "newline":
        line = line or token.line
        if token.kind in ("bare", "string"):
            parts.append(_unquote(token.text) if token.kind == "string" else token.text)
        scanner.take()
    return tuple(parts), line


def _unquote(text: str) -> str:
    return str(tomllib.loads(f"key = {text}")["key"])


def _header(scanner: _Scanner) -> KeyPath:
    opening = scanner.take()
    path, line = _key(scanner)
    closing = scanner.peek()
    if closing is not None and closing.kind != "newline":
        scanner.take()
    if opening.text == "[[":
        array = (*_enter_arrays(scanner, path[:-1]), path[-1])
        scanner.newest[array] = scanner.newest.get(array, -1) + 1
        path = (*array, scanner.newest[array])
    else:
        path = _enter_arrays(scanner, path)
    scanner.note(path, line)
    return path


def _enter_arrays(scanner: _Scanner, path: KeyPath) -> KeyPath:
    """Return ``path`` with the last index after each array of tables: the table that a header names at this line."""
    texts: KeyPath = ()
    for part in path:
        texts = (*texts, part)
        if texts in scanner.newest:
            texts = (*texts, scanner.newest[texts])
    return texts


def _pair(scanner: _Scanner, prefix: KeyPath) -> None:
    key, line = _key(scanner)
    path = prefix + key
    scanner.note(path, line)
    token = scanner.peek()
    if token is not None and token.text == "=":
        scanner.take()
        _value(scanner, path)
    elif token is not None:
        scanner.take()


def _value(scanner: _Scanner, path: KeyPath) -> None:
    token = scanner.peek()
    if token is None or token.kind == "newline":
        return
    if token.text in ("[", "[["):
        _scan_array(scanner, path)
    elif token.text == "{":
        _inline_table(scanner, path)
    else:
        while (token := scanner.peek()) is not None and token.kind != "newline" and token.text not in ",]}":
            if token.text == "]]":
                return
            scanner.take()


def _scan_array(scanner: _Scanner, path: KeyPath) -> None:
    if scanner.take().text == "[[":  # an array that begins with an array: put the second bracket back
        scanner.at -= 1
        scanner.tokens[scanner.at] = _Token("mark", "[", scanner.tokens[scanner.at].line)
    index = 0
    while (token := scanner.peek()) is not None:
        if token.text == "]]":  # closes this array and the one around it
            scanner.tokens[scanner.at] = _Token("mark", "]", token.line)
            return
        if token.text == "]":
            scanner.take()
            return
        if token.kind == "newline" or token.text == ",":
            index += token.text == ","
            scanner.take()
            continue
        scanner.note((*path, index), token.line)
        _value(scanner, (*path, index))


def _inline_table(scanner: _Scanner, path: KeyPath) -> None:
    scanner.take()
    while (token := scanner.peek()) is not None:
        if token.text == "}":
            scanner.take()
            return
        if token.kind == "newline" or token.text == ",":
            scanner.take()
            continue
        _pair(scanner, path)
