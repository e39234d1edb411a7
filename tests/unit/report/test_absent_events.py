# SPDX-License-Identifier: MIT
"""What did not happen within the run: the worst result is neither a blank nor left out of a mean in silence."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.comparisons import row_of
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.errors import InputError
from mptcplab.figure import FigureChoice, build_figure, from_results
from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.sweep import sweep_figure
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow, build_row, run_result
from mptcplab.report.choosing import choose
from mptcplab.report.html_sweep import missing_run_notes
from mptcplab.report.result_table import long_csv, result_table, wide_csv
from mptcplab.results import open_results
from mptcplab.stats import mean_interval

RESTORED, RECOVERED = "recovery_after_restoration_s", "recovery_after_failure_s"
SEEDS = dict.fromkeys(range(1, 6), 10.0)


def _row(mode: str, times: Sequence[float], name: str = RESTORED, *, without: bool = False) -> ResultRow:
    """A row of 5 runs of which the first ones have these times; in the others it never happened."""
    row = row_of({"mode": mode}, SEEDS)
    if without:
        return row
    seeds = tuple(SEEDS)[len(times) :]
    metrics = {**row.metrics, **({name: mean_interval(list(times))} if times else {})}
    return replace(
        row, metrics=metrics, samples={**row.samples, name: tuple(times)}, never={name: seeds} if seeds else {}
    )


ROWS = [
    _row("on", [1.0, 1.1, 1.2, 1.1, 1.0]),
    _row("backup", [1.0, 1.1, 1.2, 1.1]),
    _row("handover", []),
    _row("off", [], without=True),
]


def test_a_cell_tells_never_from_what_does_not_apply() -> None:
    table = result_table("Modes", ROWS)
    place = table.headings.index("restored s")
    cells = [row[place] for row in table.rows]
    assert cells[0] == "1.08 ± 0.10"
    assert cells[1].endswith("(4 of 5)")
    assert cells[2:] == ["never (0 of 5)", ""]
    assert [getattr(cell, "number", None) for cell in cells[2:]] == [math.inf, None], "rows are ordered by it"
    assert [note for note in table.notes if "never" in note] == [
        "never: not within the run.",
        "(m of n) of restored: the mean of m runs; in the others never within the run.",
    ]
    assert "| never (0 of 5) |" in table.to_markdown()
    assert not any("never" in note for note in result_table("Modes", ROWS[:1]).notes)


def test_notes_are_of_words_in_the_columns_that_were_chosen() -> None:
    """``never: not within the run`` stayed below columns without such a cell."""
    table = result_table("Modes", ROWS)
    words = {
        name: [note for note in choose(table, [name], None).notes if "never" in note] for name in ("s", "restored")
    }
    assert words == {"s": [], "restored": [note for note in table.notes if "never" in note]}
    some = choose(table.with_rows([0, 1]), ["restored"], None).notes
    assert next(note for note in some if "never" in note).startswith("(m of n)"), "no cell says never"
    assert not any(note.startswith("Mean") for note in choose(table, ["n"], None).notes)


def test_a_single_run_says_never() -> None:
    row = replace(row_of({"mode": "on"}, {1: 10.0}), never={RESTORED: (1,), "outage_s": (1,), RECOVERED: (1,)})
    table = result_table("Modes", [row])
    cells = dict(zip(table.headings, table.rows[0], strict=True))
    assert (cells["restored s"], cells["outage s"]) == ("never", "no end"), "an outage that never was is a good result"
    assert "recovered s" not in cells, "MPTCP that goes on with one path of two never has the rate of both"
    assert {"never: not within the run.", "no end: not within the run."} <= set(table.notes)
    assert row.to_json()["metrics"][RESTORED] == {
        "mean": None,
        "ci95_half_width": None,
        "n": 0,
        "values": [],
        "seeds": [],
        "never": [1],
    }


def test_files_for_programs_stay_numeric() -> None:
    wide = list(csv.DictReader(io.StringIO(wide_csv(ROWS))))
    cells = [(line[RESTORED], line[f"{RESTORED}_n"]) for line in wide]
    assert [n for _, n in cells] == ["5", "4", "0", ""]
    assert [value for value, _ in cells[2:]] == ["", ""]
    long = [line for line in csv.DictReader(io.StringIO(long_csv(ROWS))) if line["metric"] == RESTORED]
    assert [(line["mode"], line["mean"] != "", line["n"]) for line in long] == [
        ("on", True, "5"),
        ("backup", True, "4"),
        ("handover", False, "0"),
    ]


def test_a_figure_names_what_its_bars_leave_out() -> None:
    figure = sweep_figure("Modes", ROWS, METRICS[RESTORED], "mode")
    (series,) = figure.series
    assert figure.positions == ("on", "backup", "handover", "off"), "a point without a value looks like none"
    assert series.words == ("", "(4 of 5)", "never", "")
    assert "never: not within the run (handover)" in figure.note
    assert (
        "(4 of 5): the mean of the runs that have a value; in the others never within the run (backup)" in figure.note
    )


@pytest.mark.slow
def test_a_measurement_keeps_infinite_values_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One infinity would make a mean infinite."""
    make_results(tmp_path / "made", TWO_LINES)
    recording = open_results(tmp_path / "made").recordings[0]
    monkeypatch.setitem(METRICS, RESTORED, replace(METRICS[RESTORED], value=lambda _: math.inf))
    result = run_result(recording)
    assert result.measured[0].never == (RESTORED,)
    assert RESTORED not in result.measured[0].metrics
    row = build_row([(result, result.measured[0])])
    assert (row.never, RESTORED in row.metrics) == ({RESTORED: (result.seed,)}, False)


@pytest.mark.slow
def test_each_missing_bar_has_its_own_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of a point that cannot be run was given for points that ran and never recovered."""
    make_results(tmp_path / "made", TWO_LINES)
    results = open_results(tmp_path / "made")
    keys = list(results.rows[0].settings)
    rows = [
        replace(row, settings=dict(zip(keys, values, strict=True)))
        for row, values in zip(
            [_row("", [1.0] * 5), _row("", []), _row("", [2.0] * 5)], [("a", "x"), ("a", "y"), ("b", "x")], strict=True
        )
    ]
    lacking = (dict(zip(keys, ("b", "y"), strict=True)), "no such mode")
    results = replace(results, stored=replace(results.stored, unavailable=(lacking,)))
    monkeypatch.setattr(from_results, "_rows_at", lambda *_: rows)
    made = build_figure(results, FigureChoice(kind="bars", metric="restored"))
    print(made.note)
    assert "never: not within the run (" in made.note
    assert "n/a: no value, since no such mode" in made.note
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=made.size)
        made.draw(drawing)
        (axes,) = drawing.axes
        words = [text.get_text() for text in axes.texts]
        inside = [axes.get_xlim()[0] <= text.get_position()[0] <= axes.get_xlim()[1] for text in axes.texts]
    assert sorted(words) == ["1.00", "2.00", "n/a", "never"]
    assert all(inside), "text beside the axes is not drawn"


def test_a_metric_without_any_value_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_results(tmp_path / "made", TWO_LINES)
    monkeypatch.setattr(from_results, "_rows_at", lambda *_: [_row("on", [])])
    with pytest.raises(InputError, match=f"no run has a value of {RESTORED}: never within any run"):
        build_figure(open_results(tmp_path / "made"), FigureChoice(kind="bars", metric="restored"))


def test_the_report_names_what_its_figure_lacks() -> None:
    (note,) = missing_run_notes(ROWS, [RESTORED, "goodput_mbps"])
    assert note == "Restored: never within the run, so not in the means: backup (1 of 5 runs); handover (5 of 5 runs)."
