# SPDX-License-Identifier: MIT
"""``mptcplab steer``: the steering daemon of a server, the agents of its access points, and the daemon's state."""

from __future__ import annotations

import click

from mptcplab.cli.options import defer_to, json_option
from mptcplab.steering.program import CONTROL

_EPILOG = """\b
Examples:
  mptcplab steer --config daemon.toml       on the server, as root
  mptcplab steer agent --config ap1.toml    beside hostapd, as root
  mptcplab steer status                     what the daemon of this machine does

\b
docs/steering.md describes the keys of both files, and the log.
"""
_config = click.option("--config", metavar="FILE", help="Configuration, in TOML.")


@click.group(epilog=_EPILOG, invoke_without_command=True)
@_config
@click.option("--check", is_flag=True, help="Only check the configuration.")
@click.pass_context
@defer_to("mptcplab.cli.steer:steer")
def steer() -> None:
    """Move the terminals of a server between access points, by the priorities of their MPTCP subflows.

    Without a command, run the daemon on this server. Its log goes to standard output, one JSON object per line.
    """


@steer.command()
@_config
@defer_to("mptcplab.cli.steer:agent")
def agent() -> None:
    """Report the stations of this access point to the daemon."""


@steer.command()
@click.argument("socket", default=CONTROL)
@json_option
@defer_to("mptcplab.cli.steer:status")
def status() -> None:
    """Print the state of the daemon that listens at SOCKET, the `control` of its configuration."""


@steer.command()
@defer_to("mptcplab.cli.steer:program")
def program() -> None:
    """Print the path of daemon and agent as one file, which runs on machines without mptcplab."""
