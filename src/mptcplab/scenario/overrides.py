# SPDX-License-Identifier: MIT
"""Settings of the command line: ``--set KEY=VALUE``, and axes of a sweep from lists."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from mptcplab.errors import Mistake
from mptcplab.scenario import sweep
from mptcplab.scenario.document import (
    Document,
    ScenarioError,
    Table,
    is_index,
    is_wildcard,
    lookup,
    name_hint,
    show,
    split_key,
)
from mptcplab.scenario.keys import known_fields, union_members
from mptcplab.scenario.place import SET, KeyPath, SourcePlace
from mptcplab.scenario.sweep import NAME, Setting, Sweep, name_of_axis

# Settings of the command line: ``--set KEY=VALUE``.

_SET = SourcePlace(Path("--set"), 0, rank=SET)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
#: A list of words, of which some may have lost their quotes to the shell.
_WORDS = re.compile(r"\[([^\[\]{}=\\]{1,200})\]?")
_EXAMPLE = '["4 KiB", "128 KiB"]'
_DECIMAL = re.compile(r"[+-]?[0-9]{1,18}\.[0-9]{1,18}")


def override(text: str) -> sweep.Setting:
    """Return the setting that ``KEY=VALUE`` stands for. :raises ScenarioError: if it cannot be read."""
    key, equals, value = text.partition("=")
    hint = "write --set links.link1.rate='10 Mbit/s'"
    if not equals:
        raise ScenarioError(Mistake.SYNTAX, _SET, "has no '='", hint=hint, key=show(text))
    pattern = split_key(key.strip())
    if pattern is None:
        raise ScenarioError(Mistake.SYNTAX, _SET, "is not a key", hint=hint, key=show(key))
    if pattern[0] in ("sweep", "extends", "without"):
        message, hint = "cannot be set on the command line", "edit the file"
        raise ScenarioError(Mistake.CONFLICT, _SET, message, hint=hint, key=key)
    return sweep.Setting(pattern, _parse_literal(value.strip(), pattern), replace(_SET, written=pattern))


def _parse_literal(text: str, pattern: KeyPath) -> Any:
    """Parse numbers, true, false, lists, tables and quoted text as in TOML; anything else is text without quotes.

    A key of the whole file that takes a decimal takes the version of a kernel: that is text.
    """
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and len(pattern) > 1:
        return float(text)
    if text[:1] in ("[", "{", '"', "'"):
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError) as error:
            hint = f"write '{_quote_words(text)}', in quotes for the shell"
            raise ScenarioError(Mistake.SYNTAX, _SET, f"{text!r} is not a TOML value", hint=hint) from error
    return text


def _quote_words(text: str) -> str:
    """Return the user's list of words without quotes as TOML; an example for anything else."""
    match = _WORDS.fullmatch(text)
    words = [word.strip().strip("\"'") for word in match[1].split(",")] if match else []
    return f"[{', '.join(map(show, filter(None, words)))}]" if any(words) else _EXAMPLE


# Axes of a sweep from the command line: ``--set`` with a list sweeps a key, or replaces or narrows its axis.
#
# A list is an axis unless the key itself takes a list. For such a key it is the value, unless one of its members is a
# list or a choice of the key: then it is an axis of these. Positions of a zip are chosen by the values of one of its
# keys, or by their names.


def apply_axes(document: Document, settings: Sequence[Setting]) -> tuple[Document, list[Setting]]:
    """Return ``document`` with the sweep as ``settings`` change it, and the settings that do not.

    :raises ScenarioError: if positions of a zip are chosen that it does not have.
    """
    fixed: list[Setting] = []
    for setting in settings:
        zips = _zips_of(document, setting)
        if zips and (_is_axis(document, setting) or zips[1] == NAME):
            document = _narrow(document, setting, *zips)
        elif _is_axis(document, setting):
            fixed = [other for other in fixed if not setting.covers(other)]
            document = _replace(document, setting)
        else:
            fixed.append(setting)
    return document, fixed


def explain_list(sweep: Sweep, error: ScenarioError) -> None:
    """Add how a key is swept to the hint of an ``error`` about a list, or words with commas, taken for one value."""
    written = error.place.written or ()
    for setting in sweep.fixed:
        is_about = error.place.file == setting.place.file and written[: len(setting.pattern)] == setting.pattern
        if is_about and isinstance(setting.value, list) and takes_list(sweep.document.tables, setting.pattern):
            error.hint = f"{error.hint}; a list is one value of this key, which is swept by a list of lists"
        elif is_about and isinstance(setting.value, str) and "," in setting.value:
            words = ", ".join(f'"{word.strip()}"' for word in setting.value.split(","))
            error.hint = f"{error.hint}; to sweep the key, write --set {setting.name}='[{words}]'"


def explain_queue(error: ScenarioError, choice: Sequence[Setting]) -> None:
    """Add to the hint of an ``error`` about a queue that it does nothing only with a swept discipline.

    To remove the queue, as without a sweep, would change the points of the other disciplines.
    """
    written = error.place.written or ()
    if error.kind != Mistake.IDLE or written[-1:] != ("queue",):
        return
    for setting in choice:
        is_about = all(fnmatch.fnmatchcase(str(a), str(b)) for a, b in zip(written[:2], setting.pattern, strict=False))
        if is_about and setting.pattern[-1] == "discipline":
            error.hint = (
                f"the sweep sets {setting.name} = {setting.text}; sweep the queue beside it in a [[sweep.zip]], with "
                f'"100 ms", the default, for {setting.text}'
            )


def _is_axis(document: Document, setting: Setting) -> bool:
    if not isinstance(setting.value, list):
        return False
    leaves = _leaves(document.tables, setting.pattern)
    if not _any_list(leaves):
        return True
    choices = {choice for leaf in leaves if get_origin(leaf) is Literal for choice in get_args(leaf)}
    return any(isinstance(value, list) or (isinstance(value, str) and value in choices) for value in setting.value)


def takes_list(tables: Any, pattern: KeyPath) -> bool:
    """Return whether the value of a key may be a list."""
    return _any_list(_leaves(tables, pattern))


def _any_list(leaves: Sequence[Any]) -> bool:
    return any((get_origin(leaf) or leaf) in (list, tuple) for leaf in leaves)


def _leaves(tables: Any, pattern: KeyPath) -> list[Any]:
    """Return the types that the value of a key may have."""
    # Wildcards and numbers of list members are names that no table has; their models are looked up all the same.
    path: KeyPath = tuple(int(part) if is_index(str(part)) else part for part in pattern)
    field = known_fields(tables, path[:-1]).get(str(path[-1]))
    return [] if field is None else union_members(field.annotation)


def _replace(document: Document, setting: Setting) -> Document:
    """Return ``document`` with a list as the axis of its key, in place of the axis that the file has for it."""
    table = document.tables.get("sweep", {})
    if not isinstance(table, dict):
        return document  # reported where the sweep is read
    same = [key for key in table if key != "zip" and split_key(key) == setting.pattern]
    left = {key: values for key, values in table.items() if key in ("zip", *same) or not _covers(setting, key)}
    document = document.with_value(("sweep",), left)
    return document.put(("sweep", same[0] if same else setting.name), setting.value, setting.place)


def _covers(setting: Setting, key: str) -> bool:
    pattern = split_key(key)
    return pattern is not None and setting.covers(Setting(pattern, None, setting.place))


def _tables(document: Document) -> Iterator[tuple[int, Table]]:
    """Yield the zips that are tables, with their numbers; others are reported where the sweep is read."""
    zips = lookup(document.tables, ("sweep", "zip"))
    yield from ((number, table) for number, table in enumerate(zips or ()) if isinstance(table, dict))


def _zips_of(document: Document, setting: Setting) -> tuple[int, str] | None:
    """Return the zip that a setting is about, and the key of the column with its values."""
    named = 0
    for number, table in _tables(document):
        named += NAME in table
        if NAME in table and setting.pattern == (name_of_axis(named),):
            return number, NAME
        for key in table:
            if key != NAME and split_key(key) == setting.pattern and not any(map(is_wildcard, setting.pattern)):
                return number, key
    return None


def _narrow(document: Document, setting: Setting, number: int, column: str) -> Document:
    """Return ``document`` with the positions of a zip that have one of the values in the column."""
    path: KeyPath = ("sweep", "zip", number)
    table = lookup(document.tables, path)
    have = table[column]
    wanted = setting.value if isinstance(setting.value, list) else [setting.value]
    if not isinstance(have, list) or not all(isinstance(values, list) for values in table.values()):
        return document  # reported where the sweep is read
    for value in wanted:
        if value not in have:
            others = " and ".join(f'"{key}"' for key in table if key not in (column, NAME))
            message = (
                f"has no {value!r}" if column == NAME else f"has no {value!r}, and is swept together with {others}"
            )
            known = [str(entry) for entry in have]
            hint = name_hint(str(value), known) if column == NAME else f"use one of {', '.join(known)}"
            raise ScenarioError(Mistake.REFERENCE, setting.place, message, hint=hint, key=setting.name)
    kept = [have.index(value) for value in wanted]
    if len(set(kept)) < len(kept):
        raise ScenarioError(Mistake.IDLE, setting.place, "has a value twice", hint="name each once", key=setting.name)
    if any(len(values) != len(have) for values in table.values()):
        return document  # reported where the sweep is read
    for key, values in table.items():
        here = (*path, key)
        document = document.put(here, [values[index] for index in kept], document.place(here))
    return document
