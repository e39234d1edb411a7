# SPDX-License-Identifier: MIT
"""Tables of a scenario's results: rows by some settings, columns by others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from tools.docs.making.pages import table_of as markdown

from mptcplab.metrics.rows import ResultRow
from mptcplab.report.table import interval_text
from mptcplab.results import open_results

Name = Callable[[ResultRow], str]
"""The place of a result, or a cell's text. An empty name excludes the result."""


@dataclass(frozen=True)
class Grid:
    """Rows and columns of a table. ``head`` titles the columns of ``rows``; ``columns`` returns the other titles.

    With several ``cells``, each result fills as many columns, whose titles end with the names of the cells.
    """

    head: Sequence[str]
    rows: Sequence[Name]
    columns: Name
    cells: Mapping[str, Name]

    def table_of(self, folder: Path) -> str:
        """Return the table of the results in ``folder``, in the order of the scenario's sweep."""
        lines: dict[tuple[str, ...], dict[str, str]] = {}
        for result in open_results(folder).rows:
            if column := self.columns(result):
                place = tuple(row(result) for row in self.rows)
                of_result = {f"{column}{name}": cell(result) for name, cell in self.cells.items()}
                lines.setdefault(place, {}).update(of_result)
        columns = list(dict.fromkeys(column for cells in lines.values() for column in cells))
        body = [[*place, *(cells.get(column, "") for column in columns)] for place, cells in lines.items()]
        return markdown([*self.head, *columns], body)


def setting(key: str, names: Mapping[str, str] | None = None) -> Name:
    """Return a function that reads a swept key. ``names`` maps its values to their names in the table."""

    def find_name(result: ResultRow) -> str:
        value = result.settings[key]
        return value if names is None else names[value]

    return find_name


def code(key: str) -> Name:
    """Return a function that reads a swept key, as code."""
    return lambda result: f"`{result.settings[key]}`"


def option(key: str, names: Mapping[int, str]) -> Name:
    """Return a function that reads the one number of a swept ``sysctl`` table, and maps it by ``names``."""

    def find_name(result: ResultRow) -> str:
        return names[number_in(result.settings[key])]

    return find_name


def number_in(table: str) -> int:
    """Return the value of an inline table such as ``{ "net.mptcp.x" = 3 }``, 0 of an empty one."""
    return int(table.partition("=")[2].strip(" }") or 0)


def last_value(key: str) -> Name:
    """Return a function that reads the last value of a swept list, such as the maximum of ``tcp_rmem``."""
    return lambda result: str(json.loads(result.settings[key])[-1])


def join(*names: Name) -> Name:
    """Return a function that joins several names."""
    return lambda result: ", ".join(name(result) for name in names)


def value(metric: str = "goodput_mbps") -> Name:
    """Return a function that prints mean and half width (95 %) of one of METRICS."""

    def capture_output(result: ResultRow) -> str:
        interval = result.metrics.get(metric)
        return "" if interval is None else interval_text(interval)

    return capture_output


def share(link: str) -> Name:
    """Return a function that prints the part of the payload that went over ``link``, in percent."""

    def capture_output(result: ResultRow) -> str:
        return f"{100 * sum(part for path, part in result.shares.items() if link in path.split('>')):.0f}"

    return capture_output


def workload(names: Mapping[str, str]) -> Name:
    """Return a function that maps workloads by ``names``, and excludes the others."""
    return lambda result: names.get(result.workload, "")


def mean_count(count: Callable[[ResultRow], Sequence[int | None]]) -> Name:
    """Return a function that prints the mean of a kernel's count over the runs."""
    return lambda result: f"{mean(number or 0 for number in count(result)):.0f}"
