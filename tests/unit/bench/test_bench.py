# SPDX-License-Identifier: MIT
"""The pure parts of the benchmark. Nothing is timed here: a test that depends on speed fails on a busy machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bench import algorithms, curves, lab, machines, overhead, page, present, scenarios
from bench.ratios import Ratio
from bench.usage import Usage, measure_usage

from mptcplab.errors import MissingError
from mptcplab.kernel.data import DEFAULT_VERSION
from mptcplab.scenario.load import load
from mptcplab.study.library import select


def curve_of(costs: list[float], work: list[int]) -> curves.Curve:
    points = tuple(
        curves.Point(str(hops), cpu=[cost + 0.5], empty=[0.5], packet_hops=hops)
        for cost, hops in zip(costs, work, strict=True)
    )
    return curves.Curve("hops", "routers", points)


def test_proportional_cost_has_exponent_one_and_no_spread() -> None:
    curve = curve_of([0.1, 0.2, 0.4, 1.6], [100_000, 200_000, 400_000, 1_600_000])
    assert curve.exponent == pytest.approx(1.0)
    assert curve.spread == pytest.approx(1.0)


def test_quadratic_cost_is_seen() -> None:
    curve = curve_of([0.1, 0.4, 1.6], [100_000, 200_000, 400_000])
    assert curve.exponent == pytest.approx(2.0)
    assert curve.spread == pytest.approx(4.0)


def test_no_exponent_is_claimed_where_the_work_hardly_differs() -> None:
    assert curve_of([0.1, 0.2], [100_000, 110_000]).exponent is None


@pytest.mark.parametrize(
    "text",
    [
        scenarios.two_paths("flow", "60 s"),
        scenarios.two_paths("iperf3", "60 s"),
        scenarios.table_4_1("iperf3", "60 s"),
        scenarios.one_path("2 Gbit/s", "5 s", routers=16, connections=128),
        scenarios.unshaped_path("2 s", delay="1 ms", quantum="0 us"),
        scenarios.star(8, 250, "5 s"),
        scenarios.many_paths(8, "5 s"),
        scenarios.two_paths("flow", "5 s", sampled="1 ms"),
    ],
)
def test_scenarios_compile_to_plans(text: str) -> None:
    plan = lab.workload_of(text).plan
    assert plan.programs
    assert plan.setup


def test_a_workload_runs_on_the_kernel_of_its_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(version: str) -> None:
        asked.append(version)
        raise MissingError("not built")

    monkeypatch.setattr(lab, "engine", refuse)
    scenario = scenarios.two_paths("flow", "1 s")
    for text in (scenario, f'kernel = "6.12"\n{scenario}'):
        with pytest.raises(MissingError):
            lab.measure(lab.workload_of(text))
    assert asked == [DEFAULT_VERSION, "6.12"]


def test_usage_of_children_is_counted_even_when_nobody_waits_for_them() -> None:
    def work() -> str:
        if os.fork() == 0:
            if os.fork() == 0:
                while os.times().user + os.times().system < 0.05:
                    pass
            os._exit(0)
        return "done"

    result, usage = measure_usage(work)
    assert result == "done"
    assert usage.cpu >= 0.04


def test_error_of_the_measured_work_is_raised() -> None:
    def work() -> None:
        raise ValueError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        measure_usage(work)


def test_table_says_what_was_left_out_and_why() -> None:
    ratios = [Ratio("a", 2.0, [3.0, 2.5, 9.0], ["x", "y", "z"]), Ratio("b", 1.0, left_out="needs root")]
    text = present.ratio_table(ratios, (0.1, 0.2)).to_markdown()
    assert "3.00 (2.50 to 9.00) | 2.00 | yes | 3 | x" in text
    assert "left out" in text
    assert "needs root" in text


def test_stages_of_the_overhead_add_up() -> None:
    results = {stage: [Usage(0.1 * n, 0.05 * n, 0.05 * n)] for n, stage in enumerate(overhead.STAGES, start=1)}
    table = present.overhead_table(results)
    assert [row[2] for row in table.rows[:-1]] == ["0.100"] * len(overhead.STAGES)
    assert table.rows[-1][3].endswith("yes")


def test_expensive_algorithm_is_distinguished_from_a_cheap_one() -> None:
    level = [1.0, 1.0, 1.0]
    costs = [
        algorithms.Cost(
            "cheap", one_path=level, two_paths=[1.0, 1.2, 1.05], whole_one=level, whole_two=[2.0, 2.0, 2.0]
        ),
        algorithms.Cost("dear", one_path=level, two_paths=[1.0, 1.2, 1.15], whole_one=level, whole_two=level),
        algorithms.Cost(
            "dear on one path", one_path=[1.0, 1.2, 1.15], two_paths=level, whole_one=level, whole_two=level
        ),
    ]
    table = present.algorithm_table(costs)
    assert [row[-1] for row in table.rows] == ["yes", "no", "no"], table.rows
    assert table.rows[0][2] == "1.05 (1.00 to 1.20)"


def test_page_is_what_the_files_of_the_machines_say() -> None:
    text = page.PAGE.read_text()
    assert text == page.update_blocks(text, machines.load()), "run: python -m bench.page"


def test_file_of_a_machine_names_no_host() -> None:
    present = machines.present()
    assert set(present) == {"cpu", "cores", "virtual", "kernel", "python"}
    assert re.fullmatch(r"\d+\.\d+", present["kernel"]), "the release may name a provider"
    assert os.uname().nodename not in json.dumps(present)


def test_what_is_written_can_be_read_as_a_machine(tmp_path: Path) -> None:
    ratios = [Ratio("a", 2.0, [3.0, 2.5, 9.0], key="ns3-100-mbit"), Ratio("b", 1.0, left_out="x", key="native-payload")]
    costs = [algorithms.Cost("lia", one_path=[1.0], two_paths=[1.1], whole_one=[1.2], whole_two=[1.3])]
    machines.write(tmp_path / "c.json", ratios, costs, load=(0.5, 1.0))
    (machine,) = machines.load(tmp_path)
    assert machine.values == {"ns3-100-mbit": [machines.Value(3.0, 2.5, 9.0, 3)]}
    assert machine.algorithms == {"lia": {"one": 1.0, "whole_one": 1.2, "two": 1.1, "whole_two": 1.3}}
    assert machine.load == (0.5, 1.0)


def test_file_of_a_machine_is_written_anew_but_for_its_notes(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    old = {"origin": machines.ORIGINS[1], "machine": None, "values": {"x": [{"median": 1}]}, "notes": ["N"]}
    file.write_text(json.dumps({**old, "earlier": ["E"]}))
    machines.write(file, [Ratio("a", 2.0, [3.0], key="ns3-100-mbit")], [], load=(0.5, 1.0))
    (machine,) = machines.load(tmp_path)
    assert (machine.origin, list(machine.values)) == (machines.ORIGINS[0], ["ns3-100-mbit"])
    assert (machine.notes, machine.earlier) == ((), ("N", "E"))
    assert "Of an earlier invocation: N" in page.machine_list([machine])


def test_table_4_1_is_the_study_s_own_scenario(tmp_path: Path) -> None:
    """All is as the study has it but the duration; the kind is changed only where iperf3 is asked for."""
    (table,) = select("subramani2018/4.1")
    theirs = next(point for point in load(table.scenario).points if point.settings["transport.protocol"] == "mptcp")
    file = tmp_path / "bench.toml"
    file.write_text(scenarios.table_4_1("flow", theirs.settings["workloads.bulk.duration"]))
    (ours,) = load(file).points
    assert ours == theirs


def test_every_congestion_control_and_scheduler_of_ours_is_measured() -> None:
    named = re.compile(r'^\t\.name\s*= "(\w+)"', re.MULTILINE)
    schedulers: dict[bool, set[str]] = {True: set(), False: set()}
    for file in (Path(__file__).resolve().parents[3] / "kernel" / "net" / "mptcp").glob("*.c"):
        schedulers[file.name.startswith("sched_")].update(named.findall(file.read_text()))
    assert schedulers == {True: set(algorithms._SCHEDULERS), False: set(algorithms._CONGESTION_CONTROLS)}


def test_ratio_is_given_as_the_range_over_machines() -> None:
    machine = machines.MeasuredMachine(
        "a", machines.ORIGINS[0], None, {"ns3-100-mbit": [machines.Value(12.4, 12.1, 12.7, 2)]}
    )
    other = machines.MeasuredMachine("b", machines.ORIGINS[2], None, {"ns3-100-mbit": [machines.Value(5.9)]})
    (row,) = page.ratio_table([machine, other]).splitlines()[2:]
    assert row.endswith("| 12.4 (12.1 to 12.7), n = 2 | 5.9 | 5.9 to 12.4 | >= 12 | 1 of 2 |"), row


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        (20, ">= 20", True),
        (19.9, ">= 20", False),
        (0.8, "<= 0.7", False),
        (0.5, "0.5 to 2", True),
        (3, "0.5 to 2", False),
    ],
)
def test_target_is_judged(value: float, target: str, expected: bool) -> None:
    assert page.meets_target(value, target) is expected


def test_machine_of_unknown_origin_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text('{"origin": "heard", "machine": null, "values": {}}')
    with pytest.raises(ValueError, match=r"d\.json: the origin"):
        machines.load(tmp_path)


@pytest.mark.slow
def test_part_that_cannot_be_had_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [sys.executable, "-m", "bench", "--out", str(tmp_path / "file" / "out")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=page.PAGE.parents[1])
    assert done.returncode == 2
    assert "--out:" in done.stderr
    assert "Traceback" not in done.stderr
