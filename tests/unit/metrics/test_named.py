# SPDX-License-Identifier: MIT
"""Names that users type for ``mptcplab compare``: none is dropped in silence, and names of tables are understood."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.comparisons import output, row_of, write

from mptcplab.errors import InputError
from mptcplab.metrics.named import OTHER_WORDS, metric_named, swept_key
from mptcplab.metrics.registry import METRICS
from mptcplab.stats import mean_interval

FAST = {1: 10.0, 2: 10.1, 3: 9.9}
SLOW = {1: 5.0, 2: 5.1, 3: 4.9}
KEY = "transport.path_manager"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results with two path managers, of a download and of web pages; only the pages have completion times."""
    rows = []
    for manager, values in (("kernel", FAST), ("userspace", SLOW)):
        times = tuple(1 / value for value in values.values())
        pages = row_of({KEY: manager}, values, workload="pages", run=f"{manager}-pages")
        metrics = {**pages.metrics, "completion_p95_s": mean_interval(times)}
        rows.append(
            replace(
                pages,
                metrics=metrics,
                samples={**pages.samples, "completion_p95_s": times},
                metric_seeds={"completion_p95_s": pages.seeds},
            )
        )
        rows.append(row_of({KEY: manager}, values, workload="download", run=f"{manager}-download"))
    return write(tmp_path / "results", rows)


@pytest.mark.parametrize(
    ("metric", "message", "hint"),
    [
        ("page:goodput", "there is no workload 'page'", "use one of pages, download"),
        ("page:nonsense", "there is no workload 'page'", "use one of pages, download"),
        ("download:completion_p95_s", "no row of the workload download has completion_p95_s", "have it: pages"),
        ("mos", "no row has mos", "there are goodput_mbps, duration_s, retransmitted_percent"),
        ("pages:completion_p9_s", "there is no metric 'completion_p9_s'", "did you mean `completion_p9"),
        ("download:troughput", "there is no metric 'troughput'", "did you mean `goodput_mbps`"),  # codespell:ignore
        ("fairness", "there is no metric 'fairness'", "results.json"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_an_unknown_name_is_refused_with_those_there_are(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    metric: str,
    message: str,
    hint: str,
    is_first: bool,
) -> None:
    """The family of tests would shrink in silence: beside a good metric, too, and for two folders."""
    words = ["--metric", metric, "--metric", "goodput"] if is_first else ["--metric", "goodput", "--metric", metric]
    for sides in ((folder, "--by", "path_manager"), (folder, folder)):
        status, out, err = output(capsys, monkeypatch, *sides, *words)
        assert (status, out, message in err, hint in err) == (2, "", True, True), err


@pytest.mark.parametrize("metric", ["completion p95", "completion_p95", "completion_p95_s", "pages:completion_p95_s"])
def test_names_of_tables_and_of_json_are_the_same(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, metric: str
) -> None:
    documents = [
        json.loads(output(capsys, monkeypatch, folder, "--by", by, "--metric", metric, "--json")[1])
        for by in (KEY, "path_manager")
    ]
    assert documents[0] == documents[1]
    (compared,) = documents[0]["comparisons"]
    assert (compared["metric"], [row["workload"] for row in compared["rows"]]) == ("completion_p95_s", ["pages"])


def test_a_second_folder_and_by_exclude_each_other(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = output(capsys, monkeypatch, folder, folder, "--by", "path_manager")
    assert (status, "a second folder and --by exclude each other" in err) == (2, True), err
    status, _, err = output(capsys, monkeypatch, folder)
    assert (status, "name a second folder, or a swept key with --by" in err) == (2, True), err
    assert f"hint: this folder has --by {KEY}" in err


def test_a_folder_without_a_sweep_needs_a_second(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = output(capsys, monkeypatch, write(tmp_path / "results", [row_of({}, FAST)]))
    assert (status, "hint: see `mptcplab compare --help`" in err) == (2, True), err


def test_a_name_of_several_is_refused() -> None:
    keys = ["links.link1.rate", "links.link2.rate", "transport.protocol"]
    assert swept_key("protocol", keys) == "transport.protocol"
    assert swept_key("link1.rate", keys) == "links.link1.rate"
    with pytest.raises(InputError, match="'rate' is the end of several swept keys"):
        swept_key("rate", keys)
    with pytest.raises(InputError, match="'captured' is the name of several metrics"):
        metric_named("captured", [])
    assert metric_named("captured", ["captured_bytes"]).name == "captured_bytes"
    assert metric_named("MOS", []).name == "mos"


@pytest.mark.parametrize(
    ("head", "name"),
    [("s", "duration_s"), ("retrans %", "retransmitted_percent"), ("completion p95 ms", "completion_p95_s")],
)
def test_the_head_of_a_column_is_a_name(head: str, name: str) -> None:
    """A table heads the duration with ``s`` alone, and has the other units of a quantity."""
    assert metric_named(head, ["goodput_mbps", name]).name == name


def test_words_of_other_tools_are_explained() -> None:
    with pytest.raises(InputError, match="there is no metric 'loss'") as caught:
        metric_named("loss", ["goodput_mbps", "lost_percent", "retransmitted_percent"])
    hint = str(caught.value.hint)
    assert hint.startswith("did you mean `lost_percent` (messages that did not arrive, of all sent)"), hint
    assert ", or `retransmitted_percent` (bytes that subflows retransmitted" in hint, hint
    with pytest.raises(InputError) as caught:
        metric_named("loss", ["goodput_mbps", "retransmitted_percent"])
    assert "lost_percent" not in str(caught.value.hint), "only what these results have"
    with pytest.raises(InputError, match="there is no metric 'troughput'") as caught:  # codespell:ignore troughput
        metric_named("troughput", ["goodput_mbps", "duration_s"])  # codespell:ignore troughput
    hint = str(caught.value.hint)
    assert hint.startswith("did you mean `goodput_mbps` ("), f"a misspelled word of other tools: {hint}"
    for words in OTHER_WORDS.values():
        assert set(words) <= set(METRICS)
    assert "](" not in hint, f"a terminal shows no links of Markdown: {hint}"


def test_a_name_without_a_percentile_leads_to_all() -> None:
    """The median, p95 and p99 are as near to what was typed."""
    there = ["goodput_mbps", "response_p50_ms", "response_p95_ms", "response_p99_ms"]
    with pytest.raises(InputError, match="there is no metric 'response_time'") as caught:
        metric_named("response_time", there)
    assert caught.value.hint == "did you mean `response_p50_ms` or `response_p95_ms` or `response_p99_ms`?"


@pytest.mark.parametrize("name", ["delay_ms", "duration_ms", "latency"])
def test_hints_name_metrics_that_the_results_have(name: str) -> None:
    there = ["goodput_mbps", "response_p50_ms", "response_p95_ms"]
    with pytest.raises(InputError) as caught:
        metric_named(name, there)
    named = re.findall(r"`(\w+_\w+)`", str(caught.value.hint))
    assert named or "these results have" in str(caught.value.hint), caught.value.hint
    assert set(named) <= {*there}, caught.value.hint


def test_a_head_with_a_unit_leads_to_the_head() -> None:
    """A table heads ``usable_after_failure_s`` with its noun."""
    with pytest.raises(InputError, match="there is no metric 'usable_s'") as caught:
        metric_named("usable_s", ["goodput_mbps", "outage_s", "usable_after_failure_s"])
    assert caught.value.hint == "did you mean `usable`?"


def test_a_part_of_a_name_leads_to_all_metrics_that_have_it() -> None:
    with pytest.raises(InputError, match="there is no metric 'p95'") as caught:
        metric_named("p95", ["goodput_mbps", "delay_p95_ms", "completion_p95_s"])
    assert caught.value.hint == "did you mean `delay_p95_ms` or `completion_p95_s`?"
