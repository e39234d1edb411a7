# SPDX-License-Identifier: MIT
"""However a command ends, nothing of its labs stays: no process, no half recording; and the next command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.bench import CLI, Bench, alive, lab_processes, mptcplab, wait_until_gone

from mptcplab.scenario.load import load

#: Long enough in wall time to be interrupted: unlimited lines carry gigabits, packet by packet.
LONG = """
title = "long"
repeats = 2

[topology]
preset = "disjoint-paths"
paths = 2

[links.link1]
rate = "500 Mbit/s"

[links.link2]
rate = "500 Mbit/s"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "600 s"
"""
SHORT = LONG.replace("600 s", "0.2 s")


class SweepCommand:
    """``mptcplab run`` in the background."""

    def __init__(self, file: Path, out: Path, *options: str) -> None:
        self.out = out
        self.process = subprocess.Popen(
            [*CLI, "run", str(file), "--out", str(out), "--jobs", "2", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_labs(self, labs: int = 2) -> dict[int, str]:
        """Until that many lab kernels run programs; all their processes."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            assert self.process.poll() is None, self.process.communicate()
            if len(list(self.out.glob(".work/tmp/*/run/out/bulk.client.out"))) >= labs:
                processes = lab_processes(self.out)
                assert len(processes) >= labs, processes
                return processes
            time.sleep(0.05)
        raise AssertionError(f"no labs after 60 s: {lab_processes(self.out)}")

    def end(self) -> tuple[int, str]:
        """Status and what was said on standard error, once it has ended."""
        _, said = self.process.communicate(timeout=30)
        assert "Traceback" not in said, said
        return self.process.returncode, said


@pytest.fixture
def long_run(bench: Bench) -> Iterator[SweepCommand]:
    command = SweepCommand(bench.write(LONG), bench.folder / "results")
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()


def _leftovers(out: Path) -> list[str]:
    """Everything in a results folder that is neither a recording nor our log."""
    kept = {"runs", "log.jsonl", "table.md", "table.csv", "metrics.csv", "results.json", "figure.svg", "figure.png"}
    names = [path.name for path in out.iterdir() if path.name not in (*kept, ".work")]
    names += [path.name for path in (out / ".work" / "tmp").iterdir()]
    return names + [path.name for path in (out / "runs").iterdir() if not (path / "manifest.json").is_file()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_everything_at_once(long_run: SweepCommand, number: signal.Signals) -> None:
    pids = long_run.wait_for_labs()
    started = time.monotonic()
    long_run.process.send_signal(number)
    status, said = long_run.end()
    took = time.monotonic() - started
    assert status == 130, f"status {status}: {said}"
    assert "interrupted" in said, said
    # Killing is instant; the rest is Python's end. Generous, since the machine may be busy.
    assert took < 2, f"{number.name} took {took:.2f} s"
    assert not alive(list(pids)), f"after {number.name} there still are {alive(list(pids))}"
    assert _leftovers(long_run.out) == [], f"left: {_leftovers(long_run.out)}"


def test_killing_the_parent_kills_the_labs(long_run: SweepCommand, bench: Bench) -> None:
    """SIGKILL leaves no chance to clean up: the labs die by themselves, and the next command sweeps up."""
    pids = long_run.wait_for_labs()
    long_run.process.kill()
    took = wait_until_gone(list(pids), 5)
    print(f"{len(pids)} processes of 2 labs were gone {took:.2f} s after SIGKILL of their parent")
    assert not lab_processes(long_run.out), lab_processes(long_run.out)
    assert _leftovers(long_run.out), "the test is void: nothing was left over"
    done = mptcplab("run", bench.write(SHORT, "short.toml"), "--out", long_run.out)
    assert done.returncode == 0, done.stderr
    assert _leftovers(long_run.out) == [], f"left: {_leftovers(long_run.out)}"


def test_leftovers_of_the_living_stay(long_run: SweepCommand, bench: Bench) -> None:
    """A second command in the same folder at the same time does not take the first one's labs for leftovers."""
    pids = long_run.wait_for_labs()
    kernels = [pid for pid, name in pids.items() if name == "linux"]
    for pid in kernels:  # else three labs share the CPU of this test
        os.kill(pid, signal.SIGSTOP)
    done = mptcplab("run", bench.write(SHORT, "short.toml"), "--out", long_run.out, "--repeats", "1")
    for pid in kernels:
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == 0, done.stderr
    assert alive(list(pids)).keys() == pids.keys(), f"of {pids} there only are {alive(list(pids))}"
    assert len(list(long_run.out.glob(".work/tmp/*/run/out"))) == 2


def test_resumed_run_gives_the_same_table(bench: Bench) -> None:
    """Killed in the middle of four runs, then repeated: as if nothing had happened, and nothing executed twice."""
    text = SHORT.replace("repeats = 2", "repeats = 4").replace("500 Mbit/s", "100 Mbit/s").replace("0.2 s", "1 s")
    file, whole, resumed = bench.write(text), bench.folder / "whole", bench.folder / "resumed"
    with bench.reuse(load(file).runs, whole):
        assert mptcplab("run", file, "--out", whole).returncode == 0
    command = SweepCommand(file, resumed, "--jobs", "1")
    end = time.monotonic() + 60
    while not list(resumed.glob("runs/*/manifest.json")) and time.monotonic() < end:
        time.sleep(0.01)
    command.process.kill()
    command.process.wait()
    before = len(list(resumed.glob("runs/*/manifest.json")))
    assert 1 <= before < 4, f"{before} runs were recorded when the command was killed"
    done = mptcplab("run", file, "--out", resumed)
    assert done.stderr.count("recorded  ") == before, done.stderr
    for name in ("table.md", "table.csv", "metrics.csv"):
        assert (resumed / name).read_text() == (whole / name).read_text()


def test_no_core_file(bench: Bench) -> None:
    """A lab kernel that dies by a signal leaves no core, even where cores are wanted."""
    limit = 'ulimit -c unlimited 2>/dev/null; exec "$@"'
    out = bench.folder / "results"
    file = bench.write(LONG)
    process = subprocess.Popen(["sh", "-c", limit, "sh", *CLI, "run", str(file), "--out", str(out)], cwd=bench.folder)
    try:
        end = time.monotonic() + 60
        while not (machines := [pid for pid, name in lab_processes(out).items() if name == "linux"]):
            assert time.monotonic() < end, "no lab began"
            time.sleep(0.05)
        for pid in machines:
            limits = Path(f"/proc/{pid}/limits").read_text()
            (line,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
            assert line.split()[4:6] == ["0", "0"], line
            os.kill(pid, signal.SIGSEGV)
    finally:
        process.terminate()
        process.wait(timeout=30)
    assert not list(bench.folder.rglob("core*")), list(bench.folder.rglob("core*"))
