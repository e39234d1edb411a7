# SPDX-License-Identifier: MIT
"""Values of study tables: every figure and every share can be a cell, with its own unit; what is missing is said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import RunResult
from mptcplab.metrics.subflows import MptcpUse, Sockets, mptcp_counts
from mptcplab.scenario.load import load
from mptcplab.stats import mean_interval
from mptcplab.study.figures import study_figures
from mptcplab.study.library import SelectedTable, select
from mptcplab.study.measurement import Value, combine_values, fill, index_results, ratio
from mptcplab.study.output import study_document, study_table
from mptcplab.study.parts import KINDS, check_value, kind_of, link_of
from mptcplab.study.schema import Study
from mptcplab.study.verdict import JudgedTable, is_good, judge

COLUMNS: dict[str, Any] = {
    "goodput": {"title": "goodput", "value": "goodput_mbps"},
    "back": {"title": "back"},
    "first": {"title": "line 1", "value": "share:link1"},
    "second": {"title": "line 2", "value": "share:link2"},
}
PUBLISHED = {"tcp": {"back": 9.0, "goodput": 90.0}, "mptcp": {"back": 27.0}}
Run = tuple[str, int, float, Mapping[str, float], Mapping[str, float]]
#: Protocol, seed, goodput, figures, shares. MPTCP recovered in one of two runs.
RUNS: list[Run] = [
    ("tcp", 1, 90.0, {"recovery_after_restoration_s": 9.0, "gap_s": 39.0}, {"link1": 1.0}),
    ("tcp", 2, 90.0, {"recovery_after_restoration_s": 9.0, "gap_s": 39.0}, {"link1": 1.0}),
    ("mptcp", 1, 150.0, {"recovery_after_restoration_s": 27.0, "gap_s": 1.0}, {"link1": 0.25, "access2>link2": 0.75}),
    ("mptcp", 2, 140.0, {"gap_s": 1.0}, {"link1": 0.35, "access2>link2": 0.65}),
]


def _select(claims: list[dict[str, Any]] | None = None, **table: Any) -> SelectedTable:
    described: dict[str, Any] = {
        "title": "t",
        "scenario": "s.toml",
        "along": "transport.protocol",
        "along_label": "protocol",
        "columns": COLUMNS,
        "value": "recovery_after_restoration_s",
        "unit": "s",
        "place": "p",
        "tolerance": "5%",
        "why_tolerance": "w",
        "published": PUBLISHED,
    }
    described |= table
    head: dict[str, Any] = {"name": "made", "title": "t", "authors": "a", "year": 2020, "where": "w", "test_bed": "b"}
    study = Study.model_validate({**head, "tables": {"1": described}, "claims": claims or []})
    return SelectedTable(study, Path("made"), "1", study.tables["1"])


def _result(run: Run) -> RunResult:
    protocol, seed, mbps, figures, shares = run
    use = MptcpUse(connections=1, with_mptcp=0, fell_back=0)
    sockets = Sockets(use=use, shares=dict(shares), retransmitted_bytes=0, sent_bytes=1, congestion=())
    described = {"goodput_mbps": mbps, "duration_s": 1.0, **figures}
    measured = WorkloadMeasurement("bulk", mbps * 1e6, sockets, "", mptcp_counts([]), (), described)
    return RunResult((("transport.protocol", protocol),), seed, f"{protocol}{seed}", "k", (measured,))


def _judge(runs: list[Run] = RUNS, claims: list[dict[str, Any]] | None = None, **table: Any) -> JudgedTable:
    selected = _select(claims, **table)
    return judge(selected, index_results(selected, [_result(run) for run in runs]))


@pytest.mark.parametrize("value", [*METRICS, "jain", "jain_sent", "ratio", "share:link1", "min:gap_s"])
def test_what_may_be_a_value(value: str) -> None:
    """Each has the unit that its name ends with, and its title has no unit any more."""
    assert check_value(value) == value
    kind = kind_of(value)
    endings = {
        "_ns_s": "ns s",
        "_mibps": "Mibit/s",
        "_dbm": "dBm",
        "_mb": "MB",
        "_us": "us",
        "_mbps": "Mbit/s",
        "_ms": "ms",
        "_s": "s",
        "_percent": "%",
        "_bytes": "B",
    }
    wanted = next((unit for ending, unit in endings.items() if value.endswith(ending)), "")
    assert kind.unit == ("%" if value == "share:link1" else wanted)
    assert kind.axis
    assert not kind.unit or not kind.axis.endswith(f" {kind.unit}")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("min:", "needs a metric"),
        ("mean:jain", "needs a metric"),
        ("gap", "did you mean gap_s"),
        ("share", "share:LINK"),
        ("share:", "share:LINK"),
        ("gap_s:link1", "no value"),
    ],
)
def test_what_may_not(value: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        _select(value=value, unit="s")


@given(st.text(st.characters(exclude_characters=":"), min_size=1))
def test_the_link_of_a_share(link: str) -> None:
    assert link_of(check_value(f"share:{link}")) == link
    assert link_of(link) is None


def test_the_unit_is_that_of_the_value() -> None:
    with pytest.raises(ValidationError, match="unit of gap_s is 's', not 'ms'"):
        _select(value="gap_s", unit="ms")


def test_figures_and_shares_are_cells() -> None:
    measured = _judge().measured
    assert measured["tcp", "back"].interval.mean == 9.0
    assert measured["tcp", "first"].interval.mean == 100.0
    assert measured["tcp", "second"].interval.mean == 0.0
    assert measured["mptcp", "second"].by_seed == pytest.approx({1: 75.0, 2: 65.0})
    back = measured["mptcp", "back"]
    assert (back.interval.n, back.missing, back.by_seed) == (1, 1, {1: 27.0})


@given(st.dictionaries(st.sampled_from(["link1", "link2", "a>link1", "a>link2"]), st.floats(0.01, 1), min_size=1))
def test_shares_of_disjoint_lines_sum_to_all(parts: dict[str, float]) -> None:
    """Whatever the names of the paths are, as long as each has one of the lines."""
    total = sum(parts.values())
    shares = {name: part / total for name, part in parts.items()}
    measured = _judge([("tcp", 1, 1.0, {}, shares)]).measured
    assert sum(measured["tcp", name].interval.mean for name in ("first", "second")) == pytest.approx(100)


def test_no_share_of_a_run_without_payload() -> None:
    assert ("tcp", "first") not in _judge([("tcp", 1, 0.0, {}, {})]).measured


def test_every_value_has_its_unit() -> None:
    """Where it is not the one in the table's title; and every kind of value has a figure of its own."""
    judged = _judge()
    table = study_table(judged)
    assert table.title.endswith("(s)")
    assert [row[:4] for row in table.rows] == [
        ("tcp", "goodput", "90.00 Mbit/s", "90.00 (identical) Mbit/s"),
        ("tcp", "back", "9.00", "9.00 (identical)"),
        ("tcp", "line 1", "-", "100.0 (identical) %"),
        ("tcp", "line 2", "-", "0.00 (identical) %"),
        ("mptcp", "goodput", "-", "145.0 ± 63.53 Mbit/s"),
        ("mptcp", "back", "27.00", "27.00"),
        ("mptcp", "line 1", "-", "30.00 ± 63.53 %"),
        ("mptcp", "line 2", "-", "70.00 ± 63.53 %"),
    ]
    assert [row[9] for row in table.rows] == ["2"] * 5 + ["1 of 2", "2", "2"]
    figures = dict(study_figures(judged))
    assert {name: figure.y_label for name, figure in figures.items()} == {
        "": "goodput, Mbit/s",
        "-recovery_after_restoration_s": "recovery after the restoration, s",
        "-share": "share of the payload, %",
    }
    assert [series.name for series in figures["-share"].series] == ["line 1", "line 2"]
    units = {value["column"]: value["unit"] for value in study_document(judged)["measured"]}
    assert units == {"goodput": "Mbit/s", "back": "s", "first": "%", "second": "%"}
    assert (
        fill("{1: first @ mptcp} {1: back @ tcp}", judged.selected, judged.sources)
        == "30.0 ± 63.5 % 9.00 (identical) s"
    )


def test_shares_are_divided_by_shares_only() -> None:
    assert _select(note="{1: first / second @ mptcp}")
    with pytest.raises(ValidationError, match="different kinds"):
        _select(note="{1: first / back @ mptcp}")


def test_without_published_values() -> None:
    judged = _judge([*RUNS[:2], RUNS[3]], published={}, rows=["tcp", "mptcp"])
    table = study_table(judged)
    assert table.headings == ("protocol", "goodput (Mbit/s)", "back", "line 1 (%)", "line 2 (%)", "n")
    assert [row[2] for row in table.rows] == ["9.00 (identical)", "-"]


def test_a_published_value_that_was_not_measured() -> None:
    """A row that was run, and lacks a figure, needs a reason. A row that was not run is named below the table."""
    runs = [*RUNS[:2], RUNS[3]]
    alone = _judge(runs)
    assert [cell.verdict for cell in alone.cells] == ["agrees", "agrees", "not measured"]
    assert not is_good(alone.cells, alone.claims)
    assert study_table(alone).rows[5][:6] == ("mptcp", "back", "27.00", "-", "-", "not measured")
    cell = study_document(alone)["cells"][2]
    assert (cell["measured"], cell["difference_percent"], cell["verdict"]) == (None, None, "not measured")

    explained = _judge(runs, because=[{"columns": ["back"], "reason": "r", "evidence": "e"}])
    assert is_good(explained.cells, explained.claims)
    assert study_table(explained).rows[5][5] == "not measured [1]"
    assert "[1] Supposed: r e" in study_table(explained).notes

    only_tcp = _judge(RUNS[:2])
    assert is_good(only_tcp.cells, only_tcp.claims)
    assert only_tcp.cells[2].verdict == "not measured"
    table = study_table(only_tcp)
    assert [row[0] for row in table.rows] == ["tcp"] * 4
    assert "Published, and not measured here: mptcp." in table.notes


def test_what_some_runs_lack_is_not_certain() -> None:
    claims = [
        {"text": text, "table": "1", "of": of, "rows": ["mptcp"], "min": least, "why_bounds": "w"}
        for text, of, least in (("some", "back", 20.0), ("too little", "back", 30.0), ("all", "first", -50.0))
    ]
    judged = _judge(claims=claims)
    assert [claim.verdict for claim in judged.claims] == ["not certain", "not certain", "holds"], (
        "one run proves nothing"
    )
    said = [note for note in study_table(judged).notes if note.startswith("Claim")]
    assert "mptcp 27.00 (1 of 2))" in said[0]
    assert "mptcp 30.00 ± 63.53 %)" in said[2]


def test_what_no_run_has_is_not_certain() -> None:
    """TCP alone, which is well within the bound, does not make it hold for MPTCP, which did not recover."""
    claim = {"text": "c", "table": "1", "of": "back", "max": 30.0, "why_bounds": "w"}
    for runs, verdict in ((RUNS[:2], "holds"), ([*RUNS[:2], RUNS[3]], "not certain"), (RUNS[:3], "not certain")):
        (judged,) = _judge(runs, claims=[claim]).claims
        assert judged.verdict == verdict, judged.quantities


@pytest.mark.slow
@pytest.mark.parametrize("selected", select(None), ids=lambda selected: selected.name)
def test_shares_name_links(selected: SelectedTable) -> None:
    """A line that is not there would have a share of 0 in every run."""
    links = {name for point in load(selected.scenario).points for name in point.scenario.links}
    values = {selected.table.value_of(name) for name in selected.table.columns}
    assert {line for value in values if (line := link_of(value))} <= links


def test_kinds_are_of_figures() -> None:
    """No kind of a figure that is no more."""
    assert set(KINDS) == {*METRICS, "jain", "jain_sent", "ratio", "share"}


def test_a_column_may_follow_the_row() -> None:
    """Line 2 at 0 ms, or as line 1."""
    columns = {
        "one": {"title": "one line", "where": {"link2": "0 ms"}},
        "both": {"title": "both lines", "where": {"link2": "@row"}},
    }
    selected = _select(
        along="link1", columns=columns, published={}, rows=["2 ms", "8 ms"], value="goodput_mbps", unit="Mbit/s"
    )
    points = [("2 ms", "0 ms"), ("2 ms", "2 ms"), ("8 ms", "0 ms"), ("8 ms", "8 ms"), ("8 ms", "2 ms")]
    results = [
        replace(_result(("tcp", 1, mbps, {}, {})), settings=(("link1", first), ("link2", second)))
        for mbps, (first, second) in enumerate(points, start=1)
    ]
    means = {place: value.interval.mean for place, value in index_results(selected, results).items()}
    assert means == {("2 ms", "one"): 1, ("2 ms", "both"): 2, ("8 ms", "one"): 3, ("8 ms", "both"): 4}


def test_fairness_at_the_senders() -> None:
    """Jain's index of what they sent, not of what arrived; none of a run in which one sender's value is not known."""
    columns = {name: {"title": name, "value": name} for name in ("jain", "jain_sent")}
    selected = _select(columns=columns, value="jain", unit="", published={"tcp": {"jain": 1.0}})
    both = [_result(("tcp", seed, 10.0, {"sent_mbps": sent}, {})).measured[0] for seed, sent in ((1, 30.0), (2, 10.0))]
    sent = RunResult((("transport.protocol", "tcp"),), 1, "i", "k", tuple(both), jain=1.0)
    unknown = replace(sent, seed=2, measured=(both[0], replace(both[1], metrics={})))
    alone = replace(sent, seed=3, jain=None)
    measured = index_results(selected, [sent, unknown, alone])
    assert measured["tcp", "jain_sent"].by_seed == pytest.approx({1: (30 + 10) ** 2 / (2 * (30**2 + 10**2))})
    assert measured["tcp", "jain"].by_seed == {1: 1.0, 2: 1.0}


def test_extremes_over_runs_and_a_tenth_of_a_file() -> None:
    """Of 150 and 140: the larger and the smaller one, each a single value; ten times their mean with its interval."""
    columns = {
        "back": {"title": "back"},
        "max": {"title": "max", "value": "goodput_mbps", "of_runs": "max"},
        "min": {"title": "min", "value": "goodput_mbps", "of_runs": "min", "times": 2},
        "plain": {"title": "mean", "value": "goodput_mbps"},
        "ten": {"title": "ten times", "value": "goodput_mbps", "times": 10},
    }
    published = {"mptcp": {"max": 150.0, "ten": 1450.0}}
    judged = _judge(columns=columns, published=published)
    values = {column: value.interval for (row, column), value in judged.measured.items() if row == "mptcp"}
    assert (values["max"].mean, values["max"].half_width, values["max"].n) == (150.0, None, 1)
    assert (values["min"].mean, values["min"].half_width) == (280.0, None)
    plain, ten = values["plain"], values["ten"]
    assert plain.half_width is not None
    assert ten.mean == pytest.approx(1450.0)
    assert ten.half_width == pytest.approx(10 * plain.half_width)
    assert ten.n == 2
    verdicts = {cell.column: cell.verdict for cell in judged.cells}
    assert verdicts == dict.fromkeys(("max", "ten"), "too uncertain, mean inside")


@pytest.mark.parametrize("changed", [{"of_runs": "max"}, {"times": 10}])
def test_what_no_metric_has(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="of_runs and times are for metrics, which share:link1 is not"):
        _select(columns={**COLUMNS, "first": {"title": "line 1", "value": "share:link1", **changed}})


def test_values_over_several_workloads_of_a_run() -> None:
    """The smallest, largest and mean goodput of a run's workloads, or of some by a pattern, seed by seed."""
    columns: dict[str, Any] = {
        "lone": {"title": "lone", "where": {"workload": "down1"}, "value": "goodput_mbps"},
        "least": {"title": "least", "value": "min:goodput_mbps"},
        "most": {"title": "most", "where": {"workload": "down[2-9]"}, "value": "max:goodput_mbps"},
        "others": {"title": "others", "where": {"workload": "down[2-9]"}, "value": "mean:goodput_mbps"},
        "gap": {"title": "gap", "value": "max:gap_s"},
        "times": {"title": "times", "ratio": ["lone", "others"]},
    }
    selected = _select(columns=columns, published={}, rows=["tcp"], value="goodput_mbps", unit="Mbit/s")

    def run(seed: int, *rates: float) -> RunResult:
        gaps: list[dict[str, float]] = [{"gap_s": rate} if rate < 6 else {} for rate in rates]
        alone = [_result(("tcp", seed, rate, gap, {})).measured[0] for rate, gap in zip(rates, gaps, strict=True)]
        named = tuple(replace(measurement, workload=f"down{n}") for n, measurement in enumerate(alone, start=1))
        return RunResult((("transport.protocol", "tcp"),), seed, f"i{seed}", "k", named)

    values = index_results(selected, [run(1, 6.0, 1.0, 2.0), run(2, 5.0, 1.0, 3.0)])
    by_seed = {column: dict(values["tcp", column].by_seed) for column in columns}
    assert by_seed == {
        "lone": {1: 6.0, 2: 5.0},
        "least": {1: 1.0, 2: 1.0},
        "most": {1: 2.0, 2: 3.0},
        "others": {1: 1.5, 2: 2.0},
        "gap": {2: 5.0},
        "times": {1: 4.0, 2: 2.5},
    }
    assert values["tcp", "gap"].missing == 1, "one workload of the first run has no gap"
    names = {figure.y_label for _, figure in study_figures(judge(selected, values))}
    assert names == {"goodput, Mbit/s", "longest gap without data, s", "ratio"}, (
        "all three are in the figure of goodput"
    )


@pytest.mark.parametrize(
    ("seeds", "n"),
    [
        # Exactly half in each pair: the noise that both share, a factor of three, does not widen the interval.
        ((1, 2, 3), 3),
        ((2, 3, 4, 5), 2),
        # One pair has no interval, so all runs count, by their means.
        ((3, 4, 5), 1),
        ((4, 5, 6), 1),
    ],
)
def test_a_ratio_is_formed_of_the_seeds_that_both_have(seeds: tuple[int, ...], n: int) -> None:
    of, to = _value({seed: 10.0 * seed for seed in (1, 2, 3)}), _value({seed: 20.0 * seed for seed in seeds})
    quotient = combine_values(of, [to], ratio)
    assert quotient is not None
    interval = quotient.interval
    assert interval.n == n
    if n > 1:
        assert (interval.mean, interval.half_width) == (0.5, 0)
    else:
        assert (interval.mean, interval.half_width) == (20 / to.interval.mean, None)


def test_zero_to_zero_is_no_ratio() -> None:
    """Two flows that carried nothing are not infinitely far apart; one beside nothing is."""
    assert ratio(0.0, [0.0, 0.0]) is None
    assert ratio(1.0, [0.0]) == math.inf
    assert ratio(0.0, [2.0, 2.0]) == 0
    zeros = _value({1: 0.0, 2: 0.0})
    assert combine_values(zeros, [zeros], ratio) is None
    assert combine_values(_value({1: 0.0}), [_value({2: 0.0})], ratio) is None, "of means, as no seed is shared"
    some = combine_values(_value({1: 0.0, 2: 4.0, 3: 6.0}), [_value({1: 0.0, 2: 2.0, 3: 3.0})], ratio)
    assert some is not None
    assert (some.by_seed, some.interval.n, some.missing) == ({2: 2.0, 3: 2.0}, 2, 1)


def test_a_table_says_why_a_ratio_has_no_value() -> None:
    columns = {
        "gap": {"title": "gap", "value": "gap_s"},
        "back": {"title": "back"},
        "times": {"title": "times", "ratio": ["gap", "back"]},
    }
    claim = {"text": "c", "table": "1", "of": "gap", "to": ["back"], "max": 1.0, "each": True, "why_bounds": "w"}
    still: list[Run] = [
        (protocol, seed, 90.0, {"recovery_after_restoration_s": back, "gap_s": back}, {"link1": 1.0})
        for protocol, back in (("tcp", 0.0), ("mptcp", 2.0))
        for seed in (1, 2)
    ]
    judged = _judge(still, [claim], columns=columns, published={}, rows=["tcp", "mptcp"])
    assert ("tcp", "times") not in judged.measured
    assert judged.measured["mptcp", "times"].interval.mean == 1
    note = "No value, since both parts of the ratio are 0: times at tcp."
    assert note in study_table(judged).notes
    assert note not in study_table(_judge(still[2:], columns=columns, published={}, rows=["tcp", "mptcp"])).notes
    (verdict,) = judged.claims
    assert (verdict.verdict, [quantity.row for quantity in verdict.quantities]) == ("not certain", ["mptcp"])


def _value(by_seed: dict[int, float]) -> Value:
    return Value(mean_interval(list(by_seed.values())), by_seed)
