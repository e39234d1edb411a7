# SPDX-License-Identifier: MIT
"""What `mptcplab run --require` accepts, and which rows of results it finds wanting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from mptcplab.errors import InputError
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.metrics.rows import RunResult, rows_of
from mptcplab.metrics.subflows import MptcpCounts, MptcpUse, Sockets
from mptcplab.report.junit import to_junit
from mptcplab.report.requirements import (
    Bound,
    MptcpUsed,
    RequirementVerdict,
    check_requirements,
    parse_requirement,
    requirements_suite,
)
from mptcplab.workload.outputs import Failure, Failures

FELL_BACK = "1 of 1 connections fell back to TCP"


def _run(
    mbps: float,
    seed: int = 1,
    *,
    faults: tuple[str, ...] | None = (),
    protocol: str = "mptcp",
    workload: str = "bulk",
    outage: float | None = None,
    never: bool = False,
) -> RunResult:
    sockets = Sockets(MptcpUse(1, 1, 0, 2, {2: 1}), {}, None, None, ())
    metrics = {"goodput_mbps": mbps, "duration_s": 1.0} | ({} if outage is None else {"outage_s": outage})
    measured = WorkloadMeasurement(
        workload,
        mbps * 1e6,
        sockets,
        "",
        MptcpCounts(0, 0, 0),
        (),
        metrics,
        never=("outage_s",) if never else (),
        mptcp_faults=faults,
    )
    return RunResult((("transport.protocol", protocol),), seed, f"{protocol}{seed}{workload}", "k", (measured,))


def _verdicts(text: str, runs: Sequence[RunResult]) -> list[RequirementVerdict]:
    return check_requirements([parse_requirement(text, ["bulk", "call"])], rows_of(runs), runs)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("goodput_mbps >= 20", Bound("goodput_mbps", ">=", 20)),
        ("goodput_mbps>=2e1", Bound("goodput_mbps", ">=", 20)),
        (" call:mos  > 4.1 ", Bound("mos", ">", 4.1, "call")),
        ("outage_s<.5", Bound("outage_s", "<", 0.5)),
    ],
)
def test_bounds_are_read_with_and_without_blanks(text: str, bound: Bound) -> None:
    assert parse_requirement(text, ["bulk", "call"]) == bound
    assert parse_requirement(bound.text, ["bulk", "call"]) == bound


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("goodput >= 20", "there is no metric 'goodput'", "`goodput_mbps`"),
        ("throughput >= 20", "there is no metric 'throughput'", "`goodput_mbps`"),
        ("goodput_mbs >= 20", "there is no metric 'goodput_mbs'", "`goodput_mbps`"),
        ("xyzzy >= 20", "there is no metric 'xyzzy'", "results.json"),
        ("share_percent >= 20", "for each path", "workload"),
        ("failed_connections <= 0", "only in runs in which a connection failed", "--require connections"),
        ("web:goodput_mbps >= 20", "there is no workload 'web'", "bulk, call"),
        ("goodput_mbps >= 20 Mbit/s", "is not a requirement", "goodput_mbps >= 20"),
        ("goodput_mbps = 20", "is not a requirement", ">="),
        ("tcp", "is not a requirement", "mptcp"),
        ("", "is not a requirement", "mptcp"),
    ],
)
def test_other_texts_are_refused_with_a_hint(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_requirement(text, ["bulk", "call"])
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("goodput_mbps >= 20", True),
        ("goodput_mbps > 20", False),
        ("goodput_mbps <= 20", True),
        ("goodput_mbps < 20", False),
    ],
)
def test_a_bound_is_about_the_mean_of_each_row(text: str, is_met: bool) -> None:
    runs = [_run(10), _run(30, 2), _run(20, protocol="tcp")]
    verdicts = _verdicts(text, runs)
    assert [(verdict.place, not verdict.fault) for verdict in verdicts] == [
        ("protocol mptcp, bulk", is_met),
        ("protocol tcp, bulk", is_met),
    ]


def test_the_sentence_names_row_and_value() -> None:
    (verdict,) = _verdicts("goodput_mbps >= 20.5", [_run(10), _run(30, 2)])
    assert verdict.sentence == (
        "goodput_mbps >= 20.5 is violated by protocol mptcp, bulk: goodput_mbps is 20, the mean of 2 runs"
    )


def test_a_bound_is_only_about_its_workload() -> None:
    runs = [_run(10), _run(30, workload="call")]
    (verdict,) = _verdicts("call:goodput_mbps >= 20", runs)
    assert (verdict.place, verdict.fault) == ("protocol mptcp, call", "")


def test_a_metric_that_no_row_has_is_not_met() -> None:
    (verdict,) = _verdicts("mos > 0", [_run(10)])
    assert verdict.sentence.startswith("mos > 0 is violated: no row has it; there are goodput_mbps, ")


def test_what_never_happened_is_longer_than_any_bound() -> None:
    """The mean is of the runs that have the metric, so it says nothing about the others."""
    (verdict,) = _verdicts("outage_s < 5", [_run(10, outage=1.0), _run(10, 7, never=True)])
    assert verdict.fault == "outage_s has no value in 1 of 2 runs (seed 7)"


def test_mptcp_is_not_met_by_a_fallback_in_any_seed() -> None:
    runs = [_run(10), _run(10, 2, faults=(FELL_BACK,)), _run(10, 3, faults=(FELL_BACK,)), _run(9, protocol="other")]
    bad, good = _verdicts("mptcp", runs)
    assert bad.sentence == f"mptcp is violated by protocol mptcp, bulk: {FELL_BACK} (seeds 2, 3)"
    assert (good.place, good.fault) == ("protocol other, bulk", "")


def test_mptcp_is_not_about_workloads_that_asked_for_tcp() -> None:
    (verdict,) = _verdicts("mptcp", [_run(10, faults=None, protocol="tcp"), _run(10)])
    assert (verdict.place, verdict.fault) == ("protocol mptcp, bulk", "")
    (verdict,) = _verdicts("mptcp", [_run(10, faults=None, protocol="tcp")])
    assert verdict.sentence == "mptcp is violated: no workload asked for MPTCP"


def test_connections_are_not_met_by_a_failed_one_in_any_seed() -> None:
    reset = Failure("reset", 12, 3, was_established=True, errno="EPIPE")
    good, bad = _run(10, seed=1), _run(20, seed=2)
    (measured,) = bad.measured
    bad = replace(bad, measured=(replace(measured, failures=Failures(4, (reset,))),))
    assert [verdict.fault for verdict in _verdicts("connections", [good])] == [""]
    (verdict,) = _verdicts("connections", [good, bad])
    assert verdict.fault == "failed connections: 1 of 4 in 1 of 2 runs: reset (EPIPE) after 3 s"


def test_requirements_are_tests_of_their_own_suite() -> None:
    runs = [_run(10), _run(30, protocol="other")]
    verdicts = check_requirements([MptcpUsed(), Bound("goodput_mbps", ">=", 20)], rows_of(runs), runs)
    (suite,) = ElementTree.fromstring(to_junit("mptcplab", [requirements_suite("Two", verdicts)]))
    assert suite.attrib == {
        "name": "Two: requirements",
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    assert [case.attrib["name"] for case in suite if case.findall("failure")] == [
        "goodput_mbps >= 20 (protocol mptcp, bulk)"
    ]
