# SPDX-License-Identifier: MIT
"""Many runs without a kernel: recordings are made by hand, so that only what handles them is tested."""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from tests.unit.engine.test_parts import build
from tests.unit.flow_recording import FlowRecording

from mptcplab.campaign.failures import check_failures
from mptcplab.campaign.lab import CompletedRun, Lab
from mptcplab.campaign.record import Engines, RunDuration, RunJob
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.store import hold_place, leased_cpu
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.engine.protocol import RunInterruptedError, Stop
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.errors import LabError
from mptcplab.guest.sampler import SAMPLER
from mptcplab.metrics.rows import rows_of
from mptcplab.scenario.load import Experiment, load
from mptcplab.workload.context import FLOW

SCENARIO = """
title = "made by hand"
repeats = 3
topology = { preset = "disjoint-paths" }
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "1 MB" }
sweep."links.link1.delay" = ["1 ms", "2 ms"]
"""


class Hand:
    """Makes recordings by hand, and counts how often. ``megabytes`` is what a run transfers in two seconds."""

    def __init__(self, megabytes: Callable[[RunJob], float], *, seconds: float = 0.0) -> None:
        self._megabytes, self._seconds = megabytes, seconds
        self._lock = threading.Lock()
        self.made: list[str] = []

    def record(self, job: RunJob, folder: Path, stop: Stop) -> RunDuration:
        """See :class:`mptcplab.campaign.record.Executor`."""
        with self._lock:
            self.made.append(job.identity.name)
        if stop.wait(self._seconds):
            raise RunInterruptedError("interrupted")
        settings = [[key, value] for key, value in job.run.point.settings.items()]
        half = round(self._megabytes(job) * 500_000)
        FlowRecording(folder, (half, half), seed=job.run.seed, settings=settings).write()
        return RunDuration(2 * 10**9, self._seconds)


def experiment_of(tmp_path: Path, text: str = SCENARIO) -> Experiment:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    return load(file)


def _engines(tmp_path: Path, *versions: str) -> Engines:
    kernel = build(tmp_path)
    engines = {
        version: VirtualEngine(kernel, dict.fromkeys((FLOW, SAMPLER), Path(__file__)))
        for version in versions or ("7.2",)
    }
    return Engines(DEFAULT_ENGINE, engines)


def execute(
    tmp_path: Path, experiment: Experiment, hand: Hand, *, jobs: int = 2, fresh: bool = False
) -> tuple[list[CompletedRun], Rounds]:
    rounds = Rounds(experiment)
    lab = Lab(_engines(tmp_path), tmp_path / "out", stop=Stop(), fresh=fresh, executor=hand)
    done = lab.execute(rounds.first(), jobs=jobs, progress=lambda _: None, more=rounds.plan_next_round)
    return rounds.sorted_runs(done), rounds


@pytest.mark.slow
def test_points_take_turns_and_stand_together_in_the_end(tmp_path: Path) -> None:
    hand = Hand(lambda _: 1)
    done, rounds = execute(tmp_path, experiment_of(tmp_path), hand, jobs=1)
    assert [completed.run.label for completed in done] == [
        f"delay {ms} ms, seed {seed}" for ms in (1, 2) for seed in (1, 2, 3)
    ]
    first = Rounds(experiment_of(tmp_path))
    assert [run.seed for run in first.first()] == [1, 1, 2, 2, 3, 3]
    assert first.first() == first.first() != [], "asking for the round does not use it up"
    assert rounds.max_runs == len(hand.made) == 6
    again, _ = execute(tmp_path, experiment_of(tmp_path), hand)
    assert all(completed.wall_seconds is None for completed in again)
    assert len(hand.made) == 6, "what is recorded was made again"
    assert [completed.result for completed in again] == [completed.result for completed in done]


@pytest.mark.slow
def test_fresh_makes_each_again_once(tmp_path: Path) -> None:
    hand = Hand(lambda _: 1)
    for _ in range(2):
        execute(tmp_path, experiment_of(tmp_path), hand, fresh=True)
    assert sorted(hand.made) == sorted(2 * list(dict.fromkeys(hand.made)))


def test_two_points_that_are_the_same_run(tmp_path: Path) -> None:
    """Two names of one kernel build: one recording for both, and a row for each."""
    text = SCENARIO.replace('"links.link1.delay" = ["1 ms", "2 ms"]', '"kernel" = ["7.2", "7.2-kkkkkkkkkkkk"]')
    experiment, hand = experiment_of(tmp_path, text), Hand(lambda _: 1, seconds=0.05)
    for fresh in (False, True):
        lab = Lab(
            _engines(tmp_path, "7.2", "7.2-kkkkkkkkkkkk"), tmp_path / "out", stop=Stop(), fresh=fresh, executor=hand
        )
        hand.made.clear()
        done = lab.execute(experiment.runs, jobs=4, progress=lambda _: None)
        assert len(hand.made) == len(set(hand.made)) == 3, hand.made
        rows = rows_of(completed.result for completed in Rounds(experiment).sorted_runs(done) if completed.result)
        assert [(row.settings["kernel"], row.goodput_mbps.n) for row in rows] == [("7.2", 3), ("7.2-kkkkkkkkkkkk", 3)]


@pytest.mark.slow
def test_two_commands_in_one_folder(tmp_path: Path) -> None:
    """Beside each other, each run is made once, and both have everything."""
    hand = Hand(lambda _: 1, seconds=0.05)
    sweeps: list[list[CompletedRun]] = []
    experiment = experiment_of(tmp_path)
    threads = [threading.Thread(target=lambda: sweeps.append(execute(tmp_path, experiment, hand)[0])) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hand.made) == len(set(hand.made)) == 6, hand.made
    assert [len(done) for done in sweeps] == [6, 6, 6]
    assert all(completed.result for done in sweeps for completed in done)
    assert sweeps[0][0].folder is not None
    assert not list((tmp_path / "out" / ".work" / "tmp").iterdir())


def test_failures_do_not_stop_the_others(tmp_path: Path) -> None:
    def fail(job: RunJob) -> float:
        if job.run.seed == 2:
            raise LabError("the lab ran out of memory", hint="a hint")
        return 1

    hand = Hand(fail)
    done, _ = execute(tmp_path, experiment_of(tmp_path), hand)
    assert [completed.error is not None for completed in done] == [False, True, False, False, True, False]
    with pytest.raises(LabError, match="2 of 6 runs failed, the first being delay 1 ms, seed 2") as raised:
        check_failures(done, lambda run: f"repeat {run.seed} {run.point.label}", tmp_path)
    assert raised.value.hint is not None
    assert "also failed: delay 2 ms, seed 2" in raised.value.hint
    script = (tmp_path / "failed.sh").read_text()
    assert [line for line in script.splitlines() if line.startswith("repeat")] == [
        "repeat 2 delay 1 ms", "repeat 2 delay 2 ms",
    ]  # fmt: skip
    hand = Hand(lambda _: 1)
    done, _ = execute(tmp_path, experiment_of(tmp_path), hand)
    assert len(hand.made) == 2, "only what failed is made again"
    check_failures(done, str, tmp_path)
    assert not (tmp_path / "failed.sh").exists()


def test_a_hundred_failures_are_reported_briefly(tmp_path: Path) -> None:
    run = experiment_of(tmp_path).runs[0]
    done = [CompletedRun(run, error=LabError("no\nluck"))] * 100
    with pytest.raises(LabError) as raised:
        check_failures(done, lambda _: "again", tmp_path)
    assert raised.value.hint is not None
    assert raised.value.hint.count("also failed") == 9
    assert "and 90 more: " in raised.value.hint
    assert (tmp_path / "failed.sh").read_text().count("\nagain\n") == 100


def test_a_damaged_recording_is_an_error_of_its_run_only(tmp_path: Path) -> None:
    done, _ = execute(tmp_path, experiment_of(tmp_path), Hand(lambda _: 1))
    folder = done[0].folder
    assert folder is not None
    for name, damage in (("subflows.parquet", b"PAR1"), ("manifest.json", b"{}"), ("out/bulk.server.out", b"{")):
        (folder / name).write_bytes(damage)
        done, _ = execute(tmp_path, experiment_of(tmp_path), Hand(lambda _: 1))
        assert [completed.error is not None for completed in done] == [True] + 5 * [False], name
        assert done[0].error is not None
        assert str(folder) in done[0].error.message


def test_interrupted(tmp_path: Path) -> None:
    stop, hand = Stop(), Hand(lambda _: 1, seconds=30)
    lab = Lab(_engines(tmp_path), tmp_path / "out", stop=stop, executor=hand)
    threading.Timer(0.3, stop.request).start()
    started = time.monotonic()
    with pytest.raises(RunInterruptedError):
        lab.execute(experiment_of(tmp_path).runs, jobs=2, progress=lambda _: None)
    assert time.monotonic() - started < 5
    assert not list((tmp_path / "out" / ".work" / "tmp").iterdir())


UNTIL = SCENARIO.replace("repeats = 3", 'repeats = { until = "2 %", min = 3, max = 20 }')


def _noisy(job: RunJob) -> float:
    """The first point varies by some percent, the second does not."""
    if job.run.point.settings["links.link1.delay"] == "2 ms":
        return 100
    return 100 + 3 * random.Random(job.run.seed).gauss(0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 4])
def test_repeat_until_narrow(tmp_path: Path, jobs: int) -> None:
    """A point that does not vary has three runs; the other has more, the same with any number of jobs."""
    done, rounds = execute(tmp_path, experiment_of(tmp_path, UNTIL), Hand(_noisy), jobs=jobs)
    rows = rows_of(completed.result for completed in done if completed.result)
    counts = [row.goodput_mbps.n for row in rows]
    print(f"runs per point: {counts}, intervals ± {[row.goodput_mbps.half_width for row in rows]}")
    assert counts[1] == 3
    assert counts[0] in (8, 12, 18, 20), "rounds go from 3 to 5, 8, 12, 18 and 20"
    assert rows[0].seeds == tuple(range(1, counts[0] + 1)), "the seeds are the same as for a fixed number of runs"
    assert rows[0].goodput_mbps.is_within(0.02) or counts[0] == 20
    assert rounds.count_uncertain() == (0 if rows[0].goodput_mbps.is_within(0.02) else 1)
    # One run before, it was not enough.
    before = {20: 18, 18: 12, 12: 8, 8: 5}[counts[0]]
    earlier = rows_of(completed.result for completed in done[:before] if completed.result)
    assert not earlier[0].goodput_mbps.is_within(0.02)


@pytest.mark.slow
def test_repeat_until_goes_on_after_an_interruption(tmp_path: Path) -> None:
    whole, _ = execute(tmp_path, experiment_of(tmp_path, UNTIL), Hand(_noisy))
    for completed in whole[::2]:
        assert completed.folder is not None
        (completed.folder / "manifest.json").unlink()
    hand = Hand(_noisy)
    resumed, _ = execute(tmp_path, experiment_of(tmp_path, UNTIL), hand)
    assert len(hand.made) == len(whole[::2])
    assert [completed.result for completed in resumed] == [completed.result for completed in whole]


@pytest.mark.slow
def test_repeat_until_has_a_cap(tmp_path: Path) -> None:
    text = UNTIL.replace('"2 %"', '"0.01 %"').replace("max = 20", "max = 7")
    done, rounds = execute(tmp_path, experiment_of(tmp_path, text), Hand(_noisy))
    assert [row.goodput_mbps.n for row in rows_of(completed.result for completed in done if completed.result)] == [7, 3]
    assert (rounds.count_uncertain(), rounds.max_runs) == (1, 14)


def test_a_point_with_a_failed_run_gets_no_more(tmp_path: Path) -> None:
    def fail(job: RunJob) -> float:
        if job.run.seed == 2:
            raise LabError("no")
        return _noisy(job)

    done, _ = execute(tmp_path, experiment_of(tmp_path, UNTIL), Hand(fail))
    assert len(done) == 6


def test_places_of_a_lock_are_independent(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with hold_place(file, 5) as first, hold_place(file, 6) as other, hold_place(file, 5) as second:
        assert (first, other, second) == (True, True, False)
    with hold_place(file, 5) as again:
        assert again


def test_labs_have_different_cpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 5})
    with leased_cpu() as first, leased_cpu() as second, leased_cpu() as third, leased_cpu() as fourth:
        assert [first, second, third] == [5, 1, 0]
        assert fourth == 5, "more labs than CPUs share"
    with leased_cpu() as again:
        assert again == 5


def test_labs_of_several_commands_share_cpus_evenly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Three commands on two CPUs had three labs on one of them, for as long as their runs took."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    words = "from mptcplab.campaign.store import leased_cpu\nwith leased_cpu() as cpu: print(cpu, flush=True); input()"
    cpus = os.sched_getaffinity(0)
    with ExitStack() as held:
        for _ in cpus:
            held.enter_context(leased_cpu())
        commands = [
            held.enter_context(Popen((sys.executable, "-c", words), stdin=PIPE, stdout=PIPE, text=True)) for _ in cpus
        ]
        counts = [int(command.stdout.readline()) for command in commands if command.stdout]
        for command in commands:
            command.communicate("\n")
    assert sorted(counts) == sorted(cpus)
