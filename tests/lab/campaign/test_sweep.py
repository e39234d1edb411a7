# SPDX-License-Identifier: MIT
"""Sweeps of real runs: killed and resumed, beside each other, with an estimate of the time that is left."""

from __future__ import annotations

import json
import random
import subprocess
import time
from pathlib import Path

import pytest
from bench.sweep import estimate_factors
from tests.lab.bench import CLI, Bench, lab_processes, mptcplab, tree_hash

from mptcplab.results import open_results
from mptcplab.scenario.load import load

SHORT = """
title = "short"
repeats = 10

[topology]
preset = "disjoint-paths"

[links.link1]
rate = "20 Mbit/s"
loss = "1 %"

[links.link2]
rate = "20 Mbit/s"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "100 ms"

[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"""
RESULTS = ("table.md", "table.csv", "metrics.csv", "results.json")


def _sweep(file: Path, out: Path) -> subprocess.Popen[bytes]:
    command = [*CLI, "run", str(file), "--out", str(out), "--jobs", "2"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _wait_for_manifests(out: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Until a command has recorded that many, and has a lab."""
    end = time.monotonic() + 60
    while len(list(out.glob("runs/*/manifest.json"))) < count or "linux" not in lab_processes(out).values():
        assert time.monotonic() < end, f"no {count} recordings and a lab after 60 s"
        assert process.poll() is None, f"the command has ended with {process.returncode}"
        time.sleep(0.02)


def _execute(out: Path) -> list[str]:
    """The runs that the log says were executed."""
    return [json.loads(line)["run"] for line in (out / "log.jsonl").read_text().splitlines()]


def assert_equal_results(first: Path, second: Path) -> None:
    """Table, document and recordings, byte for byte."""
    for name in RESULTS:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    assert tree_hash(first / "runs") == tree_hash(second / "runs")


def assert_nothing_left(out: Path) -> None:
    """No process, nothing under way, no partial table."""
    assert not lab_processes(out), lab_processes(out)
    assert list((out / ".work" / "tmp").iterdir()) == []
    assert not list(out.glob("partial.*"))


def whole_sweep(bench: Bench, file: Path) -> Path:
    """The results of a sweep that nothing disturbed, of runs that other tests may have made."""
    out = bench.folder / "whole"
    with bench.reuse(load(file).runs, out):
        assert mptcplab("run", file, "--out", out, timeout=300).returncode == 0
    return out


def test_killed_five_times_and_resumed(bench: Bench) -> None:
    """60 runs, SIGKILL at five random moments: as if nothing had happened, and nothing recorded is made again."""
    file, resumed = bench.write(SHORT.replace("repeats = 10", "repeats = 30")), bench.folder / "resumed"
    generator, recorded = random.Random(5), [0]
    for least in (0, 2, 4, 6, 8):
        process = _sweep(file, resumed)
        # After the start, at any moment of two runs beside each other, and so that five of them do not reach the end.
        _wait_for_manifests(resumed, least, process)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=generator.uniform(0, 1))
        process.kill()
        process.wait()
        recorded.append(len(list(resumed.glob("runs/*/manifest.json"))))
        end = time.monotonic() + 5
        while lab_processes(resumed) and time.monotonic() < end:
            time.sleep(0.02)
        assert not lab_processes(resumed), f"5 s after the kill: {lab_processes(resumed)}"
    done = mptcplab("run", file, "--out", resumed, "--jobs", "2", timeout=300)
    whole = whole_sweep(bench, file)
    print(f"recorded after each kill: {recorded[1:]}; the last command found {done.stderr.count('recorded  ')}")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("recorded  ") == recorded[-1] > 0
    assert recorded == sorted(recorded)
    assert_equal_results(whole, resumed)
    assert_nothing_left(resumed)
    assert len(set(_execute(resumed))) >= 60 - 2 * 5, "a run is logged after it is recorded, so a kill may hide two"
    assert len(set(_execute(resumed))) == len(_execute(resumed)), "a recorded run was made again"


def test_interrupted_sweep_says_that_it_is_incomplete(bench: Bench) -> None:
    """The table of an earlier sweep must not pass for this one's; what there is so far is called that."""
    file, out = bench.write(SHORT.replace("repeats = 10", "repeats = 2")), bench.folder / "results"
    with bench.reuse(load(file).runs, out):
        assert mptcplab("run", file, "--out", out).returncode == 0
    process = _sweep(bench.write(SHORT.replace("repeats = 10", "repeats = 6")), out)
    _wait_for_manifests(out, 8, process)
    process.terminate()
    assert process.wait(timeout=20) == 130
    assert not [name for name in RESULTS if (out / name).exists()]
    assert "(incomplete: " in (out / "partial.md").read_text()
    assert open_results(out).incomplete.startswith("incomplete: ")
    assert mptcplab("run", file, "--out", out, timeout=300).returncode == 0
    assert_nothing_left(out)


def test_two_commands_at_once_share_the_work(bench: Bench) -> None:
    file, out = bench.write(SHORT.replace("repeats = 10", "repeats = 4")), bench.folder / "results"
    processes = [_sweep(file, out) for _ in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    executed = _execute(out)
    assert len(executed) == len(set(executed)) == 8, "a run was made twice, or not at all"
    assert_nothing_left(out)
    document = json.loads((out / "results.json").read_text())
    assert [row["goodput_mbps"]["n"] for row in document["rows"]] == [4, 4]


def test_estimate_of_the_time_left(bench: Bench) -> None:
    """Runs of very different length. Only a loose bound is asserted: the machine may become busy in between."""
    text = SHORT.replace("repeats = 10", "repeats = 3") + '"workloads.bulk.duration" = ["100 ms", "20 s"]\n'
    factors = sorted(estimate_factors(bench.write(text)))
    middle = factors[len(factors) // 2]
    print(
        f"remaining time, estimated by real: {middle:.2f} ({factors[0]:.2f} to {factors[-1]:.2f}, n = {len(factors)})"
    )
    assert 0.2 < middle < 5


def test_repeat_until_narrow(bench: Bench) -> None:
    """TCP over a line without loss is done after three runs; the lossy line takes more. Seeds are the first ones."""
    text = SHORT.replace("repeats = 10", 'repeats = { until = "5 %", max = 8 }').replace("100 ms", "500 ms")
    text = text.replace('"transport.protocol" = ["tcp", "mptcp"]', '"links.link1.loss" = ["0 %", "3 %"]')
    text += '[transport]\nprotocol = "tcp"\n'
    file, out = bench.write(text), bench.folder / "results"
    with bench.reuse(load(file, repeats=8).runs, out):
        said = mptcplab("run", file, "--out", out)
    assert said.returncode == 0, said.stderr
    rows = json.loads((out / "results.json").read_text())["rows"]
    print([(row["settings"], row["goodput_mbps"]["n"], row["goodput_mbps"]["ci95_half_width"]) for row in rows])
    assert rows[0]["seeds"] == [1, 2, 3]
    assert rows[1]["seeds"] == list(range(1, len(rows[1]["seeds"]) + 1))
    assert len(rows[1]["seeds"]) in (5, 8)
    assert "Runs per point: 3 to 8, until the interval of goodput is at most ± 5 %." in said.stdout
    shown = mptcplab("show", file)
    assert "at most 16 runs" in shown.stdout


def test_concurrent_workloads_have_a_fairness(bench: Bench) -> None:
    """Two equal TCP flows on one line share it; Jain's index is near one, and there is none without company."""
    text = SHORT.replace("repeats = 10", "repeats = 2").replace("[sweep]", "").replace("100 ms", "4 s")
    text = text.replace('"transport.protocol" = ["tcp", "mptcp"]', "").replace('loss = "1 %"', "")
    text += '[transport]\nprotocol = "tcp"\n[workloads.other]\nkind = "flow"\nfrom = "client"\nto = "server"\n'
    file, out = bench.write(text + 'duration = "4 s"\n'), bench.folder / "results"
    with bench.reuse(load(file).runs, out):
        assert mptcplab("run", file, "--out", out).returncode == 0
    (fairness,) = json.loads((out / "results.json").read_text())["fairness"]
    print(f"Jain's index of two TCP flows: {fairness['jain_index']['mean']:.3f}")
    assert 0.8 < fairness["jain_index"]["mean"] <= 1
    later, out = bench.write(text + 'duration = "4 s"\nstart = "30 s"\n', "later.toml"), bench.folder / "later"
    with bench.reuse(load(later).runs, out):
        assert mptcplab("run", later, "--out", out).returncode == 0
    assert json.loads((out / "results.json").read_text())["fairness"] == []
