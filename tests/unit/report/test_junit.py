# SPDX-License-Identifier: MIT
"""JUnit XML of runs and selftests: what services for continuous integration read of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.results_folders import make_results

from mptcplab.campaign.lab import CompletedRun
from mptcplab.errors import LabError
from mptcplab.report.junit import Case, Suite, experiment_suite, to_junit, write_junit
from mptcplab.results import open_results
from mptcplab.scenario.load import load
from mptcplab.selftest.session import to_suite
from mptcplab.selftest.suite import PartOutcome, SuitePart
from mptcplab.selftest.tap import Result

ROOT = Path(__file__).resolve().parents[3]


def test_verdicts_are_counted_where_readers_look() -> None:
    cases = (
        Case("good", seconds=1.25),
        Case("bad", "failure", "too slow", "see the log"),
        Case("broken", "error", "no lab"),
        Case("left out", "skipped", "no IPv6"),
    )
    text = to_junit("mptcplab", [Suite("first", cases, 3.0), Suite("second", (Case("good"),))])
    root = ElementTree.fromstring(text)
    counts = {"tests": "5", "failures": "1", "errors": "1", "skipped": "1"}
    assert (root.tag, root.attrib) == ("testsuites", {"name": "mptcplab", **counts})
    first, second = root
    assert first.attrib == {"name": "first", **counts, "tests": "4", "time": "3.000"}
    assert second.attrib["tests"] == "1"
    assert "time" not in second.attrib, "an unknown duration is not 0"
    good, bad, broken, skipped = first
    assert good.attrib == {"classname": "mptcplab.first", "name": "good", "time": "1.250"}
    assert not list(good)
    (failure,) = bad
    assert (failure.tag, failure.attrib["message"], failure.text) == ("failure", "too slow", "see the log")
    assert [element[0].tag for element in (broken, skipped)] == ["error", "skipped"]


@given(st.text())
def test_any_output_of_a_program_is_valid_xml(text: str) -> None:
    root = ElementTree.fromstring(to_junit("mptcplab", [Suite(text, (Case(text, "failure", text, text),))]))
    assert root[0][0][0].tag == "failure"


def test_characters_that_xml_cannot_have_are_replaced() -> None:
    root = ElementTree.fromstring(to_junit("m", [Suite("s", (Case("\x1b[31mred\x00"),))]))
    assert root[0][0].attrib["name"] == "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}"


def test_runs_are_tests_of_their_experiment(tmp_path: Path) -> None:
    experiment = load(ROOT / "examples" / "two-paths.toml", repeats=1)
    first, second = experiment.runs
    done = [CompletedRun(first, wall_seconds=2.0), CompletedRun(second, error=LabError("it stalled", hint="look"))]
    file = tmp_path / "new" / "tests.xml"
    write_junit(file, "mptcplab", [experiment_suite(experiment.title, done)])
    (suite,) = ElementTree.parse(file).getroot()
    assert suite.attrib["name"] == experiment.title
    assert [case.attrib["name"] for case in suite] == [first.label, second.label]
    assert [len(case) for case in suite] == [0, 1]
    assert suite[1][0].attrib["message"] == "it stalled"


def test_a_test_has_the_warnings_and_reasons_of_its_rows(tmp_path: Path) -> None:
    experiment = make_results(tmp_path / "made", keep=lambda run: run.seed == 1)
    rows = open_results(tmp_path / "made").rows
    warned = replace(rows[0], warnings=("it fell\x00 back", "it stalled"))
    done = [CompletedRun(run) for run in experiment.runs if run.seed == 1]
    suite = experiment_suite(experiment.title, done, [warned, *(replace(row, warnings=()) for row in rows[1:])])
    first, *others = ElementTree.fromstring(to_junit("mptcplab", [suite]))[0]
    text = "bulk: Warning: it fell\N{REPLACEMENT CHARACTER} back.\nbulk: Warning: it stalled."
    assert (first.findtext("system-out") or "").startswith(text)
    assert not any("Warning" in (case.findtext("system-out") or "") for case in others)


def test_selftests_are_grouped_by_their_labs() -> None:
    results = (
        Result("one", "ok"),
        Result("two", "not ok", "expected 1"),
        Result("three", "skip", "no tool"),
        Result("four", "flaky", "late"),
    )
    outcome = PartOutcome(SuitePart("mptcp_join", "add_tests", "a"), results, 1, 2 * 10**9)
    suite = to_suite(outcome)
    assert (suite.name, suite.seconds) == ("mptcp_join/add_tests", 2.0)
    assert [case.verdict for case in suite.cases] == ["passed", "failure", "skipped", "skipped"]
    assert [case.message for case in suite.cases] == ["", "expected 1", "no tool", "known as flaky: late"]
    broken = to_suite(replace(outcome, results=(), error="the lab stalled"))
    assert [(case.name, case.verdict) for case in broken.cases] == [("the lab", "error")]
