# SPDX-License-Identifier: MIT
"""``mptcplab collect``."""

from __future__ import annotations

import click

from mptcplab.cli.deferred import defer_to

_EPILOG = """\b
Examples:
  mptcplab collect > collect.sh
  ssh root@router sh -s -- -t 60 -o router < collect.sh
  mptcplab collect --run --seconds 30 --hide

\b
On the machine in question: sh collect.sh -t 60. Reproduce the problem within this time, with a new connection; then
give the archive to `mptcplab explain`. The script's own help is `sh collect.sh -h`.
"""


@click.command(epilog=_EPILOG)
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
