# SPDX-License-Identifier: MIT
"""The commands about what was observed, in labs and on real machines."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.options import defer_to, json_option, running_options

# ``mptcplab capture``.

_CAPTURE_EPILOG = """\b
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


@click.command(epilog=_CAPTURE_EPILOG)
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


# ``mptcplab collect``.

_COLLECT_EPILOG = """\b
Examples:
  mptcplab collect > collect.sh
  ssh root@router sh -s -- -t 60 -o router < collect.sh
  mptcplab collect --run --seconds 30 --hide

\b
On the machine in question: sh collect.sh -t 60. Reproduce the problem within this time, with a new connection; then
give the archive to `mptcplab explain`. The script's own help is `sh collect.sh -h`.
"""


@click.command(epilog=_COLLECT_EPILOG)
@click.option("--run", "is_run", is_flag=True, help="Run the script here instead of printing it.")
@click.option("--seconds", type=click.IntRange(min=1, max=86400), default=10, help="With --run: how long to observe.")
@click.option("--interval", type=click.IntRange(min=1, max=3600), default=2, help="With --run: time between looks.")
@click.option("--name", help="With --run: name of the archive. Default: of the host and the date.")
@click.option("--hide", is_flag=True, help="With --run: rename addresses and the host's name.")
@click.option("--packets", is_flag=True, help="With --run: capture the headers of packets, too. Needs root.")
@click.option("--count", type=click.IntRange(1, 999_999), help="With --run: number of packets to capture at most.")
@defer_to("mptcplab.cli.collect:collect")
def collect() -> None:
    """Print a shell script that gathers what a machine knows about its MPTCP connections.

    The script needs no more than a POSIX shell, such as OpenWrt's, and changes nothing on the machine. It writes one
    archive for `mptcplab explain` and `mptcplab fit`.
    """


# ``mptcplab explain``.

_EXPLAIN_EPILOG = """\b
Examples:
  mptcplab explain mptcp-laptop-20260301-101500.tar.gz
  mptcplab explain client.tar.gz server.tar.gz
  mptcplab explain client-nstat.txt client-ss.txt server-nstat.txt
  mptcplab explain first.pcap second.pcap endpoints.txt --client host
  mptcplab explain results/my/runs/RUN --json | jq '.reasons[].sentence'

\b
Understood are: what the script of `mptcplab collect` wrote, captures, results of mptcplab, and texts with outputs of
nstat, ss, ip mptcp, ip addr, sysctl and others, also several in one file, as copied from a terminal. Files with
client or server in their names belong to that host. Nothing in a file is run.
"""


@click.command(epilog=_EXPLAIN_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--client",
    metavar="HOST",
    help="Name of the host that opens the connections. Default: the host whose files show it.",
)
@json_option
@defer_to("mptcplab.cli.explain:explain")
def explain() -> None:
    """Say why MPTCP did what FILEs show: ranked reasons, each with its evidence and with what would confirm it.

    A FILE is recognised by its content: a text, a capture, a folder, or a .tar.gz archive.
    """


# ``mptcplab fit``.

_FIT_EPILOG = """\b
Examples:
  mptcplab fit router.tar.gz
  mptcplab fit client.tar.gz server.tar.gz --advise --repeats 10
  mptcplab fit capture.pcap sockets.txt --line 'line2: queue 300 ms' --out home.toml
  mptcplab fit --line 'lte: 40 Mbit/s down, 10 Mbit/s up, ping 45 ms, loaded ping 300 ms, loss 0.1 %' --advise
  mptcplab fit lines.toml --no-run

\b
A FILE is what the script of `mptcplab collect` wrote, a capture, a text with outputs of ss, ip and sysctl, or a TOML
file with typed lines ([lines.NAME] with down, up, ping, loaded_ping, queue, loss). Nothing in a file is run.
"""


@click.command(epilog=_FIT_EPILOG)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--line",
    "lines",
    multiple=True,
    metavar="NAME: VALUES",
    help="A line, or known values of a line that was found. Repeatable.",
)
@click.option(
    "--direction",
    type=click.Choice(["down", "up"]),
    default="down",
    help="Direction of the payload, for typed lines.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("twin.toml"), help="File of the scenario that is written."
)
@click.option("--repeats", type=click.IntRange(1, 1000), default=8, help="Seeds of the twin and of each change.")
@click.option("--no-run", is_flag=True, help="Only write the scenario.")
@click.option("--advise", is_flag=True, help="Try changes on the twin and rank them.")
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="KEY=VALUE",
    help="With --advise: try this change of the scenario, too, such as kernel=6.12. Repeatable.",
)
@click.option(
    "--sample",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="With --advise: also try N combinations of changes, spread over all.",
)
@running_options
@defer_to("mptcplab.cli.fit:fit")
def fit() -> None:
    """Make a scenario of what was observed on real machines: the twin. Run it beside the observation.

    It estimates rate, round trip, queue and random loss of each line, and says where each value comes from. What the
    files cannot show is a bound or an assumption, and is named as such.
    """
