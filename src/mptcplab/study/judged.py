# SPDX-License-Identifier: MIT
"""A table that was measured, with every verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from mptcplab.study.claims import ClaimVerdict, judge_claims
from mptcplab.study.full import FullResult
from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues
from mptcplab.study.shape import Shape, shapes_of
from mptcplab.study.source import Sources, TableSource, fill
from mptcplab.study.verdict import JudgedCell, OverBeds, judge_cells


@dataclass(frozen=True)
class JudgedTable:
    """One table with all that is said of it. ``changes`` are keys that were changed for this measurement.

    ``shapes`` are marks of columns, beside the verdicts of ``cells``. ``sources`` are the tables that texts can quote
    and that are evidence, with this one. ``full`` is the full form that a short one is compared with; None when there
    is nothing to compare.
    """

    selected: SelectedTable
    measured: TableValues
    cells: tuple[JudgedCell, ...]
    claims: tuple[ClaimVerdict, ...]
    shapes: tuple[Shape, ...] = ()
    changes: tuple[str, ...] = ()
    sources: Sources = field(default_factory=dict)
    full: FullResult | None = None

    @property
    def beside(self) -> FullResult | None:
        """The full form, if anything is known of it."""
        return self.full if self.full is not None and self.full.cells else None

    @property
    def title(self) -> str:
        """For headings."""
        return f"{self.selected.heading}: {self.selected.table.title}"

    @property
    def counted_once(self) -> tuple[JudgedCell, ...]:
        """The cells whose published value does not stand in another table first."""
        return tuple(cell for cell in self.cells if cell.first is None)

    def fill_quotes(self, text: str) -> str:
        """A text of the study with the measured values that it quotes."""
        return fill(text, self.selected, self.sources)


def judge(
    selected: SelectedTable,
    measured: TableValues,
    changes: Sequence[str] = (),
    others: Sources = MappingProxyType({}),
    full: FullResult | None = None,
    over_beds: OverBeds = MappingProxyType({}),
) -> JudgedTable:
    """Return the table with the verdicts of every cell and every claim.

    ``others`` are tables measured beside this one, for texts to quote; ``over_beds`` has its values over test beds.
    """
    sources = {**others, selected.name: TableSource(measured, tuple(changes))}
    cells = judge_cells(selected, measured, sources, over_beds)
    claims = judge_claims(selected, measured, sources)
    shapes = shapes_of(selected, measured)
    return JudgedTable(selected, measured, tuple(cells), tuple(claims), tuple(shapes), tuple(changes), sources, full)
