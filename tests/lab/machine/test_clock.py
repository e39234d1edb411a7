# SPDX-License-Identifier: MIT
"""The clock that programs see, through the vDSO and through system calls."""

from __future__ import annotations

import json

import pytest
from tests.lab.bench import Bench, bare_plan, client, server

from mptcplab.kernel.data import TESTED_VERSIONS
from mptcplab.metrics.rows import result_rows

#: What one look at the clock takes: TIMER_MULTIPLIER in arch/um/include/linux/time-internal.h.
STEP_NS = 256
LOOK = """
import json, time
from time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime_ns
looks = [time.monotonic_ns() for _ in range(1000)]
mixed = [clock_gettime_ns(clock) for clock in (CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_MONOTONIC)]
before = time.monotonic_ns()
time.sleep(0.001)
slept = time.monotonic_ns() - before
start = turns = time.monotonic_ns()
while time.monotonic_ns() < start + 1_000_000:
    pass
print(json.dumps({"looks": looks, "mixed": mixed, "slept": slept}))
"""


@pytest.mark.parametrize("version", TESTED_VERSIONS)
def test_every_look_takes_the_same_time(bench: Bench, version: str) -> None:
    """Also where the vDSO has counted to its limit and makes a system call. And waiting for the clock ends."""
    lived = bench.live(bare_plan(client("look", "python3", "-IS", "-c", LOOK)), version=version)
    seen = json.loads(lived.text("look"))
    steps = {later - earlier for earlier, later in zip(seen["looks"], seen["looks"][1:], strict=False)}
    assert steps == {STEP_NS}, f"looks at the clock are {sorted(steps)} ns apart"
    monotonic, boottime, realtime, last = seen["mixed"]
    assert (boottime - monotonic, last - monotonic) == (STEP_NS, 3 * STEP_NS), seen["mixed"]
    wall = 1_735_689_600 * 10**9
    assert 0 <= realtime - wall - monotonic <= 3 * STEP_NS, f"the wall clock is {realtime - wall - monotonic} ns ahead"
    # The sleep's slack (50 us) and a few looks.
    assert 1_000_000 <= seen["slept"] <= 1_060_000, f"1 ms of sleep took {seen['slept']} ns"


#: What is sent after 1 s waits for 3 s in the line, TCP repeats it, and from 2 s on there is no route.
NO_ROUTE = """
[topology]
preset = "disjoint-paths"
paths = 1

[links.link1]
rate = "10 Mbit/s"
delay = "10 ms"

[transport]
protocol = "tcp"

[[events]]
at = "1 s"
type = "change"
link = "link1"
direction = "backward"
delay = "3 s"

[[events]]
at = "2 s"
type = "down"
mode = "interface"
link = "link1"

[[events]]
at = "6 s"
type = "up"
link = "link1"
"""
LISTENER = """
import socket, time
listener = socket.socket()
listener.bind(("0.0.0.0", 9000))
listener.listen()
one, _ = listener.accept()
got = 0
while data := one.recv(65536):
    got += len(data)
one.sendall(str(got).encode())
time.sleep(1000)
"""
TALKER = """
import socket, time
one = socket.create_connection(("10.0.1.1", 9000))
one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(120):
    one.sendall(bytes(500))
    time.sleep(0.05)
one.shutdown(socket.SHUT_WR)
print(one.recv(100).decode())
"""


@pytest.mark.parametrize("version", TESTED_VERSIONS)
def test_time_passes_while_softirqs_raise_each_other(bench: Bench, version: str) -> None:
    """TCP cannot send, which wakes its small queues, which cannot send: until the line lets go of what it holds."""
    programs = [
        server("listener", "python3", "-IS", "-c", LISTENER, node="client"),
        client("talker", "python3", "-IS", "-c", TALKER, node="server", start_ns=10**7, seconds=100),
    ]
    lived = bench.live(bench.plan(NO_ROUTE, programs=programs), version=version)
    assert lived.text("talker").split() == ["60000"]
    state = json.loads((lived.folder / "machine.json").read_text())
    print(state)
    # At most as many as there are ms without a route, from 2 s to 6 s.
    assert 0 < state["softirq_rounds_delayed"] < 4000


#: The same conversation as a workload, so that it has a row.
STREAM = """
[workloads.talk]
kind = "stream"
from = "server"
to = "client"
duration = "8 s"
packet = "500 B"
interval = "50 ms"
protocol = "tcp"
"""


@pytest.mark.parametrize("version", TESTED_VERSIONS)
def test_a_run_with_delayed_softirqs_is_marked(bench: Bench, version: str) -> None:
    (recording,) = bench.record(NO_ROUTE + STREAM, f"kernel={version}")
    (row,) = result_rows([recording])
    rounds = recording.machine["softirq_rounds_delayed"]
    print(rounds, row.warnings)
    assert rounds > 0
    assert any(f"delayed {rounds} rounds of softirqs" in warning for warning in row.warnings), row.warnings


@pytest.mark.parametrize("version", TESTED_VERSIONS)
def test_a_usual_run_has_no_delayed_softirqs(bench: Bench, version: str) -> None:
    """Neither a transfer with loss has any, nor a transfer whose link goes down while the route stays."""
    text = NO_ROUTE.replace('mode = "interface"', 'mode = "silent"').replace('delay = "3 s"', 'loss = "2 %"')
    assert text.count("silent") == 1
    (recording,) = bench.record(text + STREAM, f"kernel={version}")
    (row,) = result_rows([recording])
    print(recording.machine, row.warnings)
    assert recording.machine["softirq_rounds_delayed"] == 0, "0 is counted, and not unknown"
    assert not any("softirqs" in warning for warning in row.warnings), row.warnings
