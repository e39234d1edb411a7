# SPDX-License-Identifier: MIT
"""Quotes of measured values in a study's texts, so that no text becomes outdated.

``{TABLE: COLUMN @ ROW}`` quotes one cell, ``{TABLE: COLUMN @ ROW, ROW}`` several, and ``{TABLE: COLUMN / COLUMN @
ROW}`` one divided by another of its row. Texts have no other braces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mptcplab.report.table import spread_text
from mptcplab.stats import Interval

_BRACES = re.compile(r"\{([^{}]*)\}|[{}]")
_QUOTE = re.compile(r"([^:]+):([^:/@]+)(?:/([^:/@]+))?@([^:@]+)")


@dataclass(frozen=True)
class Quote:
    """Cells of one column of a table of the same study; with ``to``, each divided by another cell of its row."""

    table: str
    of: str
    to: str | None
    rows: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The quoted columns, one or two."""
        return (self.of,) if self.to is None else (self.of, self.to)

    def __str__(self) -> str:
        return f"{{{self.table}: {' / '.join(self.columns)} @ {', '.join(self.rows)}}}"


def quotes_of(text: str) -> list[Quote]:
    """Return all quotes in ``text``, in order. :raises ValueError: if braces are not a valid quote."""
    return [_read(match) for match in _BRACES.finditer(text)]


def replace_quotes(text: str, replacement: Callable[[Quote], str]) -> str:
    """Return the text with every quote replaced. :raises ValueError: as for :func:`quotes_of`."""
    return _BRACES.sub(lambda match: replacement(_read(match)), text)


def _read(match: re.Match[str]) -> Quote:
    inner = _QUOTE.fullmatch(" ".join((match[1] or "").split()))
    if inner is not None:
        table, of, to, row = ((part or "").strip() for part in inner.groups())
        rows = tuple(part.strip() for part in row.split(","))
        if table and of and bool(to) == bool(inner[3]) and all(rows):
            return Quote(table, of, to or None, rows)
    raise ValueError(f"{match[0]!r} is not of the form {{TABLE: COLUMN @ ROW}} or {{TABLE: COLUMN / COLUMN @ ROW}}")


def quoted_text(values: Sequence[Interval], unit: str = "") -> str:
    """Return ``46.5 ± 1.1 and 20.2 ± 8.0 Mbit/s``: means with three digits, half widths to the same digit."""
    *first, last = map(_number_text, values)
    before = f"{', '.join(first)} and " if first else ""
    return f"{before}{last} {unit}".rstrip()


def _number_text(value: Interval) -> str:
    if not math.isfinite(value.mean):
        return "∞"
    exponent = int(f"{value.mean:.2e}".partition("e")[2])
    digits = max(0, 2 - exponent)
    return f"{value.mean:.{digits}f}{spread_text(value.half_width, digits)}"
