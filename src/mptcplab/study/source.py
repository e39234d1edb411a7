# SPDX-License-Identifier: MIT
"""Where the values come from that texts quote: the tables measured in the same results folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.stats import Interval
from mptcplab.study.forms import Documents
from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues, Value, combine_values, ratio
from mptcplab.study.quote import Quote, quoted_text, replace_quotes
from mptcplab.study.schema import Study


@dataclass(frozen=True)
class TableSource:
    """What was measured of one table, and the keys that were changed for it."""

    measured: TableValues
    changes: tuple[str, ...] = ()


#: By name of the table, as ``STUDY/TABLE``.
Sources = Mapping[str, TableSource]


def read_sources(documents: Documents, *, quick: bool = False) -> dict[str, TableSource]:
    """From the documents of a results folder: of every table the same form, else the other. A damaged one is none."""
    sources = {}
    for (name, _), document in sorted(documents.items(), key=lambda pair: pair[0][1] == quick):
        with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
            sources[name] = TableSource(_parse_measured(document), tuple(document["changed"]))
    return sources


def _parse_measured(document: dict[str, Any]) -> dict[tuple[str, str], Value]:
    return {
        (entry["row"], entry["column"]): Value(
            Interval.from_json(entry),
            {int(seed): value for seed, value in entry["by_seed"].items()},
        )
        for entry in document["measured"]
    }


def fill(text: str, selected: SelectedTable, sources: Sources) -> str:
    """The text with measured values in place of its quotes; where one was not measured, it says so, with a command."""
    described: set[str] = set()

    def quote_text(quote: Quote) -> str:
        name = f"{selected.folder.name}/{quote.table}"
        values = [_value(quote, row, sources.get(name)) for row in quote.rows]
        known = [value.interval for value in values if value is not None]
        if len(known) == len(values):
            return quoted_text(known, _unit(quote, selected.study))
        if name in described:
            return "(not measured)"
        described.add(name)
        return f"(not measured here: mptcplab reproduce {name})"

    return " ".join(replace_quotes(text, quote_text).split())


def _value(quote: Quote, row: str, source: TableSource | None) -> Value | None:
    values = [source.measured.get((row, column)) for column in quote.columns] if source else [None]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return known[0] if quote.to is None else combine_values(known[0], known[1:], ratio)


def _unit(quote: Quote, study: Study) -> str:
    return study.tables[quote.table].unit_of(quote.of) if quote.to is None else ""


def sort_by_dependency(wanted: Sequence[SelectedTable]) -> list[SelectedTable]:
    """Every table after the tables that it quotes or that are its evidence, if they are wanted; else as given."""
    by_name = {selected_table.name: selected_table for selected_table in wanted}
    ordered: dict[str, SelectedTable] = {}
    for selected_table in wanted:
        ordered |= {
            found_selected_table.name: found_selected_table
            for found_selected_table in _with_needs(selected_table, by_name, set())
            if found_selected_table.name not in ordered
        }
    return list(ordered.values())


def _with_needs(
    selected_table: SelectedTable, by_name: Mapping[str, SelectedTable], met: set[str]
) -> Iterator[SelectedTable]:
    """What ``selected_table`` quotes, and what these quote, before itself.

    Tables that quote each other are met only once.
    """
    if selected_table.name in met:
        return
    met.add(selected_table.name)
    for name in needs(selected_table, by_name):
        yield from _with_needs(by_name[name], by_name, met)
    yield selected_table


def needs(selected_table: SelectedTable, names: Iterable[str]) -> list[str]:
    """Return the ``names`` (``STUDY/TABLE``) that texts of ``selected_table`` quote, or that are its evidence."""
    wanted = {
        f"{selected_table.folder.name}/{number}" for number in selected_table.study.sources(selected_table.number)
    }
    return [name for name in names if name in wanted]
