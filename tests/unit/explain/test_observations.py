# SPDX-License-Identifier: MIT
"""Reasons that only real machines or captures show: each with evidence that has it, and with evidence that has not."""

from __future__ import annotations

import pytest

from mptcplab.explain.evidence import Endpoint, Evidence, Expectation, Host, Route
from mptcplab.explain.registry import explain

LOCAL, REMOTE = "198.51.100.1", "203.0.113.7"
ENDPOINT = Endpoint(address=LOCAL, flags=frozenset({"subflow"}), device="eth1")
GOOD = Host(
    name="client",
    opens=True,
    endpoints=(ENDPOINT,),
    addresses=("192.0.2.1", LOCAL),
    routes=(Route(local=LOCAL, remote=REMOTE, device="eth1", of_address="eth1"),),
    down=frozenset({"eth9"}),
    unanswered=(),
)


def host(**changes: object) -> Host:
    """Return the host without a fault, with changes."""
    return Host(**{**vars(GOOD), **changes})


def route(**changes: object) -> tuple[Route, ...]:
    """Return the route of the host without a fault, with changes."""
    assert GOOD.routes is not None
    return (Route(**{**vars(GOOD.routes[0]), **changes}),)


@pytest.mark.parametrize(
    ("key", "faulty", "text"),
    [
        ("route-missing", host(routes=route(device=None, error="unreachable")), "no route from 198.51.100.1"),
        ("route-by-other-interface", host(routes=route(device="eth0")), "leave by eth0, although eth1 has the address"),
        ("endpoint-interface-down", host(down=frozenset({"eth1"})), "its interface eth1 is down"),
        ("endpoint-address-missing", host(addresses=("192.0.2.1",)), "no interface with this address"),
        ("first-subflow-unanswered", host(unanswered=(("192.0.2.1:4", f"{REMOTE}:80"),)), f"has {LOCAL} too"),
        (
            "no-mptcp-sockets",
            host(counters={"TcpActiveOpens": 2, "MPTcpExtMPCapableSYNTX": 0, "MPTcpExtMPCapableSYNRX": 0}),
            "opened 2 connections, none of which asked",
        ),
    ],
)
def test_a_fault_is_named(key: str, faulty: Host, text: str) -> None:
    (finding,) = explain(Evidence(hosts=(faulty,)))
    assert finding.reason == key
    assert text in finding.sentence


def test_a_host_without_a_fault_has_no_reason() -> None:
    assert explain(Evidence(hosts=(GOOD,))) == []


def test_a_signalled_address_may_belong_to_a_router() -> None:
    """The address that a server announces behind a NAT is on no interface of its own."""
    signal = Endpoint(address="203.0.113.1", flags=frozenset({"signal"}))
    assert explain(Evidence(hosts=(host(endpoints=(signal,)),))) == []


def test_a_run_of_tcp_is_as_expected() -> None:
    counters = {"TcpActiveOpens": 2, "MPTcpExtMPCapableSYNTX": 0, "MPTcpExtMPCapableSYNRX": 0}
    assert explain(Evidence(hosts=(host(counters=counters),), expected=Expectation(mptcp=False))) == []


def test_packets_with_the_option_that_are_dropped_do_not_make_the_path_dead() -> None:
    counters = {"MPTcpExtMPCapableSYNTXDrop": 1, "MPTcpExtMPCapableSYNTX": 1}
    findings = explain(Evidence(hosts=(host(counters=counters, unanswered=(("192.0.2.1:4", f"{REMOTE}:80"),)),)))
    assert [finding.reason for finding in findings] == ["syns-dropped"]
