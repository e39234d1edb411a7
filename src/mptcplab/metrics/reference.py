# SPDX-License-Identifier: MIT
"""Generate the tables of docs/metrics.md from the metrics.

``python -m mptcplab.metrics.reference --write docs/metrics.md`` writes each table between its two markers, and a test
checks that they are up to date. Metrics of plugins are not included.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.registry import METRICS

_HEAD = "| column | JSON | unit | meaning | source |\n| --- | --- | --- | --- | --- |"
_PLACE = re.compile(r"(<!-- metrics: (\w+) -->\n).*?(<!-- end of metrics -->)", re.DOTALL)


def table(section: str) -> str:
    """Return the metrics of one section as Markdown. :raises InputError: if there are none."""
    rows = [_row(metric) for metric in METRICS.values() if metric.section == section]
    if not rows:
        raise InputError(f"no metric is in a section '{section}'", hint="correct the marker")
    return "\n".join((_HEAD, *rows))


def _row(metric: Metric) -> str:
    shown = metric.in_table or metric.basic
    column = metric.heading.removesuffix(metric.unit).rstrip() or metric.heading if shown else ""
    meaning = metric.definition if shown else f"*JSON*; {metric.definition}"
    cells = (column, f"`{metric.name}`", metric.unit, meaning, metric.source)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


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
