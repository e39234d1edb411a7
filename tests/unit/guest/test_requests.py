# SPDX-License-Identifier: MIT
"""Commands as requests of netlink, compared with the kernel's layout of bytes; which forms are left to the programs.

That the kernel has the same state afterwards is tests/lab/guest/test_set_up.py.
"""

from __future__ import annotations

import shlex

import pytest

from mptcplab.guest.command_form import UnknownFormError
from mptcplab.guest.direct import offload_requests
from mptcplab.guest.ip_requests import ip_requests
from mptcplab.guest.netlink import GENERIC, ROUTE
from mptcplab.guest.tc_requests import tc_requests

ADD, REPLACE, ACK = 0x604, 0x504, 0x4


class RequestPlace:
    """A namespace with interfaces ``eth1`` to ``eth9``."""

    def index(self, device: str) -> int:
        if not device.startswith("eth"):
            raise OSError(f"no interface {device}")
        return int(device.removeprefix("eth"))

    def namespace(self, name: str) -> int:
        return {"client": 17, "server": 18}[name]

    def family(self, name: str) -> int:
        return {"mptcp_pm": 30, "ethtool": 21}[name]


def _request(line: str) -> tuple[int, int, int, str]:
    """The only request of a command, with its body in groups of four bytes."""
    program, *words = shlex.split(line)
    make = {"ip": ip_requests, "tc": tc_requests}[program]
    ((protocol, kind, flags, body),) = make(words, RequestPlace())  # type: ignore[arg-type]
    return protocol, kind, flags, body.hex(" ", -4)


@pytest.mark.parametrize(
    ("line", "kind", "flags", "body"),
    [
        ("ip link set dev eth3 up", 16, ACK, "00000000 03000000 01000000 01000000"),
        ("ip link set dev eth3 down", 16, ACK, "00000000 03000000 00000000 01000000"),
        ("ip address add 10.0.1.1/24 dev eth3", 20, ADD, "02180000 03000000 08000200 0a000101 08000100 0a000101"),
        ("ip address add 127.0.0.2/8 dev eth3", 20, ADD, "020800fe 03000000 08000200 7f000002 08000100 7f000002"),
        (
            "ip route add 10.0.2.0/24 via 10.0.1.2 dev eth3 src 10.0.1.1",
            24,
            ADD,
            "02180000 fe030001 00000000 08000100 0a000200 08000500 0a000102 08000700 0a000101 08000400 03000000",
        ),
        (
            "ip route add 10.0.1.0/24 dev eth3 table 100",
            24,
            ADD,
            "02180000 6403fd01 00000000 08000100 0a000100 08000400 03000000",
        ),
        (
            "ip route add default via 10.0.1.2 dev eth3",
            24,
            ADD,
            "02000000 fe030001 00000000 08000500 0a000102 08000400 03000000",
        ),
        (
            "ip rule add from 10.0.1.1 table 100 priority 7",
            32,
            ADD,
            "02002000 64000001 00000000 08000200 0a000101 08000600 07000000",
        ),
        (
            "ip rule add to 10.0.2.0/24 lookup main priority 7",
            32,
            ADD,
            "02180000 fe000001 00000000 08000100 0a000200 08000600 07000000",
        ),
        (
            "ip neighbour add 10.0.1.2 lladdr 02:00:00:00:00:07 dev eth3 nud reachable",
            28,
            ADD,
            "02000000 03000000 02000000 08000100 0a000102 0a000200 02000000 00070000",
        ),
        (
            "ip link add name ifb.2 type ifb",
            16,
            ADD,
            "00000000 00000000 00000000 00000000 0a000300 6966622e 32000000 0c001280 08000100 69666200",
        ),
    ],
)
def test_requests_of_ip(line: str, kind: int, flags: int, body: str) -> None:
    assert _request(line) == (ROUTE, kind, flags, body)


def test_a_pair_of_interfaces_names_both_namespaces() -> None:
    _, _, _, body = _request("ip link add name eth1 mtu 1500 netns client type veth peer name eth2 netns server")
    assert body.startswith(
        "00000000 00000000 00000000 00000000 09000300 65746831 00000000 08000400 dc050000 08001c00 11"
    )
    assert body.endswith("09000300 65746832 00000000 08001c00 12000000")


def test_requests_of_the_path_manager() -> None:
    limits = _request("ip mptcp limits set subflows 8 add_addr_accepted 3")
    assert limits == (GENERIC, 30, ACK, "05010000 08000300 08000000 08000200 03000000")
    endpoint = _request("ip mptcp endpoint add 10.0.1.1 dev eth3 port 99 subflow backup")
    parts = "06000100 02000000 08000300 0a000101 06000500 63000000 08000600 06000000 08000700 03000000"
    assert endpoint == (GENERIC, 30, ACK, f"01010000 2c000180 {parts}")


@pytest.mark.parametrize(
    ("line", "flags", "place", "options"),
    [
        # 10038 us are 156843.75 ticks of 64 ns, of which tc(8) sets whole ones.
        (
            "add dev eth3 root handle 1: netem limit 1000 delay 10038.074us",
            ADD,
            "00000100 ffffffff",
            "ab640200 e8030000 00000000 00000000 00000000 00000000",
        ),
        (
            "add dev eth3 root handle 1: netem limit 9 delay 1ms 64us",
            ADD,
            "00000100 ffffffff",
            "093d0000 09000000 00000000 00000000 00000000 e8030000",
        ),
        (
            "add dev eth3 root handle 1: netem limit 9 loss random 50%",
            ADD,
            "00000100 ffffffff",
            "00000000 09000000 00000080 00000000 00000000 00000000",
        ),
        (
            "add dev eth3 root handle 1: netem limit 9 rate 8mbit",
            ADD,
            "00000100 ffffffff",
            "00000000 09000000 00000000 00000000 00000000 00000000 14000600 40420f00 00000000 00000000 00000000",
        ),
        ("replace dev eth3 parent 1:1 handle a: pfifo limit 7", REPLACE, "00000a00 01000100", "07000000"),
    ],
)
def test_requests_of_tc(line: str, flags: int, place: str, options: str) -> None:
    protocol, kind, number, body = _request(f"tc qdisc {line}")
    assert (protocol, kind, number) == (ROUTE, 36, flags)
    assert body.startswith(f"00000000 03000000 {place} 00000000")
    assert body.endswith(f"0200 {options}")


def test_a_rate_of_tbf() -> None:
    _, _, _, body = _request(
        "tc qdisc add dev eth3 parent 1:1 handle 2: tbf rate 100000000bit burst 1600 limit 1250000 overhead 14"
    )
    rate, nothing = "03010e00 ffff0000 20bcbe00", "00000000 00000000 00000000"
    parameters = f"28000100 {rate} {nothing} d0121300 00000000 00000000"
    assert body.endswith(f"{parameters} 08000600 40060000"), body
    _, _, _, fast = _request("tc qdisc add dev eth3 root handle 2: tbf rate 40gbit burst 1600 limit 1250000")
    assert "ffffffff 00000000 00000000 00000000" in fast
    assert fast.endswith("0c000400 00f2052a 01000000"), fast


def test_offloads_are_features_of_the_kernel() -> None:
    first, second = offload_requests(["eth3", "tso", "off", "gro", "on"], RequestPlace())  # type: ignore[arg-type]
    assert first[:3] == second[:3] == (GENERIC, 21, ACK)
    assert b"tx-tcp-accecn-segmentation\0" in first[3]
    assert b"tx-tcp-accecn-segmentation\0" not in second[3]
    assert second[3].count(b"tx-tcp") == 4
    assert second[3].endswith(bytes.fromhex("0b000200") + b"rx-gro\0\0" + bytes.fromhex("04000300"))


@pytest.mark.parametrize(
    "line",
    [
        "ip link",
        "ip",
        "ip link show",
        "ip link add name a type dummy",
        "ip link add name a type veth peer mtu 9 name",
        "ip link set dev eth3 up down",
        "ip link set dev eth3 name eth4",
        "ip address add 10.0.1.1/24 dev eth3 label x",
        "ip address add 10.0.1.1/24",
        "ip address add 10.0.1.1/x dev eth3",
        "ip route add 10.0.2.0/24 via fe80::1 dev eth3",
        "ip route add 10.0.2.0/24 dev eth3 table 1000",
        "ip route add blackhole 10.0.2.0/24",
        "ip rule add from 10.0.0.1 table 9",
        "ip -6 rule add from 10.0.0.1 table 9 priority 9",
        "ip mptcp endpoint add 10.0.1.1 dev eth3 laminar",
        "ip mptcp endpoint delete id 1",
        "tc qdisc show",
        "tc qdisc change dev eth3 root handle 1: netem limit 9",
        "tc qdisc add dev eth3 root netem limit 9",
        "tc qdisc add dev eth3 root handle 1: fq_codel limit 9",
        "tc qdisc add dev eth3 root handle 1: netem limit 9 delay 10",
        "tc qdisc add dev eth3 root handle 1: netem limit 9 delay 1ms 1ms 25%",
        "tc qdisc add dev eth3 root handle 1: netem limit 9 delay 1ms 1ms distribution normal",
        "tc qdisc add dev eth3 root handle 1: netem limit 9 loss gemodel 1%",
        "tc qdisc add dev eth3 root handle 1: netem limit 9 loss random 101%",
        "tc qdisc add dev eth3 root handle 1: netem limit 9 rate 1.5mbit",
        "tc qdisc add dev eth3 root handle 1: tbf rate 8mbit burst 9",
        "tc qdisc add dev eth3 root handle 1: tbf rate 8mbit burst 9 limit 9 peakrate 9mbit",
        "tc qdisc add dev eth3 root handle 1: pfifo",
        "tc filter add dev eth3 ingress matchall action drop",
    ],
)
def test_other_forms_are_left_to_the_programs(line: str) -> None:
    with pytest.raises(UnknownFormError):
        _request(line)


@pytest.mark.parametrize(
    "line",
    [
        "ip link set dev wlan0 up",
        "ip address add 10.0.1.300/24 dev eth3",
        "ip rule add from all table 9 priority 9",
    ],
)
def test_unknown_names_are_errors(line: str) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - the message is the C library's, or not shown
        _request(line)
