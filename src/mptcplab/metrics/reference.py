# SPDX-License-Identifier: MIT
"""Generate the tables of docs/metrics.md from the metrics and the scopes.

``python -m mptcplab.metrics.reference --write docs/metrics.md`` writes each table between its two markers, and a test
checks that they are up to date. Metrics of plugins are not included.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError
from mptcplab.metrics.column import Column, Metric, Scope
from mptcplab.metrics.network import SCOPES
from mptcplab.metrics.registry import METRICS
from mptcplab.plain_tables import markdown_table

_HEADINGS = ("column", "JSON", "unit", "meaning", "source")
_PLACE = re.compile(r"(<!-- metrics: (\w+) -->\n).*?(<!-- end of metrics -->)", re.DOTALL)


def table(section: str) -> str:
    """Return the metrics of one section, or the columns of one scope, as Markdown.

    :raises InputError: if there are none.
    """
    scope = next((scope for scope in SCOPES if scope.name == section), None)
    columns: Iterable[Column[Any]] = [metric for metric in METRICS.values() if metric.section == section]
    columns = columns if scope is None else [*scope.keys, *scope.facts, *scope.numbers, *scope.checks]
    rows = [_row(column, scope) for column in columns]
    if not rows:
        raise InputError(f"no metric is in a section '{section}'", hint="correct the marker")
    return markdown_table(_HEADINGS[: len(rows[0])], rows)


def _row(column: Column[Any], scope: Scope[Any] | None) -> list[str]:
    is_shown = column.display.in_table or (isinstance(column, Metric) and column.in_every_row)
    head, meaning = column.heading, column.definition
    if scope is None:
        head = head.removesuffix(column.unit).rstrip() or head
        meaning = meaning if is_shown else f"*JSON*; {meaning}"
    meaning = meaning if column.in_json else f"*data frame*; {meaning}"
    cells = [head if is_shown else "", f"`{column.name}`", column.unit, meaning]
    return [*cells, column.source] if scope is None else cells


def replace(document: str) -> str:
    """Return ``document`` with the table of each pair of markers."""
    return _PLACE.sub(lambda match: f"{match[1]}{table(match[2])}\n{match[3]}", document)


def sections(document: str) -> list[str]:
    """Return the sections that ``document`` has markers for."""
    return [match[2] for match in _PLACE.finditer(document)]


def main(arguments: list[str]) -> None:
    """Write the tables into the file after ``--write``."""
    if arguments[:1] != ["--write"] or len(arguments) != 2:
        raise InputError("no file to write is named", hint="--write docs/metrics.md")
    file = Path(arguments[1])
    file.write_text(replace(file.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
