# SPDX-License-Identifier: MIT
"""Studies: their data is whole, and verdicts say what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mptcplab
from mptcplab.errors import InputError, LabError
from mptcplab.metrics.rows import ResultRow
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load
from mptcplab.stats import mean_interval
from mptcplab.study import load as study_load
from mptcplab.study.load import Selected, select, study_names
from mptcplab.study.present import study_document, study_table
from mptcplab.study.schema import Study
from mptcplab.study.verdict import index_rows, is_good, judge_cells, judge_claims

PACKAGE = Path(mptcplab.__file__).parent
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("**/*.toml"))
SCENARIOS = [file for file in sorted((PACKAGE / "studies").glob("**/*.toml")) if file.name != "study.toml"]


def _tables() -> list[Selected]:
    return select(None)


@pytest.mark.parametrize("selected", _tables(), ids=lambda selected: selected.name)
def test_every_published_value_is_measured(selected: Selected) -> None:
    """Rows and columns exist among the scenario's points; explanations and --quick name rows that exist."""
    table, experiment = selected.table, load(selected.scenario)
    points = {(point.settings[table.along], point.settings[table.across]) for point in experiment.points}
    published = {(row, column) for row, values in table.published.items() for column in values}
    assert published <= points, f"never measured: {published - points}"
    assert {column for _, column in published} <= set(table.columns)
    assert set(table.quick) <= set(table.published), table.quick
    for because in table.because:
        assert set(because.rows) <= set(table.published), because.rows
        assert set(because.columns) <= set(table.columns), because.columns


@pytest.mark.parametrize("selected", _tables(), ids=lambda selected: selected.name)
def test_every_claim_is_about_cells(selected: Selected) -> None:
    for claim in selected.study.claims:
        assert claim.table in selected.study.tables, claim.table
        if claim.table != selected.number:
            continue
        assert claim.least < claim.most, claim.text
        assert set(claim.rows) <= set(selected.table.published), claim.rows
        for column in (claim.of, *claim.to):
            name, _, row = column.partition("@")
            assert name in selected.table.columns, column
            assert not row or row in selected.table.published, column


@pytest.mark.parametrize("file", [*SCENARIOS, *EXAMPLES], ids=lambda file: f"{file.parent.name}/{file.name}")
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
            "scenario": "s.toml",
            "along": "rate",
            "along_label": "rate",
            "columns": {"tcp": "TCP", "mptcp": "MPTCP"},
            "unit": "Mbit/s",
            "tolerance": "5%",
            "published": {
                "1": {"tcp": 10.0, "mptcp": 20.0},
                "2": {"tcp": 20.0, "mptcp": 40.0},
                "3": {"tcp": 30.0, "mptcp": 60.0},
            },
        }
    },
    "claims": [
        {"text": "twice", "table": "1", "of": "mptcp", "to": ["tcp"], "least": 1.8, "most": 2.2, "why_bounds": "b"}
    ],
}
BECAUSE = {"rows": ["2"], "columns": ["mptcp"], "reason": "r", "evidence": "e"}


def _selected(*, because: list[dict[str, Any]] | None = None) -> Selected:
    table = {**STUDY["tables"]["1"], "because": because or []}
    study = Study.model_validate({**STUDY, "tables": {"1": table}})
    return Selected(study, Path("made"), "1", study.tables["1"])


def _row(rate: str, protocol: str, mbps: float) -> ResultRow:
    interval = mean_interval([mbps])
    values: dict[str, Any] = dict.fromkeys(("goodput_mbps", "duration_s", "retransmitted_percent"), interval)
    values |= {"settings": {"rate": rate, "transport.protocol": protocol}, "workload": "bulk", "mptcp": "no"}
    values |= {"counts": (), "shares": {}, "congestion": "cubic", "scheduler": "", "kernel": "k", "seeds": (1,)}
    return ResultRow(**values, warnings=())


def _verdicts(selected: Selected, tcp: tuple[float, ...], mptcp: tuple[float, ...]) -> list[str]:
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
        ((20, 43, 60), [BECAUSE], ["agrees", "same shape", "agrees"]),
        ((20, 19, 60), [BECAUSE], ["agrees", "differs", "agrees"]),
        ((20, 40, 60), [BECAUSE], ["agrees"] * 3),
        ((30, 40, 60), [BECAUSE], ["unexplained", "agrees", "agrees"]),
    ],
)
def test_verdicts(mptcp: tuple[float, ...], because: list[dict[str, Any]], expected: list[str]) -> None:
    assert _verdicts(_selected(because=because), TCP, mptcp) == expected


def test_shape_needs_three_rows() -> None:
    """Two points always lie on a line."""
    assert _verdicts(_selected(because=[BECAUSE]), TCP, (20, 43)) == ["agrees", "differs"]


@pytest.mark.parametrize(
    ("mptcp", "expected"), [((20, 40, 60), "holds"), ((20, 40, 70), "does not hold"), ((), "not measured")]
)
def test_claims(mptcp: tuple[float, ...], expected: str) -> None:
    selected = _selected()
    rows = [_row(str(n), "tcp", value) for n, value in enumerate(TCP, start=1)]
    rows += [_row(str(n), "mptcp", value) for n, value in enumerate(mptcp, start=1)]
    measured = index_rows(selected, rows)
    (claim,) = judge_claims(selected, measured)
    assert claim.verdict == expected
    cells = judge_cells(selected, measured)
    unexplained = any(cell.verdict == "unexplained" for cell in cells)
    assert is_good(cells, [claim]) == (expected != "does not hold" and not unexplained)


def test_reasons_stand_below_the_table() -> None:
    selected = _selected(because=[BECAUSE])
    rows = [_row(n, protocol, v) for n, v in (("1", 20.0), ("2", 43.0), ("3", 60.0)) for protocol in ("mptcp",)]
    measured = index_rows(selected, rows)
    cells, claims = judge_cells(selected, measured), judge_claims(selected, measured)
    table = study_table(selected, cells, claims)
    assert any("same shape [1]" in row for row in table.rows), table.rows
    assert "[1] r e" in table.notes
    document = study_document(selected, cells, claims)
    assert [cell["because"] for cell in document["cells"]] == [None, "r", None]
    assert document["cells"][1]["difference_percent"] == pytest.approx(7.5)
