# SPDX-License-Identifier: MIT
"""JSON in which a row of a table is a line: short in the repository, and a change of one row is one of one line."""

from __future__ import annotations

import json
from typing import Any

#: The most characters of a value in one line.
_LINE = 500


def wrap(value: Any, indent: str = "") -> str:
    """Return a value as JSON: in one line if that is short enough, else each of its parts in lines of its own."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _LINE or not isinstance(value, (dict, list)):
        return text
    inner = f"{indent} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {wrap(item, inner)}" for key, item in value.items()]
        first, last = "{}"
    else:
        parts = [wrap(item, inner) for item in value]
        first, last = "[]"
    lines = ",\n".join(f"{inner}{part}" for part in parts)
    return f"{first}\n{lines}\n{indent}{last}"
