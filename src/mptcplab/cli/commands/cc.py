# SPDX-License-Identifier: MIT
"""``mptcplab cc``: loads the lab's congestion controls into this machine's kernel, as eBPF programs."""

from __future__ import annotations

import click

from mptcplab.cli import shell_completion
from mptcplab.cli.options import defer_to, json_option

_name = click.argument("name", metavar="NAME", shell_complete=shell_completion.congestion_controls)


@click.group()
def cc() -> None:
    """Load LIA, OLIA, BALIA and wVegas into this machine's kernel, as eBPF programs."""


@cc.command()
@_name
@defer_to("mptcplab.cli.cc:load")
def load() -> None:
    """Load the congestion control NAME: lia, olia, balia or wvegas. Needs root, bpftool and clang.

    It changes no connection by itself. Programs of all users may choose it.
    """


@cc.command()
@_name
@defer_to("mptcplab.cli.cc:unload")
def unload() -> None:
    """Unload the congestion control NAME. Connections that use it keep it until they end."""


@cc.command(name="list")
@json_option
@defer_to("mptcplab.cli.cc:list_")
def list_() -> None:
    """List the congestion controls, and whether they are loaded."""


@cc.command()
@_name
@json_option
@defer_to("mptcplab.cli.cc:status")
def status() -> None:
    """Print whether NAME is loaded, and how many subflows use it."""
