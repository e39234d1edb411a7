# SPDX-License-Identifier: MIT
"""What a machine's kernel, its log, its programs and its commands show: the readers, and the reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.explain.answer import answer
from mptcplab.explain.evidence import Evidence, OptionTrace, Refusal, SocketCall
from mptcplab.explain.readers.facts import HostFacts
from mptcplab.explain.readers.host import connections_of, host_of, subflows_of
from mptcplab.explain.readers.text import TextReader
from mptcplab.explain.registry import explain
from mptcplab.explain.sources import read_sources

OLD = "net.mptcp.mptcp_enabled = 1\nnet.mptcp.mptcp_path_manager = {}\nnet.mptcp.mptcp_checksum = 1\n"
SEGMENT = "1.0 IP 192.0.2.1.4 > 192.0.2.2.5: Flags [.], options [nop,mptcp dss ack 3 len 9{}], length {}\n"
STRACE = "[pid 7] socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, {}) = {}\n"
SOCKET = (
    "ESTAB 0 0 192.0.2.{0}:4{0} 203.0.113.2:5\n"
    "\t cubic wscale:7,7 rto:{1} {2} rtt:20/2 mss:1400 cwnd:10 bytes_sent:{3} bytes_acked:{4} "
    "tcp-ulp-mptcp flags:{5}ec token:0000(id:0)/a1(id:{0}) {6}\n"
)
TRACE = "$ tracebox -i {0} 203.0.113.2\ntracebox to 203.0.113.2 (203.0.113.2): 30 hops max\n1: 192.0.2.254\n2: {1}\n"
ADDRESS = "{0}: eth{0}: <BROADCAST,UP,LOWER_UP> mtu 1500\n    inet 192.0.2.{1}/24 brd 192.0.2.255 scope global eth{0}\n"
BUSY = SOCKET.format(1, 220, "", 9_000_000, 9_000_000, "M", "app_limited")
IDLE = SOCKET.format(2, 220, "", 4000, 4001, "J", "app_limited")


def read(text: str) -> HostFacts:
    """Return the facts of a client in a text."""
    facts = HostFacts("client")
    TextReader(facts).read("client.txt", text)
    return facts


def find(text: str, server: str = "") -> dict[str, str]:
    """Return the sentences about a client, and perhaps a server, by the keys of their reasons."""
    facts = read(text)
    hosts = [host_of(facts)]
    if server:
        other = HostFacts("server")
        TextReader(other).read("server.txt", server)
        hosts.append(host_of(other))
    subflows, connections = tuple(subflows_of(facts)) or None, tuple(connections_of(facts)) or None
    evidence = Evidence(hosts=tuple(hosts), subflows=subflows, connections=connections)
    return {finding.reason: finding.sentence for finding in explain(evidence)}


#: The reason, a text that shows it, a part of its sentence, and a text that differs in what matters.
SHOWN = [
    ("kernel-without-mptcp", "$ uname -r\n4.4.0-57-generic\n", "(4.4.0-57-generic) has no", "$ uname -r\n5.6.0-1-a\n"),
    ("kernel-without-mptcp", "Linux a 4.9.0-9-amd64 #1\n", "4.9.0-9-amd64", "Linux a 4.9.60.mptcp #1\n"),
    ("kernel-without-mptcp", "Linux a 4.18.0-80.el7 #1\n", "4.18.0-80.el7", "Linux a 4.18.0-372.el8.x86_64 #1\n"),
    (
        "kernel-without-mptcp",
        "sysctl: cannot stat /proc/sys/net/mptcp: No such file or directory\n",
        "the kernel that runs at client has no MPTCP",
        "sysctl: cannot stat /proc/sys/net/mptcp/enabled: No such file or directory\nnet.mptcp.mptcp_enabled = 1\n",
    ),
    (
        "socket-refused",
        STRACE.format("IPPROTO_MPTCP", "-1 EPROTONOSUPPORT (Protocol not supported)"),
        "built without MPTCP",
        STRACE.format("IPPROTO_MPTCP", 3),
    ),
    (
        "socket-option-unsupported",
        STRACE.format("0x106", 3) + "setsockopt(3, SOL_TCP, TCP_ULP, [7564404], 4) = -1 EOPNOTSUPP (Not supported)\n",
        "sets TCP_ULP, which",
        STRACE.format("IPPROTO_TCP", 3) + "setsockopt(3, SOL_TCP, TCP_ULP, [7564404], 4) = -1 EOPNOTSUPP (Not)\n",
    ),
    (
        "traced-tcp-sockets",
        "$ mptcpize run -d ./a\n" + STRACE.format("IPPROTO_IP", 3),
        "mptcpize changes nothing",
        "$ mptcpize run -d ./a\n" + STRACE.format("IPPROTO_MPTCP", 3),
    ),
    (
        "traced-option-removed",
        TRACE.format("eth0", "198.51.100.9 -TCPOptionMPTCPCapable"),
        "by eth0 loses the option: a device on that path removes it",
        TRACE.format("eth0", "198.51.100.9 [PARTIAL] +PartialTCP"),
    ),
    ("default-path-manager", OLD.format("default"), "which opens no subflow", OLD.format("fullmesh")),
    (
        "endpoints-unused",
        "net.mptcp.pm_type = 1\n192.0.2.1 id 1 subflow dev eth0\n",
        "1 endpoint, which its kernel does not use",
        "net.mptcp.pm_type = 0\n192.0.2.1 id 1 subflow dev eth0\n",
    ),
    (
        "endpoint-refused",
        "# ip mptcp endpoint add 192.0.2.1 subflow\nError: too many addresses or duplicate one: -17.\n",
        "it has one with this address",
        "# ip mptcp limits set subflow 9\nError: limit greater than maximum.\n",
    ),
    (
        "subflows-exhausted",
        "[1.0] __mptcp_init6_subsockets mptcp_add_sock failed ret: -1\n",
        "wanted 1 more subflow than",
        "[1.0] mptcp_add_sock: token 0x1 pi 2, src_addr:0.0.0.0:0 dst_addr:0.0.0.0:0\n",
    ),
    (
        "logged-join-not-bound",
        "[1.0] __mptcp_init4_subsockets: token 0x9c bind() to 192.0.2.7 index 5 failed, error -99\n",
        "from 192.0.2.7: no interface has this address",
        "[1.0] __mptcp_init4_subsockets: token 0x9c pi 2 src_addr:192.0.2.7:0 dst_addr:192.0.2.2:5 ifidx: 5\n",
    ),
    (
        "logged-join-without-route",
        "[1.0] mptcp_init4_subsockets: MPTCP subsocket connect() failed, error -101\n",
        "over IPv4: no route leads there",
        "[1.0] mptcp_init4_subsockets: token 0x9c pi 2 src_addr:192.0.2.7:0 dst_addr:192.0.2.2:5 ifidx: 5\n",
    ),
    (
        "address-at-several-interfaces",
        ADDRESS.format(1, 5) + ADDRESS.format(2, 5),
        "192.0.2.5 at eth1 and eth2",
        ADDRESS.format(1, 5) + ADDRESS.format(2, 6) + ADDRESS.format(1, 5),
    ),
    (
        "checksum-without-offload",
        OLD.format("fullmesh") + "tcp-segmentation-offload: on\n" + 3 * SEGMENT.format(" csum 0x1f", 1398),
        "none above 1398 bytes",
        OLD.format("fullmesh") + "tcp-segmentation-offload: on\n" + 3 * SEGMENT.format(" csum 0x1f", 14480),
    ),
    ("all-fits-into-one-subflow", BUSY + IDLE, "carries nearly nothing", BUSY.replace("app_limited", "") + IDLE),
    (
        "stuck-subflow",
        BUSY + SOCKET.format(2, 102400, "backoff:9 unacked:1", 400, 100, "J", ""),
        "no answer for 102 s",
        BUSY + SOCKET.format(2, 800, "backoff:2 unacked:1", 400, 100, "J", ""),
    ),
]


@pytest.mark.parametrize(("key", "shown", "part", "other"), SHOWN)
def test_a_text_that_shows_a_reason(key: str, shown: str, part: str, other: str) -> None:
    reasons = find(shown)
    assert list(reasons) == [key]
    assert part in reasons[key]
    assert key not in find(other)


@pytest.mark.parametrize(("version", "is_said"), [("0", True), ("1", False)])
def test_two_implementations_speak_different_versions(version: str, is_said: bool) -> None:
    old = f"net.mptcp.mptcp_enabled = 1\nnet.mptcp.mptcp_version = {version}\n"
    assert ("other-implementation" in find(old, "net.mptcp.enabled = 1\n")) == is_said
    assert "other-implementation" not in find(old, old)


def test_a_socket_that_is_a_backup_or_fails_may_be_idle() -> None:
    assert find(BUSY + IDLE.replace("flags:J", "flags:Jb")) == {}
    failing = IDLE.replace("rto:220", "rto:220 backoff:3 unacked:2 lost:2")
    assert "all-fits-into-one-subflow" not in find(BUSY + failing)


def look(time_s: int, waiting: int, details: str = "") -> str:
    """Return a look at a connection with a subflow that sends 1 MB each second and an idle subflow."""
    connection = f"ESTAB 0 0 192.0.2.1:41 203.0.113.2:5\n\t token:a1 write_seq:{waiting + 16:x} snd_una:10 rcv_nxt:1\n"
    busy = SOCKET.format(1, 220, details, time_s * 1_000_000, time_s * 1_000_000, "M", "")
    idle = SOCKET.format(2, 220, "", 0, 1, "J", "app_limited")
    return f"### {time_s} s: ss -Mi\n{connection}### {time_s} s: ss -ti\n{busy}{idle}"


def test_all_fits_if_no_look_finds_more_than_the_window() -> None:
    looks = "".join(look(time_s, 10_000) for time_s in range(1, 4))
    sentences = find(looks + look(4, 13_999))  # the window has 10 segments of 1400 bytes
    assert "carries nearly nothing" in sentences["all-fits-into-one-subflow"]
    for other in (
        looks,  # it advanced twice only
        looks + look(4, 14_000),
        looks + look(4, 10_000, "busy:4000ms sndbuf_limited:500ms(12.5%)"),
    ):
        assert "all-fits-into-one-subflow" not in find(other)


def test_bbr_that_probes_the_round_trip_time_is_not_an_application_that_waits() -> None:
    assert "all-fits-into-one-subflow" not in find(BUSY.replace("cwnd:10", "cwnd:4 unacked:4 notsent:90000") + IDLE)


def test_a_refused_command_configures_nothing() -> None:
    lines = ["# ip mptcp limits set subflow 8 add_addr_accepted 4", "# ip mptcp endpoint add 192.0.2.1 subflow"]
    errors = ["# ip mptcp endpoint add 192.0.2.2 subflow", "Error: too many addresses or duplicate one: -34."]
    errors += ["# ip mptcp limits set subflow 9", "Error: limit greater than maximum."]
    facts = read("\n".join([*lines, *errors]))
    assert [endpoint.address for endpoint in facts.endpoints or ()] == ["192.0.2.1"]
    assert facts.limits is not None
    assert facts.limits.subflows == 8
    assert facts.refusals == [Refusal(what="endpoint", error=34), Refusal(what="limits")]


def test_a_refused_duplicate_keeps_the_first() -> None:
    add = "# ip mptcp endpoint add 192.0.2.1 subflow"
    facts = read("\n".join([add, add, "Error: too many addresses or duplicate one: -17."]))
    assert [endpoint.address for endpoint in facts.endpoints or ()] == ["192.0.2.1"]


def test_mptcpize_that_says_what_it_changes() -> None:
    wrapped = "mptcpwrap: changing socket protocol from 0x0 to 0x106 (IPPROTO_MPTCP) for family 0x2 type 0x1 fd 4"
    assert read(f"$ mptcpize run -d ./a\n{wrapped}\n$ mptcpize run -d ./b\nfailed\n").unwrapped == ["./b"]


def test_calls_of_other_sockets_are_left_out() -> None:
    lines = [
        "socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC, 0) = 3",
        "socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP) = 4",
        "socket(AF_INET6, SOCK_STREAM, IPPROTO_MPTCP) = 5",
        "setsockopt(4, SOL_SOCKET, SO_REUSEADDR, [1], 4) = -1 ENOPROTOOPT (Protocol not available)",
        "setsockopt(5, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0",
    ]
    assert read("\n".join(lines)).calls == [
        SocketCall(is_mptcp=True),
        SocketCall(is_mptcp=True, option="SO_REUSEADDR"),
    ]


def test_a_trace_without_an_answer_says_nothing() -> None:
    assert read("$ tracebox 203.0.113.2\ntracebox to a (203.0.113.2): 64 hops max\n1: 192.0.2.254\n2: *\n").traces == []


def test_an_option_that_is_missing_in_the_answer_alone_may_be_the_servers_fault() -> None:
    removed, passed = "203.0.113.2 TCP::Flags -TCPOptionMPTCPCapable", "203.0.113.2 TCP::Flags"
    alone = find(TRACE.format("eth0", removed))
    assert "the path or the server" in alone["traced-option-removed"]
    both = TRACE.format("eth0", removed) + TRACE.format("eth1", passed)
    assert read(both).traces == [
        OptionTrace(target="203.0.113.2", device="eth0", hop="203.0.113.2"),
        OptionTrace(target="203.0.113.2", device="eth1"),
    ]
    assert "a device on that path" in find(both)["traced-option-removed"]


def test_rules_are_known_by_the_command() -> None:
    rules = "0:\tfrom all lookup local\n32764:\tfrom 192.0.2.1 lookup 1\n"
    assert read(f"$ ip rule\n{rules}$ ip -6 rule\n{rules[:24]}").rule_sources == {"IPv4": {"192.0.2.1"}, "IPv6": set()}
    assert read(rules).rule_sources == {}


@pytest.mark.parametrize("setting", ["net.mptcp.pm_type = 1", "net.mptcp.path_manager = userspace"])
def test_a_path_manager_in_user_space_without_its_program(setting: str) -> None:
    counters = (
        "$ nstat -az\nMPTcpExtMPCapableSYNTX 1 0.0\nMPTcpExtMPCapableSYNACKRX 1 0.0\nMPTcpExtMPJoinSynTx {} 0.0\n"
    )
    endpoint = "192.0.2.1 id 1 subflow dev eth0\n"
    assert list(find(f"{setting}\n{endpoint}{counters.format(0)}")) == ["path-manager-without-program"]
    assert "endpoints-unused" not in find(f"{setting}\n{endpoint}{counters.format(1)}")


def test_a_backup_that_an_event_shows_as_ordinary(tmp_path: Path) -> None:
    event = "[SF_ESTABLISHED] token=1 remid=1 locid=0 saddr4=192.0.2.1 daddr4=192.0.2.2 sport=4 dport=5 backup={}"
    (tmp_path / "server.txt").write_text("192.0.2.2 id 1 signal backup dev eth1\n")
    for backup, reasons in ((0, ["backup-not-carried"]), (1, [])):
        (tmp_path / "client.txt").write_text(f"$ ip mptcp endpoint\n$ ip mptcp monitor\n{event.format(backup)}\n")
        report = answer(read_sources([tmp_path]))
        assert [explanation.finding.reason for explanation in report.explanations] == reasons
