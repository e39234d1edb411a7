# SPDX-License-Identifier: MIT
"""Reasons that need evidence made by hand: most have no scenario, or none whose row names them.

Each has evidence that shows it, and similar evidence that does not.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.capture_packets import CLIENT as CLIENT_KEY
from tests.unit.capture_packets import HERE, SERVER, THERE, Pipe, analyse, capable, first_data, join_syn, option, second

from mptcplab.capture.packet import ACK, RST, SYN, Packet
from mptcplab.explain.evidence import Endpoint, Evidence, Expectation, Host, Limits, PathEvent, Sample, Subflow
from mptcplab.explain.evidence import Path as NetworkPath
from mptcplab.explain.reference import KERNEL
from mptcplab.explain.registry import explain, reasons

FOLDER = Path(__file__).parent
#: After one connection without a second subflow.
ALONE = {"MPCapableSYNTX": 1, "MPCapableSYNACKRX": 1}
ACCEPTED = {"MPCapableSYNRX": 1, "MPCapableACKRX": 1}
FELL_BACK = {"MPCapableSYNTX": 1, "MPCapableFallbackSYNACK": 1}
PATHS = tuple(
    NetworkPath(
        name=name,
        rate_bps=10e6,
        round_trip_s=0.02,
        client=client,
        server=server,
        links={f"{name} forward": 10e6},
    )
    for name, client, server in (("a", "10.0.1.1", "10.0.2.2"), ("b", "10.0.3.1", "10.0.4.2"))
)
LOW = Expectation(sender="client", mptcp=True, is_bulk=True, paths=PATHS, goodput_bps=9e6, duration_s=10.0, subflows=2)
FULL = replace(LOW, goodput_bps=19e6)


def host(name: str, counts: dict[str, int], others: dict[str, int] | None = None, **known: Any) -> Host:
    """Return a host that has all counters of the kernel, zero where ``counts`` says nothing."""
    counters = {f"MPTcpExt{counter.name}": counts.get(counter.name, 0) for counter in KERNEL} | (others or {})
    return Host(name=name, opens=name == "client", counters=counters, **known)


def hosts(client: dict[str, int], server: dict[str, int], others: dict[str, int] | None = None) -> tuple[Host, Host]:
    """Return both ends; ``others`` are further counters of the client."""
    return host("client", client, others), host("server", server)


def subflow(path: str, *samples: Sample, **known: Any) -> Subflow:
    """Return an established subflow of the client."""
    seen = samples or (Sample(time_s=0.1, state="established"), Sample(time_s=9.0, state="established"))
    number = 1 if path == "a" else 3
    start = Subflow(
        host="client", local=f"10.0.{number}.1:40000", remote="10.0.2.2:5001", connection=1, path=path, samples=seen
    )
    return replace(start, **known)


def make_samples(rate_bps: float, **known: Any) -> tuple[Sample, ...]:
    """Return samples of a subflow that delivers at a constant rate for ten seconds."""
    first = Sample(time_s=0.0, state="established")
    return tuple(replace(first, time_s=n / 10, bytes_acked=int(rate_bps / 8 * n / 10), **known) for n in range(101))


_SWITCHED = Evidence(hosts=(Host(name="server", opens=False, sysctls={"net.mptcp.enabled": "0"}),))
_NEAR = Evidence(
    hosts=hosts(FELL_BACK, {}),
    subflows=(subflow("a", Sample(time_s=1.0, state="established", min_rtt_s=0.004)),),
    expected=replace(LOW, goodput_bps=None),
)
_TLS = Evidence(subflows=(subflow("a", ulp="tls"),))
_IPV6 = Host(
    name="client",
    opens=True,
    counters=host("client", ALONE).counters,
    endpoints=(Endpoint(address="2001:db8::1", flags=frozenset({"subflow"})),),
    limits=Limits(subflows=2, add_addr_accepted=2),
    addresses=("10.0.1.1", "10.0.3.1", "2001:db8::1"),
)
_OTHER = Evidence(hosts=(_IPV6, host("server", ACCEPTED, endpoints=())), subflows=(subflow("a"),))
_ADDRESSED = tuple(replace(end, addresses=(f"10.0.{n}.1",)) for n, end in enumerate(hosts(ALONE, ACCEPTED)))
_SINGLE = Evidence(hosts=_ADDRESSED, subflows=(subflow("a"),), expected=Expectation(subflows=2))
_BACKUP = Evidence(subflows=(subflow("a", *make_samples(9e6)), subflow("b", *make_samples(0), is_backup=True)))
_RESET = PathEvent(kind="sf_closed", local="10.0.3.1:1", remote="10.0.2.2:5001", reset_reason=3)
_STUCK = subflow("b", *(replace(sample, unacked=10, backoff=3) for sample in make_samples(0)))
_GONE = subflow("b", *make_samples(5e6)[:20])
_BACK = replace(LOW, paths=(PATHS[0], replace(PATHS[1], down=((2.0, 4.0),))))
_AGAIN = Evidence(subflows=(subflow("a", *make_samples(9e6)), _GONE), expected=_BACK)
_COUPLED = tuple(subflow(name, *make_samples(4.5e6), congestion="olia") for name in "ab")
_BUSY = Evidence(hosts=hosts(ALONE, ACCEPTED), cpus={"client": 0.97}, expected=replace(LOW, gateway="xray"))
_PACED = Evidence(subflows=(subflow("a", *make_samples(4.9e6, pacing_bps=5e6)),), expected=LOW)
_SENT = {"TcpOutSegs": 10_000}

#: The reason, evidence that shows it, and evidence that differs in what matters.
MADE: dict[str, tuple[Evidence, Evidence]] = {
    "mptcp-switched-off": (
        _SWITCHED,
        Evidence(hosts=(replace(_SWITCHED.hosts[0], sysctls={"net.mptcp.enabled": "1"}),)),
    ),
    "fallback-proxy": (
        _NEAR,
        replace(_NEAR, subflows=(subflow("a", Sample(time_s=1.0, state="established", min_rtt_s=0.021)),)),
    ),
    "kernel-tls": (_TLS, replace(_TLS, expected=Expectation(mptcp=False))),
    "fast-open": (
        Evidence(hosts=hosts(FELL_BACK, {}, {"TcpExtTCPFastOpenActive": 1})),
        Evidence(hosts=hosts(ALONE, ACCEPTED, {"TcpExtTCPFastOpenActive": 1})),
    ),
    "announcement-ignored": (
        Evidence(hosts=hosts(ALONE | {"AddAddrDrop": 1}, ACCEPTED), subflows=(subflow("a"),)),
        Evidence(hosts=hosts(ALONE | {"AddAddrDrop": 1}, ACCEPTED), subflows=(subflow("a"), subflow("b"))),
    ),
    "server-join-unanswered": (
        Evidence(hosts=hosts(ALONE, ACCEPTED | {"MPJoinSynTx": 2})),
        Evidence(hosts=hosts(ALONE | {"MPJoinSynRx": 2}, ACCEPTED | {"MPJoinSynTx": 2})),
    ),
    "other-family": (
        _OTHER,
        replace(_OTHER, subflows=(replace(subflow("a"), local="[2001:db8::1]:40000"),)),
    ),
    "single-address": (_SINGLE, replace(_SINGLE, expected=Expectation(subflows=1))),
    "marked-as-backup": (_BACKUP, replace(_BACKUP, expected=Expectation(paths=(replace(PATHS[1], is_backup=True),)))),
    "subflow-reset": (
        Evidence(hosts=(Host(name="client", events=(_RESET,)),)),
        Evidence(hosts=(Host(name="client", events=(replace(_RESET, reset_reason=None),)),)),
    ),
    "stuck-subflow": (
        Evidence(subflows=(subflow("a", *make_samples(9e6)), _STUCK)),
        Evidence(subflows=(replace(_STUCK, path="a"), _STUCK)),
    ),
    "path-not-taken-again": (
        _AGAIN,
        replace(_AGAIN, subflows=(subflow("a", *make_samples(9e6)), subflow("b", *make_samples(5e6)))),
    ),
    "beyond-window": (
        Evidence(hosts=hosts(ALONE, ACCEPTED | {"NoDSSInWindow": 7})),
        Evidence(hosts=hosts(ALONE, ACCEPTED)),
    ),
    "memory-pressure": (
        Evidence(hosts=hosts(ALONE, ACCEPTED, {"TcpExtTCPMemoryPressures": 2})),
        Evidence(hosts=hosts(ALONE, ACCEPTED, {"TcpExtTCPMemoryPressures": 0})),
    ),
    "coupled-control": (
        Evidence(subflows=_COUPLED, expected=LOW),
        Evidence(subflows=_COUPLED, expected=FULL),
    ),
    "busy-proxy": (_BUSY, replace(_BUSY, cpus={"client": 0.5})),
    "paced": (
        _PACED,
        replace(_PACED, subflows=(subflow("a", *make_samples(2e6, pacing_bps=5e6)),)),
    ),
    "reinjections": (
        Evidence(hosts=hosts(ALONE | {"MPTCPRetrans": 2000}, ACCEPTED, _SENT), expected=LOW),
        Evidence(hosts=hosts(ALONE | {"MPTCPRetrans": 200}, ACCEPTED, _SENT), expected=LOW),
    ),
}


def keys(evidence: Evidence) -> set[str]:
    """Return the keys of the reasons that apply."""
    return {finding.reason for finding in explain(evidence)}


@pytest.mark.parametrize("key", MADE)
def test_evidence_that_shows_a_reason(key: str) -> None:
    shown, other = MADE[key]
    assert key in keys(shown)
    assert key not in keys(other)
    (finding,) = (finding for finding in explain(shown) if finding.reason == key)
    assert finding.lines, "it names its evidence"


# What captures show.


def make_capture(packets: list[Packet]) -> Evidence:
    """Return captures as the only evidence."""
    return Evidence(captured=analyse(packets).connections)


def connect(packets: list[Packet], *, seconds: float = 1.0) -> Pipe:
    """Append a connection that carries some data, and return its first subflow."""
    pipe = Pipe(packets)
    pipe.open_capable()
    pipe.data(0, first_data(CLIENT_KEY), 1000)
    pipe.send(1)
    packets.append(packets[-1]._replace(time_ns=packets[-1].time_ns + round(seconds * 1e9)))
    return pipe


def test_a_syn_ack_without_the_option() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.send(0, SYN, capable())
    pipe.send(1, SYN | ACK)
    pipe.send(0)
    assert keys(make_capture(packets)) == {"captured-refused"}


def test_an_option_that_only_one_of_two_places_saw() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets, vantages=(HERE, THERE))
    pipe.send(0, SYN, capable(), vantages=(HERE,))
    packets.append(packets[-1]._replace(options=b"", vantage=THERE))
    pipe.send(1, SYN | ACK)
    pipe.send(0)
    assert keys(make_capture(packets)) == {"captured-option-removed"}


def test_a_receiver_whose_checksum_failed() -> None:
    packets: list[Packet] = []
    connect(packets).send(1, ACK, option(bytes([0x60, 0]) + first_data(CLIENT_KEY).to_bytes(8)))
    assert "captured-checksum-failed" in keys(make_capture(packets))


def test_a_first_subflow_without_any_answer() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    for _ in range(3):
        pipe.send(0, SYN, capable())
    # Another connection has its answers: the capture has both directions.
    other = second(packets)
    other.open_capable()
    other.close()
    assert "captured-first-path-dead" in keys(make_capture(packets))


@pytest.mark.parametrize(("answers", "reason"), [(True, "captured-join-refused"), (False, "captured-join-unanswered")])
def test_a_join_that_a_reset_answers(answers: bool, reason: str) -> None:
    packets: list[Packet] = []
    connect(packets)
    join = second(packets)
    join.send(0, SYN, join_syn(SERVER))
    if answers:
        join.send(1, RST | ACK)
    assert keys(make_capture(packets)) == {reason}


def test_an_announcement_that_nobody_uses() -> None:
    packets: list[Packet] = []
    connect(packets).send(1, ACK, option(bytes([0x30, 7, 10, 0, 4, 2]) + b"h" * 8))
    assert keys(make_capture(packets)) == {"captured-announced-unused"}


@pytest.mark.parametrize(("seconds", "reason"), [(1.0, {"captured-nobody-tried"}), (0.1, set())])
def test_a_single_subflow(seconds: float, reason: set[str]) -> None:
    """A connection that is shorter than half a second need not have a second one."""
    packets: list[Packet] = []
    connect(packets, seconds=seconds)
    assert keys(make_capture(packets)) == reason


def test_a_connection_of_version_0() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.send(0, SYN, option(bytes([0x00, 0x01]) + CLIENT_KEY))
    pipe.send(1, SYN | ACK)
    pipe.send(0)
    server = hosts({}, {"MPCapableFallbackACK": 1})
    assert "old-version" in keys(replace(make_capture(packets), hosts=server))
    packets[0] = packets[0]._replace(options=capable())
    assert "old-version" not in keys(replace(make_capture(packets), hosts=server))


def test_every_reason_has_a_scenario_or_a_test() -> None:
    """Tests name the reason that they show as a whole word in quotes, or as an option of a parametrised one."""
    modules = FOLDER.glob("test_*.py")
    named = set(re.findall(r'"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)"', "".join(file.read_text() for file in modules)))
    without = {key for key, reason in reasons().items() if reason.lab_scenario is None}
    assert without - named == set()
