# SPDX-License-Identifier: MIT
"""The readers of `mptcplab explain`: outputs of several versions of ss, ip and nstat, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.explain.evidence import Limits
from mptcplab.explain.readers.facts import HostFacts
from mptcplab.explain.readers.host import busy_share, connections_of, host_of, subflows_of, waits_in
from mptcplab.explain.readers.mptcp import command_of, read_endpoint, read_event, read_limits
from mptcplab.explain.readers.text import TextReader

#: A subflow and its connection, as iproute2 6.1 shows them in the lab, in the form of `ss -tiepm` and `ss -Mie`.
SUBFLOW = """\
State Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
ESTAB 12     34           10.0.3.1:38997     10.0.4.2:5201 users:(("iperf3",pid=30,fd=5)) timer:(on,39ms,0) ino:144 sk:3
\t skmem:(r0,rb8133760,t0,tb87040,f1000,w0,o0,bl0,d0) ts sack cubic wscale:7,7 rto:221 rtt:20.011/10.005 ato:40 mss:1448
 cwnd:10 ssthresh:7 bytes_sent:5000 bytes_retrans:1448 bytes_acked:3000 send 5788816bps lastsnd:1860
 pacing_rate 11577632bps delivery_rate 1158512bps busy:40ms rwnd_limited:10ms(25.0%) unacked:2 notsent:700
 rcv_ooopack:4 minrtt:19.9 snd_wnd:64128 tcp-ulp-mptcp flags:BJjecv token:74e583b0(id:1)/8028d558(id:2)
 seq:893dbdfec4293209 sfseq:13c0d0d maplen:3180
"""
CONNECTION = """\
State Recv-Q Send-Q Local Address:Port  Peer Address:Port
ESTAB 636356 7            10.0.1.1:34256     10.0.2.2:5201 ino:144 sk:2 <->
\t subflows:1 add_addr_accepted:1 subflows_max:8 remote_key token:8028d558 write_seq:20d6 snd_una:20d6 bytes_received:55
"""


def read(text: str, name: str = "host") -> HostFacts:
    """Return the facts of one text."""
    facts = HostFacts(name)
    TextReader(facts).read("file.txt", text)
    return facts


def test_a_subflow_has_all_its_numbers_in_common_units() -> None:
    (subflow,) = subflows_of(read(SUBFLOW))
    (sample,) = subflow.samples
    assert (subflow.local, subflow.remote, subflow.connection) == ("10.0.3.1:38997", "10.0.4.2:5201", "8028d558")
    assert (subflow.is_backup, subflow.congestion, subflow.is_mptcp) == (True, "cubic", True)
    assert (sample.state, sample.cwnd, sample.ssthresh, sample.mss) == ("estab", 10, 7, 1448)
    times = (sample.rtt_s, sample.rttvar_s, sample.min_rtt_s, sample.rto_s)
    assert times == pytest.approx((0.020011, 0.010005, 0.0199, 0.221))
    assert (sample.bytes_sent, sample.bytes_retrans, sample.bytes_acked) == (5000, 1448, 3000)
    assert (sample.unacked, sample.notsent_bytes, sample.ofo_packets, sample.lost) == (2, 700, 4, 0)
    assert (sample.busy_s, sample.rwnd_limited_s, sample.sndbuf_limited_s) == (0.04, 0.01, None)
    assert (sample.pacing_bps, sample.delivery_bps) == (11577632, 1158512)


def test_a_connection_is_known_by_its_token() -> None:
    (connection,) = connections_of(read(CONNECTION))
    assert (connection.connection, connection.subflows, connection.subflows_max) == ("8028d558", 1, 8)
    assert (connection.fell_back, connection.add_addr_signal) == (False, 0)


@pytest.mark.parametrize(
    ("written", "acked", "expected"),
    [("20d6", "1fd6", 256), ("5", "fffffffffffffffb", 10), ("20d6", "x", 7)],
    ids=["hexadecimal", "wraps", "unreadable"],
)
def test_bytes_of_a_connection_wait_though_its_send_queue_is_empty(written: str, acked: str, expected: int) -> None:
    text = CONNECTION.replace("write_seq:20d6 snd_una:20d6", f"write_seq:{written} snd_una:{acked}")
    (connection,) = connections_of(read(f"### 3 s: ss -Mi\n{text}"))
    assert connection.pending == ((3.0, expected),)


def test_one_line_per_socket_is_the_same() -> None:
    """`ss -O` puts the details in the line of the socket."""
    lines = SUBFLOW.splitlines()
    flat = f"{lines[0]}\n{' '.join(line.strip() for line in lines[1:])}\n"
    assert subflows_of(read(flat)) == subflows_of(read(SUBFLOW))


@pytest.mark.parametrize(
    ("local", "shown"),
    [
        ("10.25.150.10%wwan2:49211", "10.25.150.10:49211"),
        ("[::ffff:10.0.1.1]:5201", "10.0.1.1:5201"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("[fe80::1%eth0]:443", "[fe80::1]:443"),
        ("[fe80::1]%eth0:443", "[fe80::1]:443"),
    ],
)
def test_forms_of_an_address(local: str, shown: str) -> None:
    facts = read(f"Netid State Recv-Q Send-Q Local Peer\nmptcp ESTAB 0 0 {local} 192.0.2.1:5201\n")
    assert facts.sockets[0].local == shown


def test_a_table_of_both_protocols_keeps_them_apart() -> None:
    facts = read(
        "# ss -M4tn\nNetid State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
        "tcp ESTAB 0 0 192.0.2.9:55460 198.51.100.1:30194\n"
        "tcp FIN-WAIT-1 0 1 192.0.2.10%wwan2:49211 < hidden >:30194\n"
        "mptcp ESTAB 0 0 192.0.2.9:55460 198.51.100.1:30194\n"
    )
    assert [row.protocol for row in facts.sockets] == ["tcp", "mptcp"]


def test_a_fallback_and_the_command_tell_the_protocol() -> None:
    facts = read("$ ss -Mi\nESTAB 0 0 192.0.2.1:4 192.0.2.2:80\n\t fallback token:1 snd_una:0\n")
    assert [connection.fell_back for connection in connections_of(facts)] == [True]
    assert [row.protocol for row in read("$ ss -Mn\nESTAB 0 0 192.0.2.1:4 192.0.2.2:80").sockets] == ["mptcp"]
    assert [row.protocol for row in read("ESTAB 0 0 192.0.2.1:4 192.0.2.2:80").sockets] == [None]


@pytest.mark.parametrize(
    ("line", "flags", "device"),
    [
        ("10.0.1.1 id 1 subflow dev access1 ", {"subflow"}, "access1"),
        ("192.0.2.1 port 5000 id 2 signal", {"signal"}, None),
        ("2001:db8::1 id 3 subflow fullmesh backup dev eth1", {"subflow", "fullmesh", "backup"}, "eth1"),
        ("192.0.2.1 id 4 subflow rawflags 20 dev eth1", {"subflow", "laminar"}, "eth1"),
        ("192.0.2.1 id 4 rawflags 10 ", {"implicit"}, None),
    ],
)
def test_forms_of_an_endpoint(line: str, flags: set[str], device: str | None) -> None:
    endpoint = read_endpoint(line)
    assert endpoint is not None
    assert (set(endpoint.flags), endpoint.device) == (flags, device)


def test_implicit_endpoints_are_left_out() -> None:
    text = '[{"address":"192.0.2.1","id":1,"rawflags":"10"},{"address":"192.0.2.2","id":2,"subflow":true}]'
    assert [endpoint.address for endpoint in read(text).endpoints or ()] == ["192.0.2.2"]


@pytest.mark.parametrize("line", ["10.0.1.1 via 10.0.1.2 dev eth0", "default", "id 1 subflow", "10.0.1.1 uid 0"])
def test_what_is_no_endpoint(line: str) -> None:
    assert read_endpoint(line) is None


def test_commands_configure() -> None:
    facts = read(
        "ip mptcp endpoint add 192.0.2.1 dev eth0 signal\nsudo ip mp limits set subflows 4\n"
        "root@a:~# ip -n ns1 mptcp limits set add_addr_accepted 3\n"
    )
    assert [endpoint.text for endpoint in facts.endpoints or ()] == ["192.0.2.1 signal"]
    assert facts.limits == Limits(subflows=4, add_addr_accepted=3)
    assert command_of("ip -6 mp e show") == ("endpoint", "show")


def test_an_empty_listing_is_an_observation() -> None:
    assert read("$ ip mptcp endpoint show\n$ uname -r\n").endpoints == []
    assert read("$ uname -r\n").endpoints is None


def test_limits_in_any_order() -> None:
    expected = Limits(subflows=2, add_addr_accepted=0)
    assert read_limits("add_addr_accepted 0 subflows 2 ") == read_limits("subflows 2 add_addr_accepted 0") == expected


def test_an_event() -> None:
    event = read_event(
        "[     SF_CLOSED] token=ad77b741 remid=1 locid=2 saddr4=10.0.3.1 daddr4=10.0.4.2 sport=39433 dport=5201 "
        "backup=1 error=104 reset_reason=1"
    )
    assert event is not None
    assert (event.kind, event.token, event.local, event.remote) == (
        "sf_closed",
        0xAD77B741,
        "10.0.3.1:39433",
        "10.0.4.2:5201",
    )
    assert (event.backup, event.error, event.reset_reason) == (True, 104, 1)


def test_counters_of_nstat_json_and_proc_are_the_same() -> None:
    table = "#kernel\nTcpActiveOpens 4 0.0\nMPTcpExtMPCapableSYNTX 2 0.0\nMPTcpExtAddAddr 0 0.0\n"
    document = '{"kernel":{"TcpActiveOpens":4,"MPTcpExtMPCapableSYNTX":2,"MPTcpExtAddAddr":0}}'
    proc = "Tcp: RtoMin ActiveOpens MaxConn\nTcp: 200 4 -1\nMPTcpExt: MPCapableSYNTX AddAddr\nMPTcpExt: 2 0\n"
    for text in (table, document, proc):
        host = host_of(read(text))
        assert host.counters is not None
        assert (host.counters["TcpActiveOpens"], host.count("MPCapableSYNTX"), host.count("AddAddr")) == (4, 2, 0)
        assert host.opens is True


def test_nstat_leaves_out_zeros_of_counters_that_exist() -> None:
    host = host_of(read("MPTcpExtMPCapableSYNTX 2 0.0\n"))
    assert host.count("MPJoinSynAckRx") == 0
    # Added in Linux 6.12: an older kernel does not have it, so that nobody knows.
    assert host.count("MPJoinSynTx") is None


def counters(seconds: int, capable: int, joins: int) -> str:
    """Return a listing of two counters, taken at some time."""
    return f"### {seconds} s: nstat -asz\nMPTcpExtMPCapableSYNRX {capable} 0.0\nMPTcpExtMPJoinSynRx {joins} 0.0\n"


def test_counters_are_what_changed_while_connections_opened() -> None:
    host = host_of(read(counters(0, 100, 70) + counters(9, 103, 71)))
    assert (host.count("MPCapableSYNRX"), host.count("MPJoinSynRx"), host.opens) == (3, 1, False)


def test_counters_are_those_since_boot_if_no_connection_opened() -> None:
    """The connection in question is older than the observation."""
    assert host_of(read(counters(0, 100, 70) + counters(9, 100, 71))).count("MPJoinSynRx") == 71


def test_a_route_by_another_interface() -> None:
    facts = read(
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536\n    inet 127.0.0.1/8 scope host lo\n"
        "4: eth0: <BROADCAST,UP,LOWER_UP> mtu 1500\n    inet 192.0.2.1/24 scope global eth0\n"
        "5: eth1: <NO-CARRIER,BROADCAST,UP> mtu 1500\n    inet 198.51.100.1/24 scope global eth1\n"
        "# ip route get 203.0.113.7 from 198.51.100.1\n203.0.113.7 from 198.51.100.1 via 192.0.2.254 dev eth0 uid 0\n"
        "# ip route get 203.0.113.7 from 192.0.2.1 oif eth9\nRTNETLINK answers: Network is unreachable\n"
    )
    host = host_of(facts)
    assert (host.addresses, host.down) == (("192.0.2.1", "198.51.100.1"), frozenset({"eth1"}))
    routes = [(route.local, route.device, route.of_address, bool(route.error)) for route in host.routes or ()]
    assert routes == [("198.51.100.1", "eth0", "eth1", False), ("192.0.2.1", None, "eth0", True)]


def test_cpus_are_busy_by_the_busiest_of_them() -> None:
    text = (
        "### 0 s: cat /proc/stat\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\n"
        "### 9 s: cat /proc/stat\ncpu0 0 0 25 75 0 0 0 0 0 0\ncpu1 190 0 0 10 0 0 0 0 0 0\n"
    )
    assert busy_share(read(text)) == pytest.approx(0.9)


def look(seconds: int, acked: int) -> str:
    """Return a listing of one connection that has data to send, taken at some time."""
    row = "ESTAB 0 900 192.0.2.1:4 198.51.100.1:80"
    return f"### {seconds} s: ss -Mieanp\n{row}\n\t token:1 snd_una:1 bytes_acked:{acked}\n"


def test_a_wait_is_longer_than_the_time_between_looks() -> None:
    steady = "".join(look(2 * number, 1000 * number) for number in range(6))
    assert waits_in(read(steady)) == []
    stuck = "".join(look(2 * number, 1000 * min(number, 2)) for number in range(6)) + look(12, 5000)
    waits = waits_in(read(stuck))
    assert waits is not None
    assert [(wait.begin_s, wait.end_s) for wait in waits] == [(4, 12)]


def test_connections_without_an_answer() -> None:
    opening = "### {} s: ss -Mn\nSYN-SENT 0 1 192.0.2.1:4 198.51.100.1:80\n"
    assert host_of(read(opening.format(0))).unanswered == ()
    assert host_of(read(opening.format(0) + opening.format(2))).unanswered == (("192.0.2.1:4", "198.51.100.1:80"),)
    assert host_of(read("uname")).unanswered is None


LINES = st.sampled_from(
    [
        *SUBFLOW.splitlines(),
        *CONNECTION.splitlines(),
        "### 3 s: ss -Mi",
        "$ ip mptcp endpoint add 192.0.2.1",
        "add_addr_accepted 1 subflows 2",
        "MPTcpExtAddAddr 1 0.0",
        "Tcp: A B",
        "Tcp: 1 2",
        "[ CREATED] token=zz saddr4=1 sport=x",
        "cpu0 1 2 3 4 5",
        "{",
        "[1]",
    ]
)


@pytest.mark.slow
@given(st.lists(st.one_of(LINES, st.text(max_size=60)), max_size=12))
def test_any_text_becomes_facts(lines: list[str]) -> None:
    """No text raises an exception, and what was recognised becomes records."""
    facts = read("\n".join(lines))
    host_of(facts)
    subflows_of(facts)
    connections_of(facts)
    waits_in(facts)


def test_a_listing_of_one_interface_does_not_show_what_is_down() -> None:
    assert host_of(read("5: eth1: <NO-CARRIER,BROADCAST,UP> mtu 1500\n")).down is None


def test_two_outputs_of_proc_stat_are_two_looks() -> None:
    facts = HostFacts("host")
    text = "cpu0 100 0 0 900 0 0 0 0 0 0\n$ sleep 10; cat /proc/stat\ncpu0 1090 0 0 910 0 0 0 0 0 0\n"
    TextReader(facts).read("stat.txt", text)
    assert busy_share(facts) == pytest.approx(0.99)


def test_connections_that_wait_at_the_only_look() -> None:
    waiting = "SYN-SENT 0 0 192.0.2.1:{} 203.0.113.1:443\n"
    facts = HostFacts("host")
    TextReader(facts).read("ss.txt", "$ ss -Mn\n" + waiting.format(4001) + waiting.format(4002))
    host = host_of(facts)
    assert host.unanswered == ()
    assert len(host.unanswered_at_a_look) == 2
    timed = HostFacts("host")
    TextReader(timed).read("ss.txt", "### 0 s: ss -Mn\n" + waiting.format(4001) + waiting.format(4002))
    assert host_of(timed).unanswered_at_a_look == (), "several looks say whether it lasts"
