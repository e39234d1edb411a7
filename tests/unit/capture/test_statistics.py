# SPDX-License-Identifier: MIT
"""Statistics of packets, against numbers computed by hand and against the formulas themselves, in fractions."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterable, Iterator
from fractions import Fraction
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.capture.tcp_captures import CLIENT, HEADERS, SERVER, Segment, download, handshake, reset

from mptcplab.capture import connections
from mptcplab.capture.connections import ConnectionsOfCapture, End, parse_end, statistics_of
from mptcplab.capture.files import spreads
from mptcplab.capture.packet import ACK, FIN, SYN, SocketAddress
from mptcplab.capture.statistics import (
    DUPLICATE_ACK,
    FAST_RETRANSMISSION,
    GAP,
    OUT_OF_ORDER,
    RETRANSMISSION,
    UNSEEN,
    Frame,
    Statistics,
    combine,
)
from mptcplab.errors import InputError

OTHER = (SocketAddress("fd00::1", 40000), SocketAddress("fd00::2", 80))


def frames(segments: Iterable[Segment], marks: dict[int, int] | None = None) -> list[Frame]:
    """Return segments as tshark describes them; ``marks`` has the marks of segments by their numbers."""
    return [
        Frame(
            segment.time * 1000,
            segment.ends[segment.side],
            segment.ends[1 - segment.side],
            HEADERS + segment.length,
            segment.length,
            segment.flags,
            (segment.starts[segment.side] + segment.at) % 2**32,
            (marks or {}).get(number, 0),
        )
        for number, segment in enumerate(segments)
    ]


def only_statistics(statistics: ConnectionsOfCapture) -> Statistics:
    (connection,) = statistics.connections
    return connection.both


def test_a_download_by_hand() -> None:
    """TCP deltas in us, of 12 packets: 0, 10000, 100, 10000, 100 five times, (40000 is left out,) 100 three times less
    one, 10000: that is three of 10000, eight of 100, and the 0 of the first."""
    (connection,) = statistics_of(frames(download(), {8: RETRANSMISSION, 7: DUPLICATE_ACK})).connections
    both, (up, down) = connection.both, connection.directions
    assert connection.ends == (CLIENT, SERVER)
    assert (both.packets, both.left_out, both.duplicate_acks) == (12, 1, 1)
    assert (both.length, both.payload) == (12 * 54 + 3000, 3000)
    assert both.duration_s == 0.0708
    assert both.throughput_bps == pytest.approx(8 * 3648 / 0.0708)
    assert both.throughput_mibps == pytest.approx(8 * 3648 / 0.0708 / 1_048_576), "what the study prints as Mbps"
    assert both.mean_delta_us == pytest.approx(30_800 / 12)
    assert (both.min_delta_us, both.max_delta_us) == (100, 10_000)
    # (3 * 10000^2 + 8 * 100^2 - 30800^2 / 12) / 11 = 20093333.33 us^2
    assert both.delta_variance_s2 == pytest.approx(20_093_333.3333e-12)
    # Upwards 0, 100, 100, 100, 100, 100: also the first packet after the retransmission, 100 us later.
    assert up.mean_delta_us == pytest.approx(500 / 6)
    assert up.delta_variance_s2 == pytest.approx((5 * 100**2 - 500**2 / 6) / 5 * 1e-12)
    assert down.mean_delta_us == pytest.approx(30_300 / 6)
    assert down.duration_s == pytest.approx(0.0608)


def test_a_retransmission_is_left_out_but_remains_the_previous_packet() -> None:
    """The delta after it is 100 us, not 40100: the study's filter hides packets, and does not change their fields."""
    segments = download()
    with_it = only_statistics(statistics_of(frames(segments, {8: FAST_RETRANSMISSION})))
    without = only_statistics(statistics_of(frames(segments[:8] + segments[9:])))
    assert (with_it.max_delta_us, without.max_delta_us) == (10_000, 40_100)
    assert with_it.packets == without.packets


@pytest.mark.parametrize("kept", [OUT_OF_ORDER, DUPLICATE_ACK, GAP, UNSEEN])
def test_only_retransmissions_are_left_out(kept: int) -> None:
    statistics = only_statistics(statistics_of(frames(download(), {8: kept})))
    assert (statistics.packets, statistics.left_out) == (13, 0)
    assert statistics.out_of_order + statistics.duplicate_acks + statistics.gaps + statistics.unseen == 1


def test_time_begins_and_ends_with_packets_that_count() -> None:
    """Nor does a connection begin with a packet that is left out: the second packet's delta counts."""
    segments = [Segment(0, 1, length=10), Segment(70, 1, length=20), Segment(100, 1, length=30), Segment(900, 1)]
    statistics = only_statistics(statistics_of(frames(segments, {0: RETRANSMISSION, 3: RETRANSMISSION})))
    assert statistics.duration_s == pytest.approx(30e-6)
    assert statistics.mean_delta_us == (70 + 30) / 2
    assert (statistics.min_delta_us, statistics.max_delta_us) == (30, 70)


def test_too_few_packets() -> None:
    nothing, single = Statistics(), only_statistics(statistics_of(frames(handshake()[:1])))
    assert nothing.document()["mean_delta_us"] is nothing.duration_s is nothing.throughput_bps is None
    assert (single.mean_delta_us, single.duration_s) == (0, 0)
    assert single.min_delta_us is single.max_delta_us is single.delta_variance_s2 is single.throughput_bps is None
    alone = statistics_of(frames([reset(5)]))
    assert alone.connections[0].directions[1].document()["packets"] == 0
    assert json.dumps(alone.total.document())


def test_two_connections_have_their_own_previous_packets() -> None:
    """Interleaved: each connection keeps its deltas, and the total time is from the first packet to the last."""
    first, second = handshake(), handshake(50, ends=OTHER)
    statistics = statistics_of(frames(sorted([*first, *second], key=lambda segment: segment.time)))
    assert [connection.ends for connection in statistics.connections] == [(CLIENT, SERVER), OTHER]
    assert [connection.both.mean_delta_us for connection in statistics.connections] == [10_100 / 3] * 2
    total = statistics.total
    assert total.mean_delta_us == 10_100 / 3
    assert total.duration_s == pytest.approx(0.01015)
    assert total.throughput_bps == pytest.approx(8 * 6 * 54 / 0.01015)
    # Four of them are 10000 and 100, two are 0.
    assert total.delta_variance_s2 == pytest.approx((2 * 10_000**2 + 2 * 100**2 - 20_200**2 / 6) / 5 * 1e-12)


def test_ports_that_are_used_again() -> None:
    """A SYN with another number begins another connection, whose first packet has no previous one."""
    again = handshake(10**6, starts=(555, 666))
    statistics = statistics_of(frames([*handshake(), *again]))
    assert [connection.both.packets for connection in statistics.connections] == [3, 3]
    assert statistics.total.max_delta_us == 10_000
    repeated = statistics_of(frames([handshake()[0], *handshake(10**6)]))
    assert [connection.both.packets for connection in repeated.connections] == [4], "the same SYN again"


def test_who_opened_a_connection() -> None:
    syn, answer, ack = handshake()
    assert [statistics_of(frames([frame])).connections[0].ends[0] for frame in (syn, answer, ack)] == [CLIENT] * 3
    assert statistics_of(frames([Segment(0, 1, length=5)])).connections[0].ends[0] == SERVER, "who is seen first"


@pytest.mark.parametrize(
    ("ends", "count"),
    [
        ([], 2),
        (["10.0.1.1"], 1),
        ([":40000"], 2),
        ([":40000", "fd00:0::2"], 1),
        (["[fd00::2]:80", "fd00::1"], 1),
        (["10.0.1.1:20"], 0),
        (["10.0.1.1:40000", "10.0.2.2:20"], 1),
        (["10.0.1.1", "fd00::2"], 0),
    ],
)
def test_ends_select_connections(ends: list[str], count: int) -> None:
    statistics = statistics_of(frames([*handshake(), *handshake(1, ends=OTHER)]), [parse_end(end) for end in ends])
    assert len(statistics.connections) == count
    assert len(statistics.others) == 2 - count


def test_ends_as_text() -> None:
    assert parse_end("10.0.0.1") == End("10.0.0.1", None)
    assert parse_end(":21") == End(None, 21)
    assert parse_end("[fd00::1]:21") == End("fd00::1", 21)
    assert parse_end("fd00:0:0::1") == End("fd00::1", None)
    assert [str(parse_end(text)) for text in (":21", "10.0.0.1", "[fd00::1]:21")] == [":21", "10.0.0.1", "[fd00::1]:21"]
    for text in ("", ":", "host:1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0:5", "1:2", "10.0.0.1:²"):
        with pytest.raises(InputError) as error:
            parse_end(text)
        assert error.value.hint


def test_times_that_go_back() -> None:
    """As in a file merged carelessly. Deltas are what they are; the duration covers all packets."""
    statistics = only_statistics(statistics_of(frames([Segment(100, 0), Segment(50, 1), Segment(80, 0)])))
    assert (statistics.backward, statistics.min_delta_us, statistics.max_delta_us) == (1, -50, 30)
    assert statistics.duration_s == pytest.approx(50e-6)
    assert statistics.mean_delta_us == pytest.approx(-20 / 3)


def test_runs_have_a_mean_a_maximum_and_a_minimum() -> None:
    runs = [only_statistics(statistics_of(frames(handshake()[:count]))) for count in (2, 3)]
    spread = spreads([*runs, Statistics()])
    # 2 packets of 54 bytes in 10 ms, 3 in 10.1 ms.
    rates = [8 * 108 / 0.01 / 1e6, 8 * 162 / 0.0101 / 1e6]
    assert spread["throughput_mbps"].mean == pytest.approx(fmean(rates))
    assert (spread["throughput_mbps"].max, spread["throughput_mbps"].min) == (max(rates), min(rates))
    assert spread["throughput_mibps"].mean == pytest.approx(fmean(rates) * 1e6 / 2**20)
    assert spread["min_delta_us"].min == 100
    assert spreads([]) == {}


TIMES = st.integers(0, 10**15)
FRAMES = st.lists(
    st.builds(
        Frame,
        time_ns=TIMES,
        source=st.sampled_from([CLIENT, OTHER[0]]),
        target=st.sampled_from([SERVER, OTHER[1]]),
        length=st.integers(54, 65_535),
        payload=st.integers(0, 65_000),
        flags=st.sampled_from([ACK, FIN | ACK]),
        sequence=st.integers(0, 2**32 - 1),
        marks=st.integers(0, 63),
    ),
    max_size=30,
)


def _compute_moments(given_frames: list[Frame]) -> tuple[Fraction, Fraction] | None:
    """Return mean and variance of the TCP deltas in ns, as the study writes them."""
    previous: dict[frozenset[SocketAddress], int] = {}
    deltas = []
    for frame in given_frames:
        ends = frozenset((frame.source, frame.target))
        if not frame.marks & 3:
            deltas.append(Fraction(frame.time_ns - previous.get(ends, frame.time_ns)))
        previous[ends] = frame.time_ns
    if len(deltas) < 2:
        return None
    mean = sum(deltas) / Fraction(len(deltas))
    return mean, sum((delta - mean) ** 2 for delta in deltas) / Fraction(len(deltas) - 1)


@pytest.mark.slow
@settings(max_examples=200)
@given(FRAMES)
def test_any_packets_give_what_the_formulas_give(some: list[Frame]) -> None:
    total = statistics_of(some).total
    expected = _compute_moments(some)
    assert total.packets + total.left_out == len(some)
    if expected is None:
        assert total.delta_variance_s2 is None
    else:
        assert total.mean_delta_us == pytest.approx(float(expected[0]) / 1e3, rel=1e-12)
        assert total.delta_variance_s2 == pytest.approx(float(expected[1]) / 1e18, rel=1e-12)


@given(FRAMES, st.integers(0, 30))
def test_sums_do_not_depend_on_how_packets_are_grouped(some: list[Frame], at: int) -> None:
    capture = statistics_of(some)
    parts = [direction for connection in capture.connections for direction in connection.directions]
    assert combine([combine(parts[:at]), combine(parts[at:])]) == capture.total


def test_old_connections_are_only_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that have ended go first. The total still covers all packets."""
    monkeypatch.setattr(connections, "_MAX_CONNECTIONS", 2)
    ends = [(SocketAddress("10.0.1.1", port), SERVER) for port in range(4)]
    segments = [Segment(number * 100, 0, SYN, at=0, ends=pair) for number, pair in enumerate(ends[:2])]
    segments += [
        Segment(250, 0, FIN | ACK, ends=ends[1]),
        Segment(260, 1, FIN | ACK, ends=ends[1]),
        *(Segment(number * 100, 0, SYN, at=0, ends=ends[number]) for number in (3, 4 - 1)),
        Segment(900, 0, SYN, at=0, ends=(SocketAddress("10.0.1.1", 9), SERVER)),
    ]
    statistics = statistics_of(frames(segments))
    assert [connection.ends[0].port for connection in statistics.connections] == [3, 9]
    assert (statistics.only_counted, statistics.rest.packets) == (2, 4)
    assert (statistics.total.packets, statistics.total.length) == (7, 7 * 54)


def _long(count: int) -> Iterator[Frame]:
    for number in range(count):
        ends = (CLIENT, SERVER) if number % 3 else (SERVER, CLIENT)
        yield Frame(number * 8000 + number % 7, *ends, 1514, 1448, ACK, number * 1448 % 2**32, number % 100 == 0)


@pytest.mark.slow
def test_memory_does_not_grow_with_a_connections_length() -> None:
    """After the first thousand packets, nothing is kept of any other: ten times as many need no more."""
    peaks = []
    for count in (3_000, 30_000):
        tracemalloc.start()
        statistics = only_statistics(statistics_of(_long(count)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert statistics.packets + statistics.left_out == count
    print("peaks in bytes:", peaks)
    # Integers of sums get a few digits longer.
    assert peaks[1] < peaks[0] + 500
