# SPDX-License-Identifier: MIT
"""JSON in which a row of a table is a line: short in the repository, and a change of one row is one of one line."""

from __future__ import annotations

import json
from typing import Any

#: The most characters of a value in one line.
_LINE = 500


class Table(list[list[Any]]):
    """Rows, of which :func:`wrap` writes each in one line, however few or long they are."""


def wrap(value: Any, indent: str = "") -> str:
    """Return a value as JSON: in one line if that is short enough, else each of its parts in lines of its own."""
    inner = f"{indent} "
    if isinstance(value, Table):
        return _enclose("[]", [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in value], indent)
    text = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or (len(text) <= _LINE and not _has_table(value)):
        return text
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {wrap(item, inner)}" for key, item in value.items()]
        return _enclose("{}", parts, indent)
    return _enclose("[]", [wrap(item, inner) for item in value], indent)


def _has_table(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, Table) or any(map(_has_table, parts))


def _enclose(brackets: str, parts: list[str], indent: str) -> str:
    lines = ",\n".join(f"{indent} {part}" for part in parts)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}" if parts else brackets
