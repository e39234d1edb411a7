# SPDX-License-Identifier: MIT
"""The same connection in every form of a capture gives the same data, reinjections and connections.

The packets are a kernel's, of two subflows with losses and reinjections, whose mappings span several segments.
forms.py makes the forms, and tshark's fields give a second count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.capture import forms
from tests.unit.capture.forms import COOKED, COOKED2, LOOP, NULL, RAW, RAW4, Frame, pcap
from tests.unit.capture.tshark_counts import Count, count_by_tshark

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import read_packets
from mptcplab.capture.summary import ConnectionSummary, Summary, summarise
from mptcplab.cli.main import commands
from mptcplab.report.capture import headline

#: They start tshark, over and over.
pytestmark = pytest.mark.slow

CAPTURES = Path(__file__).parents[1] / "captures"
#: The first packets of both paths: enough for both subflows, losses and reinjections.
PACKETS = 300


@cache
def client() -> list[Frame]:
    """Return the packets at the client."""
    return forms.frames_of(CAPTURES / "cut-c1.pcap", CAPTURES / "cut-c2.pcap")[:PACKETS]


@cache
def client6() -> list[Frame]:
    """Return the same packets with IPv6."""
    return forms.to_ipv6(client())


@cache
def server() -> list[Frame]:
    """Return the packets at the server."""
    return forms.frames_of(CAPTURES / "cut-s1.pcap", CAPTURES / "cut-s2.pcap")[:PACKETS]


@pytest.fixture(scope="module")
def expected_count(tmp_path_factory: pytest.TempPathFactory) -> Count:
    """Return the second count of the packets at the client."""
    file = tmp_path_factory.mktemp("forms") / "client.pcap"
    file.write_bytes(pcap(client()))
    count = count_by_tshark([file])
    assert (count.connections, count.unmapped) == (1, 0)
    assert count.data[0] > 100_000, "so that there is something to count"
    assert count.reinjected[0] > 10_000
    return count


def analyse(*files: Path) -> Summary:
    """Return what `mptcplab capture` has of files."""
    analysis = Analysis()
    for packet in read_packets(files):
        analysis.add(packet)
    return summarise(analysis, [file.name for file in files])


def connection_in(path: Path, content: bytes) -> ConnectionSummary:
    """Return the only connection in a file with this content."""
    path.write_bytes(content)
    summary = analyse(path)
    (connection,) = summary.connections
    assert not summary.tcp
    return connection


def count_connection(connection: ConnectionSummary) -> tuple[tuple[int, int], tuple[int, int], list[str]]:
    """Return data, reinjections, and how the subflows began."""
    return connection.data_bytes, connection.reinjected_bytes, [subflow.began for subflow in connection.subflows]


def list_retransmissions(connection: ConnectionSummary) -> list[int]:
    """Return the bytes that TCP retransmitted on each subflow."""
    return [subflow.directions[0].retransmitted_bytes for subflow in connection.subflows]


@pytest.fixture(scope="module")
def retransmitted_bytes(tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    """Return the bytes that TCP retransmitted on each subflow, in a plain capture."""
    connection = connection_in(tmp_path_factory.mktemp("plain") / "client.pcap", pcap(client()))
    assert sum(list_retransmissions(connection)) > 10_000
    return list_retransmissions(connection)


#: Other headers around the same packets.
SAME_PACKETS = {
    "IPv6": lambda: pcap(client6()),
    "IPv4 fragments": lambda: pcap(forms.fragment(client())),
    "IPv6 fragments": lambda: pcap(forms.fragment(client6())),
    "two VLAN tags": lambda: pcap(client(), forms.vlan),
    "PPPoE": lambda: pcap(client(), forms.pppoe),
    "IPv6 in PPPoE": lambda: pcap(client6(), forms.pppoe),
    "MPLS": lambda: pcap(client(), forms.mpls),
    "IPv6 in MPLS": lambda: pcap(client6(), forms.mpls),
    "GRE": lambda: pcap(client(), forms.gre),
    "IPv6 in GRE": lambda: pcap(client6(), forms.gre),
    "VXLAN": lambda: pcap(client(), forms.vxlan),
    "Geneve": lambda: pcap(client(), forms.geneve),
    "GTP-U": lambda: pcap(client(), forms.gtp),
    "IPv4 in IPv4": lambda: pcap(client(), forms.ip_in_ipv4),
    "IPv4 in IPv6": lambda: pcap(client(), forms.ip_in_ipv6),
    "IPv6 in IPv4": lambda: pcap(client6(), forms.ip_in_ipv4),
    "IPv6 in IPv6": lambda: pcap(client6(), forms.ip_in_ipv6),
    "raw IP": lambda: pcap(client(), forms.ip_packet, link=RAW),
    "raw IPv4": lambda: pcap(client(), forms.ip_packet, link=RAW4),
    "BSD loopback": lambda: pcap(client(), forms.null, link=NULL),
    "OpenBSD loopback": lambda: pcap(client(), forms.loop, link=LOOP),
    "cooked": lambda: pcap(client(), forms.add_cooked_header, link=COOKED),
    "cooked 2": lambda: pcap(client(), forms.add_cooked2_header, link=COOKED2),
    "microseconds": lambda: pcap(client(), unit_ns=1000),
    "big-endian": lambda: pcap(client(), order=">"),
    "big-endian, microseconds": lambda: pcap(client(), order=">", unit_ns=1000),
    "pcapng": lambda: forms.encode_pcapng(client()),
    "big-endian pcapng": lambda: forms.encode_pcapng(client(), order=">"),
    "96 bytes": lambda: pcap(client(), snaplen=96),
    "96 bytes of two VLAN tags": lambda: pcap(client(), forms.vlan, snaplen=96),
    "out of order": lambda: pcap(forms.reorder(client())),
    "far out of order": lambda: pcap(forms.reorder(client(), 40)),
    "before segmentation": lambda: pcap(forms.merge_segments(client())),
    "before segmentation, without length": lambda: pcap(forms.erase_lengths(forms.merge_segments(client()))),
    "each packet twice": lambda: pcap(forms.twice(client())),
    "each packet twice, IPv6": lambda: pcap(forms.twice(client6())),
    "each packet twice, cooked": lambda: pcap(forms.twice(client()), forms.add_cooked_header, link=COOKED),
    "each packet twice, cooked 2": lambda: pcap(forms.twice(client()), forms.add_cooked2_header, link=COOKED2),
    "the client's packets": lambda: pcap(frame for frame in client() if frame.is_out),
}


@pytest.mark.parametrize("name", SAME_PACKETS)
def test_the_form_does_not_matter(
    name: str, expected_count: Count, retransmitted_bytes: list[int], tmp_path: Path
) -> None:
    connection = connection_in(tmp_path / "form.pcap", SAME_PACKETS[name]())
    assert count_connection(connection) == (expected_count.data, expected_count.reinjected, ["capable", "join"])
    assert not any("mapping" in note for note in connection.notes)
    assert list_retransmissions(connection) == retransmitted_bytes


def test_segments_that_the_receiver_merged(tmp_path: Path) -> None:
    """Super-packets have the options of their first segment, whose mapping covers all of them."""
    merged = forms.merge_segments(server())
    assert max(frame.payload_bytes for frame in merged) > 10_000
    connection = connection_in(tmp_path / "merged.pcap", pcap(merged))
    count = count_by_tshark([tmp_path / "merged.pcap"])
    assert count_connection(connection)[:2] == (count.data, count.reinjected)
    assert count_connection(connection) == count_connection(connection_in(tmp_path / "server.pcap", pcap(server())))
    assert (count.connections, count.unmapped) == (1, 0)


@pytest.mark.parametrize("after", [10, 20, 50, 101, 150, 200, 250])
def test_a_capture_that_begins_in_the_middle(after: int, tmp_path: Path) -> None:
    """The first packets may be in the middle of a mapping, so the first byte of their subflow is found later."""
    whole, part = tmp_path / "whole.pcap", tmp_path / "part.pcap"
    whole.write_bytes(pcap(client()))
    connection = connection_in(part, pcap(client()[after:]))
    count = count_by_tshark([whole], after=after)
    # Side 0 is the side that sent first, as far as the capture shows.
    assert sorted(connection.data_bytes) == sorted(count.data)
    assert sorted(connection.reinjected_bytes) == sorted(count.reinjected)


def test_packets_that_were_seen_twice_are_named(tmp_path: Path) -> None:
    (tmp_path / "twice.pcap").write_bytes(pcap(forms.twice(client())))
    assert f"{2 * PACKETS} TCP packets ({PACKETS} of them copies)" in headline(analyse(tmp_path / "twice.pcap"))


@pytest.mark.parametrize(("frames", "length"), [(client, 68), (client6, 96)], ids=["IPv4", "IPv6"])
def test_options_that_were_cut_are_named(frames: Callable[[], list[Frame]], length: int, tmp_path: Path) -> None:
    """68 bytes were the default of tcpdump once; with IPv6, 96 are too few as well."""
    (tmp_path / "cut.pcap").write_bytes(pcap(frames(), snaplen=length))
    gaps = [gap for connection in analyse(tmp_path / "cut.pcap").connections for gap in connection.gaps]
    assert all("only a part of the TCP options" in gap and "tcpdump -s 160" in gap for gap in gaps)
    assert len(gaps) == 2, "a connection for each subflow, since nothing connects them"


def explain_files(*files: Path) -> str:
    """Return the output of `mptcplab explain`."""
    result = CliRunner().invoke(commands, ["explain", *map(str, files)])
    assert result.exit_code == 0, result.output
    return result.output


def without_data(frames: Sequence[Frame]) -> list[Frame]:
    """Return the handshakes of the subflows, and the packets of the first one."""
    seen = dict[bytes, int]()
    kept = []
    for frame in frames:
        pair = min(frame.ends, frame.ends[4:8] + frame.ends[:4] + frame.ends[10:] + frame.ends[8:10])
        seen[pair] = seen.get(pair, 0) + 1
        if frame.interface == 0 or seen[pair] <= 3:
            kept.append(frame)
    return kept


@pytest.mark.parametrize(("is_out", "side"), [(True, 0), (False, 1)])
def test_one_direction_says_nothing_of_answers(is_out: bool, side: int, tmp_path: Path) -> None:
    """A join that only completed its handshake, captured in one direction, has no answer that could be seen.

    What the server sends in the handshake of a join does not name the connection, so there it goes on.
    """
    file = tmp_path / "client.pcap"
    frames = without_data(client()) if is_out else client()
    file.write_bytes(pcap(frame for frame in frames if frame.is_out is is_out))
    (connection,) = analyse(file).connections
    assert [subflow.state for subflow in connection.subflows] == ["open", "open"]
    gap = f"only one direction of subflows 1, 2 was captured, from side {side}: what the other side sent cannot be seen"
    assert connection.gaps[0] == gap
    text = explain_files(file)
    assert f"Not in the captures: connection 1: {gap}" in text
    assert "no answer" not in text


def test_a_lone_syn_in_a_capture_of_one_direction(tmp_path: Path) -> None:
    """It is unknown if the second path's SYN was answered; with both directions of the first path, it was not."""
    syn = next(frame for frame in client() if frame.interface == 1)
    first = [frame for frame in client() if frame.interface == 0]
    one_way, both = tmp_path / "one-way.pcap", tmp_path / "both.pcap"
    one_way.write_bytes(pcap([syn, *(frame for frame in first if frame.is_out)]))
    both.write_bytes(pcap([syn, *first]))
    states = {file: {subflow.state for subflow in analyse(file).connections[0].subflows} for file in (one_way, both)}
    assert states == {one_way: {"open", "unknown"}, both: {"open", "no answer"}}
    assert "1 join of the client got no answer" in explain_files(both)
    assert "got no answer" not in explain_files(one_way)


def test_a_retransmission_is_not_a_copy(tmp_path: Path) -> None:
    """A packet that comes later than a copy of a bridge or mirror was retransmitted, by TCP or by a program."""
    (tmp_path / "late.pcap").write_bytes(pcap(sorted(forms.twice(client(), 20_000_000), key=lambda f: f.time_ns)))
    summary = analyse(tmp_path / "late.pcap")
    assert summary.copies == 0
    assert sum(list_retransmissions(summary.connections[0])) > 100_000
