# SPDX-License-Identifier: MIT
"""Captures that were once read wrongly, beside a second count of their data.

captures/README.md says what is in each file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.capture.tshark_counts import count_by_tshark

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import Packet, read_packets
from mptcplab.capture.summary import ConnectionSummary, Summary, summarise
from mptcplab.errors import InputError
from mptcplab.report.capture import connection_table, headline

#: They start tshark, over and over.
pytestmark = pytest.mark.slow

CAPTURES = Path(__file__).parents[1] / "captures"


def summary_of(*names: str) -> Summary:
    files = [CAPTURES / name for name in names]
    analysis = Analysis()
    for packet in read_packets(files):
        analysis.add(packet)
    return summarise(analysis, names)


def connection_of(*names: str) -> ConnectionSummary:
    (connection,) = summary_of(*names).connections
    return connection


def text_of(*names: str) -> str:
    """Return what ``mptcplab capture`` prints."""
    summary = summary_of(*names)
    return "\n".join(
        [headline(summary), *(connection_table(connection).to_markdown() for connection in summary.connections)]
    )


@pytest.mark.parametrize(
    "names",
    [
        ("late-mapping.pcap",),
        ("any-sll2.pcap",),
        ("cut-c1.pcap", "cut-c2.pcap"),
        ("cut-s1.pcap", "cut-s2.pcap"),
    ],
    ids=lambda names: names[0],
)
def test_data_is_what_tshark_has_seen(names: tuple[str, ...]) -> None:
    connection = connection_of(*names)
    count = count_by_tshark([CAPTURES / name for name in names])
    assert (connection.data_bytes, connection.reinjected_bytes) == (count.data, count.reinjected)
    assert count.unmapped == 0
    assert not any("mapping" in note for note in connection.notes)


def test_payload_that_is_seen_before_its_mapping() -> None:
    """The mapping comes 250 ms after the payload, and the data ACK covers all of it."""
    connection = connection_of("late-mapping.pcap")
    assert (connection.data_bytes, connection.notes) == ((4200, 0), ())
    assert connection.data_acked[0]


def test_options_in_acks_and_resets_only() -> None:
    text = text_of("acks-only.pcap")
    assert "1 MPTCP connection, 0 plain TCP connections" in text
    assert "tokens unknown and unknown" in text
    for event in ("> ADD_ADDR 10.9.1.2, id 1", "< ADD_ADDR 10.9.1.2, id 1, echo", "> MP_TCPRST reason 3, prohibited"):
        assert event in text
    assert "[!] It began before the capture." in text


def test_a_join_is_known_by_its_token() -> None:
    text = text_of("join-syn-only.pcap")
    assert "its subflows were found by the token of their MP_JOIN" in text
    assert "data sequence numbers" not in text


def test_syns_that_were_not_answered() -> None:
    text = text_of("syn-dropped.pcap")
    assert "[!] Plain TCP: 3 SYNs with MP_CAPABLE were not answered; the SYN that was answered has none" in text
    assert "the SYN/ACK does not" not in text


def test_a_fallback_after_the_first_data() -> None:
    text = text_of("late-fallback.pcap")
    assert "MPTCP version 1, fell back to TCP" in text
    assert "data > 10,000 B" in text
    assert "[!] Fell back to TCP: data without DSS from 0.080 s on." in text
    assert "No mapping" not in text


@pytest.mark.parametrize("name", ["late-mapping.pcap", "late-fallback.pcap", "syn-dropped.pcap", "acks-only.pcap"])
def test_any_order_and_any_part_of_a_capture(name: str) -> None:
    """A capture that is truncated after any packet, or whose packets are in another order, gives a table."""
    packets = list(read_packets([CAPTURES / name]))
    ways = [packets[:count] for count in range(len(packets))] + [packets[count:] for count in range(len(packets))]
    ways += [packets[::-1], [*packets[::2], *packets[1::2]], [packet for packet in packets for _ in range(2)]]
    total = max(sum(connection.data_bytes) for connection in summarise_all([packets]))
    for connection in summarise_all(ways):
        assert connection_table(connection).to_markdown()
        assert sum(connection.data_bytes) <= total


def summarise_all(ways: list[list[Packet]]) -> list[ConnectionSummary]:
    """Return the connections of all these packets, each list by itself."""
    connections: list[ConnectionSummary] = []
    for packets in ways:
        analysis = Analysis()
        for packet in packets:
            analysis.add(packet)
        connections += summarise(analysis, ("a.pcap",)).connections
    return connections


@pytest.mark.parametrize("name", ["late-mapping.pcap", "acks-only.pcap"])
def test_a_file_that_is_cut_anywhere_gives_a_table_or_an_error(tmp_path: Path, name: str) -> None:
    text = (CAPTURES / name).read_bytes()
    errors: list[InputError] = []
    for length in range(0, len(text), 97):
        file = tmp_path / "cut.pcap"
        file.write_bytes(text[:length])
        try:
            assert list(read_packets([file]))
        except InputError as error:
            errors.append(error)
    assert errors
    assert all(error.message.startswith(str(tmp_path / "cut.pcap")) and error.hint for error in errors)
