# SPDX-License-Identifier: MIT
"""The sampler records what the kernel has: rows as the Python codec makes them, and queues as `tc` counts them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from tests.lab.bench import Bench, LabOutput, client, server

from mptcplab.engine.report import package_folder
from mptcplab.kernel.data import TESTED_VERSIONS, WITHOUT_SCHEDULERS
from mptcplab.plan.model import Plan

INTERVAL_NS = 10**7
NETWORK = """
[topology]
preset = "disjoint-paths"
paths = 2
[links.link1]
rate = "10 Mbit/s"
queue = "10 packets"
[links.link2]
rate = "10 Mbit/s"
"""
#: Prints the sockets of its namespace, as the codec of steering reads them.
_ROWS = f"""
import json, socket, sys, time
sys.path.insert(0, {str(package_folder())!r})
def rows():
    from mptcplab.steering.sockets import SocketSampler
    for row in SocketSampler(sys.argv[1]).sample(0):
        print(json.dumps(row), flush=True)
"""
#: Reads from all who connect, and prints the rows when nothing has happened for long.
_SERVER = (
    _ROWS
    + """
import selectors
waiting, kept = selectors.DefaultSelector(), []
for family, protocol, port in ((2, 262, 5001), (2, 0, 5002), (10, 0, 5003)):
    listener = socket.socket(family, socket.SOCK_STREAM, protocol)
    listener.bind(("", port))
    listener.listen(9)
    waiting.register(listener, selectors.EVENT_READ, listener)
quiet = None
while ready := waiting.select(quiet):
    quiet = 2
    for key, _ in ready:
        if key.data is None:
            if not key.fileobj.recv(1 << 20):
                waiting.unregister(key.fileobj)
        else:
            kept.append(key.data.accept()[0])
            waiting.register(kept[-1], selectors.EVENT_READ)
rows()
time.sleep(10**6)
"""
)
#: Sends by MPTCP, TCP and mapped addresses of IPv6, connects to itself by IPv6, and closes one connection on one side.
_CLIENT = (
    _ROWS
    + """
local = socket.create_server(("::1", 6000), family=10)
kept = [socket.create_connection(("::1", 6000))]
for family, protocol, host, port, count in (
    (2, 262, "10.0.2.2", 5001, 300_000), (2, 0, "10.0.2.2", 5002, 100_000),
    (10, 0, "::ffff:10.0.4.2", 5003, 50_000), (2, 0, "10.0.4.2", 5002, 10)):
    one = socket.socket(family, socket.SOCK_STREAM, protocol)
    one.connect((host, port))
    one.sendall(bytes(count))
    kept.append(one)
kept[-1].shutdown(socket.SHUT_WR)
time.sleep(3)
rows()
"""
)


@cache
def _rows_of(line: str) -> dict[str, Any]:
    return dict(json.loads(line))


def _plan(bench: Bench) -> Plan:
    programs = [
        server("server.rows", "python3", "-IS", "-c", _SERVER, "server"),
        client("client.rows", "python3", "-IS", "-c", _CLIENT, "client"),
    ]
    plan = bench.plan(NETWORK, programs=programs)
    hosts = ("client", "server")
    return replace(plan, sampled=hosts, watched=hosts, sample_interval_ns=INTERVAL_NS)


@pytest.fixture(scope="module", params=TESTED_VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lab_output(bench: Bench, version: str) -> LabOutput:
    return bench.live(_plan(bench), version=version)


def _sample_lines(lab_output: LabOutput, node: str) -> list[str]:
    lines = (lab_output.folder / "sockets.jsonl").read_text().splitlines()
    return [line for line in lines if _rows_of(line)["node"] == node]


@pytest.mark.parametrize("node", ["client", "server"])
def test_rows_are_those_of_the_python_codec(lab_output: LabOutput, node: str) -> None:
    """Byte for byte: at the end of the run, when no socket has had anything to do for a second."""
    expected = lab_output.text(f"{node}.rows").splitlines()
    lines = _sample_lines(lab_output, node)
    last_ns = _rows_of(lines[-1])["time_ns"]
    last_lines = [line for line in lines if _rows_of(line)["time_ns"] == last_ns]
    assert last_lines == [json.dumps({**json.loads(line), "time_ns": last_ns}) for line in expected]
    rows = [_rows_of(line) for line in last_lines]
    assert {row["protocol"] for row in rows} == {"mptcp", "tcp"}, "both are among them"
    assert sum("token" in row for row in rows) >= 2, "the MPTCP connection has two subflows"
    assert ("[::1]:6000" in {row["local"] for row in rows}) == (node == "client")
    assert len({row["state"] for row in rows}) > 1, "one connection is closed on one side"


def test_samples_are_on_the_grid(lab_output: LabOutput) -> None:
    """The nth at n intervals after time zero, as long as there are sockets."""
    instants = sorted({_rows_of(line)["time_ns"] for line in _sample_lines(lab_output, "client")})
    assert instants == list(range(instants[0], instants[-1] + 1, INTERVAL_NS))
    assert instants[0] % INTERVAL_NS == 0
    assert instants[-1] > 3 * 10**9


def test_queues_are_those_of_tc(lab_output: LabOutput) -> None:
    last = {}
    for line in (lab_output.folder / "queues.jsonl").read_text().splitlines():
        row = json.loads(line)
        last[row["node"], row["device"], row["direction"]] = row
    assert len(last) == 4, "one for each direction of the links with a rate"
    peak = 0
    for (node, device, _), row in last.items():
        tc = lab_output.qdisc(node, device, "tbf")
        assert (row["drops"], row["bytes"], row["packets"]) == (tc["drops"], tc["backlog"], tc["qlen"])
        peak = max(peak, row["drops"])
    assert peak > 0, "a queue of 10 packets has dropped some of the first window"


@pytest.mark.parametrize("node", ["client", "server"])
def test_algorithms_are_those_of_the_sockets(lab_output: LabOutput, node: str, version: str) -> None:
    seen = lab_output.counter(node, "algorithms.json")
    sampled: dict[tuple[str, str], dict[str, Any]] = {}
    for line in _sample_lines(lab_output, node):
        row = _rows_of(line)
        sampled[row["local"], row["remote"]] = row
    assert [(socket["local"], socket["remote"]) for socket in seen["sockets"]] == sorted(sampled)
    for socket in seen["sockets"]:
        row = sampled[socket["local"], socket["remote"]]
        assert socket["congestion"] == [row["congestion"]] == ["cubic"]
        has_scheduler = "token" in row and version not in WITHOUT_SCHEDULERS
        assert socket["scheduler"] == (["default"] if has_scheduler else [])
    assert seen["uncoupled"] == 0


def test_the_same_bytes_again(bench: Bench) -> None:
    files = ("sockets.jsonl", "queues.jsonl", "machine.json", "counters/client/algorithms.json")
    first, second = (bench.live(_plan(bench), fresh=True) for _ in range(2))
    for name in files:
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes(), name


#: Prints random numbers from its start on: from the kernel's generator, and ports that the kernel chooses.
_DRAWS = """
import os, socket, time
for number in range(20):
    drawn = socket.socket()
    drawn.bind(("127.0.0.1", 0))
    print(time.monotonic_ns(), os.urandom(4).hex(), drawn.getsockname()[1], flush=True)
    time.sleep(0.007)
"""


def test_programs_do_not_notice_the_sampler(bench: Bench) -> None:
    """It takes neither virtual time nor random numbers from them: not when it starts, and not at samples."""
    programs = [
        server("server.draws", "python3", "-IS", "-c", f"{_DRAWS}time.sleep(10**6)", "server"),
        client("client.draws", "python3", "-IS", "-c", _DRAWS, "client"),
    ]
    plan = bench.plan(NETWORK, programs=programs)
    sampled = replace(plan, sampled=("client", "server"), watched=("client",), sample_interval_ns=INTERVAL_NS)
    runs = [bench.live(variant) for variant in (sampled, replace(plan, sampled=(), watched=(), queues=()))]
    for name in ("server.draws", "client.draws"):
        first, second = (run.text(name).splitlines() for run in runs)
        assert len(first) == 20
        assert first == second, name
