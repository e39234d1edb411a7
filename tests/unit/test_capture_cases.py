# SPDX-License-Identifier: MIT
"""Captures that were once read wrongly, and data counted a second time from tshark's fields.

captures/README.md says what is in each file.
"""

from __future__ import annotations

import hashlib
import itertools
import subprocess
from pathlib import Path

import pytest

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import Packet, read_packets
from mptcplab.capture.summary import ConnectionSummary, Summary, summarise
from mptcplab.errors import InputError
from mptcplab.report.capture import connection_table, headline

#: They start tshark, over and over.
pytestmark = pytest.mark.slow

CAPTURES = Path(__file__).parent / "captures"
#: What tshark prints of each packet. Its sequence numbers are relative: 0 is the SYN.
FIELDS = (
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.len",
    "tcp.options.mptcp.datafin.flag",
    "tcp.options.mptcp.rawdataseqno",
    "tcp.options.mptcp.subflowseqno",
    "tcp.options.mptcp.datalvllen",
    "tcp.options.mptcp.sendkey",
)
PORT = "5001"


def data_by_tshark(*names: str) -> tuple[list[int], int]:
    """Return the data bytes of each side, and all unmapped payload: every mapping applied to every payload.

    It knows nothing of :mod:`mptcplab.capture`: tshark's fields, and a byte of memory per byte of data. Captures have
    one connection of MPTCP 1 to port 5001, whose subflows have their SYN.
    """
    payload: dict[tuple[str, bool], set[range]] = {}
    mappings: dict[tuple[str, bool], set[tuple[int, int, int]]] = {}
    for number, name in enumerate(names):
        run = ["tshark", "-n", "-r", str(CAPTURES / name), "-T", "fields", "-E", "occurrence=f"]
        lines = subprocess.run(
            [*run, *itertools.chain(*(("-e", field) for field in FIELDS))], capture_output=True, text=True, check=True
        ).stdout
        for line in lines.splitlines():
            stream, source, target, at, length, fin, data, subflow, mapped, key = line.split("\t")
            if PORT not in (source, target):
                continue
            half = (f"{number} {stream}", source == PORT)
            if int(length):
                payload.setdefault(half, set()).add(range(int(at), int(at) + int(length)))
            if mapped and data:
                size = int(mapped) - (fin == "1")
                mappings.setdefault(half, set()).add((int(subflow), size, int(data)))
            elif mapped:  # MP_CAPABLE with the first data, whose number follows from the key
                first = int.from_bytes(hashlib.sha256(int(key).to_bytes(8)).digest()[-8:]) + 1
                mappings.setdefault(half, set()).add((1, int(mapped), first))
    unmapped, sent = 0, (set[int](), set[int]())
    for half, spans in payload.items():
        positions = set(itertools.chain(*spans))
        for begin, size, data_begin in mappings.get(half, ()):
            mapped_here = positions & set(range(begin, begin + size))
            sent[half[1]].update((data_begin + position - begin) % 2**32 for position in mapped_here)
        known = set(itertools.chain(*(range(begin, begin + size) for begin, size, _ in mappings.get(half, ()))))
        unmapped += len(positions - known)
    return [len(side) for side in sent], unmapped


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
    return "\n".join([headline(summary), *(connection_table(one).to_markdown() for one in summary.connections)])


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
    data, unmapped = data_by_tshark(*names)
    assert list(connection.data_bytes) == data
    assert unmapped == 0
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
