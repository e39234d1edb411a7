# SPDX-License-Identifier: MIT
"""What goes wrong inside a lab ends it soon, with one sentence that says what."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.bench import Bench, bare_plan, client, lab_processes, server, wait_until_gone

from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.errors import LabError, MissingError
from mptcplab.plan.model import Plan
from mptcplab.steps import Command


def _error(bench: Bench, plan: Plan, *, stall_seconds: float = 10.0, within_s: float = 30.0) -> LabError:
    """The plan's error: one sentence, soon, and nothing is left running."""
    started = time.monotonic()
    error = bench.fail(plan, stall_seconds=stall_seconds)
    took = time.monotonic() - started
    print(f"{took:.1f} s: {error.message}\n  {error.hint}")
    assert took < within_s, f"it took {took:.1f} s: {error.message}"
    assert "\n" not in error.message, error.message
    assert "Traceback" not in f"{error.message} {error.hint}", error.hint
    wait_until_gone(list(lab_processes(bench.folder)), 5)
    assert not list(bench.folder.rglob("core*")), "there is a core file"
    return error


def test_a_program_that_spins(bench: Bench) -> None:
    plan = bare_plan(client("spin", "sh", "-c", "while :; do :; done"))
    error = _error(bench, plan, stall_seconds=1.0, within_s=15)
    assert "virtual time has stopped" in error.message, error.message
    assert "polls without sleeping" in error.message, error.message


def test_a_panic(bench: Bench) -> None:
    """Zeros over the data of process 1 kill it, and a kernel without process 1 panics."""
    code = """
import re
for line in open("/proc/1/maps"):
    found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
    if found:
        start, end = (int(text, 16) for text in found.groups())
        with open("/proc/1/mem", "wb", buffering=0) as memory:
            memory.seek(start)
            memory.write(bytes(end - start))
"""
    error = _error(bench, bare_plan(client("wreck", "python3", "-IS", "-c", code)))
    assert "panicked: Attempted to kill init!" in error.message, error.message


def test_a_sudden_end(bench: Bench) -> None:
    code = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"
    error = _error(bench, bare_plan(client("off", "python3", "-IS", "-c", code)))
    assert "ended without a result" in error.message, error.message


def test_a_program_that_fails(bench: Bench) -> None:
    plan = bare_plan(client("bad", "sh", "-c", "echo so many words; echo no way >&2; exit 7"))
    assert _error(bench, plan).message == "bad on client ended with status 7: no way"


def test_a_program_that_is_killed(bench: Bench) -> None:
    error = _error(bench, bare_plan(client("bad", "sh", "-c", "kill -SEGV $$")))
    assert error.message == "bad on client was killed by SIGSEGV", error.message


def test_a_server_that_fails(bench: Bench) -> None:
    plan = bare_plan(server("bad", "sh", "-c", "echo in use >&2; exit 1"), client("wait", "sleep", "5"))
    assert _error(bench, plan).message == "bad on server ended with status 1: in use"


def test_a_client_that_hangs(bench: Bench) -> None:
    error = _error(bench, bare_plan(client("slow", "sleep", "100", seconds=5)))
    assert error.message == "slow did not end within its timeout of 5 s", error.message


def test_a_server_that_does_not_end_is_ended(bench: Bench) -> None:
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN)\nwhile 1: signal.pause()"
    programs = (server("stay", "python3", "-IS", "-c", stubborn), client("done", "sleep", "1"))
    stay, _ = bench.live(bare_plan(*programs)).outcome.programs
    assert (stay["status"], stay["stopped"]) == (-9, True), stay


def test_out_of_memory(bench: Bench) -> None:
    eat = "parts = []\nwhile 1: parts.append(bytearray(1 << 20))"
    error = _error(bench, replace(bare_plan(client("eat", "python3", "-IS", "-c", eat)), memory_bytes=128 << 20))
    assert error.message == "eat on client was killed because the lab ran out of memory", error.message


def test_too_little_memory_to_boot(bench: Bench) -> None:
    error = _error(bench, replace(bare_plan(client("any", "true")), memory_bytes=12 << 20))
    assert "lab" in error.message, error.message


def test_a_command_that_fails(bench: Bench) -> None:
    plan = bare_plan(client("any", "true"))
    wrong = Command("client", ("ip", "link", "set", "nosuch", "up"))
    error = _error(bench, replace(plan, setup=(wrong,)))
    assert "ip netns exec client ip link set nosuch up" in error.message, error.message
    assert "nosuch" in error.message.partition("up: ")[2], error.message


def test_the_failing_one_of_a_batch(bench: Bench) -> None:
    names = ("one", "two", "three")
    setup = tuple(Command("client", ("ip", "link", "add", name, "type", "dummy")) for name in names)
    wrong = Command("client", ("ip", "link", "set", "nosuch", "up"))
    error = _error(bench, replace(bare_plan(client("any", "true")), setup=(*setup[:2], wrong, setup[2])))
    assert "ip link set nosuch up" in error.message, error.message


def test_a_program_that_is_not_there(bench: Bench) -> None:
    error = _error(bench, bare_plan(client("any", "no-such-program")))
    assert error.message == "this machine has no 'no-such-program'", error.message


def test_a_program_that_the_plan_does_not_say_it_uses(bench: Bench) -> None:
    """It is not found, although the machine has it."""
    line = ("sh", "-c", "ls / && uname")
    error = _error(bench, bare_plan(replace(client("any", *line), starts=("ls",))))
    assert error.message.endswith("uname: not found"), error.message


def _with_kernel(bench: Bench, script: str, symbols: str | None) -> Bench:
    """A bench whose kernel is a shell script."""
    folder = bench.folder / "kernel"
    folder.mkdir()
    (folder / "linux").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "linux").chmod(0o755)
    if symbols is not None:
        (folder / "System.map").write_text(symbols)
    engine = bench.engines["7.2"]
    fake = VirtualEngine(replace(engine.kernel, path=folder), engine.tools)
    return Bench({"7.2": fake}, bench.folder)


CLOCK = "0000000060000000 b time_travel_time\n"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 1", "ended without a result (status 1)"),
        ("echo 'Kernel panic - not syncing: no init found'; kill -ABRT $$", "panicked: no init found"),
        ("kill -SEGV $$", "ended without a result (signal SIGSEGV)"),
        ("head -c 9000000 /dev/zero; exit 1", "ended without a result (status 1)"),
    ],
)
def test_a_kernel_that_does_not_work(bench: Bench, script: str, expected: str) -> None:
    error = _error(_with_kernel(bench, script, CLOCK), bare_plan(client("any", "true")))
    assert expected in error.message, error.message


@pytest.mark.parametrize("symbols", [None, "", "0000000060000000 T _start\n"])
def test_a_kernel_without_time_travel(bench: Bench, symbols: str | None) -> None:
    error = _error(_with_kernel(bench, "exit 1", symbols), bare_plan(client("any", "true")))
    assert isinstance(error, MissingError), error
    assert error.hint == "mptcplab kernel build", error.hint


def test_a_kernel_file_that_cannot_be_run(bench: Bench) -> None:
    fake = _with_kernel(bench, "", CLOCK)
    (fake.folder / "kernel" / "linux").chmod(0o644)
    error = _error(fake, bare_plan(client("any", "true")))
    assert "ended without a result" in error.message, error.message


def test_one_bad_run_does_not_stop_the_others(bench: Bench) -> None:
    """A run that times out is reported, and what it left can be looked at; the run beside it is recorded."""
    experiment = bench.experiment(
        """
topology.preset = "direct"
links.link1.rate = "1 Mbit/s"
workloads.bulk = { kind = "flow", from = "client", to = "server", size = "100 kB", timeout = "2 s" }
sweep."workloads.bulk.size" = ["100 kB", "1 MB"]
"""
    )
    good, bad = bench.try_all(experiment)
    assert good.error is None, good.error
    assert good.recording is not None
    assert bad.recording is None
    assert bad.error is not None
    assert bad.error.message == "bulk.client did not end within its timeout of 2 s"
    assert not list(Path(bench.folder / "results" / ".work" / "tmp").iterdir())
    (left,) = (bench.folder / "results" / "failed").iterdir()
    assert str(left) in (bad.error.hint or "")
    assert (left / "error.txt").read_text() == f"{bad.error.message}\n"
    assert '"event":"interval"' in (left / "out" / "bulk.server.out").read_text(), "what the server had got by then"
    sent = json.loads((left / "counters" / "client" / "nstat.json").read_text())["kernel"]["TcpOutSegs"]
    # 2 s of 1 Mbit/s are 165 full packets.
    assert 100 < sent < 250, sent
    assert {path.name for path in left.iterdir()} == {
        "console.txt", "counters", "error.txt", "machine.json", "out", "plan.json", "queues.jsonl",
    }  # fmt: skip
