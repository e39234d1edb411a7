# SPDX-License-Identifier: MIT
"""The scoreboard: how many published values and claims came out, by table, by study, and in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from mptcplab.study.classes import AGREES, CLAIMS, OPEN, VALUES
from mptcplab.study.full import count_outside
from mptcplab.study.judged import JudgedTable
from mptcplab.study.load import SelectedTable

#: The total of tables in another test bed.
BESIDE = "beside"


@dataclass(frozen=True)
class Score:
    """Published values and claims by class. A value that the source prints in several tables counts once.

    ``at_half`` counts the agreeing values that agree with half of the tolerance, too, ``fitted_outside`` the fitted
    ones outside the tolerance, ``shapes`` the columns of the published shape among ``columns`` that can have one, and
    ``repeated`` the values that another table has first. Of a short form, ``count_outside`` counts the values whose
    mean is outside the full form's interval, among ``compared``.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    claims: Mapping[str, int] = field(default_factory=dict)
    at_half: int = 0
    fitted_outside: int = 0
    shapes: int = 0
    columns: int = 0
    repeated: int = 0
    outside: int = 0
    compared: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            Counter(self.values) + Counter(other.values),
            Counter(self.claims) + Counter(other.claims),
            *(getattr(self, name) + getattr(other, name) for name in _SUMS),
        )

    def to_json(self) -> dict[str, Any]:
        """All counts, also zeros."""
        return {
            "values": {name: self.values.get(name, 0) for name in VALUES},
            "claims": {name: self.claims.get(name, 0) for name in CLAIMS},
            "agree_at_half_tolerance": self.at_half,
            "fitted_outside_tolerance": self.fitted_outside,
            "columns_of_same_shape": self.shapes,
            "columns_with_shape": self.columns,
            "counted_in_another_table": self.repeated,
            "outside_full": self.outside,
            "compared_with_full": self.compared,
        }


#: The counts of a score that are single numbers.
_SUMS = tuple(this_field.name for this_field in fields(Score) if this_field.name not in ("values", "claims"))


@dataclass(frozen=True)
class ScoreLine:
    """One table. ``form`` is ``short`` or ``full``, empty if it was not measured.

    ``remark`` says in some words what went wrong, ``why`` in a sentence.
    """

    selected: SelectedTable
    score: Score
    form: str = ""
    remark: str = ""
    why: str = ""

    @property
    def is_beside(self) -> bool:
        """True for a table whose values count in another table, with the test bed of the study's headline."""
        return not self.selected.study.counts(self.selected.number)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        selected = self.selected
        about = {"study": selected.folder.name, "table": selected.number, "kind": selected.table.kind}
        said = {"title": selected.table.title, "form": self.form or None, "remark": self.remark, "why": self.why}
        return about | said | self.score.to_json()


def line_of(judged: JudgedTable, *, quick: bool, failed: int = 0, runs: int = 0) -> ScoreLine:
    """The line of a table that was measured; ``failed`` of its ``runs`` have no result."""
    cells = judged.counted_once
    beyond, compared = count_outside(judged.measured, judged.full)
    score = Score(
        Counter(cell.counted_as for cell in cells),
        Counter(claim.counted_as for claim in judged.claims),
        at_half=sum(cell.at_half == AGREES for cell in cells),
        fitted_outside=sum(bool(cell.fitted) and cell.outside for cell in cells),
        shapes=sum(shape.is_same for shape in judged.shapes),
        columns=len(judged.shapes),
        repeated=len(judged.cells) - len(cells),
        outside=beyond,
        compared=compared,
    )
    remark = f"{failed} of {runs} runs failed" if failed else ""
    return ScoreLine(judged.selected, score, "short" if quick else "full", remark)


def line_without(selected: SelectedTable, why: str = "") -> ScoreLine:
    """The line of a table that was not measured."""
    table = selected.table
    firsts = [table.first_of(row, column) is None for row, values in table.published.items() for column in values]
    values, claims = sum(firsts), sum(claim.table == selected.number for claim in selected.study.claims)
    counts = ({OPEN: values} if values else {}, {OPEN: claims} if claims else {})
    score = Score(*counts, repeated=len(firsts) - values)
    return ScoreLine(selected, score, "", OPEN, why)


def total(lines: Iterable[ScoreLine], *, beside: bool = False) -> Score:
    """Return the sum over the tables that count, or over another test bed's, which stand beside them."""
    return sum((line.score for line in lines if line.is_beside == beside), Score())


def group_by_study(lines: Iterable[ScoreLine]) -> dict[str, list[ScoreLine]]:
    """Lines by the name of their study, in their order."""
    score_lines: dict[str, list[ScoreLine]] = {}
    for line in lines:
        score_lines.setdefault(line.selected.folder.name, []).append(line)
    return score_lines


def scoreboard_document(lines: Sequence[ScoreLine]) -> dict[str, Any]:
    """As plain data."""
    return {
        "tables": [line.to_json() for line in lines],
        "studies": {name: total(own_lines).to_json() for name, own_lines in group_by_study(lines).items()},
        BESIDE: {
            name: total(own_lines, beside=True).to_json()
            for name, own_lines in group_by_study(lines).items()
            if any(line.is_beside for line in own_lines)
        },
        "all": total(lines).to_json(),
    }
