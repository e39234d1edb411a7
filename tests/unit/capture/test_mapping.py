# SPDX-License-Identifier: MIT
"""Mappings that cover several segments, and mappings that are seen after their payload."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.capture_packets import CLIENT, SERVER, Pipe, analyse, capable, dss, first_data, second

from mptcplab.capture import tcp
from mptcplab.capture.packet import ACK, Packet
from mptcplab.capture.sequence import MappingTable

DATA = first_data(CLIENT)
MAPPINGS = st.lists(st.tuples(st.integers(0, 60), st.integers(-1, 12), st.integers(-3, 3)), max_size=30)


@given(MAPPINGS, st.integers(0, 60), st.integers(0, 20))
def test_a_table_is_a_dictionary_of_bytes(mappings: list[tuple[int, int, int]], start: int, length: int) -> None:
    model: dict[int, int] = {}
    table = MappingTable()
    for at, size, shift in mappings:
        table.add(at, at + size, at + shift)
        model |= {position: position + shift for position in range(at, at + size)}
    values: list[int | None] = []
    for piece in table.pieces(start, start + length):
        assert piece.start == start + len(values), "in order, without gaps"
        assert piece.end > piece.start
        values += [None if piece.data is None else piece.data + n for n in range(piece.end - piece.start)]
    assert values == [model.get(position) for position in range(start, start + length)]


def test_mappings_that_continue_each_other_are_one() -> None:
    """So a lost segment that comes long after its mapping is still found: a window may hold thousands of mappings."""
    table = MappingTable()
    for number in range(10_000):
        table.add(1 + 1000 * number, 1001 + 1000 * number, 5000 + 1000 * number)
    assert len(table) == 1
    assert list(table.pieces(500, 502)) == [(500, 502, 5499)]


def test_a_table_is_bounded() -> None:
    table = MappingTable(max_mappings=3)
    for number in range(10):
        table.add(10 * number, 10 * number + 5, 1000 * number)
    assert len(table) == 3
    assert [piece.data for piece in table.pieces(60, 75)] == [None, 7000]


def open_pipes() -> tuple[list[Packet], Pipe, Pipe]:
    packets: list[Packet] = []
    first, two = Pipe(packets), second(packets)
    first.open_capable()
    two.open_join()
    return packets, first, two


def test_the_segment_with_the_mapping_comes_last() -> None:
    packets, pipe, _ = open_pipes()
    pipe.send(0, ACK, dss(ack=0), at=1401, length=1400)
    pipe.send(0, ACK, dss(ack=0), at=2801, length=1400)
    pipe.send(0, ACK, dss(DATA, 1, 4200, ack=0), at=1, length=1400)
    (connection,) = analyse(packets).connections
    assert (connection.data_bytes, connection.notes) == ((4200, 0), ())


def test_a_later_segment_comes_after_many_other_mappings() -> None:
    """Both subflows take turns, so that no two mappings continue each other."""
    packets, first, two = open_pipes()
    first.send(0, ACK, dss(DATA, 1, 2000, ack=0), length=1000)
    first.sent[0] += 1000  # lost before the capture
    for number in range(1, 1001):
        (two if number % 2 else first).data(0, DATA + 2000 * number, 2000)
    first.send(0, ACK, at=1001, length=1000)
    (connection,) = analyse(packets).connections
    assert (connection.data_bytes[0], connection.reinjected_bytes[0], connection.notes) == (2_002_000, 0, ())


def test_the_first_data_comes_after_the_second() -> None:
    """The mapping of the first data is in an MP_CAPABLE."""
    packets, pipe, _ = open_pipes()
    pipe.send(0, ACK, dss(DATA + 40, 41, 60, ack=0), at=41, length=60)
    pipe.send(0, ACK, capable(CLIENT, SERVER, length=40), at=1, length=40)
    (connection,) = analyse(packets).connections
    assert (connection.data_bytes[0], connection.notes) == (100, ())


def test_payload_without_option_before_the_first_mapping_of_a_capture() -> None:
    """In a capture that begins later, a connection is recognised only by its first mapping."""
    packets: list[Packet] = []
    pipe = Pipe(packets)
    pipe.send(0, ACK, at=1001, length=1000)
    pipe.send(0, ACK, dss(DATA, 1, 2000, ack=0), at=1, length=1000)
    (connection,) = analyse(packets).connections
    assert connection.data_bytes[0] == 2000
    assert not any("mapping" in note for note in connection.notes)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4), st.booleans()), max_size=20), st.randoms())
def test_the_order_of_packets_does_not_matter(chunks: list[tuple[int, int, bool]], order: random.Random) -> None:
    """A mapping covers several segments; some data is sent on both subflows."""
    packets, *pipes = open_pipes()
    begin, total, again = len(packets), 0, 0
    for number, segments, is_reinjected in chunks:
        length = 100 * segments
        for pipe in (pipes[number], *([pipes[1 - number]] if is_reinjected else [])):
            mapping = dss(DATA + total, pipe.sent[0], length, ack=0)
            for segment in range(segments):
                pipe.send(0, ACK, dss(ack=0) if segment else mapping, length=100)
        total += length
        again += length * is_reinjected
    shuffled = packets[begin:]
    order.shuffle(shuffled)
    packets[begin:] = [packet._replace(time_ns=10**9 + number) for number, packet in enumerate(shuffled)]
    (connection,) = analyse(packets).connections
    assert (connection.data_bytes[0], connection.reinjected_bytes[0]) == (total, again)
    assert not any("mapping" in note for note in connection.notes)


def test_what_waits_is_bounded() -> None:
    """A flood of payload without mapping takes no more memory, and what is forgotten stays unmapped."""
    packets, pipe, _ = open_pipes()
    for number in range(tcp.WAITING_SPANS + 50):
        pipe.send(0, ACK, dss(ack=0), at=101 + 2 * number, length=1)
    pipe.send(0, ACK, dss(DATA, 1, 60_000, ack=0), at=1, length=100)
    (connection,) = analyse(packets).connections
    assert connection.data_bytes[0] == 100 + tcp.WAITING_SPANS
    assert connection.notes[0] == "no mapping was seen for 50 bytes of payload"
