# SPDX-License-Identifier: MIT
"""The algebra of verdicts: what holds of all values, an example of each class, and how they are counted and printed."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.unit.study import class_study
from tests.unit.study.class_study import BEDS, STUDY, judge_table

from mptcplab.figure.canvas import open_pyplot
from mptcplab.stats import Interval
from mptcplab.study.cloud import CloudValue
from mptcplab.study.figures import AgreementPoint, _draw
from mptcplab.study.judgement import (
    CLAIMS,
    DEPENDS,
    IN_BEDS,
    OUTSIDE,
    SHOWS,
    SHOWS_NOTHING,
    SHOWS_PART,
    UNEXPLAINED,
    UNSURE,
    VALUE_CLASSES,
    VALUES,
    WITHIN,
    explained_fraction,
    position,
    proof_of,
)
from mptcplab.study.library import SelectedTable
from mptcplab.study.measurement import LARGEST_FACTOR, Shape, TableSource
from mptcplab.study.output import study_document, study_table
from mptcplab.study.schema import Study
from mptcplab.study.scoreboard import Score, line_of, line_without, scoreboard_table, total
from mptcplab.study.verdict import is_good, judge, judge_cells

GOLDEN = Path(__file__).parent / "golden" / "study-classes.md"
_values = st.floats(0.01, 1e4)
_halves = st.none() | st.floats(0, 1e4)
_tolerances = st.floats(0.1, 50)


def _interval(mean: float, half: float | None) -> Interval:
    return Interval(mean, half, 1 if half is None else 3)


@given(_values, st.floats(0, 1e4), st.floats(0, 1), _values, _tolerances)
def test_a_narrower_interval_is_never_less_certain(
    mean: float, half: float, shrink: float, published: float, tolerance: float
) -> None:
    """What agrees still agrees, what is outside stays outside; only what is uncertain may become either."""
    before = position(_interval(mean, half), published, tolerance)
    after = position(_interval(mean, half * shrink), published, tolerance)
    # An interval that shrinks may lose its overlap: it agreed at its end alone.
    assert before != OUTSIDE or after == OUTSIDE, (before, after)
    assert before != WITHIN or after in (WITHIN, OUTSIDE), (before, after)


@given(_values, _halves, _values, _tolerances, st.floats(1, 3))
def test_a_larger_tolerance_never_loses_an_agreement(
    mean: float, half: float | None, published: float, tolerance: float, more: float
) -> None:
    value = _interval(mean, half)
    if position(value, published, tolerance) == WITHIN:
        assert position(value, published, tolerance * more) == WITHIN
    if position(value, published, tolerance * more) == OUTSIDE:
        assert position(value, published, tolerance) == OUTSIDE


@given(_values, _values, _tolerances)
def test_an_unknown_interval_is_uncertain_wherever_it_lies(mean: float, published: float, tolerance: float) -> None:
    for unknown in (None, float("inf")):
        assert position(_interval(mean, unknown), published, tolerance) == UNSURE


@given(_values, _halves, _values, _tolerances)
def test_all_of_what_agrees_is_in_the_band(mean: float, half: float | None, published: float, tolerance: float) -> None:
    value = _interval(mean, half)
    band = published * tolerance / 100
    inside = half is not None and published - band <= value.low and value.high <= published + band
    agrees = position(value, published, tolerance) == WITHIN
    if agrees != inside:  # only rounding may decide otherwise, at an end of the band
        assert half is not None
        assert abs(mean - published) + half == pytest.approx(band, rel=1e-6, abs=1e-9)


@given(_values, _values, _values, _tolerances)
def test_evidence_lands_in_the_band_or_leaves_at_most_half_of_the_difference(
    measured: float, evidence: float, published: float, tolerance: float
) -> None:
    proof = proof_of(_interval(measured, None), _interval(evidence, None), published, tolerance)
    within = abs(evidence - published) <= published * tolerance / 100
    share = explained_fraction(measured, evidence, published)
    assert (proof == SHOWS) == within
    if proof == SHOWS_PART:
        assert 0.5 - 1e-6 <= share <= 1.5 + 1e-6, share
    if 0.5 + 1e-6 <= share <= 1.5 - 1e-6:
        assert proof != SHOWS_NOTHING, share


def test_evidence_that_the_intervals_do_not_confirm_shows_nothing() -> None:
    measured, published = Interval(90.0, 20.0, 3), 60.0
    assert proof_of(measured, Interval(62.0, 5.0, 3), published, 10) == SHOWS
    assert proof_of(measured, Interval(62.0, 15.0, 3), published, 10) == SHOWS_NOTHING
    assert proof_of(Interval(90.0, 1.0, 3), Interval(70.0, 1.0, 3), published, 10) == SHOWS_PART
    assert proof_of(Interval(90.0, 1.0, 3), Interval(20.0, 1.0, 3), published, 10) == SHOWS_NOTHING, "far beyond"


@given(st.lists(st.tuples(st.sampled_from(VALUES), st.integers(0, 9)), max_size=8))
def test_scores_add_up(counts: list[tuple[str, int]]) -> None:
    scores = [Score({name: count}, at_half=count, columns=1) for name, count in counts]
    added = sum(scores, Score())
    assert sum(added.values.values()) == sum(count for _, count in counts) == added.at_half
    assert added.columns == len(counts)


EXPECTED = {
    ("1", "1 ms", "mptcp"): "agrees",
    ("1", "2 ms", "mptcp"): "too uncertain, mean inside",
    ("1", "3 ms", "mptcp"): "differs, shown",
    ("1", "4 ms", "mptcp"): "unexplained",
    ("1", "1 ms", "tcp"): "fitted",
    ("1", "2 ms", "tcp"): "fitted",
    ("1", "3 ms", "tcp"): "fitted",
    ("1", "4 ms", "tcp"): "fitted",
    ("2", "0 %", "mptcp"): "agrees",
    ("2", "1 %", "mptcp"): "differs, supposed",
    ("2", "2 %", "mptcp"): "differs, partly shown",
    ("2", "3 %", "mptcp"): "not measured",
    ("2", "4 %", "mptcp"): "too uncertain, mean outside",
    ("2", "5 %", "mptcp"): "differs, depends on the bed",
    ("2", "6 %", "mptcp"): "differs, agrees in at least 95 % of beds",
}


def test_a_value_of_every_class() -> None:
    cells = {(number, cell.row, cell.column): cell for number in ("1", "2") for cell in judge_table(number).cells}
    assert {place: cell.verdict for place, cell in cells.items()} == EXPECTED
    assert set(EXPECTED.values()) == set(VALUES)
    assert cells["1", "1 ms", "mptcp"].at_half == "unexplained", "21.5 is 7.5 % above 20"
    assert [cells["1", row, "tcp"].outside for row in ("3 ms", "4 ms")] == [False, True]
    assert cells["2", "0 %", "mptcp"].first == ("1", "1 ms", "mptcp")
    evidence = cells["1", "3 ms", "mptcp"].evidence
    assert evidence is not None
    assert evidence.moved == pytest.approx((90 - 66) / (90 - 60))


@pytest.mark.parametrize(
    ("over_beds", "verdict"),
    [
        (class_study.over_beds("5 %", BEDS), IN_BEDS),
        (class_study.over_beds("5 %", BEDS - 1), IN_BEDS),
        (class_study.over_beds("5 %", BEDS - 2), UNEXPLAINED),
        (class_study.over_beds("5 %", 1, "queue"), DEPENDS),
        (class_study.over_beds("5 %", 0, "queue"), UNEXPLAINED),
        (class_study.over_beds("5 %", BEDS - 1, "queue", beds=BEDS - 1), UNEXPLAINED),
        ({}, UNEXPLAINED),
    ],
)
def test_possible_beds_explain_only_what_they_can_name(
    over_beds: dict[tuple[str, str], CloudValue], verdict: str
) -> None:
    """31 of 32 beds are 97 %, 30 are 94 %. Without a named parameter, in no bed, or with fewer beds a value stays."""
    cells = judge_cells(class_study.select_table("2"), class_study.measure("2"), over_beds=over_beds)
    (cell,) = [cell for cell in cells if cell.row == "5 %"]
    assert (cell.verdict, cell.counted_as) == (verdict, verdict)
    assert cell.is_undeclared == (verdict == UNEXPLAINED)


def test_possible_beds_do_not_replace_a_verdict_of_runs() -> None:
    """What agrees, is fitted or uncertain, or has a reason that runs show, keeps its class."""
    rows = ("0 %", "1 %", "2 %", "4 %")
    over_beds = {place: value for row in rows for place, value in class_study.over_beds(row, BEDS).items()}
    sources = {"made/e": TableSource(class_study.measure("e"))}
    cells = judge_cells(class_study.select_table("2"), class_study.measure("2"), sources, over_beds)
    verdicts = {cell.row: cell.verdict for cell in cells if cell.row in rows}
    assert verdicts == {
        "0 %": "agrees",
        "1 %": IN_BEDS,
        "2 %": "differs, partly shown",
        "4 %": "too uncertain, mean outside",
    }


def test_a_claim_of_every_class() -> None:
    classes = [claim.counted_as for number in ("1", "2") for claim in judge_table(number).claims]
    assert sorted(classes) == sorted(CLAIMS), classes


def test_evidence_that_was_not_measured_shows_nothing() -> None:
    alone = judge_table("1", with_evidence=False)
    assert [cell.verdict for cell in alone.cells if cell.row == "3 ms"] == ["fitted", "differs, supposed"]
    assert [claim.counted_as for claim in alone.claims][2] == "does not hold, supposed"
    said = " ".join(study_table(alone).notes)
    assert "not measured here (mptcplab reproduce made/e)" in said


def test_supposed_reasons_suffice_and_missing_ones_do_not() -> None:
    good, bad = judge_table("2"), judge_table("1")
    assert is_good(good.cells, good.claims), "beds that name what moves a value are a reason, too"
    assert not is_good(bad.cells, bad.claims)
    assert not is_good(bad.cells, ())
    assert not is_good((), bad.claims)


def test_every_published_value_counts_once() -> None:
    lines = [line_of(judge_table(number), quick=False) for number in ("1", "2", "e")]
    score = total(lines)
    assert sum(score.values.values()) == len(EXPECTED) - 1, "one value stands in both tables"
    assert score.repeated == 1
    assert (score.fitted_outside, score.at_half) == (1, 0)
    without = total(line_without(class_study.select_table(number)) for number in ("1", "2", "e"))
    assert sum(without.values.values()) == sum(score.values.values())
    assert sum(without.claims.values()) == sum(score.claims.values()) == len(CLAIMS)


def test_what_is_printed() -> None:
    tables = [study_table(judge_table(number)) for number in ("1", "2")]
    board = scoreboard_table([line_of(judge_table(number), quick=False) for number in ("1", "2", "e")])
    text = "\n".join(table.to_markdown() for table in (*tables, board))
    assert text == GOLDEN.read_text(), f"if this is meant, write it to {GOLDEN}:\n{text}"


def test_the_document_has_both_numbers() -> None:
    document = study_document(judge_table("1"))
    cells = {(cell["row"], cell["column"]): cell for cell in document["cells"]}
    shown = cells["3 ms", "mptcp"]["shown_by"]
    assert (shown["table"], shown["column"], shown["proof"]) == ("e", "small", "shown")
    assert shown["value"]["mean"] == pytest.approx(66)
    assert cells["4 ms", "tcp"]["fitted_by"] == ["delay"]
    assert [parameter["value"] for parameter in study_document(judge_table("2"))["parameters"]] == ["1 ms", "20 Mbit/s"]


def test_the_shape_is_a_mark_of_its_own() -> None:
    """MPTCP rises as published, within 1.5 and 1.5; whether its values agree is another question."""
    tcp, mptcp = judge_table("1").shapes
    assert (tcp.is_same, tcp.text) == (True, "same shape within a factor 1.25")
    assert (mptcp.is_same, mptcp.text) == (True, "same shape within a factor 1.50")
    far = Shape("c", 1.499999999, "")
    assert replace(far, factor=1.401).text == "same shape within a factor 1.41", "it is rounded up"
    (loss,) = judge_table("2").shapes
    assert loss.is_same
    assert loss.factor == pytest.approx(14 / 8)
    assert loss.factor < LARGEST_FACTOR


def _change(old: str, new: str) -> dict[str, Any]:
    assert old in STUDY
    return tomllib.loads(STUDY.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('why_tolerance = "as made"\n', "", "why_tolerance"),
        ('tolerance = "10%"\n', "", "tolerance above 0"),
        ('place = "Table 1, p. 3"\n', "", "needs the place in the source"),
        ('rows = { "0 %" = "1 ms" }', 'rows = { "0 %" = "2 ms" }', "is not the published value"),
        ('rows = { "0 %" = "1 ms" }', 'rows = { "7 %" = "1 ms" }', "has no '7 %'"),
        ('columns = { mptcp = "small" }', 'columns = { mptcp = "tiny" }', "has no column 'tiny'"),
        ('shown_by = { table = "e", columns', 'shown_by = { table = "x", columns', "table x, which"),
        ('of = "small"', 'of = "tiny"', "has no column 'tiny'"),
        ('fitted_to = [{ table = "1", columns = ["tcp"] }]\n', "", "fitted_to"),
        ('fitted_to = [{ table = "1"', 'fitted_to = [{ table = "9"', "names table 9"),
        ('why = "the queue overflowed"\n', "", "needs a `why`"),
        ('tables = ["2"]\n', 'tables = ["9"]\n', "names table 9"),
        ('origin = "after"', 'origin = "guessed"', "origin"),
    ],
)
def test_what_does_not_refer_to_anything_is_an_error(old: str, new: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Study.model_validate(_change(old, new))


def test_runs_with_a_setting_that_was_chosen_by_the_value_show_nothing_of_it() -> None:
    """The note of the reason says the same as its cells: it was "shown in part"."""
    old = 'reason = "the buffer"\nshown_by = { table = "e", columns = { mptcp = "small" } }'
    assert old in STUDY
    chosen = STUDY.replace(old, f'{old}\nchosen_by = [{{ table = "1", columns = ["mptcp"] }}]')
    notes = []
    for text in (STUDY, chosen):
        study = Study.model_validate(tomllib.loads(text))
        selected = SelectedTable(study, Path("made"), "1", study.tables["1"])
        judged = judge(selected, class_study.measure("1"), others={"made/e": TableSource(class_study.measure("e"))})
        notes.append(
            next(note for note in study_table(judged).notes if "the buffer" in note).partition("the buffer")[0]
        )
    assert notes == ["[1] Shown: ", "[1] Supposed: "]


def test_the_figure_of_all_values_shows_its_labels_and_its_legend_whole() -> None:
    """Beside a square plot they lay beyond the figure's edges: "measured" was missing, and counts were cut off."""
    points = [
        AgreementPoint("p", 10.0**power, Interval(1.5 * 10.0**power, 0.1 * 10.0**power, 3), 10, kind.name)
        for power, kind in enumerate(kind for kind in VALUE_CLASSES if kind.colour)
        for _ in range(100)
    ]
    with open_pyplot() as plt:
        drawing, axes = plt.subplots(figsize=(7.2, 5.6), layout="constrained")
        _draw("Published and measured values", points, drawing, axes)
        drawing.draw_without_rendering()
        texts = [axes.yaxis.label, axes.xaxis.label, *axes.get_legend().texts]
        boxes = {text.get_text(): text.get_window_extent() for text in texts}
        right, top = drawing.bbox.width, drawing.bbox.height
        plt.close(drawing)
    assert len(boxes) > 10, boxes
    for text, box in boxes.items():
        assert 0 <= box.x0 < box.x1 <= right, (text, box)
        assert 0 <= box.y0 < box.y1 <= top, (text, box)
