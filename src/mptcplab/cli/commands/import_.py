# SPDX-License-Identifier: MIT
"""``mptcplab import``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to

_EPILOG = """\b
Examples:
  mptcplab import setup.sh > scenario.toml
  mptcplab import topology.py --output scenario.toml
  mptcplab import topo xp --output minitopo.toml --title 'Two paths of minitopo'
  mptcplab import client.sh server.sh client-sysctl.conf -o report.toml
  mptcplab import /etc/config/network /etc/config/sqm -o router.toml

\b
Understood are: scripts and lines of tc, ip, ip mptcp and sysctl, also with network namespaces; files of Mininet;
topologies and experiments of minitopo; files of /etc/config, or what `uci show` prints. Nothing in a file is run.
Comments in the scenario name the file and line of each value, the assumptions, and each line that is not imported.

\b
Files:
  FILE    is recognised by its content; client or server in its name say which machine's it is
"""


@click.command("import", epilog=_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, allow_dash=True),
    default="-",
    help="Write the scenario to this file, which must not exist. Default: standard output.",
)
@click.option("--title", help="Title of the scenario. Default: names the files.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@defer_to("mptcplab.cli.import_:import_")
def import_() -> None:
    """Make a scenario of scripts, or of files of other tools.

    What is not understood is listed on standard error, and in the scenario.
    """
