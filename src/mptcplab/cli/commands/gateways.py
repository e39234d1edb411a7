# SPDX-License-Identifier: MIT
"""``mptcplab gateways``: builds the programs of gateways that Debian does not have, and lists them."""

from __future__ import annotations

import click

from mptcplab.cli import shell_completion
from mptcplab.cli.options import defer_to, json_option


@click.group()
def gateways() -> None:
    """Build the programs of gateways that Debian does not have, and list them."""


@gateways.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=shell_completion.proxies)
@click.option("--fresh", is_flag=True, help="Build again what is built already, such as by another compiler.")
@defer_to("mptcplab.cli.gateways:build")
def build() -> None:
    """Build the programs NAME from their registries. Default: all.

    Versions and checksums are pinned. A program that is built already is not built again.
    """


@gateways.command(name="list")
@click.option(
    "--packages",
    is_flag=True,
    help="Print only the Debian packages of toolchains that this machine lacks for programs that are not built.",
)
@json_option
@defer_to("mptcplab.cli.gateways:list_")
def list_() -> None:
    """List the programs that can be built, with folders and compilers of the built ones."""
