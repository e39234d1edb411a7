# SPDX-License-Identifier: MIT
"""Same identity, same bytes: ten times, in other folders, beside a load, with several jobs, for every workload."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.bench import CLI, Bench, mptcplab, tree_hash

from mptcplab.scenario.load import load

#: Two lossy lines, so that chance has a say in everything: losses, hash seeds, ports, keys, the scheduler's choices.
LINES = """
title = "determinism"

[topology]
preset = "disjoint-paths"
paths = 2

[links.link1]
rate = "20 Mbit/s"
delay = "10 ms"
loss = "1 %"

[links.link2]
rate = "5 Mbit/s"
delay = "30 ms"
jitter = "3 ms"
loss = "0.5 %"

[record]
interval = "100 ms"

[workloads.bulk]
from = "client"
to = "server"
"""
FLOW = LINES + 'kind = "flow"\nduration = "2 s"\nchecksum = true\n'
IPERF3 = LINES + 'kind = "iperf3"\nduration = "2 s"\n'
TRANSFER = LINES + 'kind = "transfer"\nsize = "3 MB"\n'
WORKLOADS = [FLOW, IPERF3, TRANSFER]
#: Without loss, where instants decide everything: examples/two-paths.toml was what showed that they moved.
LOSSLESS = FLOW.replace('loss = "1 %"\n', "").replace('loss = "0.5 %"\n', "").replace('jitter = "3 ms"\n', "")
#: The manifest has the identity, which covers the guest's code.
SAYS_WHO_RAN = ("manifest.json",)


@pytest.fixture
def busy_cpus() -> Iterator[None]:
    """A process per CPU that computes without end."""
    loops = [
        subprocess.Popen([sys.executable, "-IS", "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}})\nwhile 1: pass"])
        for cpu in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _hash(bench: Bench, text: str, out: str, *, seed: int = 1) -> str:
    bench.record(text, seed=seed, out=out)
    return tree_hash(bench.folder / out / "runs")


def _run(file: Path, out: Path, *options: str, env: dict[str, str] | None = None) -> None:
    done = mptcplab("run", file, "--out", out, *options, env=env)
    assert done.returncode == 0, done.stderr


def _assert_same(bench: Bench, hashes: dict[str, str]) -> None:
    """All hashes equal; else say which files differ."""
    first = next(iter(hashes))
    for other in hashes:
        if hashes[other] != hashes[first]:
            runs = [bench.folder / out / "runs" for out in (first, other)]
            files = sorted({str(path.relative_to(run)) for run in runs for path in run.rglob("*") if path.is_file()})
            differ = [file for file in files if len({_bytes(run / file) for run in runs}) > 1]
            raise AssertionError(f"{other} differs from {first} in {', '.join(differ)}")


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def test_ten_times_the_same(bench: Bench) -> None:
    """In folders with names of different lengths: nothing about the host may reach the guest's random numbers."""
    outs = [f"{'long-' * number}{number}" for number in range(10)]
    _assert_same(bench, {out: _hash(bench, FLOW, out) for out in outs})


@pytest.mark.parametrize("text", WORKLOADS, ids=["flow", "iperf3", "transfer"])
def test_another_installation_gives_the_same(bench: Bench, text: str) -> None:
    """A checkout elsewhere, without compiled Python files: process 1 then has much more to do before it begins."""
    file, root = bench.write(text), Path(__file__).parents[3]
    other = bench.folder / "another place" / "with a longer name"
    shutil.copytree(root / "src", other / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("kernel", "tools", "studies"):
        (other / name).symlink_to(root / name)
    with bench.reuse(load(file).runs, bench.folder / "here"):
        _run(file, bench.folder / "here")
    env = {"PYTHONPATH": str(other / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    _run(file, bench.folder / "there", env=env)
    assert not list(other.rglob("*.pyc")), "the other installation was compiled: the test shows nothing"
    _assert_same(bench, {out: tree_hash(bench.folder / out / "runs") for out in ("here", "there")})


@pytest.mark.parametrize("reads", [1, 100_000])
def test_what_the_preparation_does_leaves_no_trace(bench: Bench, reads: int) -> None:
    """A guest whose set-up reads the clock more often, which moves the ticks and the work of queues after it.

    Without kernel/patches/0012-um-timer-on-the-grid.patch 100,000 reads shifted the programs' start by up to 512 ns,
    and with it everything that they measured (docs/decisions/0015-timers-on-the-grid.md).
    """
    file, root = bench.write(LOSSLESS), Path(__file__).parents[3]
    other = bench.folder / "busier"
    shutil.copytree(root / "src", other / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("kernel", "tools", "studies"):
        (other / name).symlink_to(root / name)
    process_1 = other / "src/mptcplab/guest/init.py"
    text, place = process_1.read_text(), "    machine.fix_limits()\n"
    assert text.count(place) == 1
    process_1.write_text(text.replace(place, f"{place}    for _ in range({reads}):\n        time.monotonic_ns()\n"))
    _run(file, bench.folder / "here")
    _run(file, bench.folder / "there", env={"PYTHONPATH": str(other / "src")})
    here, there = (_measure(bench.folder / out / "runs") for out in ("here", "there"))
    assert len(here) > 5, f"only {sorted(here)} was recorded"
    differ = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    assert not differ, f"{', '.join(differ)} differ with {reads} more reads of the clock"


def _measure(runs: Path) -> dict[str, bytes]:
    """All files of the only run, except files that name the guest's code or say how long the set-up took."""
    (run,) = runs.iterdir()
    return {
        str(path.relative_to(run)): path.read_bytes()
        for path in run.rglob("*")
        if path.is_file() and path.name not in SAYS_WHO_RAN
    }


@pytest.mark.parametrize("kernel", ["7.2", "6.12"])
def test_a_container_gives_the_same(bench: Bench, kernel: str) -> None:
    """Without the call that disables address randomisation, which containers refuse.

    Before the heap was moved, `net.ipv4.tcp_rmem` differed from boot to boot, which MPTCP at 100 Mbit/s notices: 162 in
    place of 161 Mbit/s.
    """
    file = bench.write(LOSSLESS.replace("20 Mbit/s", "100 Mbit/s").replace("5 Mbit/s", "100 Mbit/s"))
    _run(file, bench.folder / "here", "--set", f"kernel={kernel}")
    start = [sys.executable, str(Path(__file__).parents[1] / "refuse_personality.py")]
    command: list[str | Path] = [*start, *CLI, "run", file, "--set", f"kernel={kernel}", "--out"]
    outs = [f"contained{number}" for number in range(2)]
    for out in outs:
        done = subprocess.run([*command, bench.folder / out], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    _assert_same(bench, {out: tree_hash(bench.folder / out / "runs") for out in ("here", *outs)})


@pytest.mark.parametrize("text", WORKLOADS, ids=["flow", "iperf3", "transfer"])
@pytest.mark.usefixtures("busy_cpus")
def test_the_same_beside_a_load(bench: Bench, text: str) -> None:
    with bench.reuse(bench.experiment(text, seed=1).runs, bench.folder / "one"):
        digest = _hash(bench, text, "one")
    _assert_same(bench, {"one": digest, "two": _hash(bench, text, "two")})


@pytest.mark.parametrize("text", WORKLOADS, ids=["flow", "iperf3", "transfer"])
def test_another_seed_differs(bench: Bench, text: str) -> None:
    """Not only in the manifest: in what was measured."""
    outputs = {bench.record(text, seed=seed)[0].subflows.write_json() for seed in (1, 2, 3)}
    assert len(outputs) == 3, f"3 seeds gave {len(outputs)} different samples"


def test_jobs_do_not_matter(bench: Bench) -> None:
    """Four seeds one after the other and two at a time, through the command line, on all CPUs."""
    file = bench.write(FLOW)
    with bench.reuse(load(file, repeats=4).runs, bench.folder / "jobs1"):
        _run(file, bench.folder / "jobs1", "--repeats", "4", "--jobs", "1")
    _run(file, bench.folder / "jobs2", "--repeats", "4", "--jobs", "2")
    _assert_same(bench, {out: tree_hash(bench.folder / out / "runs") for out in ("jobs1", "jobs2")})
    tables = {(bench.folder / out / "table.md").read_text() for out in ("jobs1", "jobs2")}
    assert len(tables) == 1, "the tables differ"


def test_the_older_kernel_repeats_as_well(bench: Bench) -> None:
    with bench.reuse(bench.experiment(FLOW, "kernel=6.12").runs, bench.folder / "one"):
        bench.record(FLOW, "kernel=6.12", out="one")
    bench.record(FLOW, "kernel=6.12", out="two-with-a-longer-name")
    _assert_same(bench, {out: tree_hash(bench.folder / out / "runs") for out in ("one", "two-with-a-longer-name")})
