# SPDX-License-Identifier: MIT
"""HTTP and FTP downloads by Debian's servers and curl: rates that the lines allow, over TCP and MPTCP."""

from __future__ import annotations

import pytest
from tests.lab.bench import Bench, note

from mptcplab.metrics.measure import measure

#: Payload of a full frame of 1514 bytes.
_PAYLOAD = 1448 / 1514

DOWNLOAD = """
{family}
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "50 Mbit/s"
delay = "10 ms"

[links.link2]
rate = "20 Mbit/s"
delay = "10 ms"

[workloads.get]
kind = "{kind}"
from = "client"
to = "server"
size = "{size}"
{more}

[record]
interval = "100 ms"
"""
KINDS = pytest.mark.parametrize("kind", ["http", "ftp"])


def _text(kind: str, *, size: str = "20 MB", more: str = "", family: str = "") -> str:
    return DOWNLOAD.format(kind=kind, size=size, more=more, family=family)


@KINDS
def test_tcp_fills_its_line_and_mptcp_takes_both(bench: Bench, kind: str) -> None:
    """TCP: at most line 1's 47.8 Mbit/s, less what handshakes and slow start cost of 3.4 s (up to 15 %)."""
    tcp, mptcp = (bench.row(_text(kind), f"transport.protocol={protocol}") for protocol in ("tcp", "mptcp"))
    print(f"{kind}: TCP {tcp.goodput_mbps.mean:.2f}, MPTCP {mptcp.goodput_mbps.mean:.2f} Mbit/s, {mptcp.shares}")
    note(f"{kind} tcp Mbit/s", tcp.goodput_mbps.mean)
    note(f"{kind} mptcp Mbit/s", mptcp.goodput_mbps.mean)
    line, both = 50 * _PAYLOAD, 70 * _PAYLOAD
    assert 0.85 * line < tcp.goodput_mbps.mean < line
    assert (tcp.mptcp, tcp.congestion) == ("no", "cubic")
    assert 1.2 * tcp.goodput_mbps.mean < mptcp.goodput_mbps.mean < both
    assert mptcp.mptcp == "2 subflows"
    assert set(mptcp.shares) == {"link1>access1", "link2>access2"}, "the server sends"


@KINDS
def test_every_file_is_checked_and_timed(bench: Bench, kind: str) -> None:
    more = "files = 6\nconnections = 3\ncongestion_control = 'reno'"
    (recording,) = bench.record(_text(kind, size="1 MB", more=more), "transport.protocol=tcp")
    (measured,) = measure(recording)
    sums = [line for line in recording.output("get.client", "err").splitlines() if '"stream"' in line]
    assert len(sums) == 6
    assert len(set(sums)) == 1, "the same file, byte for byte"
    assert measured.goodput_bps * measured.duration_s == pytest.approx(8 * 6e6)
    # Three at a time share the line: each takes at least three times what one alone would, less what ends early.
    least = 8e6 / (50e6 * _PAYLOAD)
    figures = measured.metrics
    assert least < figures["completion_p50_s"] <= figures["completion_p95_s"] <= measured.duration_s
    assert measured.sockets.congestion == ("reno",)


def test_ftp_data_connections_have_one_subflow_unless_they_are_waited_for_everywhere(bench: Bench) -> None:
    """vsftpd listens for data at the address of the control connection, where no other subflow can come to."""
    by_itself = bench.row(_text("ftp", more='listen = "address"'))
    print(by_itself.goodput_mbps.mean, by_itself.shares, by_itself.warnings)
    note("ftp one address Mbit/s", by_itself.goodput_mbps.mean)
    assert by_itself.shares["link1>access1"] > 0.99
    assert by_itself.goodput_mbps.mean < 50 * _PAYLOAD
    assert any("only one subflow" in warning or "less than 1 %" in warning for warning in by_itself.warnings)


@KINDS
def test_over_ipv6(bench: Bench, kind: str) -> None:
    row = bench.row(_text(kind, size="3 MB", family='family = "ipv6"'))
    assert row.mptcp == "2 subflows"
    assert row.goodput_mbps.mean > 20
