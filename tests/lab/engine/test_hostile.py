# SPDX-License-Identifier: MIT
"""Hostile machines: no room, no permission, clocks that jump, processes that are stopped or killed from outside.

In every case nothing recorded is lost, nothing wrong is recorded, nothing stays behind, and one sentence says why.
Kills and locks of whole sweeps are in test_sweep.py and test_life_and_death.py, what guests do in
test_guest_failures.py.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.lab.bench import (
    CLI,
    Bench,
    LabOutput,
    alive,
    bare_plan,
    client,
    lab_processes,
    mptcplab,
    tree_hash,
    wait_until_gone,
)
from tests.lab.hostile_machines import (
    RUNS,
    SLOW,
    Command,
    assert_nothing_left,
    assert_resumes,
    hash_recordings,
    labs,
    sentence,
    with_mounts,
)

from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load

CAPTURES = Path(__file__).parents[2] / "unit" / "captures"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, engines: Mapping[str, VirtualEngine], shared_results: Path) -> Path:
    """The results of RUNS on a friendly machine."""
    folder = tmp_path_factory.mktemp("friendly")
    file = folder / "scenario.toml"
    file.write_text(RUNS)
    with Bench(engines, folder, shared_results).reuse(load(file).runs, folder / "results"):
        done = mptcplab("run", file, "--out", folder / "results")
    assert done.returncode == 0, done.stderr
    return folder / "results"


@pytest.fixture
def start_command(bench: Bench) -> Iterator[Callable[..., Command]]:
    commands: list[Command] = []

    def start(*arguments: str | Path) -> Command:
        commands.append(Command(bench, *arguments))
        return commands[-1]

    # As from a terminal, also where the tests themselves were begun with nohup, which children inherit.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield start
    signal.signal(signal.SIGHUP, before)
    for command in commands:
        command.process.kill()
        command.process.communicate()


# -- room and permission


@pytest.mark.parametrize("size", ["700k", "3m"])
def test_disk_full(bench: Bench, whole: Path, size: str) -> None:
    """Results grow until nothing fits any more: what was recorded before is whole, the rest is told and repeated."""
    small, out = bench.folder / "small", bench.folder / "out"
    small.mkdir()
    script = """
    mount -t tmpfs -o size="$1" none "$2"
    status=0
    run run "$4" --out "$2/results" --jobs 1 || status=$?
    cp -a "$2/results" "$3"
    exit $status"""
    done = with_mounts(script, size, small, out, bench.write(RUNS))
    assert done.returncode == 1, done.stderr
    print(sentence(done.stderr))
    assert "no space left on device" in done.stderr.lower(), done.stderr
    assert_nothing_left(out)
    before = hash_recordings(out)
    assert len(before) < 4
    assert (size == "3m") == bool(before), f"{len(before)} runs were recorded in {size}"
    assert before.items() <= hash_recordings(whole).items()
    if before:
        assert "incomplete" in (out / "table.md").read_text(), "a table of fewer runs says so"
        assert_resumes(bench, out, whole)


def test_read_only_results(bench: Bench, whole: Path) -> None:
    out = bench.folder / "results"
    shutil.copytree(whole, out)
    before = tree_hash(out)
    script = """
    mount --bind "$1" "$1"
    mount -o remount,bind,ro "$1"
    for words in "run $2 --out $1" "report $1"; do
        run $words && exit 9 || echo "status $?"
    done"""
    done = with_mounts(script, out, bench.write(RUNS))
    assert done.stdout.splitlines() == ["status 2", "status 2"], f"{done.stdout}\n{done.stderr}"
    described = [line for line in done.stderr.splitlines() if line.startswith("mptcplab: ")]
    assert len(described) == 2
    assert all("read-only file system" in line for line in described), described
    assert tree_hash(out) == before


def test_results_deleted_in_the_middle(bench: Bench, start_command: Callable[..., Command]) -> None:
    out = bench.folder / "results"
    command = start_command("run", bench.write(SLOW), "--out", out, "--jobs", "1")
    command.wait_for(lambda: labs(out))
    pids = list(lab_processes(out))
    while out.exists():  # the lab goes on writing meanwhile
        shutil.rmtree(out, ignore_errors=True)
    status, said = command.end()
    assert status == 1, said
    print(sentence(said))
    assert "no such file or directory" in said.lower(), said
    wait_until_gone(pids, 5)
    assert not out.exists() or not list(out.rglob("manifest.json")), "half a folder must not pass for results"


def test_small_shared_memory(bench: Bench) -> None:
    """64 MB at /dev/shm, as containers have: memory goes where there is room, or the command says that none has."""
    script = """
    mount -t tmpfs -o size=64m none /dev/shm
    run run "$1" --out "$2" --repeats 1 >&2
    mount -t tmpfs -o size=10m none /var/tmp
    TMPDIR=/var/tmp run run "$1" --out "$2" --repeats 1 --fresh"""
    done = with_mounts(script, bench.write(RUNS), bench.folder / "results", env={"TMPDIR": "/tmp"})
    assert done.returncode == 3, done.stderr
    assert "done      run, seed 1" in done.stderr, done.stderr
    assert "no temporary folder has space for the 1024 MiB of a lab's memory; at most" in sentence(done.stderr)
    assert len(hash_recordings(bench.folder / "results")) == 1, "the recording that was to be made again is still there"
    assert_nothing_left(bench.folder / "results")


def test_memory_that_runs_out_in_the_middle(bench: Bench) -> None:
    """The place had room when the lab began, and others have filled it since."""
    code = (
        "from pathlib import Path; from mptcplab.engine.virtual import machine; from mptcplab.cli.main import main; "
        'machine.memory_folder = lambda *_: Path("/dev/shm"); main()'
    )
    script = f'mount -t tmpfs -o size=20m none /dev/shm\nexec {sys.executable} -c \'{code}\' run "$1" --out "$2"'
    done = with_mounts(script, bench.write(RUNS.replace("repeats = 4", "")), bench.folder / "results")
    assert done.returncode == 1, done.stderr
    assert "no space left for the lab's memory" in sentence(done.stderr), done.stderr
    assert_nothing_left(bench.folder / "results")


def test_guest_without_memory() -> None:
    """A program that takes all of a lab's memory is killed there, not here."""
    eat = "parts = []\nwhile 1: parts.append(bytearray(1 << 24))"
    before = set(os.listdir("/dev/shm"))
    done = mptcplab("exec", "--", "python3", "-IS", "-c", eat)
    assert done.returncode == 128 + signal.SIGKILL, done
    assert not [name for name in set(os.listdir("/dev/shm")) - before if name.startswith("vm_file")]


# -- time

#: The wall clock jumps by a day, forth and back, with every look at it.
_JUMPING_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static time_t jump(void) { static int n; return n++ % 2 ? 86400 : -86400; }
int clock_gettime(clockid_t clock, struct timespec *now)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		real = dlsym(RTLD_NEXT, "clock_gettime");
	int result = real(clock, now);
	if (clock == CLOCK_REALTIME)
		now->tv_sec += jump();
	return result;
}
time_t time(time_t *result)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	(void)zone;
	now->tv_sec = time(NULL);
	now->tv_usec = 0;
	return 0;
}
"""


def test_wall_clock_that_jumps(bench: Bench, whole: Path) -> None:
    """Nobody is given up or waits for a day, and the recordings are the same."""
    (bench.folder / "clock.c").write_text(_JUMPING_CLOCK)
    library = bench.folder / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, bench.folder / "clock.c", "-ldl"], check=True)
    env = {"LD_PRELOAD": str(library)}
    look = "import time; print(abs(time.time() - time.time()) > 86400)"
    shown = subprocess.run([sys.executable, "-c", look], env={**os.environ, **env}, capture_output=True, text=True)
    assert shown.stdout == "True\n", "the test is void: the clock does not jump"
    out = bench.folder / "results"
    done = mptcplab("run", bench.write(RUNS), "--out", out, env=env)
    assert done.returncode == 0, done.stderr
    assert hash_recordings(out) == hash_recordings(whole)
    assert (out / "table.md").read_bytes() == (whole / "table.md").read_bytes()
    took = [json.loads(line)["wall_seconds"] for line in (out / "log.jsonl").read_text().splitlines()]
    assert all(0 < seconds < 100 for seconds in took), f"measured by the wall clock: {took} s"


def _stepping_plan(steps: int) -> Plan:
    """A program whose time moves in small steps."""
    code = f"import time\nprint('begun', flush=True)\nfor _ in range({steps}): time.sleep(0.0001)\nprint('done')"
    return bare_plan(client("steps", "python3", "-IS", "-c", code))


def test_a_stopped_lab_is_no_stall(bench: Bench) -> None:
    """SIGSTOP for three times as long as a lab may stand still."""
    lived: list[LabOutput | BaseException] = []

    def live() -> None:
        try:
            lived.append(bench.live(_stepping_plan(30_000), stall_seconds=1, fresh=True))
        except BaseException as error:
            lived.append(error)

    thread = threading.Thread(target=live)
    thread.start()
    end = time.monotonic() + 60
    while not [file for file in bench.folder.rglob("steps.out") if file.stat().st_size] and time.monotonic() < end:
        time.sleep(0.01)
    stopped = [pid for pid, name in lab_processes(bench.folder).items() if name == "linux"]
    assert stopped, f"the test is void: the lab has ended already: {lived}"
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    assert not lived, f"the lab was given up: {lived}"
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    thread.join(60)
    (result,) = lived
    assert isinstance(result, LabOutput), result
    assert result.text("steps") == "begun\ndone\n"


_SHORT_PATIENCE = """
import sys
from pathlib import Path
from mptcplab.campaign.lab import Lab, Stop, prepare_engines
from mptcplab.scenario.load import load
runs = load(Path(sys.argv[1])).runs
for done in Lab(prepare_engines(runs, stall_seconds=1), Path(sys.argv[2]), stop=Stop()).execute(
    runs, jobs=1, progress=lambda _: None
):
    if done.error:
        sys.exit(done.error.message)
"""


def test_a_stopped_machine_is_no_stall(bench: Bench) -> None:
    """Command and lab stop together, as when a container is frozen; the command wakes up first."""
    out, file = bench.folder / "results", bench.write(SLOW.replace("repeats = 4", ""))
    words = [sys.executable, "-c", _SHORT_PATIENCE, str(file), str(out)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as command:
        end = time.monotonic() + 60
        while not labs(out) and time.monotonic() < end:
            time.sleep(0.01)
        machines = labs(out)
        assert machines, "no lab began"
        for pid in (*machines, command.pid):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.6)  # two looks at a lab that stands still
        time.sleep(3)
        for pid in (command.pid, *machines):
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.6)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 0, said
    assert len(hash_recordings(out)) == 1


# -- signals


def test_a_closed_terminal(bench: Bench, start_command: Callable[..., Command]) -> None:
    """SIGHUP ends everything like Ctrl-C."""
    out = bench.folder / "results"
    command = start_command("run", bench.write(SLOW), "--out", out, "--jobs", "2")
    command.wait_for(lambda: labs(out))
    pids = list(lab_processes(out))
    command.process.send_signal(signal.SIGHUP)
    status, said = command.end()
    assert (status, "mptcplab: interrupted" in said) == (130, True), said
    assert not alive(pids), alive(pids)
    assert_nothing_left(out)


def test_nohup_goes_on(bench: Bench) -> None:
    words = ["nohup", *CLI, "run", str(bench.write(SLOW.replace("repeats = 4", "")))]
    with subprocess.Popen([*words, "--out", str(bench.folder / "results")], stdout=subprocess.DEVNULL) as command:
        end = time.monotonic() + 60
        while not labs(bench.folder / "results") and time.monotonic() < end:
            time.sleep(0.01)
        command.send_signal(signal.SIGHUP)
        assert command.wait(timeout=60) == 0


def test_a_killed_lab_kernel(bench: Bench, start_command: Callable[..., Command]) -> None:
    """By hand, or by the host when its memory runs out: that run is told and repeated, the others are not touched."""
    out, file = bench.folder / "results", bench.write(SLOW.replace("repeats = 4", "repeats = 2"))
    command = start_command("run", file, "--out", out, "--jobs", "1")
    command.wait_for(lambda: labs(out))
    os.kill(labs(out)[0], signal.SIGKILL)
    status, said = command.end()
    assert status == 1, said
    assert "1 of 2 runs failed, the first being run, seed 1: the lab kernel was killed (SIGKILL)" in sentence(said)
    assert_nothing_left(out)
    assert len(hash_recordings(out)) == 1
    again = mptcplab("run", file, "--out", out)
    assert again.returncode == 0, again.stderr
    assert (again.stderr.count("recorded  "), len(hash_recordings(out))) == (1, 2), again.stderr
    assert not (out / "failed.sh").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_ended_capture_command(bench: Bench, start_command: Callable[..., Command], number: signal.Signals) -> None:
    """A long capture, ended in the middle: no tshark and no temporary folder stay."""
    sample = (CAPTURES / "any-sll2.pcap").read_bytes()
    file = bench.folder / "long.pcap"
    file.write_bytes(sample[:24] + sample[24:] * 200)
    command = start_command("capture", file)
    command.wait_for(lambda: list(command.temporary.glob("mptcplab-*")) and _children(command.process.pid))
    children = _children(command.process.pid)
    command.process.send_signal(number)
    status, said = command.end()
    assert (status, said.strip()) == (130, "mptcplab: interrupted")
    wait_until_gone(children, 5)


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
