# SPDX-License-Identifier: MIT
"""The scanner of places finds the keys that ``tomllib`` parses."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mptcplab.scenario.place import KeyPath, key_lines

_BARE = st.from_regex(r"[A-Za-z0-9_-]{1,5}", fullmatch=True)
_KEYS = st.one_of(_BARE, _BARE, st.text(max_size=4))
_TEXTS = st.one_of(
    st.text(max_size=6), st.sampled_from(["]", "[[", "]]", "=", "#", "a\nb", '"', "'", "\\", "{", "}, ["])
)
_SCALARS = st.one_of(_TEXTS, st.integers(-5, 5), st.floats(-2, 2), st.booleans(), st.dates())
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=8,
)
_DOCUMENTS = st.dictionaries(_KEYS, _VALUES, max_size=4)


def _quote(text: str) -> str:
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text) + '"'


class _Writer:
    """Writes a document in one of the many forms that TOML allows, as ``draw`` selects."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []

    def flip(self) -> bool:
        return self.draw(st.booleans())

    def key(self, text: str) -> str:
        plain = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
        if plain and self.flip():
            return text
        if text.isprintable() and "'" not in text and self.flip():
            return f"'{text}'"
        return _quote(text)

    def value(self, value: Any) -> str:
        if isinstance(value, str):
            return f'"""\n{_quote(value)[1:-1]}"""' if self.flip() else _quote(value)
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, dict):
            return "{ " + ", ".join(f"{self.key(key)} = {self.value(below)}" for key, below in value.items()) + " }"
        if isinstance(value, list):
            separator = ",\n  # ], }\n  " if self.flip() else ","
            return f"[{separator.join(map(self.value, value))}{',' if value and self.flip() else ''}]"
        return str(value)

    def table(self, table: dict[str, Any], name: str = "") -> None:
        later: list[tuple[str, Any]] = []
        for key, value in table.items():
            whole = f"{name}.{self.key(key)}" if name else self.key(key)
            is_tables = isinstance(value, list) and value and all(isinstance(member, dict) for member in value)
            if (isinstance(value, dict) or is_tables) and self.flip():
                later.append((whole, value))
            else:
                self.lines.append(f"{self.key(key)} = {self.value(value)}  # {self.flip()} = [")
        for whole, value in later:
            for member in value if isinstance(value, list) else [value]:
                self.lines += ["", f"[[{whole}]]" if isinstance(value, list) else f"[ {whole} ]"]
                self.table(member, whole)


@st.composite
def _write(draw: st.DrawFn) -> str:
    writer = _Writer(draw)
    writer.table(draw(_DOCUMENTS))
    return "\n".join(writer.lines)


def _paths(value: Any, path: KeyPath = ()) -> list[KeyPath]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, below in members for place in [(*path, key), *_paths(below, (*path, key))]]


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(text=_write())
def test_every_key_has_its_line(text: str) -> None:
    places = key_lines(text)
    wanted = _paths(tomllib.loads(text))
    assert sorted(map(repr, wanted)) == sorted(map(repr, places))
    lines = text.split("\n")
    for path in wanted:
        key = path[-1]
        if isinstance(key, str):
            line = lines[places[path] - 1]
            assert key in line or _quote(key)[1:-1] in line


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a = 1\nb = 2", {("a",): 1, ("b",): 2}),
        ("\n# x\n[a.b]\nc = 1", {("a",): 3, ("a", "b"): 3, ("a", "b", "c"): 4}),
        ("[[a]]\nx = 1\n[[a]]\n[a.b]\nx = 2", {
            ("a",): 1, ("a", 0): 1, ("a", 0, "x"): 2, ("a", 1): 3, ("a", 1, "b"): 4, ("a", 1, "b", "x"): 5}),
        ("[[a]]\n[[a.b]]\n[[a]]\n[[a.b]]", {
            ("a",): 1, ("a", 0): 1, ("a", 0, "b"): 2, ("a", 0, "b", 0): 2, ("a", 1): 3, ("a", 1, "b"): 4,
            ("a", 1, "b", 0): 4}),
        ("a = [[1],\n[2]]", {("a",): 1, ("a", 0): 1, ("a", 0, 0): 1, ("a", 1): 2, ("a", 1, 0): 2}),
        ("a = [[[]]]", {("a",): 1, ("a", 0): 1, ("a", 0, 0): 1}),
        ('a = """\nb = 1\n"""\nc = 1', {("a",): 1, ("c",): 4}),
        ("a = '''\n\n'''''\nc = 1", {("a",): 1, ("c",): 4}),
        ('"\\u0061".b = 1', {("a",): 1, ("a", "b"): 1}),
        ("a.b = 1.5\na.c = 07:32:00", {("a",): 1, ("a", "b"): 1, ("a", "c"): 2}),
    ],
)  # fmt: skip
def test_lines(text: str, lines: dict[KeyPath, int]) -> None:
    assert set(_paths(tomllib.loads(text))) == set(lines)
    assert key_lines(text) == lines


@given(st.text(alphabet="ab=.[]{},\"'\n# 1", max_size=30))
def test_scanning_other_text_ends(text: str) -> None:
    """Only valid text is ever scanned; for any other, the scanner must at least end."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    key_lines(text)
