# SPDX-License-Identifier: MIT
"""A run that dies, or loses a machine, at any moment: the machines put themselves back, or the next start does it."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from .bed import Bed
from .test_run import INTERFACES, SHAPED, TWO_CABLES, changes, rows, scenario, shaped_scenario

#: Moments of death: enough to meet each phase of a run several times.
KILLS = 50
#: Ends only by force.
ENDLESS = shaped_scenario(TWO_CABLES.replace('"200 MB"', '"1 TB"'))
#: The shortest that an inventory may have.
LEASE = "5 s"
#: A machine whose connection has closed puts itself back at once; under load its programs take this long.
_SOON_SECONDS = 20.0
#: The client finds a dead connection after 12 s, a machine after its lease.
_LATER_SECONDS = 40.0
#: The sshd of a machine notices that a connection is gone when TCP retransmits next. Its pauses double, so that takes
#: no longer than the machine was unplugged: 12 s, until the client ends, and as long as a busy machine takes for that.
_RETRANSMITTED_SECONDS = 30.0
#: A run begins with many short commands on each machine: 43 s where five times as much work as CPUs is there.
_START_SECONDS = 240.0


def _run(pair: Bed, folder: Path, name: str) -> subprocess.Popen[bytes]:
    inventory = pair.inventory(SHAPED, lease=LEASE)
    words = pair.command("run", scenario(folder, ENDLESS), "--engine", f"ssh:{inventory}", "--out", folder / name)
    log = (folder / "log").open("wb")
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _folders(pair: Bed, names: list[str] | None = None) -> list[str]:
    """Return the folders of runs that machines have."""
    chosen = names or list(pair.machines)
    return [name for name in chosen if pair.machines[name].run("sh", "-c", "ls /run/mptcplab-ssh 2>/dev/null || :")]


def _wait(is_true: Callable[[], object], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def _wait_for_flow(pair: Bed) -> None:
    """Wait until the run's transfer has begun, and print how long that took."""
    client, began = pair.machines["client"], time.monotonic()
    _wait(
        lambda: "mptcplab-flow client" in client.run("ps", "-e", "-o", "args="), _START_SECONDS, "no transfer has begun"
    )
    print(f"the transfer began after {time.monotonic() - began:.0f} s")


def test_killed_at_random_moments(pair: Bed, tmp_path: Path) -> None:
    """SIGKILL: of every five, one from the start of Python on, three from the first change of a machine to the middle
    of a transfer that would last for minutes, and one while the machines are being put back after Ctrl-C."""
    before, rng, taken = pair.settle(), random.Random(1), 0
    for number in range(KILLS):
        command = _run(pair, tmp_path, f"out{number}")
        if number % 5:
            _wait(lambda: _folders(pair), 120, (tmp_path / "log").read_text())
        time.sleep(rng.uniform(0, 5 if number % 5 else 10))
        if number % 5 == 1:
            command.send_signal(signal.SIGINT)
            time.sleep(rng.uniform(0, 1))
        taken += bool(_folders(pair))
        assert number % 5 == 1 or command.poll() is None, (tmp_path / "log").read_text()
        command.send_signal(signal.SIGKILL)
        command.wait()
        _wait(lambda: not _folders(pair), _SOON_SECONDS, f"after kill {number} the machines are not put back")
        assert not list((tmp_path / f"out{number}").glob("runs/*/manifest.json"))
        shutil.rmtree(tmp_path / f"out{number}", ignore_errors=True)
        if number % 10 == 9:  # a check of everything takes a second
            different = changes(before, pair.settle())
            assert not different, f"after kill {number}: {different}"
    print(f"in {taken} of {KILLS} kills the machines were in use")
    assert taken >= KILLS // 2, taken


def _kill(pair: Bed, pattern: str) -> None:
    pair.machines["client"].run("pkill", "-KILL", "-f", pattern)


def _unplug(pair: Bed) -> None:
    pair.connect("client", connected=False)


@pytest.mark.parametrize(
    "accident",
    [
        pytest.param(_unplug, id="unplugged"),
        pytest.param(lambda pair: _kill(pair, "sshd"), id="sshd killed"),
        pytest.param(lambda pair: _kill(pair, "agent.sh"), id="agent killed"),
    ],
)
def test_a_lost_machine_puts_itself_back(pair: Bed, tmp_path: Path, accident: Callable[[Bed], None]) -> None:
    before = pair.settle()
    command = _run(pair, tmp_path, "out")
    _wait_for_flow(pair)
    accident(pair)
    _wait(lambda: not _folders(pair), _LATER_SECONDS, "the machines are not put back")
    command.wait(_LATER_SECONDS)
    log = (tmp_path / "log").read_text()
    assert command.returncode == 1, log
    assert "client (client)" in log, log
    pair.connect("client", connected=True)
    if ":22" not in pair.machines["client"].run("ss", "-ltn"):
        pair.start_sshd("client")
    processes = ("ps", "-e", "-o", "args=")
    _wait(lambda: "@notty" not in pair.machines["client"].run(*processes), _RETRANSMITTED_SECONDS, "a session is left")
    different = changes(before, pair.settle())
    assert not different, different


#: `ip` of a slow machine: the agent gives an interface its name while the keeper is about to take that away.
_SLOW_IP = """#!/bin/sh
case "$*" in
*" name one") sleep 4 ;;
*"mptcplab.1 down") sleep 8 ;;
esac
exec {ip} "$@"
"""


def test_interrupted_while_a_machine_takes_its_interfaces(pair: Bed, tmp_path: Path) -> None:
    """Its keeper waits until the agent has taken them: both would move the same ones, and what fails stays as it is."""
    before = pair.settle()
    client = pair.machines["client"]
    (tmp_path / "ip").write_text(_SLOW_IP.format(ip=tmp_path / "real-ip"))
    (tmp_path / "ip").chmod(0o755)
    place = Path(client.run("which", "ip").strip()).resolve()
    shutil.copy(place, tmp_path / "real-ip")
    client.run("mount", "--bind", str(tmp_path / "ip"), str(place))
    command = _run(pair, tmp_path, "out")
    folder = "/run/mptcplab-ssh/client"
    _wait(lambda: client.run("sh", "-c", f"ls {folder}/named 2>/dev/null || :"), 120, "nothing was moved")
    command.send_signal(signal.SIGINT)
    command.wait(_LATER_SECONDS)
    log = (tmp_path / "log").read_text()
    assert "put back" not in log, log
    _wait(lambda: not _folders(pair), _LATER_SECONDS, "the machines are not put back")
    client.run("umount", str(place))
    different = changes(before, pair.settle())
    assert not different, different


def test_next_start_cleans_up_where_the_keeper_died(pair: Bed, tmp_path: Path) -> None:
    """Nothing is left that could put the machine back by itself, as after a machine ran out of memory."""
    before = pair.settle()
    command = _run(pair, tmp_path, "out")
    _wait_for_flow(pair)
    _kill(pair, "keeper.sh")
    command.send_signal(signal.SIGKILL)
    command.wait()
    time.sleep(1)
    assert _folders(pair, ["client"]), "the machine was put back without a keeper"
    inventory = pair.inventory(INTERFACES, lease=LEASE)
    text = TWO_CABLES.replace("200 MB", "1 MB")
    done = pair.mptcplab("run", scenario(tmp_path, text), "--engine", f"ssh:{inventory}", "--out", tmp_path / "next")
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path / "next")[0]["mptcp"] == "2 subflows"
    different = changes(before, pair.settle())
    assert not different, different


def test_a_second_run_waits_for_nobody(pair: Bed, tmp_path: Path) -> None:
    """Machines that another command uses are named with it, and it goes on undisturbed."""
    command = _run(pair, tmp_path, "out")
    _wait_for_flow(pair)
    other = tmp_path / "other"
    other.mkdir()
    words = ("--engine", f"ssh:{pair.folder / 'inventory.toml'}", "--out", tmp_path / "out2")
    done = pair.mptcplab("run", scenario(other, TWO_CABLES), *words)
    assert done.returncode != 0
    assert "another run" in done.stderr, done.stderr
    assert command.poll() is None, (tmp_path / "log").read_text()
    command.send_signal(signal.SIGINT)
    assert command.wait(30) == 130
    assert not _folders(pair)
