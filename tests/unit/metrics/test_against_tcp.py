# SPDX-License-Identifier: MIT
"""Aggregation benefit over TCP: which runs of TCP an MPTCP run is compared with, and which are not enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.unit.command_output import output_of
from tests.unit.manifests import recording_with
from tests.unit.results_folders import make_results

from mptcplab.errors import InputError
from mptcplab.figure import FigureChoice, build_figure
from mptcplab.metrics.against_tcp import LABEL, hash_conditions
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow, RunResult, rows_of
from mptcplab.metrics.subflows import MptcpCounts, MptcpUse, Sockets
from mptcplab.results import Results, open_results
from mptcplab.scenario.record import Repeats
from mptcplab.scenario.sweep import name_of_axis

OVER_TCP = "aggregation_benefit_over_tcp"
BOTH = ("fast", "slow")


def _run(
    mbps: float,
    *paths: str,
    seed: int = 1,
    bulk: bool = True,
    fell_back: int = 0,
    others: dict[str, str] | None = None,
) -> RunResult:
    """A run of TCP if it took one path, else of MPTCP."""
    is_mptcp = len(paths) > 1
    use = MptcpUse(1, int(is_mptcp), fell_back, len(paths), {len(paths): 1})
    sockets = Sockets(use, dict.fromkeys(paths, 1 / len(paths)), None, None, ())
    metrics = {"goodput_mbps": mbps, "duration_s": 1.0}
    measured = WorkloadMeasurement("bulk", mbps * 1e6, sockets, "", MptcpCounts(0, 0, 0), (), metrics, bulk)
    point = {"transport.protocol": "mptcp" if is_mptcp else "tcp", "workloads.bulk.via": paths[0], **(others or {})}
    return RunResult(tuple(point.items()), seed, f"{point}{seed}", "k", (measured,))


def _benefits(*runs: RunResult) -> dict[int, float]:
    """Of the last run's row, by seed."""
    row = _row(*runs)
    return dict(zip(row.seeds_of(OVER_TCP), row.samples.get(OVER_TCP, ()), strict=True))


def _row(*runs: RunResult) -> ResultRow:
    return next(row for row in rows_of(runs) if row.settings == dict(runs[-1].settings))


@pytest.mark.parametrize(("goodput", "benefit"), [(40, 1), (45, 1.5), (35, 0.5), (30, 0), (15, -0.5)])
def test_it_is_the_papers_with_goodputs_of_tcp(goodput: float, benefit: float) -> None:
    tcp = _run(30, "fast"), _run(10, "slow")
    assert _benefits(*tcp, _run(goodput, *BOTH)) == {1: benefit}


def test_each_seed_is_compared_with_its_own() -> None:
    tcp = [_run(mbps, path, seed=seed) for path, mbps, seed in (("fast", 30, 1), ("slow", 10, 1), ("fast", 20, 2))]
    later = _run(20, "slow", seed=2)
    row = _row(*tcp, later, _run(40, *BOTH, seed=2), _run(45, *BOTH, seed=3), _run(35, *BOTH))
    assert (row.samples[OVER_TCP], row.seeds_of(OVER_TCP)) == ((1.0, 0.5), (2, 1)), "no run of TCP has seed 3"
    assert row.to_json()["metrics"][OVER_TCP]["mean"] == 0.75


def test_every_path_needs_a_run_of_tcp() -> None:
    assert _benefits(_run(30, "fast"), _run(40, *BOTH)) == {}
    assert _benefits(_run(30, "fast"), _run(5, "third"), _run(40, *BOTH)) == {}


@pytest.mark.parametrize("other", [{"links.link1.rate": "9 Mbit/s"}, {"transport.congestion_control": "reno"}])
def test_other_points_do_not_count(other: dict[str, str]) -> None:
    same = dict.fromkeys(other, "x")
    tcp = _run(30, "fast", others=same), _run(10, "slow", others=same)
    assert _benefits(*tcp, _run(40, *BOTH, others=other)) == {}
    assert _benefits(*tcp, _run(40, *BOTH, others=same)) == {1: 1}


def test_tcp_has_no_scheduler() -> None:
    """So one run of it is beside every scheduler, and several are one."""
    key = "transport.scheduler"
    tcp = [_run(mbps, path, others={key: name}) for path, name, mbps in (("fast", "a", 29), ("fast", "b", 31))]
    slow = _run(10, "slow", others={key: "a"})
    assert _benefits(*tcp, slow, _run(40, *BOTH, others={key: "c"})) == {1: 1}


def test_neither_fallbacks_nor_streams_are_compared() -> None:
    tcp = _run(30, "fast"), _run(10, "slow")
    assert _benefits(tcp[0], _run(10, "slow", fell_back=1), _run(40, *BOTH)) == {}
    assert _benefits(*tcp, _run(40, *BOTH, bulk=False)) == {}
    assert OVER_TCP not in _row(*tcp).metrics


def test_it_does_not_say_when_a_point_has_enough_runs() -> None:
    """The runs of TCP are other points, whose number of runs must not matter to this one."""
    assert Repeats.model_validate({"until": "5 %", "of": "aggregation_benefit_of_capacity"}).metric
    with pytest.raises(ValidationError):
        Repeats.model_validate({"until": "5 %", "of": OVER_TCP})


def test_the_two_benefits_have_two_names() -> None:
    metrics = [metric for name, metric in METRICS.items() if "benefit" in name]
    assert [metric.noun for metric in metrics] == ["aggregation benefit over TCP", "aggregation benefit of capacity"]
    assert "aggregation_benefit" not in METRICS


_EACH_PATH = """
title = "Each path"
repeats = 2
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
[[sweep.zip]]
"transport.protocol" = ["tcp", "tcp", "mptcp"]
"workloads.bulk.via" = ["link1", "link2", "link1"]
"""
_NAMED = f'{_EACH_PATH}name = ["path 1", "path 2", "both"]\n'


def _results(folder: Path, text: str) -> Results:
    make_results(folder, text)
    return open_results(folder)


def _settings_with_benefit(results: Results) -> list[dict[str, str]]:
    return [row.settings for row in results.rows if OVER_TCP in row.metrics]


@pytest.mark.slow
def test_the_name_of_a_zip_is_no_other_setting(tmp_path: Path) -> None:
    """It stood for protocol and path, so that no run of TCP seemed to have the same settings."""
    named, bare = _results(tmp_path / "named", _NAMED), _results(tmp_path / "bare", _EACH_PATH)
    assert _settings_with_benefit(named) == [{"name": "both"}]
    assert named.rows[-1].samples[OVER_TCP] == bare.rows[-1].samples[OVER_TCP]


@pytest.mark.slow
def test_a_name_that_stands_for_other_keys_is_another_setting(tmp_path: Path) -> None:
    """What a label hides counts: TCP with a queue of another length is not compared."""
    queues = '"links.link1.queue" = ["10 ms", "20 ms", "20 ms"]\n'
    assert _settings_with_benefit(_results(tmp_path / "other", _NAMED + queues)) == []
    second = '[[sweep.zip]]\nname = ["near", "far"]\n"links.link2.delay" = ["5 ms", "50 ms"]\n'
    both = [{"name": "both", "name2": name} for name in ("near", "far")]
    assert _settings_with_benefit(_results(tmp_path / "second", _NAMED + second)) == both


def test_names_of_zips_are_those_that_sweeps_give() -> None:
    assert all(LABEL.fullmatch(name_of_axis(number)) for number in (1, 2, 10))


def test_conditions_are_all_but_what_tcp_may_have_of_its_own() -> None:
    def conditions(protocol: str = "tcp", rate: int = 1, release: str = "7", **tables: object) -> str:
        client = {"transport": {"protocol": protocol, "scheduler": protocol, "weights": {"link1": rate}}}
        scenario = {"hosts": {"client": client}, "events": [{"at": 1, "protocol": protocol}], **tables}
        return hash_conditions(recording_with({"facts": {"kernel": {"release": release}}, "scenario": scenario}))

    assert conditions() == conditions("mptcp", 2)
    assert conditions() != conditions(release="8")
    assert conditions(links={"via": {"rate": 1}}) != conditions(links={"via": {"rate": 2}}), "a link of this name"
    assert hash_conditions(recording_with({})) == "", "a manifest without a scenario says nothing"


def test_a_figure_of_chosen_points_has_what_follows_from_others(tmp_path: Path) -> None:
    """The choice removed the runs of TCP, and the error said that other points had the metric."""
    results = _results(tmp_path / "r", _NAMED)
    assert build_figure(results, FigureChoice(metric=OVER_TCP, points=(("name", "both"),), kind="bars")).kind == "bars"
    with pytest.raises(InputError, match="no run of these points has the metric") as refused:
        build_figure(results, FigureChoice(metric=OVER_TCP, points=(("name", "path 1"),), kind="bars"))
    assert str(refused.value.hint).startswith("others have it")


def test_without_runs_of_tcp_the_error_says_what_it_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "r"
    results = _results(folder, _EACH_PATH.replace('["tcp", "tcp", "mptcp"]', '["tcp", "mptcp", "mptcp"]'))
    needs = "it needs runs of TCP over each path that MPTCP used, with the same seed and the same other settings"
    with pytest.raises(InputError, match="no run has the metric") as refused:
        build_figure(results, FigureChoice(metric=OVER_TCP, kind="bars"))
    assert str(refused.value.hint).startswith(needs)
    output = output_of(monkeypatch, capsys, "compare", folder, folder, "--metric", OVER_TCP)
    assert needs in " ".join(output.err.split()), output
