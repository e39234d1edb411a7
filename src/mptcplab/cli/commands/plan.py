# SPDX-License-Identifier: MIT
"""``mptcplab plan``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import complete
from mptcplab.cli.deferred import DeferredChoice, defer_to
from mptcplab.cli.options import point_option, seed_option, set_option, source_argument


@click.command()
@source_argument
@set_option()
@seed_option("Seed of the run. Default: the scenario's first.")
@point_option()
@click.option(
    "--node",
    metavar="NODE",
    shell_complete=complete.nodes,
    help="Write the configuration of this node for a real machine, instead of the commands of the run.",
)
@click.option(
    "--format",
    "form",
    type=DeferredChoice("mptcplab.export.registry:FORMATS"),
    help="Format of the configuration: a shell script, files for systemd, or files for OpenWrt. Default: sh.",
)
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="LINK=DEVICE[,...]",
    shell_complete=complete.links_of_node,
    help="Interface of the machine for a link of the node. Repeatable. Default: one with the link's name.",
)
@click.option(
    "--password-file",
    type=click.Path(path_type=Path),
    help="File with the password of the node's gateways. Default: the lab's, which is public.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the files. Default: standard output.")
@defer_to("mptcplab.cli.plan:plan")
def plan() -> None:
    """Print the commands of one run of FILE as a readable shell script: the first run, or the run of --point.

    With --node, write what makes a real machine one of its nodes: addresses, routes, MPTCP's endpoints, settings,
    packet rules and programs, but not what links do.
    """
