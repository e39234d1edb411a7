# SPDX-License-Identifier: MIT
"""Studies: their data is whole, and verdicts say what they mean."""

from __future__ import annotations

import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mptcplab
from mptcplab.errors import InputError, LabError
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.metrics.rows import ResultRow, RunResult
from mptcplab.metrics.subflows import MptcpUse, Sockets, mptcp_counts
from mptcplab.plan.compile import compile_plan
from mptcplab.prebuilt import STUDY_DESCRIPTIONS
from mptcplab.scenario.load import SweepPoint, load
from mptcplab.stats import jain_index, mean_interval
from mptcplab.study import library as study_load
from mptcplab.study.figures import study_figures
from mptcplab.study.library import SelectedTable, select, study_names
from mptcplab.study.measurement import fits, index_results, index_rows
from mptcplab.study.notes import describe_comparison
from mptcplab.study.output import study_document, study_table
from mptcplab.study.parts import over_of
from mptcplab.study.schema import Claim, Study
from mptcplab.study.verdict import JudgedTable, is_good, judge, judge_cells

PACKAGE = Path(mptcplab.__file__).parent
SCENARIOS = [file for file in sorted((PACKAGE / "studies").glob("**/*.toml")) if file.name not in STUDY_DESCRIPTIONS]


#: Several tests ask for the same ones.
_experiment = cache(load)


def _tables() -> list[SelectedTable]:
    return select(None)


@pytest.mark.slow
@pytest.mark.parametrize("selected", _tables(), ids=lambda selected: selected.name)
def test_every_published_value_is_measured(selected: SelectedTable) -> None:
    """Rows and columns exist among the scenario's points; explanations and --quick name rows that exist."""
    table, experiment = selected.table, _experiment(selected.scenario)
    measured = [cell for point in experiment.points for cell in _cells(selected, point)]
    assert len(measured) == len(set(measured)), "a cell has two sources"
    wanted = {(row, column) for row, values in table.published.items() for column in values}
    wanted = wanted or {
        (row, name) for row in table.all_rows for name, column in table.columns.items() if not column.ratio
    }
    assert wanted <= set(measured), f"never measured: {wanted - set(measured)}"
    assert set(table.quick.rows) <= set(table.all_rows), table.quick
    for because in table.because:
        assert set(because.rows) <= set(table.published), because.rows
        assert set(because.columns) <= set(table.columns), because.columns


def _cells(selected: SelectedTable, point: SweepPoint) -> list[tuple[str, str]]:
    """The cells that a point has values for."""
    table, cells = selected.table, []
    for name, column in table.columns.items():
        assert set(column.where) <= {*point.settings, "workload"}, column
        workload = column.where.get("workload", "*")
        there = fits(table, column, {**point.settings, "workload": workload})
        if over_of(table.value_of(name)) is None and "*" in workload:
            assert workload == "*", "only a value over several workloads has a pattern"
        if there and not column.ratio and fnmatch.filter(point.scenario.workloads, workload):
            cells.append((point.settings[table.along], name))
    return cells


@pytest.mark.slow
@pytest.mark.parametrize("selected", _tables(), ids=lambda selected: selected.name)
def test_quick_is_a_part_of_the_table(selected: SelectedTable) -> None:
    """Its changes are keys of the scenario, and leave what rows and columns are told by."""
    quick = selected.table.quick
    experiment = load(selected.scenario, overrides=[f"{key}={value}" for key, value in quick.change.items()])
    assert {point.settings[selected.table.along] for point in experiment.points} >= set(quick.rows)
    assert quick.repeats <= _experiment(selected.scenario).repeats


@pytest.mark.parametrize("selected", _tables(), ids=lambda selected: selected.name)
def test_every_claim_is_about_cells(selected: SelectedTable) -> None:
    claims = [claim for claim in selected.study.claims if claim.table == selected.number]
    measured = _measure(selected) if claims else set()
    for claim in claims:
        if claim.min is not None and claim.max is not None:
            assert claim.min < claim.max, claim.text
        assert set(claim.rows) <= set(selected.table.all_rows), claim.rows
        for column in (claim.of, *claim.to):
            name, _, row = column.partition("@")
            assert name in selected.table.columns, column
            assert not row or row in selected.table.all_rows, column
        assert _needed_cells(selected, claim) <= measured, claim.text


@pytest.mark.parametrize("name", study_names())
def test_every_claim_is_of_a_table(name: str) -> None:
    study = select(name)[0].study
    assert {claim.table for claim in study.claims} <= set(study.tables)


def _needed_cells(selected: SelectedTable, claim: Claim) -> set[tuple[str, str]]:
    """The cells, other than ratios, that a claim needs in the full form."""
    asked = set()
    for of in (claim.of, *claim.to):
        name, _, fixed = of.partition("@")
        parts = selected.table.columns[name].ratio or (name,)
        rows = (fixed,) if fixed else claim.rows or selected.table.all_rows
        asked |= {(row, part) for row in rows for part in parts}
    return asked


def _measure(selected: SelectedTable) -> set[tuple[str, str]]:
    return {cell for point in _experiment(selected.scenario).points for cell in _cells(selected, point)}


@pytest.mark.slow
@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_scenario_compiles(file: Path) -> None:
    experiment = load(file)
    plans = [compile_plan(point.scenario, seed=experiment.seed) for point in experiment.points]
    assert plans
    assert all(plan.programs for plan in plans)


def test_there_are_studies() -> None:
    assert study_names()
    assert SCENARIOS


@pytest.mark.parametrize("wanted", ["nosuch", "nosuch/1", f"{study_names()[0]}/99", ""])
def test_unknown_study_or_table(wanted: str) -> None:
    with pytest.raises(InputError) as error:
        select(wanted)
    assert error.value.hint


def test_damaged_study_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "study.toml").write_text("title = ")
    monkeypatch.setattr(study_load, "_STUDIES", tmp_path)
    with pytest.raises(LabError, match="damaged"):
        select("bad")


#: A column that rises, one row of which may be explained.
STUDY: dict[str, Any] = {
    "name": "made",
    "title": "t",
    "authors": "a",
    "year": 2020,
    "where": "w",
    "test_bed": "b",
    "tables": {
        "1": {
            "title": "t",
            "place": "p",
            "scenario": "s.toml",
            "along": "rate",
            "along_label": "rate",
            "columns": {"tcp": "TCP", "mptcp": "MPTCP"},
            "unit": "Mbit/s",
            "tolerance": "5%",
            "why_tolerance": "w",
            "published": {
                "1": {"tcp": 10.0, "mptcp": 20.0},
                "2": {"tcp": 20.0, "mptcp": 40.0},
                "3": {"tcp": 30.0, "mptcp": 60.0},
            },
        }
    },
    "claims": [
        {"text": "twice", "table": "1", "of": "mptcp", "to": ["tcp"], "min": 1.8, "max": 2.2, "why_bounds": "b"}
    ],
}
BECAUSE = {"rows": ["2"], "columns": ["mptcp"], "reason": "r", "evidence": "e"}


def _select(*, because: list[dict[str, Any]] | None = None) -> SelectedTable:
    table = {**STUDY["tables"]["1"], "because": because or []}
    study = Study.model_validate({**STUDY, "tables": {"1": table}})
    return SelectedTable(study, Path("made"), "1", study.tables["1"])


def _row(rate: str, protocol: str, mbps: float) -> ResultRow:
    samples = (0.999 * mbps, mbps, 1.001 * mbps)
    interval = mean_interval(samples)
    figures = dict.fromkeys(("goodput_mbps", "duration_s", "retransmitted_percent"), interval)
    values: dict[str, Any] = {
        "metrics": figures,
        "samples": dict.fromkeys(figures, samples),
        "settings": {"rate": rate, "transport.protocol": protocol},
        "workload": "bulk",
        "mptcp": "no",
    }
    values |= {"counts": (), "shares": {}, "congestion": "cubic", "scheduler": "", "kernel": "k", "seeds": (1, 2, 3)}
    return ResultRow(**values, warnings=())


def _verdicts(selected: SelectedTable, tcp: tuple[float, ...], mptcp: tuple[float, ...]) -> list[str]:
    rows = [_row(str(n), "tcp", value) for n, value in enumerate(tcp, start=1)]
    rows += [_row(str(n), "mptcp", value) for n, value in enumerate(mptcp, start=1)]
    return [cell.verdict for cell in judge_cells(selected, index_rows(selected, rows)) if cell.column == "mptcp"]


TCP = (10, 20, 30)


@pytest.mark.parametrize(
    ("mptcp", "because", "expected"),
    [
        ((20, 40, 60), [], ["agrees"] * 3),
        ((20.9, 38.1, 60), [], ["agrees"] * 3),
        ((21.1, 40, 60), [], ["unexplained", "agrees", "agrees"]),
        ((20, 43, 60), [BECAUSE], ["agrees", "differs, supposed", "agrees"]),
        ((20, 19, 60), [BECAUSE], ["agrees", "differs, supposed", "agrees"]),
        ((20, 40, 60), [BECAUSE], ["agrees"] * 3),
        ((30, 40, 60), [BECAUSE], ["unexplained", "agrees", "agrees"]),
    ],
)
def test_verdicts(mptcp: tuple[float, ...], because: list[dict[str, Any]], expected: list[str]) -> None:
    assert _verdicts(_select(because=because), TCP, mptcp) == expected


@pytest.mark.parametrize(
    ("mptcp", "expected"), [((20, 40, 60), "holds"), ((20, 40, 70), "does not hold"), ((), "not measured")]
)
def test_claims(mptcp: tuple[float, ...], expected: str) -> None:
    selected = _select()
    rows = [_row(str(n), "tcp", value) for n, value in enumerate(TCP, start=1)]
    rows += [_row(str(n), "mptcp", value) for n, value in enumerate(mptcp, start=1)]
    measured = index_rows(selected, rows)
    (claim,) = judge(selected, measured).claims
    assert claim.verdict == expected
    cells = judge_cells(selected, measured)
    open_cells = any(cell.verdict in ("unexplained", "not measured") for cell in cells)
    assert is_good(cells, [claim]) == (expected != "does not hold" and not open_cells)


def test_reasons_stand_below_the_table() -> None:
    selected = _select(because=[BECAUSE])
    rows = [_row(str(n), "tcp", value) for n, value in enumerate(TCP, start=1)]
    rows += [_row(n, "mptcp", value) for n, value in (("1", 20.0), ("2", 43.0), ("3", 60.0))]
    judged = judge(selected, index_rows(selected, rows))
    table = study_table(judged)
    assert any("differs, supposed [1]" in row for row in table.rows), table.rows
    assert "[1] Supposed: r e" in table.notes
    document = study_document(judged)
    cells = {(cell["row"], cell["column"]): cell for cell in document["cells"]}
    assert [place for place, cell in cells.items() if cell["because"] == "r"] == [("2", "mptcp")]
    assert cells["2", "mptcp"]["difference_percent"] == pytest.approx(7.5)


#: Goodput of two users by row and seed, in one run each.
USERS: dict[str, Any] = {
    **STUDY,
    "tables": {
        "1": {
            "title": "t",
            "place": "p",
            "kind": "Figures",
            "scenario": "s.toml",
            "along": "rtt",
            "along_label": "RTT",
            "columns": {
                "mptcp": {"title": "MPTCP", "where": {"workload": "mptcp"}},
                "tcp": {"title": "TCP", "where": {"workload": "tcp"}},
                "ratio": {"title": "MPTCP / TCP", "ratio": ["mptcp", "tcp"]},
                "jain": {"title": "JFI", "value": "jain"},
            },
            "unit": "Mbit/s",
            "rows": ["1 ms", "2 ms", "3 ms"],
        }
    },
}
Goodputs = dict[str, list[tuple[float, float]]]
#: MPTCP has 2, 1.5 and 1 times TCP's, with a little noise that both share.
CLOSING: Goodputs = {
    "1 ms": [(60, 30), (62, 31), (64, 32)],
    "2 ms": [(45, 30), (48, 32), (42, 28)],
    "3 ms": [(30, 30), (33, 33), (27, 27)],
}


def _users(claim: dict[str, Any], goodputs: Goodputs = CLOSING) -> JudgedTable:
    study = Study.model_validate({**USERS, "claims": [{"text": "c", "table": "1", "why_bounds": "w", **claim}]})
    selected = SelectedTable(study, Path("made"), "1", study.tables["1"])
    results = [
        RunResult((("rtt", row),), seed, f"{row}{seed}", "k", (_user("mptcp", pair[0]), _user("tcp", pair[1])), jain)
        for row, pairs in goodputs.items()
        for seed, pair in enumerate(pairs, start=1)
        for jain in [jain_index(pair)]
    ]
    return judge(selected, index_results(selected, results))


def _user(workload: str, mbps: float) -> WorkloadMeasurement:
    use = MptcpUse(connections=1, with_mptcp=0, fell_back=0)
    sockets = Sockets(use=use, shares={}, retransmitted_bytes=0, sent_bytes=1, congestion=("reno",))
    return WorkloadMeasurement(
        workload, mbps * 1e6, sockets, "", mptcp_counts([]), (), {"goodput_mbps": mbps, "duration_s": 1.0}
    )


RATIO = {"of": "mptcp", "to": ["tcp"]}


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({**RATIO, "rows": ["1 ms"], "min": 1.9, "max": 2.1}, "holds"),
        ({**RATIO, "min": 1.9}, "does not hold"),
        ({**RATIO, "min": 1.9, "some": True}, "holds"),
        ({**RATIO, "max": 0.9, "some": True}, "does not hold"),
        ({**RATIO, "trend": "falls"}, "holds"),
        ({**RATIO, "trend": "rises"}, "does not hold"),
        ({"of": "jain", "trend": "rises"}, "holds"),
        ({"of": "jain", "rows": ["3 ms"], "min": 0.99}, "holds"),
        # 60, 62, 64: the mean is 62 ± 4.97.
        ({"of": "mptcp", "rows": ["1 ms"], "min": 57.0}, "holds"),
        ({"of": "mptcp", "rows": ["1 ms"], "min": 58.0}, "not certain"),
        ({"of": "mptcp", "rows": ["1 ms"], "min": 67.0}, "does not hold"),
        ({"of": "tcp", "trend": "falls"}, "not certain"),
        ({"of": "mptcp@1 ms", "to": ["mptcp", "tcp"], "each": True, "rows": ["3 ms"], "min": 1.4}, "holds"),
        ({"of": "mptcp@1 ms", "to": ["mptcp", "tcp"], "rows": ["3 ms"], "max": 1.4}, "holds"),
        ({**RATIO, "rows": ["1 ms"], "min": 1.9, "trend": "falls"}, "not certain"),
        # Over twice TCP's, as for two lines of one rate: 1, and not 2.
        ({"of": "mptcp", "to": ["tcp", "tcp"], "rows": ["1 ms"], "min": 0.9, "max": 1.1}, "holds"),
    ],
)
def test_claims_with_intervals(claim: dict[str, Any], expected: str) -> None:
    """Ratios are formed seed by seed, so noise that both users share does not widen them."""
    (judged,) = _users(claim).claims
    assert judged.verdict == expected, judged.quantities


def test_what_a_claim_divides_by_is_plain() -> None:
    judged = _users({"of": "mptcp", "to": ["tcp@1 ms", "tcp"], "min": 0.1})
    assert describe_comparison(judged.claims[0], judged.selected.table) == "MPTCP / (TCP at 1 ms + TCP) at least 0.1"


def test_a_step_back_breaks_a_trend() -> None:
    """Falling as a whole, but certainly rising in between."""
    goodputs = {**CLOSING, "2 ms": [(90.0, 30.0), (93.0, 31.0), (96.0, 32.0)]}
    (judged,) = _users({**RATIO, "trend": "falls"}, goodputs).claims
    assert judged.verdict == "does not hold"


def test_one_run_has_no_certain_step() -> None:
    goodputs: Goodputs = {"1 ms": [(60, 30)], "2 ms": [(63, 30)], "3 ms": [(30, 30)]}
    (judged,) = _users({**RATIO, "trend": "falls"}, goodputs).claims
    assert judged.verdict == "not certain"


def test_a_claim_that_fails_needs_a_reason() -> None:
    claim = {**RATIO, "min": 1.9}
    alone = _users(claim)
    assert not is_good(alone.cells, alone.claims)
    explained = _users({**claim, "because": {"reason": "the coupling", "evidence": "see there"}})
    assert is_good(explained.cells, explained.claims)
    assert "[1] Supposed: the coupling see there" in study_table(explained).notes


def test_figures_without_published_values() -> None:
    """A table of what was measured, a figure per kind of value, and the claim above the rows that it is about."""
    judged = _users({**RATIO, "rows": ["1 ms", "2 ms"], "min": 1.9, "mark": "twice"})
    table = study_table(judged)
    assert table.headings[:5] == ("RTT", "MPTCP", "TCP", "MPTCP / TCP", "JFI")
    assert table.rows[0][3:5] == ("2.00 (identical)", "0.900 (identical)")
    figures = dict(study_figures(judged))
    assert list(figures) == ["", "-ratio", "-jain"]
    (mark,) = figures[""].marks
    assert (mark.first, mark.last, mark.verdict, mark.wrong) == ("1 ms", "2 ms", "does not hold", True)
    assert not figures["-jain"].marks
    assert figures["-jain"].lowest == 0.5
    document = study_document(judged)
    assert document["cells"] == []
    assert {(value["row"], value["column"]) for value in document["measured"]} >= {("3 ms", "jain"), ("1 ms", "ratio")}
