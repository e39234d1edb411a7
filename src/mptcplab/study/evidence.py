# SPDX-License-Identifier: MIT
"""Evidence for the reason of a cell: a run in which the mechanism is changed, and whether that moves the value."""

from __future__ import annotations

from dataclasses import dataclass

from mptcplab.stats import Interval
from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues
from mptcplab.study.parts import CellReason
from mptcplab.study.source import Sources
from mptcplab.study.tolerance import CHOSEN, SHOWS_NOTHING, explained_fraction, proof_of


@dataclass(frozen=True)
class CellEvidence:
    """The evidence cell for one published cell. ``value`` is None if it was not measured.

    ``explained_fraction`` is the share of the difference between measured and published value that it removes.
    ``proof`` is what that proves of the reason, as :func:`mptcplab.study.tolerance.proof_of` has it; nothing if the
    setting was chosen by this value.
    """

    table: str
    row: str
    column: str
    value: Interval | None
    moved: float | None
    proof: str


def cell_evidence(
    selected: SelectedTable, sources: Sources, because: CellReason | None, place: tuple[str, str], measured: Interval
) -> CellEvidence | None:
    """Return the evidence that a reason names for a cell; None if it names none."""
    mapped = because.shown_by.map_cell(*place) if because is not None and because.shown_by is not None else None
    if because is None or because.shown_by is None or mapped is None:
        return None
    row, column = mapped
    other = selected.study.tables[because.shown_by.table]
    if row not in other.all_rows or column not in other.columns:
        return None
    value = measured_of(selected, sources, because.shown_by.table).get(mapped)
    if value is None:
        return CellEvidence(because.shown_by.table, row, column, None, None, SHOWS_NOTHING)
    published = selected.table.published[place[0]][place[1]].mean
    share = explained_fraction(measured.mean, value.interval.mean, published)
    proof = proof_of(measured, value.interval, published, selected.table.tolerance)
    if because.is_chosen_by(selected.number, *place):
        proof = CHOSEN
    return CellEvidence(because.shown_by.table, row, column, value.interval, share, proof)


def measured_of(selected: SelectedTable, sources: Sources, number: str) -> TableValues:
    """Return the measured values of another table of the study."""
    source = sources.get(f"{selected.folder.name}/{number}")
    return source.measured if source is not None else {}
