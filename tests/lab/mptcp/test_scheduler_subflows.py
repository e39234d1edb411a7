# SPDX-License-Identifier: MIT
"""Schedulers while subflows come, fail, return and go: backups honoured, nothing lost, no connection that stalls."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.lab.bench import Bench, client, server
from tests.lab.mptcp.test_schedulers import ALL, NETWORK, PAYLOAD, SECOND, show

from mptcplab.campaign import record
from mptcplab.metrics.rows import result_rows
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.scenario.schema import Scenario

BACKUP = (
    'hosts.client.transport.endpoints=[{ link = "access1", flags = ["subflow"] }, '
    '{ link = "access2", flags = ["subflow", "backup"] }]'
)
#: On a router: nothing goes through any more, in either direction.
CUT = "nft 'table inet cut { chain c { type filter hook forward priority 0; drop; }; }'"
UNCUT = "nft 'delete table inet cut'"


@ALL
def test_backups_wait(bench: Bench, scheduler: str) -> None:
    row = bench.row(NETWORK, "workloads.bulk.duration=3 s", f"transport.scheduler={scheduler}", BACKUP)
    show(scheduler, row)
    assert row.shares.get(SECOND, 0.0) == 0.0, row.shares
    assert row.goodput_mbps.mean > 0.92 * 20 * PAYLOAD, row.goodput_mbps.mean


@ALL
def test_backups_step_in(bench: Bench, scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only other subflow is removed after 1 s; the backup carries the rest."""
    _interfere(monkeypatch, client="sleep 1; ip mptcp endpoint del id 1")
    row = bench.row(NETWORK, "workloads.bulk.size=8 MB", f"transport.scheduler={scheduler}", BACKUP)
    show(scheduler, row)
    assert 0.5 < row.shares[SECOND] < 0.9, row.shares
    # 8 MB on one line, and 10 % for the slow start of the other one.
    assert row.metrics["duration_s"].mean < 1.1 * 64 / (20 * PAYLOAD), row.metrics["duration_s"]


@ALL
@pytest.mark.parametrize("node", ["client", "server"])
def test_the_only_path_goes_before_another_comes(
    bench: Bench, scheduler: str, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client begins to join on the second line, and either end takes away its address of the first one meanwhile.

    Until the second subflow is joined no subflow may carry data.
    """
    address = {"client": "10.0.1.1", "server": "10.0.2.2"}[node]
    gone = f"ip netns exec {node} ip mptcp endpoint del id 0 {address}"
    joining = "ss -Htn state syn-sent src 10.0.3.1"
    _interfere(
        monkeypatch,
        server="sleep 1; ip mptcp endpoint add 10.0.4.2 dev link2 signal",
        client=f"sleep 1.02; {gone}; {joining}",
    )
    settings = (f"transport.scheduler={scheduler}", "transport.endpoints=none")
    recordings = bench.record(NETWORK, "workloads.bulk.size=8 MB", *settings)
    assert "10.0.3.1:" in recordings[0].output("at-client"), (
        "the second subflow should be joining when the first one goes"
    )
    (row,) = result_rows(recordings)
    show(scheduler, row)
    assert row.shares[SECOND] > 0.5, row.shares
    # 8 MB on one line, and some round trips of 20 ms without any.
    assert row.metrics["duration_s"].mean < 1.1 * 64 / (20 * PAYLOAD), row.metrics["duration_s"]


@ALL
@pytest.mark.parametrize("router", ["r1", "r2"])
def test_a_path_that_fails_and_returns(
    bench: Bench, scheduler: str, router: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line drops everything from 1 to 4 s, and the endpoint of the second is removed at 7 s and back at 8 s.

    The payload arrives once and in order, which the flow's checksum proves, and it does not stall.
    """
    endpoints = "ip mptcp endpoint del id 2; sleep 1; ip mptcp endpoint add 10.0.3.1 dev access2 id 2 subflow"
    lines = {router: f"sleep 1; {CUT}; sleep 3; {UNCUT}", "client": f"sleep 7; {endpoints}"}
    _interfere(monkeypatch, **lines)
    row = bench.row(NETWORK, "workloads.bulk.size=30 MB", f"transport.scheduler={scheduler}")
    show(scheduler, row)
    # One line for all of it takes 12.7 s. A dead path is found stale after 4 retransmission timeouts of the
    # connection, 3 s or so, in which its data may hold up the rest; then it carries on with what is left.
    assert row.metrics["duration_s"].mean < 12.7 + 4, row.metrics["duration_s"]


def _interfere(monkeypatch: pytest.MonkeyPatch, **lines: str) -> None:
    """Run lines of shell on nodes beside the workload, from its beginning."""
    programs = [client(f"at-{node}", "sh", "-c", line, node=node) for node, line in lines.items()]

    def compile_program(scenario: Scenario, *, seed: int) -> Plan:
        plan = compile_plan(scenario, seed=seed)
        return replace(plan, programs=(*plan.programs, *programs))

    monkeypatch.setattr(record, "compile_plan", compile_program)


def test_redundant_hides_a_dead_path(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that is lost in the middle does not even cost a retransmission timeout."""
    _interfere(monkeypatch, r2=f"sleep 1; {CUT}")
    row = bench.row(NETWORK, "workloads.bulk.size=10 MB", "transport.scheduler=redundant")
    show("cut", row)
    # 10 MB on one line.
    assert row.metrics["duration_s"].mean < 1.05 * 80 / (20 * PAYLOAD), row.metrics["duration_s"]


#: The last data arrive over the first line at 1.06 s, their copy on the second one is lost; so is the DATA_FIN of
#: 1.15 s, on both. What comes first when the second line is back is TCP's retransmission of the copy, with a DATA_FIN.
OLD_DATA_WITH_DATA_FIN = """
[[events]]
at = "1 s"
type = "down"
link = "link2"
direction = "forward"

[[events]]
at = "1.1 s"
type = "down"
link = "link1"
direction = "forward"

[[events]]
at = "1.5 s"
type = "up"
link = "link2"
"""
SENDER = """
import socket, time
one = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
one.connect(("10.0.2.2", 9000))
one.sendall(b"a")
time.sleep(1.05)
one.sendall(b"b" * 1000)
time.sleep(0.1)
one.shutdown(socket.SHUT_WR)
print(one.recv(1000).decode())
"""
RECEIVER = """
import socket, time
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.bind(("0.0.0.0", 9000))
listener.listen()
one, _ = listener.accept()
got, last = 0, 0.0
while data := one.recv(4096):
    got, last = got + len(data), time.monotonic()
one.sendall(f"{got} {time.monotonic() - last}".encode())
time.sleep(60)
"""


@pytest.mark.parametrize("version", ["7.2", "6.12"])
def test_the_end_may_come_with_a_copy_of_old_data(bench: Bench, version: str) -> None:
    """The receiver's part is mainline's, which overlooks such a DATA_FIN and ignores all others from then on."""
    programs = [
        server("receiver", "python3", "-IS", "-c", RECEIVER),
        client("sender", "python3", "-IS", "-c", SENDER, seconds=60),
    ]
    settings = ("workloads.bulk.size=1 B", "transport.scheduler=redundant")
    plan = bench.plan(NETWORK + OLD_DATA_WITH_DATA_FIN, *settings, programs=programs)
    received, waited = bench.live(plan, version=version).text("sender").split()
    print(f"{received} B, {waited} s from the last of them to the end")
    assert int(received) == 1001
    # The line is back 0.44 s after the last data. The copy is sent again after a timeout of 0.2 s or so and then of
    # twice that, 0.65 s after it was lost.
    assert 0.44 < float(waited) < 0.9, f"{waited} s"


#: The second line is the better one, and fails just before 57 kB go out on it.
FULL_WINDOW = """
[[events]]
at = "1 s"
type = "down"
link = "link2"
direction = "forward"
"""
WINDOWS = """
route() { ip route change "$1" via "$2" dev "$3" "$4" "$5" initcwnd "$6"; }
for where in 'src 10.0.1.1' 'table 100'; do route 10.0.2.0/24 10.0.1.2 access1 $where 4; done
for where in 'src 10.0.3.1' 'table 101'; do route 10.0.4.0/24 10.0.3.2 access2 $where 40; done
"""
FILLER = """
import socket, subprocess, time
one = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
one.connect(("10.0.2.2", 9000))
one.sendall(b"first")
time.sleep(1.05)
one.setblocking(False)
try:
    while one.send(bytes(10000)):
        pass
except BlockingIOError:
    pass
time.sleep(0.04)
subprocess.run(["ip", "mptcp", "endpoint", "del", "id", "2"], check=True)
time.sleep(1)
"""
LOOKER = """
import socket, time
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
listener.bind(("0.0.0.0", 9000))
listener.listen()
one, _ = listener.accept()
one.recv(5)
start = time.monotonic()
while time.monotonic() < start + 2:
    if one.recv(1, socket.MSG_PEEK) and len(one.recv(1 << 20, socket.MSG_PEEK)) > 30000:
        print(time.monotonic() - start, flush=True)
        break
    time.sleep(0.001)
time.sleep(60)
"""


@ALL
def test_what_a_subflow_leaves_needs_no_new_window(bench: Bench, scheduler: str) -> None:
    """A line fails with much on it, and its subflow is removed 90 ms later: the other one begins with 4 segments.

    The receiver reads nothing, so that its window does not move; only ACKs say that there is room for more.
    """
    programs = [
        client("windows", "sh", "-c", WINDOWS),
        client("filler", "python3", "-IS", "-c", FILLER, start_ns=10**7),
        server("looker", "python3", "-IS", "-c", LOOKER),
    ]
    settings = ("workloads.bulk.size=1 B", "links.link2.delay=5 ms", f"transport.scheduler={scheduler}")
    lived = bench.live(bench.plan(NETWORK + FULL_WINDOW, *settings, programs=programs))
    took = float(lived.text("looker")) - 1.09
    print(f"{scheduler}: {took} s")
    # 21 segments go in rounds of 20 ms of 4, 8, 16. Without a push the first timer of the connection ends after 100 ms.
    assert 0 < took < 0.07, f"{took} s"
