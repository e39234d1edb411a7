# SPDX-License-Identifier: MIT
"""The scoreboard: how many published values and claims came out, by table, by study, and in all; and its text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from mptcplab.report.table import Cell, Emphasis, Table, TableColumn
from mptcplab.study.judgement import (
    AGREES,
    CLAIM_CLASSES,
    CLAIMS,
    HOLDS,
    OPEN,
    UNEXPLAINED,
    VALUE_CLASSES,
    VALUES,
    VerdictClass,
)
from mptcplab.study.library import SelectedTable
from mptcplab.study.measurement import count_outside
from mptcplab.study.verdict import JudgedTable

# The scoreboard: how many published values and claims came out, by table, by study, and in all.

#: The total of tables in another test bed.
BESIDE = "beside"


@dataclass(frozen=True)
class Score:
    """Published values and claims by class. A value that the source prints in several tables counts once.

    ``at_half`` counts the agreeing values that agree with half of the tolerance, too, ``fitted_outside`` the fitted
    ones outside the tolerance, ``shapes`` the columns of the published shape among ``columns`` that can have one, and
    ``repeated`` the values that another table has first. Of a short form, ``outside`` counts the values whose
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
_SUMS = tuple(entry.name for entry in fields(Score) if entry.name not in ("values", "claims"))


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
        "studies": {name: total(of_study).to_json() for name, of_study in group_by_study(lines).items()},
        BESIDE: {
            name: total(of_study, beside=True).to_json()
            for name, of_study in group_by_study(lines).items()
            if any(line.is_beside for line in of_study)
        },
        "all": total(lines).to_json(),
    }


# The scoreboard as a table and as a summary.

#: The head of the column of names.
TABLE = "table"
#: Columns that are shown even if they are empty.
_STAY = (AGREES, HOLDS, UNEXPLAINED)
_MEANINGS = (
    "Values that a study prints count once each. They agree if the whole measured 95 % interval is in the tolerance "
    "band; they are too uncertain if it crosses an end of the band, as for every single run, with the mean inside or "
    "outside the band. Fitted: a parameter was fitted to them. For those outside the tolerance, the reason is shown if "
    "the run that isolates it lands in the band, partly shown if it leaves at most half of the difference, else "
    "supposed. Without a reason they are unexplained, even if the table describes what was tried. Where no run shows "
    "the reason, and at least 32 possible test beds of the study were measured: values that agree in at least 95 % of "
    "them, and values that agree in some and that named parameters move, which no source states. At half: values that "
    "also agree with half of the tolerance.",
    "Same shape: columns that rise and fall as published, within the factor that their table prints. It is not a "
    "verdict.",
    "Claims of a study hold, are about fitted values, do not hold (for a shown, a partly shown, a supposed, or no "
    "known reason), are not certain (an interval crosses a bound), or were not judged: their rows were not measured.",
)


@dataclass(frozen=True)
class _Row:
    """A line of the table. ``is_sum``: a total of a study or of all studies."""

    name: str
    about: str
    form: str
    score: Score
    remark: str
    is_sum: bool = False


@dataclass(frozen=True)
class _ScoreColumn:
    """A column, and a text per row. It ``stays`` even if these are empty. The ``emphasis`` is on cells with text."""

    column: TableColumn
    texts: tuple[str, ...]
    emphasis: Emphasis = ""
    stays: bool = False

    @property
    def cells(self) -> Iterator[Cell]:
        """The cells of all rows."""
        return (Cell(text, emphasis=self.emphasis if text else "") for text in self.texts)


def scoreboard_table(lines: Sequence[ScoreLine], *, with_titles: bool = True) -> Table:
    """Return a row per table, per study and for all studies, without empty columns."""
    whys = [f"{line.selected.name} was not measured: {line.why}." for line in lines if line.why]
    notes = (summary(lines), *whys, *_MEANINGS, *_outside_note(lines))
    return _table(f"Scoreboard{_form(lines)}", _rows(lines), notes, set() if with_titles else {"about"})


def totals_table(lines: Sequence[ScoreLine]) -> Table:
    """Return the scoreboard's totals, per study and for all studies, with its notes."""
    rows = [row for row in _rows(lines) if row.is_sum]
    return _table(f"Scoreboard{_form(lines)}", rows, scoreboard_table(lines).notes, {"remark"})


def tables_table(lines: Sequence[ScoreLine]) -> Table:
    """Return the scoreboard's rows per table."""
    return _table("By table", [row for row in _rows(lines) if not row.is_sum], (), set())


def _form(lines: Sequence[ScoreLine]) -> str:
    """Return the form for the title, if it is the same for all tables."""
    forms = {line.form for line in lines if line.form}
    return "".join(f", {form} form" for form in forms if len(forms) == 1)


def _table(title: str, rows: Sequence[_Row], notes: tuple[str, ...], left_out: set[str]) -> Table:
    if len({row.form for row in rows if row.form}) == 1:
        left_out = {*left_out, "form"}
    columns = [
        score_column
        for score_column in _columns(rows)
        if score_column.column.heading not in left_out and (score_column.stays or any(score_column.texts))
    ]
    names = (Cell(row.name, emphasis="sum" if row.is_sum else "") for row in rows)
    cells = zip(names, *(column.cells for column in columns), strict=True)
    return Table.build(title, [TableColumn(TABLE), *(column.column for column in columns)], cells, notes)


def _columns(rows: Sequence[_Row]) -> Iterator[_ScoreColumn]:
    yield _texts("about", (row.about for row in rows))
    yield _texts("form", (row.form for row in rows))
    for value_class in VALUE_CLASSES:
        yield _counts(value_class, [row.score.values for row in rows])
        if value_class.name == AGREES:
            yield _numbers("at half", (str(row.score.at_half or "") for row in rows))
    shapes = [f"{row.score.shapes} of {row.score.columns}" if row.score.columns else "" for row in rows]
    yield _numbers("same shape", shapes)
    for value_class in CLAIM_CLASSES:
        yield _counts(value_class, [row.score.claims for row in rows])
    beside = [f"{row.score.outside} of {row.score.compared}" if row.score.compared else "" for row in rows]
    yield _numbers("outside full", beside)
    yield _texts("remark", (row.remark for row in rows))


def _counts(item: VerdictClass, counts: Sequence[Mapping[str, int]]) -> _ScoreColumn:
    """Return the column of a class; cells of zero are empty."""
    texts = tuple(str(count.get(item.name, 0) or "") for count in counts)
    return _ScoreColumn(TableColumn(item.head, is_numeric=True), texts, item.emphasis, stays=item.name in _STAY)


def _numbers(heading: str, texts: Iterable[str]) -> _ScoreColumn:
    return _ScoreColumn(TableColumn(heading, is_numeric=True), tuple(texts))


def _texts(heading: str, texts: Iterable[str]) -> _ScoreColumn:
    return _ScoreColumn(TableColumn(heading), tuple(texts))


def _rows(lines: Sequence[ScoreLine]) -> list[_Row]:
    rows, studies = [], group_by_study(lines)
    for name, of_study in studies.items():
        rows += [_row(line) for line in of_study]
        beside = [line for line in of_study if line.is_beside]
        about = _count(len(of_study) - len(beside), "table")
        rows.append(_Row(f"{name}: all", about, "", total(of_study), "", is_sum=True))
        if beside:
            about = f"{_count(len(beside), 'table')} in another test bed: the same values and claims"
            rows.append(_Row(f"{name}: {BESIDE}", about, "", total(beside, beside=True), "", is_sum=True))
    if len(studies) > 1:
        rows.append(_Row("all", _count(len(studies), "study", "studies"), "", total(lines), "", is_sum=True))
    return rows


def _row(line: ScoreLine) -> _Row:
    selected, score = line.selected, line.score
    nothing = not (score.values or score.claims or line.remark)
    counted = [f"{score.repeated} counted elsewhere"] if score.repeated else []
    remark = selected.table.kind.lower() if nothing else ", ".join([*counted, *([line.remark] if line.remark else [])])
    return _Row(selected.name, selected.table.title, line.form, score, remark)


def _count(number: int, text: str, several: str = "") -> str:
    return f"{number} {text if number == 1 else several or f'{text}s'}"


def summary(lines: Sequence[ScoreLine]) -> str:
    """Return a summary in a few sentences."""
    score = total(lines)
    sentences = [
        f"Of {sum(counts.values())} {noun}: {_format_counts(counts, classes)}."
        for noun, counts, classes in (
            ("published values", score.values, VALUE_CLASSES),
            ("claims", score.claims, CLAIM_CLASSES),
        )
        if counts
    ]
    if score.values.get(AGREES):
        sentences.insert(1, f"With half of the tolerance {score.at_half} of {score.values[AGREES]} still agree.")
    if score.fitted_outside:
        sentences.insert(1, f"Of the fitted values, {score.fitted_outside} are outside the tolerance.")
    if score.columns:
        sentences.append(f"Of {score.columns} columns {score.shapes} have the published shape.")
    return " ".join(sentences)


def _format_counts(counts: Mapping[str, int], classes: Sequence[VerdictClass]) -> str:
    """Return the counts that are not zero, and the count of unexplained ones in any case."""
    return ", ".join(
        f"{item.words} {counts.get(item.name, 0)}"
        for item in classes
        if counts.get(item.name) or item.name == UNEXPLAINED
    )


def _outside_note(lines: Sequence[ScoreLine]) -> Iterator[str]:
    score = total(lines)
    if score.compared:
        yield (
            f"Outside full: {score.outside} of {score.compared} values of the short form are outside the 95 % interval "
            "of the full form's mean. They are marked in their tables."
        )
