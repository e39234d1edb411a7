# SPDX-License-Identifier: MIT
"""The catalogue of reasons, on evidence made by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.explain import reference
from mptcplab.explain.evidence import (
    NEEDS,
    Connection,
    Endpoint,
    Evidence,
    Expectation,
    Host,
    Limits,
    Sample,
    Subflow,
    Wait,
    min_wait_s,
    waits_of,
)
from mptcplab.explain.evidence import (
    Path as NetworkPath,
)
from mptcplab.explain.reason import HINT, KINDS
from mptcplab.explain.reference import KERNEL, LAB, MEANINGS
from mptcplab.explain.registry import explain, list_undecided, reasons
from mptcplab.metrics.evidence import reasons_of_row

ROOT = Path(__file__).resolve().parents[3]
#: Counters of two hosts after a connection with one additional subflow.
CLIENT = {"MPCapableSYNTX": 1, "MPCapableSYNACKRX": 1, "MPJoinSynTx": 1, "MPJoinSynAckRx": 1}
SERVER = {"MPCapableSYNRX": 1, "MPCapableACKRX": 1, "MPJoinSynRx": 1, "MPJoinAckRx": 1}
ADDRESSES = {"client": ("10.0.1.1", "10.0.3.1"), "server": ("10.0.2.2", "10.0.4.2")}


def _host(name: str, counts: dict[str, int], others: dict[str, int] | None = None, **known: object) -> Host:
    """Return a host that has all counters, zero where ``counts`` says nothing."""
    counters = {f"MPTcpExt{counter.name}": counts.get(counter.name, 0) for counter in KERNEL} | (others or {})
    values = {"endpoints": (), "limits": Limits(subflows=2, add_addr_accepted=2), "addresses": ADDRESSES[name]} | known
    return Host(name=name, opens=name == "client", counters=counters, protocol="mptcp", **values)  # type: ignore[arg-type]


def _subflow(path: str, *samples: Sample, host: str = "client", number: int = 1) -> Subflow:
    return Subflow(
        host=host,
        local=f"10.0.{number}.1:40000",
        remote="10.0.2.2:5001",
        connection=1,
        path=path,
        is_mptcp=True,
        samples=samples or (Sample(time_s=0.1, state="established"), Sample(time_s=3.0, state="established")),
    )


def _evidence(client: dict[str, int], server: dict[str, int], *subflows: Subflow, **known: object) -> Evidence:
    hosts = (_host("client", client), _host("server", server))
    return replace(Evidence(hosts=hosts, subflows=subflows or None), **known)  # type: ignore[arg-type]


def _keys(evidence: Evidence) -> set[str]:
    return {finding.reason for finding in explain(evidence)}


def test_there_are_at_least_forty_and_each_is_complete() -> None:
    known = reasons()
    assert len(known) >= 40
    for key, reason in known.items():
        assert re.fullmatch(r"[a-z0-9-]+", key)
        assert reason.kind in KINDS
        assert reason.needs
        assert set(reason.needs) <= set(NEEDS)
        assert reason.title
        assert reason.explanation.endswith(".")
        for text in (reason.sentence, reason.cure, reason.confirm):
            assert text
            assert not text.endswith(".")
        assert set(reason.after) <= set(known)


def test_each_reason_has_a_scenario_or_says_why_not() -> None:
    """No scenario is without a reason either; a session's network and the files that sessions share are none."""
    folder = ROOT / "tests" / "lab" / "reasons"
    files = {file.name for file in folder.glob("*.toml")}
    sessions = {f"sessions/{file.name}" for file in folder.glob("sessions/*.sh") if file.stem != "session"}
    for reason in reasons().values():
        assert not ((reason.scenario or reason.shown_in != "row") and reason.why_no_scenario), reason.key
    assert {reason.lab_scenario for reason in reasons().values()} - {None} == files | sessions


def test_few_reasons_have_no_scenario() -> None:
    """A new reason should have one: docs/reasons.md says of each of these what the lab lacks."""
    without = {key for key, reason in reasons().items() if reason.lab_scenario is None}
    assert without <= {
        # Another kernel than the lab's default.
        *("clients-without-mptcp", "early-retransmission", "md5-signature", "kernel-tls", "busy-cpu", "busy-proxy"),
        # What this kernel does not do, or does too rarely.
        *("no-free-token", "fallback-not-possible", "reinjections", "paced"),
        *("kernel-without-mptcp", "other-implementation", "default-path-manager"),
        *("subflows-exhausted", "logged-join-not-bound", "logged-join-without-route"),
        # What programs print that labs do not start.
        "traced-option-removed",
        # What the lab cannot describe.
        *("fallback-proxy", "checksum-without-offload"),
    }


def test_each_page_exists_with_its_anchor() -> None:
    for reason in reasons().values():
        name, _, anchor = reason.page.partition("#")
        headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / name).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, f"{reason.key}: {reason.page}"


def test_page_is_up_to_date() -> None:
    text = (ROOT / "docs" / "reasons.md").read_text()
    assert text == reference.replace(text), "run: python -m mptcplab.explain.reference --write docs/reasons.md"


def test_every_counter_has_a_meaning() -> None:
    """tests/lab/test_reasons.py compares the names with a kernel's."""
    assert len(KERNEL) == 76  # Linux 7.2
    assert len(MEANINGS) == len(KERNEL) + len(LAB)
    assert all(counter.meaning and counter.side in ("client", "server", "both") for counter in (*KERNEL, *LAB))


def test_nothing_is_said_of_a_connection_with_two_subflows() -> None:
    assert explain(_evidence(CLIENT, SERVER, _subflow("a"), _subflow("b", number=3))) == []


def test_nothing_is_said_without_evidence() -> None:
    assert explain(Evidence()) == []
    assert set(list_undecided(Evidence())) == set(reasons())


def test_not_known_is_not_zero() -> None:
    """A join that was sent does not count as lost as long as nobody looked at the server."""
    sent = CLIENT | {"MPJoinSynAckRx": 0}
    client, server = _host("client", sent), _host("server", SERVER | {"MPJoinSynRx": 0, "MPJoinAckRx": 0})
    assert "join-syn-lost" in _keys(Evidence(hosts=(client, server)))
    assert _keys(Evidence(hosts=(client, replace(server, counters=None)))) == set()
    assert "join-syn-lost" in list_undecided(Evidence(hosts=(client,)))


def test_the_join_of_the_server_is_named_with_its_evidence() -> None:
    """Report 577 of net-next: the table said "4 subflows" only."""
    (finding,) = explain(_evidence(CLIENT, SERVER | {"MPJoinSynTxCreatSkErr": 2}, _subflow("a"), _subflow("b")))
    assert finding.text == (
        "second subflow refused by server: 2 joins from it had no socket (MPJoinSynTxCreatSkErr 2); "
        "use signal at the server only"
    )
    assert finding.lines == ("server: MPJoinSynTxCreatSkErr 2",)


def test_a_refused_join_names_who_must_change() -> None:
    server = _host("server", SERVER | {"MPJoinSynTx": 2}, {"TcpAttemptFails": 2})
    announcing = _host("client", CLIENT, endpoints=(Endpoint(address="10.0.3.1", flags=frozenset({"signal"})),))
    (finding,) = explain(Evidence(hosts=(announcing, server)))
    assert finding.text == (
        "second subflow refused by client: 2 joins from the server (MPJoinSynTx 2, MPJoinSynAckRx 0); "
        "use signal at the server only"
    )


@pytest.mark.parametrize(
    ("client", "server", "reason"),
    [
        ({"MPCapableSYNTX": 1, "MPCapableFallbackSYNACK": 1}, {}, "syn-option-stripped"),
        ({"MPCapableSYNTX": 1, "MPCapableFallbackSYNACK": 1}, {"MPCapableSYNRX": 1}, "synack-option-stripped"),
        (CLIENT, {"MPCapableSYNRX": 1, "MPCapableFallbackACK": 1}, "ack-option-stripped"),
        (CLIENT, {"MPCapableSYNRX": 3, "MPCapableACKRX": 2, "MPCapableFallbackACK": 2}, "clients-without-mptcp"),
        (CLIENT, {"MPCapableSYNRX": 3, "MPCapableACKRX": 2, "MPCapableFallbackACK": 1}, "ack-option-stripped"),
        ({"MPCapableSYNTX": 1, "MD5SigFallback": 1}, {}, "md5-signature"),
        ({"SimultConnectFallback": 1}, {}, "simultaneous-connect"),
        ({"MPFallbackTokenInit": 1}, {}, "no-free-token"),
        (CLIENT | {"FallbackFailed": 1}, SERVER, "fallback-not-possible"),
        (CLIENT | {"DSSNoMatchTCP": 3}, SERVER, "mapping-does-not-fit"),
        (CLIENT | {"MPFailRx": 1}, SERVER, "payload-changed-at-peer"),
        (CLIENT | {"MPJoinSynTxBindErr": 1}, SERVER, "join-not-bound"),
        (CLIENT, SERVER | {"AddAddrTxDrop": 2}, "announcement-without-room"),
        (CLIENT, SERVER | {"MismatchPortSynRx": 1}, "port-not-announced"),
        (CLIENT, SERVER | {"MPJoinAckRx": 0}, "join-not-completed"),
        (CLIENT | {"MPFastcloseRx": 1}, SERVER, "connection-aborted"),
    ],
)
def test_counters_that_the_lab_does_not_produce(client: dict[str, int], server: dict[str, int], reason: str) -> None:
    assert reason in _keys(_evidence(client, server))
    assert reason not in _keys(_evidence(CLIENT, SERVER))


def test_a_dead_path_is_no_firewall() -> None:
    """Without an answer to the SYN without the option, the kernel does not count a black hole."""
    dropped = {"MPCapableSYNTX": 1, "MPCapableSYNTXDrop": 1}
    assert "syns-dropped" not in _keys(_evidence(dropped, {}))
    assert "syns-dropped" in _keys(_evidence(dropped | {"Blackhole": 1}, {}))


def test_a_limit_counts_only_if_subflows_are_missing() -> None:
    endpoints = (Endpoint(address="10.0.3.1", flags=frozenset({"subflow"})),)
    alone = {**CLIENT, "MPJoinSynTx": 0, "MPJoinSynAckRx": 0}
    client = _host("client", alone, endpoints=endpoints, limits=Limits(subflows=0, add_addr_accepted=0))
    server = _host("server", SERVER | {"MPJoinSynRx": 0, "MPJoinAckRx": 0})
    assert "limit-of-subflows" in _keys(Evidence(hosts=(client, server), subflows=(_subflow("a"),)))
    expected = Expectation(subflows=1, is_bulk=False)
    assert _keys(Evidence(hosts=(client, server), subflows=(_subflow("a"),), expected=expected)) == set()


def test_large_segments_that_never_arrive() -> None:
    stuck = (
        Sample(time_s=0.1, state="established", mss=1448, bytes_sent=0, bytes_acked=1, bytes_retrans=0),
        Sample(time_s=2.0, state="established", mss=1448, bytes_sent=5000, bytes_acked=1, bytes_retrans=3000),
    )
    flowing = tuple(replace(sample, bytes_acked=round(1e6 * sample.time_s), bytes_sent=2_000_000) for sample in stuck)
    evidence = Evidence(subflows=(_subflow("a", *flowing), _subflow("b", *stuck, number=3)))
    assert _keys(evidence) == {"large-packets-lost"}
    assert _keys(Evidence(subflows=(_subflow("a", *flowing), _subflow("b", *flowing, number=3)))) == set()


def test_waits_need_something_to_send() -> None:
    received = [(0.0, 0), (1.0, 100), (3.0, 200), (3.1, 300)]
    pending = [(time / 10, 1000) for time in range(40)]
    assert list(waits_of(received, pending, connection=1)) == [
        Wait(connection=1, begin_s=0.0, end_s=1.0),
        Wait(connection=1, begin_s=1.0, end_s=3.0),
    ]
    assert list(waits_of(received, [(time, 0) for time, _ in pending], connection=1)) == []
    assert list(waits_of(received, [], connection=1)) == []
    assert min_wait_s([NetworkPath(name="a", round_trip_s=0.6)]) == 1.2


def test_the_receiver_that_does_not_read() -> None:
    closed = tuple(
        Sample(time_s=time / 10, state="established", mss=1448, snd_wnd=0, unacked=0, rwnd_limited_s=time / 10)
        for time in range(30)
    )
    wait = Wait(connection=1, begin_s=1.0, end_s=2.5)
    evidence = _evidence(CLIENT, SERVER | {"WinProbe": 3}, _subflow("a", *closed), waits=(wait,))
    expected = replace(evidence, expected=Expectation(sender="client", receiver="server", subflows=1, is_bulk=True))
    assert "receiver-does-not-read" in _keys(expected)
    opened = tuple(replace(sample, snd_wnd=100_000, rwnd_limited_s=0.0) for sample in closed)
    quiet = replace(expected, subflows=(_subflow("a", *opened),))
    assert "receiver-does-not-read" not in _keys(quiet)


def test_a_late_subflow_with_a_small_window() -> None:
    first = Sample(time_s=0.0, state="established", mss=1448, snd_wnd=800_000, unacked=100, cwnd=200, min_rtt_s=0.02)
    early = tuple(replace(first, time_s=time / 10, rtt_s=0.03) for time in range(100))
    late = tuple(replace(sample, snd_wnd=77_000, unacked=52, cwnd=120, rtt_s=0.02) for sample in early[50:])
    both = Evidence(subflows=(_subflow("a", *early), _subflow("b", *late)))
    (finding,) = (finding for finding in explain(both) if finding.reason == "late-window")
    assert "limited by a receive window of 77 kB" in finding.text
    others = Evidence(subflows=(*(both.subflows or ()), _subflow("c", *late)))
    texts = [finding.text for finding in explain(others) if finding.reason == "late-window"]
    assert ["subflow on b joined late" in text for text in texts] == [True, False], "a wait of its own is named for c"
    filled = tuple(replace(sample, rtt_s=0.1) for sample in late)
    assert "late-window" not in _keys(Evidence(subflows=(_subflow("a", *early), _subflow("b", *filled))))


def test_a_wait_for_a_late_window_is_not_said_of_the_receive_buffer_too() -> None:
    first = Sample(time_s=0.0, state="established", mss=1448, snd_wnd=800_000, unacked=100, cwnd=200, min_rtt_s=0.02)
    early = tuple(replace(first, time_s=time / 10, rtt_s=0.03, busy_s=time / 10) for time in range(100))
    late = tuple(
        replace(sample, snd_wnd=77_000, unacked=52, cwnd=120, rtt_s=0.02, rwnd_limited_s=sample.time_s)
        for sample in early[50:]
    )
    evidence = Evidence(subflows=(_subflow("a", *early), _subflow("b", *late)))
    assert "late-window" in _keys(evidence)
    assert "receive-buffer" not in _keys(evidence)
    whole = tuple(replace(sample, rwnd_limited_s=sample.time_s) for sample in early)
    assert "receive-buffer" in _keys(replace(evidence, subflows=(_subflow("a", *whole), _subflow("b", *late))))


def test_several_waits_are_one_finding_with_the_longest() -> None:
    path = NetworkPath(name="a", down=((1.0, 9.0),), silent=True, client="10.0.1.1", server="10.0.2.2")
    other = NetworkPath(name="b", client="10.0.3.1", server="10.0.4.2")
    waits = tuple(Wait(connection=1, begin_s=begin, end_s=begin + length) for begin, length in ((1.0, 0.6), (3.0, 2.0)))
    (finding,) = explain(Evidence(waits=waits, expected=Expectation(paths=(path, other))))
    assert finding.reason == "silent-path"
    assert "nothing arrived for 2 s from 3 s" in finding.text
    assert "(the longest of 2 times)" in finding.text


def test_rows_merge_reasons_of_seeds_that_differ_in_numbers() -> None:
    runs = [
        (seed, explain(_evidence(CLIENT, SERVER | {"MPJoinSynTxCreatSkErr": count})))
        for seed, count in ((1, 2), (2, 4), (3, 0))
    ]
    (reason,) = reasons_of_row(runs)
    assert reason.seeds == (1, 2)
    assert "2 to 4 joins from it had no socket" in reason.text
    assert reason.is_noted
    assert reason.to_json()["reason"] == "join-before-accept"


def test_evidence_of_two_sources_adds_up() -> None:
    counters = Evidence(hosts=(_host("server", SERVER),))
    sockets = Evidence(hosts=(_host("client", CLIENT),), connections=(Connection(host="client", subflows=1),))
    both = counters.merge(sockets)
    assert (both.client, both.server) == (sockets.client, counters.server)
    assert both.connections == sockets.connections


def test_a_join_that_a_server_without_a_listener_refuses() -> None:
    client, server = {"MPCapableSYNTX": 1, "MPCapableSYNACKRX": 1, "MPJoinSynTx": 1}, {"MPCapableSYNRX": 1}
    hosts = _host("client", client, {"TcpAttemptFails": 1}), _host("server", server, {"TcpOutRsts": 1})
    assert _keys(Evidence(hosts=hosts)) == {"join-refused"}
    silent = replace(hosts[1], counters={**(hosts[1].counters or {}), "TcpOutRsts": 0})
    assert _keys(Evidence(hosts=(hosts[0], silent))) == {"join-syn-lost"}, "without a reset, it was lost on the way"


def test_a_join_without_an_answer_needs_a_look_at_the_other_counters_of_the_client() -> None:
    sent = {"MPCapableSYNTX": 1, "MPCapableSYNACKRX": 1, "MPJoinSynTx": 2}
    assert _keys(Evidence(hosts=(_host("client", sent, {"TcpActiveOpens": 3}),))) == {"join-unanswered"}
    assert _keys(Evidence(hosts=(_host("client", sent),))) == set()
    refused = {"TcpActiveOpens": 3, "TcpAttemptFails": 1}
    assert _keys(Evidence(hosts=(_host("client", sent, refused),))) == set(), "a reset is an answer"


def test_a_reset_after_the_handshake_of_a_join() -> None:
    resets = {"TcpEstabResets": 1}
    client, server = _host("client", CLIENT | {"MPRstTx": 1}, resets), _host("server", SERVER | {"MPRstRx": 1}, resets)
    assert "reset-after-join" in _keys(Evidence(hosts=(client, server)))
    acked = Sample(time_s=1.0, state="established", bytes_acked=100_000)
    used = (_subflow("a", acked), _subflow("b", acked, number=3))
    assert "reset-after-join" not in _keys(Evidence(hosts=(client, server), subflows=used)), "both carried data"
    removed = replace(client, counters={**(client.counters or {}), "MPTcpExtRmAddr": 1})
    assert "reset-after-join" not in _keys(Evidence(hosts=(removed, server))), "its address was withdrawn"


def test_a_backup_whose_flag_was_not_carried() -> None:
    marked = Endpoint(address="10.0.4.2", flags=frozenset({"signal", "backup"}))
    hosts = _host("client", CLIENT), _host("server", SERVER, endpoints=(marked,))
    plain = replace(_subflow("b"), remote="10.0.4.2:5001", is_backup=False)
    assert "backup-not-carried" in _keys(Evidence(hosts=hosts, subflows=(_subflow("a"), plain)))
    backup = replace(plain, is_backup=True)
    assert "backup-not-carried" not in _keys(Evidence(hosts=hosts, subflows=(_subflow("a"), backup)))


def test_retransmissions_of_what_was_late() -> None:
    late = {"MPTCPRetrans": 250_000, "OFOQueue": 280_000}
    assert "early-retransmission" in _keys(Evidence(hosts=(_host("client", CLIENT | late),)))
    rare = late | {"OFOQueue": 2_000_000}
    assert "early-retransmission" not in _keys(Evidence(hosts=(_host("client", CLIENT | rare),)))


def test_bbr_is_a_hint_where_round_trips_are_long() -> None:
    sample = Sample(time_s=1.0, state="established", min_rtt_s=0.15, bytes_sent=1_000_000, bytes_retrans=60_000)
    subflows = tuple(replace(_subflow(name, sample), congestion="bbr") for name in "ab")
    (finding,) = (finding for finding in explain(Evidence(subflows=subflows)) if finding.reason.startswith("bbr"))
    assert finding.strength == HINT
    assert "6 % of the bytes were sent again" in finding.lines
    short = tuple(replace(s, samples=(replace(sample, min_rtt_s=0.02),)) for s in subflows)
    mixed = (subflows[0], replace(subflows[1], congestion="cubic"))
    for others in (short, mixed):
        assert "bbr-over-long-paths" not in _keys(Evidence(subflows=others))
