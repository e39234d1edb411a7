# SPDX-License-Identifier: MIT
"""Write tables as a scenario's TOML with comments, for programs that make scenarios from something else.

A comment belongs to a value or to a table: it says where the value comes from. Tables are nested mappings as
:mod:`tomllib` reads them, in the order in which they are to be written; wrap a value in :class:`CommentedValue` to give
it a comment.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WIDTH = 110
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class CommentedValue:
    """A value, or a table, with a comment. The comment is wrapped; it may have several paragraphs, one a line."""

    value: Any
    comment: str


def write_scenario(tables: Mapping[str, Any], *, heading: str = "") -> str:
    """Return the tables as TOML. ``heading`` is a comment at the beginning of the file.

    Keys without a table come first, as TOML requires. A list of tables becomes ``[[name]]`` at the top of the file, and
    inline tables elsewhere. A mapping without content becomes an empty table.
    """
    blocks = ["\n".join(_comment_lines(heading))] if heading else []
    blocks += _table_blocks((), tables)
    return "\n\n".join(blocks) + "\n"


def uncomment(value: Any) -> Any:
    """Return plain tables and values, without comments."""
    value, _ = _split(value)
    if isinstance(value, Mapping):
        return {key: uncomment(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [uncomment(entry) for entry in value]
    return value


def _table_blocks(path: tuple[str, ...], table: Mapping[str, Any], comment: str = "") -> Iterator[str]:
    """Yield a table and those within it, each with its header."""
    values: list[str] = []
    nested: list[tuple[str, Any, str]] = []
    for key, entry in table.items():
        value, about = _split(entry)
        if isinstance(value, Mapping) or (not path and _is_list_of_tables(value)):
            nested.append((key, value, about))
        else:
            values += _value_lines(key, value, about)
    if path and (values or not nested or comment):
        values.insert(0, f"[{'.'.join(map(_format_key, path))}]")
    if values or comment:
        yield "\n".join([*_comment_lines(comment), *values])
    for key, value, about in nested:
        if isinstance(value, Mapping):
            yield from _table_blocks((*path, key), value, about)
        else:
            for number, member in enumerate(value):
                yield _member_block(key, member, about if number == 0 else "")


def _member_block(key: str, member: Any, comment: str) -> str:
    """Return one ``[[key]]``."""
    table, about = _split(member)
    lines = [*_comment_lines("\n".join(filter(None, (comment, about)))), f"[[{_format_key(key)}]]"]
    for name, entry in table.items():
        value, of_value = _split(entry)
        lines += _value_lines(name, value, of_value)
    return "\n".join(lines)


def _value_lines(key: str, value: Any, comment: str) -> Iterator[str]:
    """Yield ``key = value`` with its comment behind it, or above it where both are too long for one line."""
    line = f"{_format_key(key)} = {format_value(value)}"
    if not comment:
        yield line
    elif "\n" not in comment and len(line) + len(comment) + 4 <= _WIDTH:
        yield f"{line}  # {_one_line(comment)}"
    else:
        yield from _comment_lines(comment)
        yield line


def _comment_lines(text: str) -> Iterator[str]:
    for paragraph in text.splitlines():
        yield from textwrap.wrap(
            _one_line(paragraph), _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False
        ) or ["#"]


def _one_line(text: str) -> str:
    """Return a text without the control characters that TOML does not allow in comments."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else " " for character in text)


def format_value(value: Any) -> str:
    """Return a value as TOML on one line. :raises TypeError: if TOML has no such value."""
    value, _ = _split(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_format_key(key)} = {format_value(entry)}" for key, entry in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(format_value, value))}]"
    raise TypeError(f"TOML has no value like {type(value).__name__}")


def _format_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else format_value(key)


def _split(value: Any) -> tuple[Any, str]:
    return (value.value, value.comment) if isinstance(value, CommentedValue) else (value, "")


def _is_list_of_tables(value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        return False
    return all(isinstance(_split(member)[0], Mapping) for member in value)
