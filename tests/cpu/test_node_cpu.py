# SPDX-License-Identifier: MIT
"""A node's CPU limits its programs, all of them together, to exactly what it can do; other nodes go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.lab.bench import Bench, mptcplab, note, tree_hash

from mptcplab.metrics.catalog.cpu import cpu_uses
from mptcplab.metrics.rows import result_rows

#: Two servers; 100 ns per byte are 80 Mbit/s.
NETWORK = """
title = "cpu"
kernel = "7.2-cpu"
transport.protocol = "tcp"

[hosts.client]
[hosts.other]
[hosts.server]
cpu = { per_byte = "100 ns" }

[links.link1]
between = ["client", "server"]
rate = "1 Gbit/s"
delay = "1 ms"

[links.link2]
between = ["client", "other"]
rate = "100 Mbit/s"
delay = "1 ms"
"""
LIMIT_MBPS = 80.0


def _flow(name: str, to: str, more: str = "") -> str:
    return f'\n[workloads.{name}]\nkind = "flow"\nfrom = "client"\nto = "{to}"\nduration = "4 s"\n{more}'


ONE = NETWORK + _flow("bulk", "server")


def test_goodput_is_what_the_cpu_can_do(bench: Bench) -> None:
    """Within 2 %: goodput counts the slow start and the queue that drains at the end, where the CPU waits or not."""
    (recording,) = bench.record(ONE)
    (row,) = result_rows([recording])
    note("cpu.goodput_mbps", row.goodput_mbps.mean)
    assert row.goodput_mbps.mean == pytest.approx(LIMIT_MBPS, rel=0.02)
    assert row.metrics["cpu_busy_percent"].mean > 97, "all but the handshake and the first windows"
    assert [warning for warning in row.warnings if "CPU of server was busy" in warning], row.warnings
    use = cpu_uses(recording)["server"]
    assert use.busy_ns == 100 * use.bytes
    assert sum(use.intervals_ns.values()) == pytest.approx(use.busy_ns, abs=len(use.intervals_ns))
    assert max(use.intervals_ns.values()) <= use.interval_ns


def test_calls_take_time_beside_bytes(bench: Bench) -> None:
    """The limit follows from the number of calls and bytes that the kernel counted, which differ between programs."""
    (recording,) = bench.record(ONE, 'hosts.server.cpu={ per_call = "30 us", per_byte = "10 ns" }')
    (row,) = result_rows([recording])
    use = cpu_uses(recording)["server"]
    per_call = use.bytes / use.calls
    expected = 8e3 / (10 + 30e3 / per_call)
    note("cpu.with_calls_mbps", row.goodput_mbps.mean)
    print(f"{per_call:.0f} bytes per call, {expected:.2f} Mbit/s expected")
    assert use.busy_ns == 30_000 * use.calls + 10 * use.bytes
    assert row.goodput_mbps.mean == pytest.approx(expected, rel=0.02)


def test_programs_of_a_node_share_its_cpu_and_other_nodes_go_on(bench: Bench) -> None:
    """Two flows to the server have the CPU's rate together; one to another host is as fast as without any CPU."""
    flows = _flow("bulk", "server") + _flow("second", "server") + _flow("apart", "other")
    limited, free = (
        {row.workload: row.goodput_mbps.mean for row in bench.rows(NETWORK + flows, *changes)}
        for changes in ((), ('hosts.server.cpu={ per_byte = "1 ps" }',))
    )
    together = limited["bulk"] + limited["second"]
    note("cpu.together_mbps", together)
    print(limited, free)
    assert together == pytest.approx(LIMIT_MBPS, rel=0.02)
    assert limited["bulk"] == pytest.approx(limited["second"], rel=0.05), "they take turns by time"
    assert limited["apart"] == pytest.approx(free["apart"], rel=1e-4), "the last packets of the others are elsewhere"
    assert free["bulk"] > 4 * LIMIT_MBPS


#: A proxy whose exit reads and writes each byte once: 100 ns per byte are 40 Mbit/s. The lines could carry 100.
GATEWAY = """
title = "a gateway with a slow CPU"
kernel = "7.2-cpu"
transport.protocol = "tcp"

[hosts.laptop]
[hosts.web]
[routers.home.transport]

[routers.vps]
transport = {}
cpu = { per_byte = "100 ns" }

[links.lan]
between = ["laptop", "home"]

[links.dsl]
between = ["home", "vps"]
rate = "50 Mbit/s"
delay = "5 ms"

[links.lte]
between = ["home", "vps"]
rate = "50 Mbit/s"
delay = "5 ms"

[links.wan]
between = ["vps", "web"]
delay = "1 ms"

[gateways.bond]
program = "shadowsocks-libev"
entry = "home"
exit = "vps"

[workloads.bulk]
kind = "flow"
from = "laptop"
to = "web"
duration = "4 s"
"""


def test_a_gateways_cpu_limits_what_it_carries(bench: Bench) -> None:
    """Within 2 %: the cipher adds 0.2 % of bytes, and goodput begins with slow start."""
    row = bench.row(GATEWAY)
    note("cpu.gateway_mbps", row.goodput_mbps.mean)
    assert row.goodput_mbps.mean == pytest.approx(LIMIT_MBPS / 2, rel=0.02)
    assert [warning for warning in row.warnings if "CPU of vps was busy" in warning], row.warnings


def test_same_identity_same_bytes(bench: Bench) -> None:
    """With two programs that wait for each other, losses, and several calls per message."""
    text = NETWORK.replace('delay = "1 ms"', 'delay = "1 ms"\nloss = "0.1 %"', 1) + _flow("bulk", "server")
    text += _flow("second", "server").replace("flow", "iperf3", 1)
    change = 'hosts.server.cpu={ per_call = "3 us", per_byte = "20 ns" }'
    hashes = []
    for out in ("a", "b"):
        bench.record(text, change, out=out)
        hashes.append(tree_hash(bench.folder / out / "runs"))
    assert hashes[0] == hashes[1]


#: Prints virtual times in ms. Each call takes 1 ms and each byte 1 us, so everything else is small beside it.
SCRIPT = """
import ctypes, json, os, signal, socket, struct, threading, time

found = {}

def timed(name, work):
    start = time.monotonic_ns()
    work()
    found[name] = (time.monotonic_ns() - start) / 1e6

def calls():
    for _ in range(100):
        os.getppid()

def child(work):
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    return pid

def children():
    for pid in [child(calls), child(calls)]:
        os.waitpid(pid, 0)

def thread():
    one = threading.Thread(target=calls)
    one.start()
    one.join()

def signals():
    handled = []
    signal.signal(signal.SIGALRM, lambda *_: handled.append(time.monotonic_ns()))
    start = time.monotonic_ns()
    signal.setitimer(signal.ITIMER_REAL, 0.0505)
    calls()
    found["handler"] = (handled[0] - start) / 1e6

def killed():
    null = os.open("/dev/null", os.O_WRONLY)
    pid = child(lambda: os.write(null, bytes(10**6)))
    time.sleep(0.5)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

def failing():
    for _ in range(100):
        try:
            left.recv(1, socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass

def messages():
    payload = ctypes.create_string_buffer(2500)
    part = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(payload), 2500))
    header = struct.pack("PIPNPNi4xI4x", 0, 0, ctypes.addressof(part), 1, 0, 0, 0, 0)
    assert ctypes.CDLL(None).sendmmsg(left.fileno(), header * 4, 4, 0) == 4

left, right = socket.socketpair()
for work in (calls, children, thread, signals, killed, failing, messages):
    timed(work.__name__, work)
timed("sleep", lambda: time.sleep(1))
print(json.dumps(found))
"""


def _exec(folder: Path, cpu: str, *command: str) -> str:
    scenario = folder / "one.toml"
    scenario.write_text(ONE)
    done = mptcplab(
        "exec", "--scenario", scenario, "--on", "server", "--set", f"hosts.server.cpu={cpu}", "--", *command
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_kind_of_process_is_charged(tmp_path: Path) -> None:
    cpu = '{ per_call = "1 ms", per_byte = "1 us" }'
    document = json.loads(_exec(tmp_path, cpu, "python3", "-IS", "-c", SCRIPT))
    milliseconds = {name: round(time, 2) for name, time in document.items()}
    print(milliseconds)
    low_and_high = {
        "calls": (99.9, 100.1),
        "children": (200, 215),  # one after the other; and the calls that start and reap them
        "thread": (100, 150),
        "handler": (50.5, 53),  # when the call during which the timer fired has been served
        "signals": (101, 106),  # and the calls of the handler
        "killed": (500, 515),  # a signal ends the wait for the CPU, and what was left is not done
        "failing": (99.9, 100.1),
        "messages": (10.9, 11.1),  # 10,000 bytes and one call
        "sleep": (1000.9, 1001.1),  # the CPU rests meanwhile
    }
    assert {name: low <= document[name] <= high for name, (low, high) in low_and_high.items()} == dict.fromkeys(
        document, True
    )
