# SPDX-License-Identifier: MIT
"""Tables as CSV: the pages' tables in docs/data/, and the rows of the comparison of engines, which are in no file here.

From the first, ``mptcplab figure`` draws the figures beside them. A line is a cell of the table: its row's and its
column's names, the value with its interval, and what models expect. The second are too long for a page, which quotes
them; a line is a row. A release carries them (tools/release/fidelity.py).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from tools.docs.making.pages import ROOT, cells_of, pages
from validation.fidelity.page import row_tables

FOLDER = ROOT / "docs" / "data"
_N, _HALF = "n", "ci95_half_width"
#: A value that is expected, in parentheses.
_EXPECTED = re.compile(r"-?[\d.]+")


@dataclass(frozen=True)
class Data:
    """A file made from a page's table.

    The first ``keys`` columns of the table are settings. Each other is a value of the setting ``by``, under its name in
    ``columns``; these are all if there are none. Without ``by`` there is one such column. ``value`` names the values,
    and ``models`` what is expected: in parentheses, in the table ``beside`` with the same heads, or in a column
    ``model``.
    """

    table: str
    value: str
    by: str = ""
    keys: int = 1
    columns: Mapping[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    beside: str = ""
    model: str = ""


_THEORY = ("fluid model", "equations, random losses")
_OF_TCP = "goodput as a multiple of TCP's"
_CONTROL = "congestion control"
FILES: Mapping[str, Data] = {
    "rfc6356-best-path": Data("rfc6356-best-path", _OF_TCP, _CONTROL, models=_THEORY),
    "rfc6356-shared-bottleneck": Data("rfc6356-shared-bottleneck", _OF_TCP, _CONTROL, models=_THEORY),
    "rfc6356-congested-path": Data("rfc6356-congested-path", "share of link2", _CONTROL, models=_THEORY),
    "olia-scenario-a": Data("olia-scenario-a", "left for users of TCP", _CONTROL, models=_THEORY),
    "olia-scenario-b": Data("olia-scenario-b", "total after / before", _CONTROL, models=_THEORY),
    "olia-scenario-c": Data("olia-scenario-c", "left for users of TCP", _CONTROL, models=_THEORY),
    "balia-friendliness": Data(
        "balia-friendliness",
        "payload, Mbit/s",
        "connection and path",
        columns={name: name for name in ("MPTCP on link1", "MPTCP on link2", "TCP on link1", "each TCP on link2")},
        models=_THEORY[:1],
        beside="balia-friendliness-expected",
    ),
    "wvegas-queue": Data("wvegas-queue", "packets waiting", keys=2, columns={"packets waiting": ""}),
    "wvegas-equal-congestion": Data(
        "wvegas-equal-congestion",
        "queueing delay, ms",
        "path",
        columns={
            f"{link} {when} (ms)": f"{link}, {words}"
            for when, words in (("alone", "MPTCP alone"), ("shared", "TCP on link2"))
            for link in ("link1", "link2")
        },
    ),
    "receive-buffer": Data("receive-buffer", "goodput, Mbit/s", "sender"),
    "unequal-paths": Data("unequal-paths", "goodput, Mbit/s", "sender"),
    "wifi-saturation": Data(
        "wifi-saturation", "goodput, Mbit/s", keys=2, columns={"goodput, Mbit/s": ""}, models=("model",), model="model"
    ),
    "wifi-aggregation": Data(
        "wifi-aggregation", "goodput, Mbit/s", columns={"goodput, Mbit/s": ""}, models=("model",), model="model"
    ),
    "wifi-distance": Data("wifi-distance", "goodput, Mbit/s", columns={"goodput, Mbit/s": ""}),
    "wifi-rssi": Data(
        "wifi-distance", "RSSI, dBm", columns={"RSSI, dBm": ""}, models=("path loss",), model="path loss gives"
    ),
}


def text_of(name: str, tables: Mapping[str, str]) -> str:
    """Return the file NAME.csv, from the Markdown ``tables`` of all pages by their names."""
    data = FILES[name]
    head, *rows = cells_of(tables[data.table])
    columns = data.columns or {name: name.replace("`", "") for name in head[data.keys :] if name != _N}
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    named = [data.by] if data.by else []
    writer.writerow([*head[: data.keys], *named, data.value, _HALF, _N, *data.models])
    beside = cells_of(tables[data.beside]) if data.beside else []
    for row in rows:
        for column, words in columns.items():
            text = row[head.index(column)]
            if any(character.isdigit() for character in text):
                models = _models(data, dict(zip(reversed(head), reversed(row), strict=True)), beside, column)
                count = row[head.index(_N)] if _N in head else ""
                writer.writerow(
                    [*row[: data.keys], *([words] if data.by else []), *_interval(text), count, *_pad(models, data)]
                )
    return made.getvalue()


def _interval(text: str) -> tuple[str, str]:
    """Return the mean and the half width as the cell has them; one below its last digit is that digit."""
    mean, _, rest = text.partition("(")[0].partition("±")
    return mean.strip(), rest.strip().removeprefix("<")


def _models(data: Data, row: Mapping[str, str], beside: Sequence[Sequence[str]], column: str) -> Iterator[str]:
    if data.beside:
        head, *others = beside
        first = next(iter(head))
        yield next(line[head.index(column)] for line in others if line[0] == row[first])
    elif data.model:
        yield row[data.model]
    else:
        yield from _EXPECTED.findall(row[column].partition("(")[2])


def _pad(models: Iterator[str], data: Data) -> list[str]:
    names = list(models)
    return names + [""] * (len(data.models) - len(names))


def tables() -> dict[str, str]:
    """Return the tables of all pages that scripts write, by name."""
    return {block.name: block.text for page in pages() for block in page.blocks if block.kind == "table"}


def write(names: Collection[str] | None = None) -> None:
    """Write the files made from the tables with these names, or from all."""
    wanted = [name for name, data in FILES.items() if names is None or {data.table, data.beside} & {*names}]
    contents = tables() if wanted else {}
    FOLDER.mkdir(exist_ok=True)
    for name in wanted:
        (FOLDER / f"{name}.csv").write_text(text_of(name, contents))


@cache
def make_rows() -> dict[str, list[list[str]]]:
    """Return heads and rows of all tables of the comparison of engines that are on no page, without marks of code."""
    return {
        name: [[cell.replace("`", "").replace("\\|", "|") for cell in row] for row in cells_of(make())]
        for name, make in row_tables().items()
    }


def rows_text(rows: Sequence[Sequence[str]]) -> str:
    """Return head and rows of a table as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
