# SPDX-License-Identifier: MIT
"""The scoreboard: how many published values and claims came out, by table, by study, and in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mptcplab.study.claims import FAILS, HOLDS, OPEN, UNCERTAIN, ClaimVerdict
from mptcplab.study.full import outside
from mptcplab.study.load import Selected
from mptcplab.study.present import Judged
from mptcplab.study.verdict import AGREES, DIFFERS, SAME_SHAPE, UNEXPLAINED

#: Verdicts of values and of claims, the best first. What is unexplained makes the command fail.
VALUES = (AGREES, SAME_SHAPE, DIFFERS, UNEXPLAINED, OPEN)
CLAIMS = (HOLDS, FAILS, UNEXPLAINED, UNCERTAIN, OPEN)


@dataclass(frozen=True)
class Score:
    """Published values and claims by verdict.

    Of a short form, ``outside`` counts the values whose mean is outside the full form's interval, among ``compared``.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    claims: Mapping[str, int] = field(default_factory=dict)
    outside: int = 0
    compared: int = 0

    def __add__(self, other: Score) -> Score:
        values, claims = Counter(self.values) + Counter(other.values), Counter(self.claims) + Counter(other.claims)
        return Score(values, claims, self.outside + other.outside, self.compared + other.compared)

    def to_json(self) -> dict[str, Any]:
        """All counts, also those that are zero."""
        return {
            "values": {verdict: self.values.get(verdict, 0) for verdict in VALUES},
            "claims": {verdict: self.claims.get(verdict, 0) for verdict in CLAIMS},
            "outside_full": self.outside,
            "compared_with_full": self.compared,
        }


@dataclass(frozen=True)
class Line:
    """One table. ``form`` is ``short`` or ``full``, empty if it was not measured.

    ``remark`` says in some words what went wrong, ``why`` in a sentence.
    """

    selected: Selected
    score: Score
    form: str = ""
    remark: str = ""
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        selected = self.selected
        about = {"study": selected.folder.name, "table": selected.number, "kind": selected.table.kind}
        said = {"title": selected.table.title, "form": self.form or None, "remark": self.remark, "why": self.why}
        return about | said | self.score.to_json()


def line_of(judged: Judged, *, quick: bool, failed: int = 0, runs: int = 0) -> Line:
    """The line of a table that was measured; ``failed`` of its ``runs`` have no result."""
    values = Counter(UNEXPLAINED if cell.is_open else cell.verdict for cell in judged.cells)
    claims = Counter(_verdict(one) for one in judged.claims)
    score = Score(values, claims, *outside(judged.measured, judged.full))
    remark = f"{failed} of {runs} runs failed" if failed else ""
    return Line(judged.selected, score, "short" if quick else "full", remark)


def line_without(selected: Selected, why: str = "") -> Line:
    """The line of a table that was not measured."""
    values = sum(len(row) for row in selected.table.published.values())
    claims = sum(claim.table == selected.number for claim in selected.study.claims)
    score = Score({OPEN: values} if values else {}, {OPEN: claims} if claims else {})
    return Line(selected, score, "", OPEN, why)


def _verdict(one: ClaimVerdict) -> str:
    return UNEXPLAINED if one.verdict == FAILS and one.claim.because is None else one.verdict


def total(lines: Iterable[Line]) -> Score:
    """Over several tables."""
    return sum((line.score for line in lines), Score())


def by_study(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Lines by the name of their study, in their order."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line.selected.folder.name, []).append(line)
    return found


def scoreboard_document(lines: Sequence[Line]) -> dict[str, Any]:
    """As plain data."""
    return {
        "tables": [line.to_json() for line in lines],
        "studies": {name: total(own).to_json() for name, own in by_study(lines).items()},
        "all": total(lines).to_json(),
    }
