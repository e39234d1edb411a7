# SPDX-License-Identifier: MIT
"""``mptcplab explain``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option

_EPILOG = """\b
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


@click.command(epilog=_EPILOG)
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
