# SPDX-License-Identifier: MIT
"""The cells of a table's column, as text or as numbers."""

from __future__ import annotations

import math
import re

from mptcplab.errors import InputError
from mptcplab.lazy import pl

#: Numbers beyond this overflow when they are added or drawn.
_LARGEST = 1e100
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")


def texts(column: pl.Series) -> list[str]:
    """Return all cells as text, empty for null; numbers have all of their digits."""
    return ["" if cell is None else f"{cell:.15g}" if isinstance(cell, float) else str(cell) for cell in column]


def number(text: str) -> float | None:
    """Return the number in a cell; None if it has none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _LARGEST else None


def has_numbers(column: pl.Series) -> bool:
    """Return whether all cells that are not empty are numbers."""
    return all(number(text) is not None for text in texts(column) if text)


def numbers(frame: pl.DataFrame, name: str) -> list[float | None]:
    """Return the cells of a column; None for empty ones. :raises InputError: for a cell that is not a finite number."""
    if frame[name].dtype.is_numeric():
        cells = frame[name].cast(pl.Float64).to_list()
        return [None if cell is None or not math.isfinite(cell) else cell for cell in cells]
    values = []
    for text in texts(frame[name]):
        value = number(text)
        if text.strip() and value is None:
            raise InputError(f"'{text}' in the column '{name}' is not a number", hint=_hint(text))
        values.append(value)
    return values


def _hint(text: str) -> str:
    if _THOUSANDS.fullmatch(text):
        return "write it without marks for thousands"
    if number(text.replace(",", ".")) is not None:
        return "write a point for the decimal comma"
    return "leave a cell empty that has no value"
