# SPDX-License-Identifier: MIT
"""``mptcplab doctor``."""

from __future__ import annotations

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option

_EPILOG = """\b
Examples:
  mptcplab doctor
  mptcplab doctor --json | jq -r '.commands[]'
  mptcplab doctor --packages lab

\b
Exit status:
  0    experiments can run on this machine; something for another purpose may be missing
  3    experiments cannot run: the report names what is broken and the command that fixes it
  130  interrupted
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--packages",
    "wanted",
    type=click.Choice(["lab", "gateways", "wifi"]),
    help="Print only the Debian packages that this machine lacks: of the programs that scenarios and captures start,"
    " of those gateways that Debian has, or of radio links.",
)
@json_option
@defer_to("mptcplab.cli.doctor:doctor")
def doctor() -> None:
    """Check what this machine lacks, and name the commands that fix it.

    It checks Python and its packages, the programs that labs and kernel builds use, space on disk and in memory,
    limits, and the lab kernels. Then it boots an empty lab. Each line is fine, missing (something is needed for the
    purpose that the line names) or broken (experiments cannot run).
    """
