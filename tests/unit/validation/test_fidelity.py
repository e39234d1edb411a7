# SPDX-License-Identifier: MIT
"""The comparison of engines (validation/fidelity): short forms, and what its tables say of a difference."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from validation.fidelity import __main__ as command
from validation.fidelity import forms, gather, sides, wire
from validation.fidelity.earlier_results import Present
from validation.fidelity.place import place
from validation.fidelity.store import COMMON, ComparedSide, read_measurements
from validation.fidelity.totals import TOGETHER, totals

from mptcplab.capture.packet import Packet, SocketAddress, VantagePoint
from mptcplab.scenario.load import Run, SweepPoint, load

_HEAD = """
title = "made"
topology = { preset = "disjoint-paths" }
links.link1.rate = "10 Mbit/s"
links.link1.delay = "10 ms"
links.link2 = { rate = "10 Mbit/s", delay = "10 ms" }
"""
FLOW = """
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "60 s"
"""


def _point(folder: Path, text: str) -> SweepPoint:
    file = folder / "made.toml"
    file.write_text(_HEAD + text)
    return load(file).points[-1]


def test_every_scenario_has_a_name() -> None:
    files = forms.files()
    assert len(files) > 130, "the examples and the scenarios of four studies"
    assert "ssh/two-cables" in files
    assert "ssh/inventory" not in files, "it is not a scenario"
    assert {"two-paths", "gateways/bonding", "subramani2018/table-4.1"} <= set(files)
    assert not any(name.endswith("study") for name in files)


def test_a_form_has_no_scheduler_of_the_lab(tmp_path: Path) -> None:
    text = 'transport.scheduler = "minrtt"\nhosts.server.transport.scheduler = "blest"\n'
    short, words = forms.comparable(_point(tmp_path, text + FLOW).scenario)
    assert all(transport.scheduler is None for transport in short.transports.values())
    assert words[:2] == ["scheduler `default` in place of `minrtt`", "scheduler `default` in place of `blest`"]


def test_what_old_kernels_lack_is_left_out_and_what_is_of_the_lab_refused(tmp_path: Path) -> None:
    new, lab = "net.mptcp.syn_retrans_before_tcp_fallback", "net.mptcp.coupled_hystart"
    text = f'transport.sysctl = {{ "{new}" = 4, "{lab}" = 0, "net.mptcp.checksum_enabled" = 1 }}\n'
    point = _point(tmp_path, text + FLOW)
    short, words = forms.comparable(point.scenario)
    assert short.transports["client"].sysctl == {lab: 0, "net.mptcp.checksum_enabled": 1}
    assert words[0] == f"without `{new}`"
    assert forms.refusal(point, "stock") == f"only the lab kernel has the setting {lab}"


def test_a_duration_is_cut_to_the_budget_after_the_last_event(tmp_path: Path) -> None:
    """At 20 Mbit/s the budget of 20 MB lasts 8 s, or somewhat longer for what is payload of them."""
    down = '[[events]]\nat = "15 s"\ntype = "down"\nlink = "link1"\n'
    plain, failing = (forms.comparable(_point(tmp_path, FLOW + more).scenario)[0] for more in ("", down))
    seconds = [scenario.workloads["bulk"].duration.seconds for scenario in (plain, failing)]  # type: ignore[attr-defined]
    assert seconds[0] in (8, 9)
    assert seconds[1] == seconds[0] + 15


def test_points_that_differ_in_the_scheduler_alone_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "refusal", lambda *_: "")
    sweep = '[sweep]\n"transport.scheduler" = ["default", "minrtt"]\n"transport.protocol" = ["tcp", "mptcp"]\n'
    _point(tmp_path, FLOW + sweep)
    form = forms.form_of("made", tmp_path / "made.toml", "stock")
    assert [point.settings for point in form.points] == [{"transport.protocol": "mptcp"}]


def test_a_scenario_that_no_point_of_can_run_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "refusal", lambda *_: "the kernel lacks it")
    _point(tmp_path, FLOW)
    form = forms.form_of("made", tmp_path / "made.toml", "stock")
    assert (form.points, form.refused) == ((), "the kernel lacks it")


def test_offload_is_refused_where_packets_are_lost(tmp_path: Path) -> None:
    changed = sides.with_offload(_point(tmp_path, FLOW).scenario)
    assert str(changed.links["link1"].forward.model_dump()["offload"]) == "64 kB"
    with pytest.raises(ValueError, match="loss"):
        sides.with_offload(_point(tmp_path, 'links.link1.loss = "1 %"\n' + FLOW).scenario)


def test_buckets_are_enlarged_where_they_are_the_default(tmp_path: Path) -> None:
    links = sides.with_buckets(_point(tmp_path, 'links.link1.forward.burst = "4 kB"\n' + FLOW).scenario).links
    assert [str(link.burst) for link in (links["link1"].forward, links["link2"].forward)] == ["4 kB", "15 kB"]
    assert links["access1"].forward.burst is None, "it has no rate"


def test_a_files_time_is_divided_by_what_is_on_the_wire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program ends after 100 ms; its SYN leaves at 30, the first megabyte is sent at 50, the last data at 90."""
    client, server = SocketAddress("10.0.0.1", 1), SocketAddress("10.0.0.2", 2)

    def packet(time_ms: int, flags: int, length: int) -> Packet:
        return Packet(time_ms * 10**6, client, server, 0, 0, flags, length, b"", VantagePoint(0))

    sent = [packet(30, 2, 0), packet(40, 16, 400_000), packet(50, 16, 600_000), packet(90, 16, 1000), packet(95, 16, 0)]
    described = {"start_ns": 0, "end_ns": 10**8}
    monkeypatch.setattr(wire, "read_packets", lambda _: sent)
    monkeypatch.setattr(wire, "Recording", lambda _: SimpleNamespace(program=lambda _: described))
    assert wire.parts_of(tmp_path) == {"whole": 100, "rest": 40, "wire": 60, "beginning": 20, "bulk": 40}


@dataclass(frozen=True)
class _PresentScenario(Present):
    """A scenario whose form has this digest, and each of whose sides executes what :func:`_results` writes."""

    form: forms.Form = field(default=forms.Form("made", "made", (), ()), init=False)
    of_form: str

    @property
    def digest(self) -> str:
        return self.of_form

    def ran(self, side: str) -> str:
        return side


def _results(folder: Path, goodputs: list[float], **more: Any) -> None:
    described = {"values": goodputs, "n": len(goodputs)}
    row = {
        "settings": {},
        "workload": "bulk",
        "seeds": list(range(len(goodputs))),
        "runs": [f"{folder}{number}" for number in range(len(goodputs))],
        **dict.fromkeys(("goodput_mbps", "duration_s", "retransmitted_percent"), described),
        "share_values": {"seeds": list(range(len(goodputs))), "paths": {"link1": [0.4] * len(goodputs)}},
        "kernel": "7.2",
        "hz": 1000,
        "time": "virtual",
        "mptcp": "no",
        "kernel_counts": [{"dropped_beyond_window": count} for count in more.pop("beyond", [0, 0, 0])],
    }
    document = {
        "form": "f",
        "ran": str(folder.parent.name),
        "kernels": ["kernel"],
        "points": [""],
        "changes": [],
        "sized": ["bulk"],
        "seeds": 3,
        "load": 0.5,
        "rows": [row],
        "failed": [],
    }
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(document | more))


def test_a_side_is_compared_with_the_lab(tmp_path: Path) -> None:
    _results(tmp_path / "virtual-7.2" / "made", [100.0, 101.0, 102.0])
    _results(tmp_path / "stock-7.2" / "made", [95.0, 96.1, 97.0], beyond=[0, 7, 0])
    _results(tmp_path / "stock-6.12" / "made", [], refused="the kernel lacks it")
    scenarios = gather.gather_comparisons({"made": _PresentScenario("f"), "missing": _PresentScenario("f")}, tmp_path)[
        "scenarios"
    ]
    assert list(scenarios) == ["made"]
    compared = scenarios["made"]["sides"]["stock-7.2"]
    assert (compared["ran"], compared["kernels"]) == (["virtual-7.2", "stock-7.2"], ["kernel"] * 2)
    assert scenarios["made"]["sides"]["stock-6.12"] == {"refused": "the kernel lacks it"}
    _results(tmp_path / "virtual-7.2" / "other", [], refused="no eBPF")
    _results(tmp_path / "stock-7.2" / "other", [95.0, 96.1, 97.0])
    other = gather.gather_comparisons({"other": _PresentScenario("f")}, tmp_path)["scenarios"]["other"]["sides"][
        "stock-7.2"
    ]
    assert other == {"refused": "no eBPF"}, "the lab cannot, which is why there is nothing to compare"
    rows = {row["metric"]: row for row in scenarios["made"]["sides"]["stock-7.2"]["rows"]}
    assert rows["goodput_mbps"]["percent"] == pytest.approx(-4.92, abs=0.01)
    assert rows["goodput_mbps"]["beyond"] == [[0, 0, 0], [0, 7, 0]]
    assert rows["goodput_mbps"]["values"] == [[100.0, 101.0, 102.0], [95.0, 96.1, 97.0]]
    assert place(rows["goodput_mbps"]) == "!"
    assert place(rows["share_percent"]) == ""


@pytest.mark.parametrize(
    ("lab", "stock", "expected"),
    [(["a"], ["a"], "a run fails on both sides: a"), ([], ["a"], "a run fails: a"), (["a"], [], "a run fails: a"),
     (["a"], ["b"], "a run fails: b")],
)  # fmt: skip
def test_a_side_whose_runs_fail_says_where(lab: list[str], stock: list[str], expected: str, tmp_path: Path) -> None:
    """A network made slower has outages as long as a program's patience, in the lab as on a stock kernel."""
    for side, errors in (("virtual-7.2", lab), ("stock-7.2", stock)):
        failed = [{"run": "seed 1", "error": error} for error in errors]
        _results(tmp_path / side / "made", [1.0, 2.0, 3.0], failed=failed)
    measured = gather.gather_comparisons({"made": _PresentScenario("f")}, tmp_path)["scenarios"]["made"]["sides"][
        "stock-7.2"
    ]
    assert measured == {"refused": expected}


def test_what_is_compared_is_kept_where_nothing_was_measured_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine has no results of the scenario: it changes no file, and removes files of unknown scenarios."""
    monkeypatch.setattr(forms, "refusal", lambda *_: "")
    _point(tmp_path, FLOW)
    files = {"two-paths": tmp_path / "made.toml"}
    form = forms.form_of("two-paths", files["two-paths"], "stock")
    for side, goodputs in (("virtual-7.2", [100.0, 101.0, 102.0]), ("stock-7.2", [95.0, 96.1, 97.0])):
        ran = forms.digest_of(sides.SIDES[side].points(form))
        _results(tmp_path / "out" / side / "two-paths", goodputs, form=form.digest, ran=ran)
    folder = tmp_path / "measured"
    command._write_measured(folder, files, tmp_path / "out")
    written = {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()}
    assert {file.name for file in written} == {COMMON, "two-paths.json"}
    (compared,) = read_measurements(folder).scenarios["two-paths"].sides.values()
    assert isinstance(compared, ComparedSide)
    assert compared.rows[0].metric == "goodput_mbps"
    (folder / "gone.json").write_bytes((folder / "two-paths.json").read_bytes())
    command._write_measured(folder, files, tmp_path / "nothing")
    assert {file: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.iterdir()} == written


def test_flows_that_share_a_queue_are_compared_together_too(tmp_path: Path) -> None:
    """One takes what the other does not: the parts differ, and their sum does not. A call is not one of the flows."""
    for side, goodputs in (("virtual-7.2", [4.0, 6.0, 5.0]), ("stock-7.2", [5.5, 4.5, 6.0])):
        folder = tmp_path / side / "made"
        _results(folder, goodputs)
        document = json.loads((folder / "results.json").read_text())
        (row,) = document["rows"]
        rest = {"values": [10.0 + 0.01 * number - goodput for number, goodput in enumerate(goodputs)], "n": 3}
        document["rows"] += [row | {"workload": name, "goodput_mbps": rest} for name in ("other", "call")]
        document["rows"] += totals(document["rows"], {"bulk", "other"})
        (folder / "results.json").write_text(json.dumps(document))
    rows = gather.gather_comparisons({"made": _PresentScenario("f")}, tmp_path)["scenarios"]["made"]["sides"][
        "stock-7.2"
    ]["rows"]
    rows_of = {row["workload"]: row for row in rows if row["metric"] == "goodput_mbps"}
    assert rows_of[TOGETHER]["a"] == pytest.approx(10.01)
    assert place(rows_of[TOGETHER]) == ""
    assert place(rows_of["bulk"]) == "?"


def test_results_of_a_former_form_are_left_out(tmp_path: Path) -> None:
    """They stayed beside the rows of the present scenario: a table compared TCP, and named the points with OLIA."""
    for side in ("virtual-7.2", "stock-7.2"):
        _results(tmp_path / side / "made", [1.0, 2.0, 3.0], form="former")
    _results(tmp_path / "local" / "made", [1.0, 2.0, 3.0])
    assert gather.gather_comparisons({"made": _PresentScenario("f")}, tmp_path) == {
        "kernels": {},
        "scenarios": {},
        "spread": {},
    }
    _results(tmp_path / "stock-6.12" / "made", [1.0, 2.0, 3.0], form="former", ran="something else")
    document = gather.gather_comparisons({"made": _PresentScenario("former")}, tmp_path)
    assert list(document["scenarios"]["made"]["sides"]) == ["stock-7.2"]
    assert list(document["spread"]) == ["made"]


def test_one_flow_has_no_row_of_all(tmp_path: Path) -> None:
    _results(tmp_path / "made", [1.0, 2.0])
    rows = json.loads((tmp_path / "made" / "results.json").read_text())["rows"]
    assert list(totals(rows, {"bulk", "other"})) == []


def test_seeds_follow_from_how_much_the_lab_itself_differs(tmp_path: Path) -> None:
    """With a deviation of 1 % on both sides, the interval of five seeds is ± 1.76 %, which is 2.78 * sqrt(2 / 5) %."""
    _results(tmp_path / "virtual-7.2" / "made", [99.0, 100.0, 101.0])
    (spread,) = gather.gather_comparisons({"made": _PresentScenario("f"), "missing": _PresentScenario("f")}, tmp_path)[
        "spread"
    ].values()
    (row,) = spread["rows"]
    assert (row["mean"], row["percent"], row["n"]) == (100.0, 1.0, 3)
    assert 5 < row["needed"] < 15


def test_an_interrupted_side_has_no_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for a scenario that the engine refuses, and never continued."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_execute", interrupt)
    monkeypatch.setattr(command, "kernels_of", lambda *_: ["a"])
    form = forms.Form("made", "made", (_point(tmp_path, FLOW),), ())
    with pytest.raises(KeyboardInterrupt):
        command.measure(form, "virtual-7.2", tmp_path, seeds=2)
    assert not (tmp_path / "virtual-7.2").exists()


def test_a_refusal_inside_the_lab_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "measure_inside", lambda *_: {"refused": "no netem"})
    monkeypatch.setattr(command, "kernels_of", lambda *_: ["a"])
    command.measure(forms.Form("made", "made", (_point(tmp_path, FLOW),), ()), "local", tmp_path, seeds=2)
    assert json.loads((tmp_path / "local" / "made" / "results.json").read_text())["refused"] == "no netem"


def test_results_of_another_kernel_count_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[int] = []

    def execute(runs: list[Run], *_: object) -> dict[str, Any]:
        executed.append(len(runs))
        return {"rows": [], "failed": []}

    monkeypatch.setattr(command, "_execute", execute)
    form = forms.Form("made", "made", (_point(tmp_path, FLOW),), ())
    for kernel, seeds in (("a", 2), ("a", 2), ("b", 2), ("b", 3), ("b", 2)):
        monkeypatch.setattr(command, "kernels_of", lambda *_, name=kernel: [name])
        command.measure(form, "virtual-7.2", tmp_path, seeds=seeds)
    assert executed == [2, 2, 3]


def test_results_of_several_kernels_are_not_compared(tmp_path: Path) -> None:
    _results(tmp_path / "virtual-7.2" / "made", [99.0, 100.0, 101.0], kernels=["a"])
    _results(tmp_path / "virtual-7.2" / "other", [99.0, 100.0, 101.0], kernels=["b"])
    with pytest.raises(RuntimeError, match=r"virtual-7.2 are of several kernels \(a: made; b: other\)"):
        gather.gather_comparisons({"made": _PresentScenario("f"), "other": _PresentScenario("f")}, tmp_path)


@pytest.mark.parametrize(
    ("verdict", "percent", "half", "expected"),
    [("equivalent", 0.1, 0.5, ""), ("differs, but negligible", 1.0, 0.5, ""), ("not shown", 1.0, 3.0, "?"),
     ("differs", -2.5, 0.1, "!"), ("differs", -2.5, 1.0, "?"), ("too few runs", 0.0, None, "?")],
)  # fmt: skip
def test_a_mark_says_where_the_interval_lies(verdict: str, percent: float, half: float | None, expected: str) -> None:
    row = {"metric": "goodput_mbps", "verdict": verdict, "percent": percent, "percent_half_width": half}
    assert place(row) == expected
