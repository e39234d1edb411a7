# SPDX-License-Identifier: MIT
"""``mptcplab calibrate`` on this machine's own kernel, which needs root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.bench import mptcplab

from mptcplab.calibrate.measure import open_bed
from mptcplab.calibrate.syscalls import count_calls
from mptcplab.errors import LabError
from mptcplab.node.cpu import Cpu

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to count system calls of other processes")

#: 1000 calls that move nothing, 300 that fail, and 40 + 20 that move 1000 and 500 bytes.
PROGRAM = """
import os, socket
os.write(1, b"ready")
os.read(0, 1)
for _ in range(1000):
    os.getppid()
left, right = socket.socketpair()
left.setblocking(False)
null = os.open("/dev/null", os.O_WRONLY)
for _ in range(300):
    try:
        left.recv(10)
    except BlockingIOError:
        pass
for _ in range(20):
    left.send(bytes(1000)); right.recv(1000); os.write(null, bytes(500))
os._exit(0)
"""


def test_calls_and_bytes_are_counted_exactly() -> None:
    """And of no other program, although others run."""
    command = [sys.executable, "-IS", "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read(5) == b"ready"
        with count_calls() as counter:
            counter.watch(process.pid)
            process.stdin.write(b"!")
            process.wait(60)
            calls, moved = counter.read(process.pid)
    print(calls, moved)
    expected = 20 * (1000 + 1000 + 500) + 1  # and the byte by which it begins
    assert moved == expected
    assert 1360 <= calls < 1400, "and some of Python's own"


def test_a_program_that_cannot_start_is_named(tmp_path: Path) -> None:
    with open_bed(tmp_path) as place:
        running = place.start(("sh", "-c", "echo no such cipher >&2; exit 3"), cpu=min(os.sched_getaffinity(0)))
        with pytest.raises(LabError, match="'sh' ended with status 3 before it listened") as caught:
            place.wait_for_port(running, 1234)
        assert caught.value.hint == "no such cipher"


def test_a_relay_has_plausible_costs() -> None:
    """In its shortest form, and whatever else runs here: the costs give the CPU time of each load within a factor."""
    done = mptcplab("calibrate", "socat", "--seconds", "0.3", "--repeats", "1", "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    (relay,) = json.loads(done.stdout)
    print(relay)
    cpu = Cpu.model_validate(relay["cpu"])
    assert (relay["program"], relay["side"], relay["cipher"]) == ("socat", "relay", None)
    assert int(cpu.per_byte) < 20_000, "a copied byte takes less than 20 ns"
    assert int(cpu.per_call) < 100_000_000, "a system call takes less than 100 us"
    assert all(-0.6 < load["error"] < 1.5 for load in relay["loads"])
    assert [round(load["bytes_per_byte"], 1) for load in relay["loads"]] == [2.0] * len(relay["loads"])
