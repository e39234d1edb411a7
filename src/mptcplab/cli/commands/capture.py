# SPDX-License-Identifier: MIT
"""``mptcplab capture``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option

_EPILOG = """\b
Examples:
  mptcplab capture laptop.pcapng
  mptcplab capture wifi.pcap lte.pcap --figure data.svg
  mptcplab capture results/my/runs/RUN/captures/client-*.pcap --json | jq '.connections[].subflows'
  mptcplab capture --statistics ftp.pcap --end 192.168.10.100 --end :20
  mptcplab capture --statistics --runs run1.pcap run2.pcap run3.pcap

\b
Several files are read as one capture: of several interfaces of a host, or of both hosts. A packet in several files
counts once. The data of each direction is read from the file that has most of it. Files of results belong to one
run: RUN is the name of its folder. Only --statistics --runs takes files of several runs.
"""


@click.command(epilog=_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--figure",
    type=click.Path(path_type=Path),
    metavar="OUT.svg|png",
    help="Draw the data sequence over time, by subflow.",
)
@click.option(
    "--connection",
    type=click.IntRange(min=1),
    metavar="N",
    help="Connection to draw. Default: the one with the most data.",
)
@click.option(
    "--statistics",
    is_flag=True,
    help="Report throughput and the times between packets of every TCP connection, without retransmissions.",
)
@click.option(
    "--end",
    "ends",
    multiple=True,
    metavar="ADDRESS[:PORT]",
    help="With --statistics: only connections with this end; ':PORT' is any address. Repeatable, for both ends.",
)
@click.option(
    "--runs",
    is_flag=True,
    help="With --statistics: each FILE is a run; report the mean, maximum and minimum over the runs.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder to write tables, JSON and figures to."
)
@json_option
@defer_to("mptcplab.cli.capture:capture")
def capture() -> None:
    """Report what MPTCP did in capture FILEs: connections, subflows and their shares, reinjections, fallbacks.

    tshark reads the files: pcap and pcapng, with Ethernet, Linux cooked (-i any) or raw IP. Packets
    may be truncated behind their TCP headers.
    """
