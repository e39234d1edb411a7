# SPDX-License-Identifier: MIT
"""Runs on workers of dask.distributed: the same bytes, whoever makes them and whatever becomes of them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import distributed
import pytest
from tests.lab.bench import CLI, Bench, alive, lab_processes, mptcplab, wait_until_gone
from tests.lab.campaign.test_life_and_death import LONG
from tests.lab.campaign.test_sweep import SHORT, assert_equal_results, assert_nothing_left, whole_sweep

import mptcplab as package

TEXT = SHORT.replace("repeats = 10", "repeats = 4")


class Cluster:
    """A scheduler and workers on this machine, reachable from it only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._file = folder / "scheduler.json"
        self._processes = [self._start("scheduler", "--port", "0", "--no-dashboard")]
        self.address = self._wait_for_address()

    def _wait_for_address(self) -> str:
        """The scheduler's file is there before it is written."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(FileNotFoundError, ValueError):
                return str(json.loads(self._file.read_text())["address"])
            time.sleep(0.05)
        self.end()
        raise TimeoutError("the scheduler did not say its address within 60 s")

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """One more worker, for one run at a time."""
        place = self.folder / f"worker{len(self._processes)}"
        place.mkdir()
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(place)]
        self._processes.append(self._start("worker", *options, **environment))
        return self._processes[-1]

    def _start(self, what: str, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", "127.0.0.1"]
        command += ["--scheduler-file", str(self._file), *options]
        with (self.folder / f"{what}.log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **environment})

    def kill_scheduler(self) -> None:
        """As when its machine goes away."""
        self._processes[0].kill()
        self._processes[0].wait()

    def end(self) -> None:
        """Every process of it."""
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster")
    try:
        yield made
    finally:
        made.end()


def _labs(cache: Path) -> dict[int, str]:
    return lab_processes(cache / "mptcplab" / "cluster")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of the test's own with this machine's kernels, so that its workers' labs can be told from others'."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mptcplab"
    (tmp_path / "cache" / "mptcplab").mkdir(parents=True)
    for name in ("kernels", "sources"):
        (tmp_path / "cache" / "mptcplab" / name).symlink_to(root / name)
    shutil.copytree(root / "tools", tmp_path / "cache" / "mptcplab" / "tools")
    return tmp_path / "cache"


def test_a_worker_dies_and_the_table_is_the_same(bench: Bench, cluster: Cluster, cache: Path) -> None:
    """Two workers, one killed with SIGKILL while its lab runs: the other does its runs too."""
    file, there = bench.write(TEXT), bench.folder / "there"
    doomed = cluster.worker(XDG_CACHE_HOME=str(cache))
    command = [*CLI, "run", str(file), "--out", str(there), "--cluster", cluster.address]
    _wait_for_workers(cluster)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        _wait_for(lambda: len(list(there.glob("runs/*/manifest.json"))) >= 3 and bool(_labs(cache)))
        labs = _labs(cache)
        doomed.kill()
        doomed.wait()
        wait_until_gone(list(labs), 5)
        recorded = len(list(there.glob("runs/*/manifest.json")))
        cluster.worker(XDG_CACHE_HOME=str(cache))
        _, said = client.communicate(timeout=120)
    print(f"the worker was killed after {recorded} of 8 runs; its lab's {len(labs)} processes ended with it")
    assert client.returncode == 0, said
    assert 3 <= recorded < 8
    assert_equal_results(whole_sweep(bench, file), there)
    assert_nothing_left(there)
    assert not _labs(cache)


def _wait_for(condition: object, seconds: float = 60) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def _wait_for_workers(cluster: Cluster, workers: int = 1) -> None:
    with distributed.Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=60)


def test_two_workers_beside_each_other(bench: Bench, cluster: Cluster, cache: Path) -> None:
    file, there = bench.write(TEXT), bench.folder / "there"
    for _ in range(2):
        cluster.worker(XDG_CACHE_HOME=str(cache))
    _wait_for_workers(cluster, 2)
    done = mptcplab("run", file, "--out", there, "--cluster", cluster.address)
    assert done.returncode == 0, done.stderr
    assert_equal_results(whole_sweep(bench, file), there)
    places = {line.split('"worker": "')[1].split('"')[0] for line in (there / "log.jsonl").read_text().splitlines()}
    assert len(places) == 2, f"all runs were made by {places}"


def test_a_worker_with_another_guest_is_refused(bench: Bench, cluster: Cluster) -> None:
    """Its runs would not be the same runs: one sentence says in what it differs, and nothing is recorded."""
    source = bench.folder / "source"
    checkout = Path(package.__file__).parents[2]
    for name in ("src/mptcplab", "kernel", "tools/flow", "tools/sampler"):
        shutil.copytree(checkout / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (source / "src" / "mptcplab" / "guest" / "init.py").open("a") as init:
        init.write("ANOTHER_GUEST = True\n")
    file, out = bench.write(TEXT), bench.folder / "out"
    command = ("run", file, "--out", out, "--repeats", "1", "--cluster", cluster.address)
    nobody = mptcplab(*command)
    assert (nobody.returncode, "it has no workers" in nobody.stderr) == (2, True), nobody.stderr
    cluster.worker(PYTHONPATH=str(source / "src"))
    _wait_for_workers(cluster)
    done = mptcplab(*command)
    assert done.returncode == 1
    assert "has another mptcplab than this machine" in done.stderr
    assert list((out / "runs").iterdir()) == []


def test_the_scheduler_dies_and_what_is_recorded_stays(bench: Bench, cluster: Cluster, cache: Path) -> None:
    """The rest fails in plain words; the same command without the cluster goes on."""
    cluster.worker(XDG_CACHE_HOME=str(cache))
    file, out = bench.write(TEXT), bench.folder / "out"
    _wait_for_workers(cluster)
    command = [*CLI, "run", str(file), "--out", str(out), "--cluster", cluster.address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as client:
        _wait_for(lambda: len(list(out.glob("runs/*/manifest.json"))) >= 2)
        cluster.kill_scheduler()
        _, text = client.communicate(timeout=120)
    recorded = len(list(out.glob("runs/*/manifest.json")))
    assert client.returncode == 1, text
    assert "the cluster lost this run" in text
    assert "Traceback" not in text, text
    done = mptcplab("run", file, "--out", out)
    assert (done.returncode, done.stderr.count("recorded  ")) == (0, recorded), done.stderr
    assert_nothing_left(out)


def test_interrupt_ends_the_labs_of_the_workers(bench: Bench, cluster: Cluster, cache: Path) -> None:
    worker = cluster.worker(XDG_CACHE_HOME=str(cache))
    _wait_for_workers(cluster)
    out = bench.folder / "out"
    command = [*CLI, "run", str(bench.write(LONG)), "--out", str(out), "--cluster", cluster.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        _wait_for(lambda: bool(_labs(cache)))
        labs = _labs(cache)
        client.send_signal(signal.SIGINT)
        _, text = client.communicate(timeout=30)
    assert client.returncode == 130, text
    assert "Traceback" not in text, text
    took = wait_until_gone(list(labs), 5)
    print(f"the worker's lab was gone {took:.2f} s after the client")
    assert alive([worker.pid]), "the worker goes on"
    _wait_for(lambda: not list((cache / "mptcplab" / "cluster" / "tmp").iterdir()), 5)


def test_local_cluster_ends_with_the_command(bench: Bench, cache: Path) -> None:
    """SIGKILL of the command ends its workers and their labs; a signal to the whole terminal prints no traceback."""
    out = bench.folder / "out"
    command = [*CLI, "run", str(bench.write(LONG)), "--out", str(out), "--cluster", "local:1"]
    for number, status in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment
        ) as client:
            _wait_for(lambda: bool(_labs(cache)))
            family = [*_session(client.pid), *_labs(cache)]
            if number == signal.SIGINT:
                os.killpg(client.pid, number)
            else:
                client.kill()
            assert client.wait(timeout=30) == status
            took = wait_until_gone(family, 10)
            assert client.stderr is not None
            text = client.stderr.read()
        print(f"{number.name}: {len(family)} processes were gone after {took:.1f} s")
        assert "Traceback" not in text, text


def _session(leader: int) -> list[int]:
    """Its processes, and the processes of sessions that these lead: labs."""
    pids: set[int] = {leader}
    while True:
        more = set(pids)
        for place in Path("/proc").glob("[0-9]*"):
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) in pids or int(fields[3]) == leader:
                more.add(int(place.name))
        if more == pids:
            return sorted(pids)
        pids = more


def test_what_a_failed_run_left_comes_back(bench: Bench) -> None:
    """As with runs on this machine; only runs that a worker could not begin leave nothing."""
    text = """
topology.preset = "direct"
links.link1.rate = "1 Mbit/s"
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "1 MB", timeout = "2 s" }
"""
    out = bench.folder / "out"
    done = mptcplab("run", bench.write(text), "--out", out, "--cluster", "local:1")
    assert done.returncode == 1, done.stderr
    (left,) = (out / "failed").iterdir()
    assert str(left) in done.stderr
    assert (left / "error.txt").read_text() == "bulk.client did not end within its timeout of 2 s\n"
    assert (left / "out" / "bulk.server.out").stat().st_size > 0
