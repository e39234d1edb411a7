# SPDX-License-Identifier: MIT
"""An analysis of any packets and files ends with a summary or an error message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.capture_packets import CLIENT, SERVER, capable, dss, join_answer, join_syn, option

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import Packet, SocketAddress, VantagePoint, read_packets
from mptcplab.capture.summary import summarise
from mptcplab.errors import InputError
from mptcplab.report.capture import connection_table, headline

pytestmark = pytest.mark.slow

ENDS = [SocketAddress("10.0.1.1", 1), SocketAddress("10.0.2.2", 2), SocketAddress("fd00::1", 3)]
NUMBERS = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 2**31, 2**32 - 1]))
LONG = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1]))
OPTIONS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([capable(), capable(SERVER), capable(CLIENT, SERVER), capable(CLIENT, SERVER, length=9)]),
    st.sampled_from([join_syn(SERVER), join_syn(CLIENT, backup=True), join_answer(), b""]),
    st.builds(
        dss,
        LONG,
        NUMBERS,
        st.integers(0, 65535),
        ack=st.one_of(st.none(), LONG),
        bits=st.sampled_from([32, 64]),
        fin=st.booleans(),
        checksum=st.booleans(),
    ),
    st.builds(lambda kind, body: option(bytes([kind << 4]) + body), st.integers(0, 15), st.binary(max_size=30)),
)
PACKETS = st.builds(
    Packet,
    time_ns=st.integers(0, 10**18),
    source=st.sampled_from(ENDS),
    target=st.sampled_from(ENDS),
    sequence=NUMBERS,
    acknowledgment=NUMBERS,
    flags=st.sampled_from([0x02, 0x10, 0x11, 0x12, 0x14, 0x00]),
    length=st.sampled_from([0, 0, 1, 10, 1448, 65535]),
    options=OPTIONS,
    vantage=st.sampled_from([VantagePoint(0), VantagePoint(1), VantagePoint(0, "1")]),
)
SAMPLE = (Path(__file__).parents[1] / "captures" / "any-sll2.pcap").read_bytes()[:6000]


def _check(packets: list[Packet]) -> None:
    analysis = Analysis()
    for packet in packets:
        analysis.add(packet)
    summary = summarise(analysis, ("a", "b"))
    json.dumps(summary.document())
    assert headline(summary)
    for connection in summary.connections:
        assert connection_table(connection).to_markdown()
        assert all(count >= 0 for count in (*connection.data_bytes, *connection.reinjected_bytes))
        for subflow in connection.subflows:
            for direction in subflow.directions:
                assert 0 <= direction.retransmitted_bytes <= direction.sent_bytes
                assert direction.unseen_bytes >= 0


@settings(max_examples=400)
@given(st.lists(PACKETS, max_size=40))
def test_any_packets(packets: list[Packet]) -> None:
    _check(packets)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), max_size=30), st.integers(0, 6000))
def test_any_damage_to_a_file(tmp_path: Path, changes: list[tuple[int, int]], length: int) -> None:
    text = bytearray(SAMPLE)
    for place, value in changes:
        text[place] = value
    file = tmp_path / "damaged.pcap"
    file.write_bytes(text[:length])
    failure = None
    try:
        _check(list(read_packets([file])))
    except InputError as error:
        failure = error
    assert failure is None or (failure.message.startswith(f"{file}: ") and failure.hint)
