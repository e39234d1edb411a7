# SPDX-License-Identifier: MIT
"""The tables of results on a page: a table for each workload if these differ in their metrics, no wider than a page.

So each metric has a column that can be sorted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mptcplab.metrics.rows import ResultRow
from mptcplab.report.choosing import drop_constants
from mptcplab.report.result_table import are_alike, result_table
from mptcplab.report.table import Table
from mptcplab.report.terminal import fits

#: Columns with the same cell in all rows move below a table that is wider than this, in characters: about 1200 pixels.
_WIDEST = 140
_KEPT = ("n",)


def page_tables(
    title: str,
    rows: Sequence[ResultRow],
    changes: Sequence[str] = (),
    *,
    unavailable: Sequence[tuple[Mapping[str, str], str]] = (),
) -> tuple[Table, ...]:
    """Return the tables of an experiment on a page. The notes that are not about one of them are below the last."""
    table = result_table(title, rows, changes, apart=True, unavailable=unavailable)
    lacking = range(len(rows), len(table.rows))
    if are_alike(rows):
        parts = [table]
    else:
        parts = [
            _select_workload(table, name, [at for at, row in enumerate(rows) if row.workload == name], lacking)
            for name in dict.fromkeys(row.workload for row in rows)
        ]
    made = [_fit_table(counts_first(part), len(part.rows) - len(lacking)) for part in parts]
    tables = [replace(item, notes=notes) for item, notes in made]
    return (*tables[:-1], tables[-1].with_notes(*table.notes))


def _select_workload(table: Table, name: str, places: Sequence[int], lacking: Sequence[int]) -> Table:
    """Return the rows of one workload, with the columns in which one of them has a value."""
    part = table.with_rows([*places, *lacking])
    kept = [
        place
        for place, head in enumerate(table.headings)
        if head != "workload" and any(row[place] for row in part.rows[: len(places)])
    ]
    return replace(part.with_columns(kept), title=f"Workload {name}")


def counts_first(table: Table) -> Table:
    """Return a result table for a page, whose last columns are behind a scroll bar: the last one beside the keys.

    It counts runs, refers to warnings, and says which points are not available.
    """
    last = len(table.columns) - 1
    return table.with_columns([*table.keys, last, *(place for place in range(last) if place not in table.keys)])


def narrow_tables(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Return tables for a page, with constant columns in their notes if they are wide."""
    made = [(_fit_table(item, len(item.rows)), item.notes) for item in tables]
    return tuple(replace(table, notes=(*own_texts, *notes)) for (table, own_texts), notes in made)


def _fit_table(table: Table, counted: int) -> tuple[Table, tuple[str, ...]]:
    """Return a table without columns that say nothing more, and notes for these, if it is wide.

    The first ``counted`` rows count.
    """
    if fits(table, _WIDEST, wrapped=True):
        return table, ()
    # The runs are counted beside marks of warnings, which a note cannot have.
    narrow, notes = drop_constants(table, counted, _KEPT)
    narrow, more = _drop_copies(narrow, counted)
    return narrow, (*notes, *more)


def _drop_copies(table: Table, counted: int) -> tuple[Table, list[str]]:
    """Return the table without columns that repeat a column of keys, as the scheduler found that was asked for."""
    cells = [[row[place] for row in table.rows[:counted]] for place in range(len(table.columns))]
    keys = [cells[place] for place in table.keys] if counted > 1 else []
    copies = {place for place in range(len(cells)) if place not in table.keys and cells[place] in keys}
    heads = ", ".join(table.headings[place] for place in sorted(copies))
    kept = [place for place in range(len(cells)) if place not in copies]
    return table.with_columns(kept), [f"As asked for in all rows: {heads}."] if copies else []
