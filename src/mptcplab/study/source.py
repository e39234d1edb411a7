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
from mptcplab.study.measured import TableValues, Value, combined, ratio
from mptcplab.study.quote import Quote, quoted_text, replace_quotes
from mptcplab.study.schema import Study


@dataclass(frozen=True)
class Source:
    """What was measured of one table, and the keys that were changed for it."""

    measured: TableValues
    changes: tuple[str, ...] = ()


#: By name of the table, as ``STUDY/TABLE``.
Sources = Mapping[str, Source]


def read_sources(documents: Documents, *, quick: bool = False) -> dict[str, Source]:
    """From the documents of a results folder: of every table the same form, else the other. A damaged one is none."""
    found = {}
    for (name, _), document in sorted(documents.items(), key=lambda one: one[0][1] == quick):
        with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):
            found[name] = Source(_measured(document), tuple(document["changed"]))
    return found


def _measured(document: dict[str, Any]) -> dict[tuple[str, str], Value]:
    return {
        (one["row"], one["column"]): Value(
            Interval.from_json(one),
            {int(seed): value for seed, value in one["by_seed"].items()},
        )
        for one in document["measured"]
    }


def fill(text: str, selected: SelectedTable, sources: Sources) -> str:
    """The text with measured values in place of its quotes; where one was not measured, it says so, with a command."""
    described: set[str] = set()

    def said(quote: Quote) -> str:
        name = f"{selected.folder.name}/{quote.table}"
        found = [_value(quote, row, sources.get(name)) for row in quote.rows]
        known = [value.interval for value in found if value is not None]
        if len(known) == len(found):
            return quoted_text(known, _unit(quote, selected.study))
        if name in described:
            return "(not measured)"
        described.add(name)
        return f"(not measured here: mptcplab reproduce {name})"

    return " ".join(replace_quotes(text, said).split())


def _value(quote: Quote, row: str, source: Source | None) -> Value | None:
    found = [source.measured.get((row, column)) for column in quote.columns] if source else [None]
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        return None
    return known[0] if quote.to is None else combined(known[0], known[1:], ratio)


def _unit(quote: Quote, study: Study) -> str:
    return study.tables[quote.table].unit_of(quote.of) if quote.to is None else ""


def in_measuring_order(wanted: Sequence[SelectedTable]) -> list[SelectedTable]:
    """Every table after those that it quotes or that are its evidence, as far as they are wanted; else as given."""
    by_name = {one.name: one for one in wanted}
    ordered: dict[str, SelectedTable] = {}
    for one in wanted:
        ordered |= {found.name: found for found in _with_needs(one, by_name, set()) if found.name not in ordered}
    return list(ordered.values())


def _with_needs(one: SelectedTable, by_name: Mapping[str, SelectedTable], met: set[str]) -> Iterator[SelectedTable]:
    """What ``one`` quotes, and what these quote, before itself. Tables that quote each other are met only once."""
    if one.name in met:
        return
    met.add(one.name)
    for name in needs(one, by_name):
        yield from _with_needs(by_name[name], by_name, met)
    yield one


def needs(one: SelectedTable, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` (``STUDY/TABLE``) that texts of ``one`` quote, or that are its evidence."""
    wanted = {f"{one.folder.name}/{number}" for number in one.study.sources(one.number)}
    return [name for name in names if name in wanted]
