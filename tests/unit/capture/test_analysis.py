# SPDX-License-Identifier: MIT
"""The analysis of hand-made packets finds what was put in."""

from __future__ import annotations

import pytest
from tests.unit.capture_packets import (
    CLIENT,
    HERE,
    SERVER,
    THERE,
    Pipe,
    analyse,
    capable,
    dss,
    first_data,
    join_syn,
    option,
    second,
    token,
)

from mptcplab.capture import analysis as module
from mptcplab.capture.packet import ACK, FIN, RST, SYN, Packet, SocketAddress, nanoseconds
from mptcplab.capture.summary import ConnectionSummary, Summary

DATA = first_data(CLIENT)


def only_connection(summary: Summary) -> ConnectionSummary:
    (connection,) = summary.connections
    return connection


def payloads(connection: ConnectionSummary, side: int = 0) -> list[int]:
    return [subflow.directions[side].payload_bytes for subflow in connection.subflows]


def test_two_subflows_of_one_connection() -> None:
    packets: list[Packet] = []
    first, other = Pipe(packets), second(packets)
    first.open_capable()
    other.open_join()
    first.data(0, DATA, 1000)
    other.data(0, DATA + 1000, 1500)
    other.data(0, DATA + 2500, 1500)
    first.data(1, first_data(SERVER), 500)
    first.send(0, ACK, dss(DATA + 4000, 0, 1, ack=0, fin=True))
    first.close()
    other.close()
    connection = only_connection(analyse(packets))
    assert connection.version == 1
    assert connection.tokens == (token(CLIENT).hex(), token(SERVER).hex())
    assert (connection.data_bytes, connection.reinjected_bytes) == ((4000, 500), (0, 0))
    assert [subflow.began for subflow in connection.subflows] == ["capable", "join"]
    assert [subflow.directions[0].share for subflow in connection.subflows] == [0.25, 0.75]
    assert [subflow.state for subflow in connection.subflows] == ["closed", "closed"]
    assert connection.subflows[1].address_ids == (1, 1)
    assert [(event.kind, event.side, event.about) for event in connection.events] == [
        ("DATA_FIN", 0, {"data_bytes": 4000})
    ]
    assert (connection.fallback, connection.notes) == (None, ())


def test_a_join_from_the_server() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    other = Pipe(packets, ends=(SocketAddress("10.0.4.2", 1), SocketAddress("10.0.3.1", 2)))
    other.open_join(of=CLIENT, backup=True)
    other.data(1, DATA, 700)
    subflow = only_connection(analyse(packets)).subflows[1]
    assert subflow.ends == ("10.0.3.1:2", "10.0.4.2:1"), "the connection's side 0 comes first"
    assert (subflow.initiator, subflow.backup) == (1, (False, True))
    assert [direction.payload_bytes for direction in subflow.directions] == [700, 0]


def test_a_join_that_is_seen_before_its_connection() -> None:
    """The clocks of two files differ."""
    packets: list[Packet] = []
    other, first = second(packets), Pipe(packets)
    other.open_join()
    first.open_capable()
    other.data(0, DATA, 10)
    assert payloads(only_connection(analyse(packets))) == [10, 0]


def test_retransmissions_are_not_reinjections() -> None:
    packets: list[Packet] = []
    subflow, sibling = Pipe(packets), second(packets)
    subflow.open_capable()
    sibling.open_join()
    mapping = dss(DATA, 1, 1000, ack=0)
    subflow.send(0, ACK, mapping, length=1000)
    subflow.send(0, ACK, mapping, at=1, length=1000)  # TCP sends it again
    subflow.send(0, ACK, mapping, at=501, length=500)  # and half of it
    sibling.data(0, DATA + 400, 300)  # MPTCP sends a part on the other subflow
    subflow.send(0, FIN | ACK)
    subflow.send(0, FIN | ACK, at=1001)
    connection = only_connection(analyse(packets))
    first, other = (subflow.directions[0] for subflow in connection.subflows)
    assert (first.payload_bytes, first.sent_bytes, first.retransmitted_bytes) == (1000, 2500, 1500)
    assert first.retransmitted_packets == 3, "two with data, and the FIN"
    assert (other.payload_bytes, other.reinjected_bytes) == (300, 300)
    assert (connection.data_bytes[0], connection.reinjected_bytes[0]) == (1000, 300)


def test_a_keepalive_is_no_retransmission() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    pipe.data(0, DATA, 100)
    pipe.send(0, ACK, at=100, length=1)  # not yet acknowledged: sent again
    pipe.send(1)
    pipe.send(0, ACK, at=100, length=1)  # acknowledged: only asks
    assert only_connection(analyse(packets)).subflows[0].directions[0].retransmitted_packets == 1


def test_one_mapping_for_many_packets() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    mapping = dss(DATA, 1, 3000, ack=0)
    pipe.send(0, ACK, mapping, length=1000)
    pipe.send(0, ACK, length=1000)  # without an option of its own
    pipe.send(0, ACK, mapping, length=1000)
    connection = only_connection(analyse(packets))
    assert (connection.data_bytes[0], connection.notes) == (3000, ())


def test_first_data_with_mp_capable() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    pipe.send(0, ACK, capable(CLIENT, SERVER, length=40), length=40)
    pipe.data(0, DATA + 40, 60)
    connection = only_connection(analyse(packets))
    assert (connection.data_bytes[0], connection.fallback) == (100, None)


@pytest.mark.parametrize("bits", [32, 64])
def test_numbers_wrap(bits: int) -> None:
    """The data sequence wraps at 2^64 (or 2^32) and the subflow's at 2^32, both in the middle of the data."""
    packets: list[Packet] = []
    pipe = Pipe(packets, starts=(2**32 - 5000, 2**32 - 1))
    start = 2**64 - 7000
    pipe.send(0, SYN, capable())
    pipe.send(1, SYN | ACK, capable(SERVER))
    for number in range(20):
        pipe.data(0, start + 1000 * number, 1000, bits=bits)
    connection = only_connection(analyse(packets))
    assert (connection.data_bytes[0], connection.reinjected_bytes[0], connection.notes) == (20_000, 0, ())
    assert connection.subflows[0].directions[0].retransmitted_bytes == 0


def test_a_capture_that_begins_later() -> None:
    """Only data of subflows was captured: by their numbers two belong together, and a third does not."""
    packets: list[Packet] = []
    subflow, sibling = Pipe(packets, sent=[50_001, 1]), second(packets, sent=[20_001, 1])
    other = Pipe(packets, ends=(SocketAddress("10.0.1.9", 1), SocketAddress("10.0.2.2", 5001)), sent=[7, 1])
    for number in range(5):
        subflow.data(0, DATA + 2000 * number, 1000)
        sibling.data(0, DATA + 2000 * number + 1000, 1000)
        other.data(0, DATA + 2**40 + 100 * number, 100)
    summary = analyse(packets)
    first, last = summary.connections
    assert (len(first.subflows), len(last.subflows)) == (2, 1)
    assert (first.data_bytes[0], last.data_bytes[0]) == (10_000, 500)
    assert first.subflows[0].began == "before"
    assert "it began before" in first.notes[0]
    assert first.reinjected_bytes[0] == 0


def test_a_capture_that_begins_inside_a_mapping() -> None:
    """The first packets do not begin where their mapping does; later ones do."""
    packets: list[Packet] = []
    pipe = Pipe(packets, sent=[10_001, 1])
    for start in (9_001, 12_001):
        mapping = dss(DATA + start, start, 3000, ack=0)
        while pipe.sent[0] < start + 3000:
            pipe.send(0, ACK, mapping, length=1000)
    assert only_connection(analyse(packets)).data_bytes[0] == 5000


def test_a_join_after_the_beginning_of_the_capture() -> None:
    """Its token belongs to a key that was never seen; the data sequence identifies the connection."""
    packets: list[Packet] = []
    first, two, three = (
        Pipe(packets, sent=[9, 1]),
        second(packets),
        Pipe(packets, ends=(SocketAddress("10.0.5.1", 1),) * 2),
    )
    first.data(0, DATA, 1000)
    two.open_join()
    two.data(0, DATA + 1000, 1000)
    three.ends = (SocketAddress("10.0.5.1", 1), SocketAddress("10.0.6.2", 5001))
    three.open_join()  # carries nothing, but the token is known by now
    connection = only_connection(analyse(packets))
    assert [subflow.began for subflow in connection.subflows] == ["before", "join", "join"]
    assert connection.tokens[1] == token(SERVER).hex()


def test_the_same_packets_in_two_files() -> None:
    """Each vantage point misses one packet: payload counts once, and what was sent as the nearer one saw it."""
    packets: list[Packet] = []
    pipe = Pipe(packets, vantages=(HERE, THERE))
    pipe.open_capable()
    pipe.data(0, DATA, 1000)
    mapping = dss(DATA + 1000, 1001, 1000, ack=0)
    pipe.send(0, ACK, mapping, length=1000, vantages=[HERE])  # lost on the path
    pipe.data(0, DATA + 2000, 1000)
    pipe.send(0, ACK, mapping, at=1001, length=1000)
    add = option(bytes([0x30, 1, 10, 0, 4, 2]) + b"h" * 8)
    pipe.send(1, ACK, add)
    connection = only_connection(analyse(packets))
    direction = connection.subflows[0].directions[0]
    assert (direction.payload_bytes, direction.sent_bytes, direction.retransmitted_bytes) == (3000, 4000, 1000)
    assert direction.seen_in == "a.pcap"
    assert (connection.data_bytes[0], connection.reinjected_bytes[0]) == (3000, 0)
    assert [event.kind for event in connection.events] == ["ADD_ADDR"], "told once"


def test_bytes_missing_from_the_capture() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    pipe.data(0, DATA, 1000)
    pipe.sent[0] += 500  # not in the capture
    pipe.data(0, DATA + 1500, 1000)
    pipe.sent[0] += 200  # nor this, at the end
    pipe.send(1)
    connection = only_connection(analyse(packets))
    assert connection.subflows[0].directions[0].unseen_bytes == 700
    assert connection.gaps == ("700 acknowledged bytes are not in the capture",)


def test_nothing_is_missing_after_a_fin() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    pipe.data(0, DATA, 1000)
    pipe.close()
    assert only_connection(analyse(packets)).subflows[0].directions[0].unseen_bytes == 0


def test_super_packets() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    mss = bytes.fromhex("020405b4")
    pipe.send(0, SYN, mss + capable())
    pipe.send(1, SYN | ACK, mss + capable(SERVER))
    pipe.data(0, DATA, 60_000)
    connection = only_connection(analyse(packets))
    assert connection.subflows[0].has_super_packets
    assert connection.data_bytes[0] == 60_000
    assert any("before segmentation" in note for note in connection.notes)


def _handshake(first: bytes, answer: bytes, third: bytes) -> list[Packet]:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.send(0, SYN, first)
    pipe.send(1, SYN | ACK, answer)
    pipe.send(0, ACK, third)
    pipe.send(0, ACK, length=100)
    return packets


@pytest.mark.parametrize(
    ("packets", "reason"),
    [
        (_handshake(capable(), b"", b""), "the SYN/ACK does not"),
        (_handshake(capable(), capable(SERVER), b""), "data followed the handshake without a DSS"),
        (_handshake(capable(), capable(SERVER), capable(CLIENT, SERVER)), "data followed the handshake without a DSS"),
    ],
)
def test_fallback_at_the_beginning(packets: list[Packet], reason: str) -> None:
    connection = only_connection(analyse(packets))
    assert reason in str(connection.fallback)
    assert connection.data_bytes == (100, 0), "what TCP carried"


def test_fallback_by_a_middlebox() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.send(0, SYN, capable(), vantages=[HERE])
    pipe.send(0, SYN, b"", vantages=[THERE])
    pipe.send(1, SYN | ACK, b"", vantages=[THERE, HERE])
    pipe.send(0, ACK, length=10, vantages=[HERE, THERE])
    reason = str(only_connection(analyse(packets)).fallback)
    assert "the SYN has it in a.pcap, not in b.pcap" in reason


def late_connection(
    *, answered: bool = True, gap: int = 0, again: bool = False, joined: bool = False
) -> ConnectionSummary:
    """Return a connection of which one segment of 1000 bytes has a DSS, and nine later ones have no option."""
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    if joined:
        second(packets).open_join()
    pipe.data(0, DATA, 1000)
    pipe.send(1)
    pipe.sent[0] += gap
    for _ in range(9):
        pipe.send(0, ACK, length=1000)
    if answered:
        pipe.send(1)
    if again:
        pipe.send(1, ACK, dss(ack=DATA + 1000))
    return only_connection(analyse(packets))


def test_fallback_after_the_first_data() -> None:
    connection = late_connection()
    assert connection.data_bytes == (10_000, 0)
    assert connection.fallback_s == 5e-6, "the sixth packet, each 1 us after the one before"
    assert connection.fallback == "data without DSS from 0.000 s on"
    assert connection.notes == ()


@pytest.mark.parametrize(
    "connection",
    [
        late_connection(answered=False),
        late_connection(gap=1400),  # a segment with a mapping of all may be missing
        late_connection(again=True),  # the other side still sends DSS
        late_connection(joined=True),  # beside another subflow, TCP resets this one
    ],
    ids=["without an answer", "after a gap", "with a later option", "beside another subflow"],
)
def test_data_without_dss_that_is_no_fallback(connection: ConnectionSummary) -> None:
    assert (connection.fallback, connection.fallback_s, connection.data_bytes[0]) == (None, None, 1000)
    assert "no mapping was seen for 9000 bytes of payload" in connection.notes


def test_fallback_inside_a_mapping() -> None:
    """What the mapping covers is data once, although its last segments have no option any more."""
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    pipe.send(0, ACK, dss(DATA, 1, 3000, ack=0), length=1000)
    for _ in range(4):
        pipe.send(1)
        pipe.send(0, ACK, length=1000)
    connection = only_connection(analyse(packets))
    assert (connection.data_bytes[0], connection.fallback_s) == (5000, 5e-6)


def build_syns(*with_option: bool, answer: bytes = b"") -> list[Packet]:
    """Return SYNs with or without MP_CAPABLE, of which the last one is answered, and 100 bytes."""
    packets: list[Packet] = []
    pipe = Pipe(packets)
    for has_option in with_option:
        pipe.send(0, SYN, capable() if has_option else b"", at=0)
    pipe.send(1, SYN | ACK, answer)
    pipe.send(0, ACK, length=100)
    return packets


@pytest.mark.parametrize(
    ("packets", "reason"),
    [
        (
            build_syns(True, True, True, False),
            "3 SYNs with MP_CAPABLE were not answered; the SYN that was answered has none",
        ),
        (build_syns(True, False, False), "1 SYN with MP_CAPABLE was not answered; the SYN that was answered has none"),
        (build_syns(True, True), "the SYN has MP_CAPABLE, but the SYN/ACK does not"),
        (build_syns(True, False, True), "the SYN has MP_CAPABLE, but the SYN/ACK does not"),
    ],
)
def test_which_syn_was_answered(packets: list[Packet], reason: str) -> None:
    connection = only_connection(analyse(packets))
    assert str(connection.fallback).startswith(reason)
    assert (connection.fallback_s, connection.data_bytes[0]) == (None, 100)


def test_syns_that_were_dropped_between_two_places() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    for _ in range(3):
        pipe.send(0, SYN, capable(), at=0, vantages=[HERE])
    pipe.send(0, SYN, at=0, vantages=[HERE, THERE])
    pipe.send(1, SYN | ACK, vantages=[THERE, HERE])
    pipe.send(0, ACK, length=10, vantages=[HERE, THERE])
    reason = str(only_connection(analyse(packets)).fallback)
    assert reason.startswith("3 SYNs with MP_CAPABLE were not answered; the SYN that was answered has none")
    assert "only this is in b.pcap: the others were dropped on the path" in reason


@pytest.mark.parametrize(
    ("with_option", "without", "note"),
    [
        (1, 0, "1 SYN with MP_CAPABLE was not answered"),
        (4, 0, "4 SYNs with MP_CAPABLE were not answered"),
        (3, 2, "3 SYNs with MP_CAPABLE were not answered, nor were 2 without"),
    ],
)
def test_syns_without_any_answer(with_option: int, without: int, note: str) -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    for number in range(with_option + without):
        pipe.send(0, SYN, capable() if number < with_option else b"", at=0)
    connection = only_connection(analyse(packets))
    assert (connection.notes, connection.fallback, connection.subflows[0].state) == ((note,), None, "no answer")


def test_a_first_syn_that_is_refused() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.send(0, SYN, capable())
    pipe.reset(1)
    assert only_connection(analyse(packets)).subflows[0].state == "refused"


def test_infinite_mapping_and_mp_fail() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable(flags=0x81)
    pipe.data(0, DATA, 100, checksum=True)
    pipe.send(1, ACK, option(bytes([0x60, 0]) + DATA.to_bytes(8)))
    pipe.send(0, ACK, dss(DATA + 100, 101, 0, ack=0), length=100)
    pipe.send(0, ACK, length=900)
    connection = only_connection(analyse(packets))
    assert "infinite mapping" in str(connection.fallback)
    assert connection.data_bytes[0] == 1100
    assert connection.fallback_s == 5e-6, "when it was sent"
    assert connection.checksum
    assert "MP_FAIL" in " ".join(connection.notes)
    assert connection.events[0].about == {"sequence": DATA}


def test_options_and_signals() -> None:
    packets: list[Packet] = []
    first, other = Pipe(packets), second(packets)
    first.open_capable()
    other.open_join()
    other.send(1, ACK, option(b"\x51"))
    first.send(0, ACK, option(bytes([0x40, 1])))
    other.send(0, RST | ACK, option(bytes([0x81, 6])))
    first.send(1, RST | ACK, option(bytes([0x70, 0]) + CLIENT))
    connection = only_connection(analyse(packets))
    assert [(event.subflow, event.side, event.kind) for event in connection.events] == [
        (2, 1, "MP_PRIO"),
        (1, 0, "REMOVE_ADDR"),
        (2, 0, "MP_TCPRST"),
        (1, 1, "MP_FASTCLOSE"),
    ]
    assert connection.subflows[1].backup == (False, True)
    assert [subflow.state for subflow in connection.subflows] == ["reset", "reset"]


def test_joins_that_fail() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    refused, silent = (
        second(packets),
        Pipe(packets, ends=(SocketAddress("10.0.5.1", 3), SocketAddress("10.0.6.2", 5001))),
    )
    refused.send(0, SYN, join_syn(SERVER))
    refused.reset(1)
    silent.send(0, SYN, join_syn(SERVER))
    silent.send(0, SYN, join_syn(SERVER))
    states = [subflow.state for subflow in only_connection(analyse(packets)).subflows]
    assert states == ["open", "refused", "no answer"]


def test_a_join_of_a_connection_that_was_not_seen() -> None:
    packets: list[Packet] = []
    Pipe(packets).send(0, SYN, join_syn(SERVER))
    summary = analyse(packets)
    assert (only_connection(summary).tokens, summary.tcp) == ((None, token(SERVER).hex()), ())


def test_options_in_a_connection_of_which_only_acks_and_resets_were_seen() -> None:
    """Data ACKs of 32 bits fit any connection by chance, so each subflow is a connection of its own."""
    packets: list[Packet] = []
    first, other = Pipe(packets), second(packets)
    first.send(1, ACK, option(bytes([0x30, 1, 10, 0, 4, 2]) + b"h" * 8) + dss(ack=111, bits=32))
    first.send(0, ACK, option(bytes([0x31, 1, 10, 0, 4, 2])) + dss(ack=222, bits=32))
    other.send(1, RST | ACK, option(bytes([0x80, 3])))
    summary = analyse(packets)
    assert summary.tcp == ()
    assert [[event.kind for event in connection.events] for connection in summary.connections] == [
        ["ADD_ADDR"] * 2,
        ["MP_TCPRST"],
    ]
    for connection in summary.connections:
        assert connection.tokens == (None, None)
        assert connection.subflows[0].began == "before"
        assert "its other subflows, if any, are listed as other connections" in connection.notes[0]


def test_subflows_that_only_acknowledge() -> None:
    """Data ACKs of 64 bits near each other belong to one connection; events before the first of them are its own."""
    packets: list[Packet] = []
    first, other = Pipe(packets), second(packets)
    first.send(1, ACK, option(bytes([0x30, 1, 10, 0, 4, 2]) + b"h" * 8))
    first.send(1, ACK, dss(ack=DATA + 1000))
    other.send(1, ACK, dss(ack=DATA + 5000))
    connection = only_connection(analyse(packets))
    assert [subflow.recognised_by for subflow in connection.subflows] == ["numbers", "numbers"]
    assert [event.kind for event in connection.events] == ["ADD_ADDR"]
    assert connection.notes == ("it began before the capture: its subflows were found by their data sequence numbers",)


def test_an_option_that_cannot_be_parsed_is_still_mptcp() -> None:
    packets: list[Packet] = []
    Pipe(packets).send(0, SYN, option(bytes([0xF0, 0])))
    second(packets).send(0, SYN)
    summary = analyse(packets)
    assert (only_connection(summary).subflows[0].began, len(summary.tcp)) == ("unknown", 1)
    assert only_connection(summary).notes[0].startswith("none of its MPTCP options names it")


def test_payload_of_a_subflow_that_fits_no_connection() -> None:
    packets: list[Packet] = []
    Pipe(packets).send(1, ACK, dss(ack=111, bits=32), length=700)
    connection = only_connection(analyse(packets))
    assert (connection.data_bytes, connection.subflows[0].directions[1].payload_bytes) == ((0, 0), 0)
    assert "no mapping was seen for 700 bytes of payload" in connection.notes


@pytest.mark.parametrize(
    ("joins", "with_data", "by"),
    [
        (1, False, "the token of their MP_JOIN"),
        (3, False, "the token of their MP_JOIN"),
        (1, True, "their data sequence numbers and the token of their MP_JOIN"),
        (0, True, None),
    ],
)
def test_how_subflows_were_found(joins: int, with_data: bool, by: str | None) -> None:
    packets: list[Packet] = []
    if with_data:
        Pipe(packets, sent=[9, 1]).data(0, DATA, 1000)
    for number in range(joins):
        joined = Pipe(packets, ends=(SocketAddress("10.0.3.1", 1 + number), SocketAddress("10.0.4.2", 5001)))
        joined.send(0, SYN, join_syn(SERVER))
        if with_data:
            joined.send(1, SYN | ACK)
            joined.data(0, DATA + 1000, 1000)
    connection = only_connection(analyse(packets))
    suffix = "" if by is None else f": its subflows were found by {by}"
    assert connection.notes == (f"it began before the capture{suffix}",)
    assert connection.subflows[-1].recognised_by == ("token" if joins and not with_data else "numbers")


def test_a_flood_of_joins_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_FLOWS", 10)
    packets: list[Packet] = []
    for port in range(1, 101):
        joined = Pipe(packets, ends=(SocketAddress("10.0.1.1", port), SocketAddress("10.0.2.2", 80)))
        joined.send(0, SYN, join_syn(port.to_bytes(8)))
    analysis = module.Analysis()
    for packet in packets:
        analysis.add(packet)
    assert (len(analysis.unassigned), len(analysis._waiting)) == (10, 10)
    assert (analysis.forgotten_connections.count, analysis.forgotten_plain.count) == (90, 0)


def test_a_syn_that_was_overtaken_is_of_the_same_connection() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.open_capable()
    pipe.data(0, DATA, 1000)
    packets.append(packets.pop(0)._replace(time_ns=10**9))
    connection = only_connection(analyse(packets))
    assert (len(connection.subflows), connection.subflows[0].initiator, connection.data_bytes[0]) == (1, 0, 1000)


def test_plain_tcp_connections_are_tracked() -> None:
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.send(0, SYN)
    pipe.send(1, SYN | ACK)
    pipe.send(1, ACK, length=5000)
    pipe.close()
    summary = analyse(packets)
    assert (summary.connections, len(summary.tcp), summary.tcp_payload_bytes) == ((), 1, 5000)
    assert summary.tcp[0].state == "closed"


def test_a_reused_port() -> None:
    packets: list[Packet] = []
    for start in (1000, 500_000):
        pipe = Pipe(packets, starts=(start, start))
        pipe.send(0, SYN)
        pipe.send(0, SYN, at=0)  # the same SYN again is the same connection
        pipe.send(1, SYN | ACK)
        pipe.send(0, ACK, length=100)
        pipe.reset()
    summary = analyse(packets)
    assert [connection.directions[0].payload_bytes for connection in summary.tcp] == [100, 100]
    assert [connection.directions[0].retransmitted_packets for connection in summary.tcp] == [1, 1]


def test_many_connections_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_FLOWS", 10)
    monkeypatch.setattr(module, "_MAX_CONNECTIONS", 5)
    packets: list[Packet] = []
    for port in range(1, 41):
        pipe = Pipe(packets, ends=(SocketAddress("10.0.1.1", port), SocketAddress("10.0.2.2", 80)))
        if port % 2:
            pipe.send(0, SYN)
        else:
            pipe.open_capable()
        pipe.send(0, ACK, length=10)
        pipe.reset()
    summary = analyse(packets)
    assert len(summary.connections) + summary.connections_only_counted == 20
    assert len(summary.tcp) + summary.tcp_only_counted == 20
    assert (len(summary.connections), len(summary.tcp) <= 10) == (5, True)
    assert summary.tcp_payload_bytes == 200
    assert [connection.number for connection in summary.connections] == [16, 17, 18, 19, 20]


def test_times() -> None:
    assert nanoseconds("1735689610.000004864") == 1735689610000004864
    assert nanoseconds("1735689610.5") == 1735689610500000000
    assert nanoseconds("2025-01-01T00:00:10.000004864Z") == 1735689610000004864
