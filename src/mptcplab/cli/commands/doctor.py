# SPDX-License-Identifier: MIT
"""``mptcplab doctor``."""

from __future__ import annotations

import click

from mptcplab.cli import complete
from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import beds_option, engine_option, json_option, set_option

_EPILOG = """\b
Examples:
  mptcplab doctor
  mptcplab doctor --json | jq -r '.commands[]'
  mptcplab doctor --for sriaimsard2019                   what its tables lack, and one command that gets it
  mptcplab doctor --for sriaimsard2019 --install         get it
  mptcplab doctor --for my.toml --set kernel=7.2-hz100
  mptcplab doctor --for ito2016 --beds 32
  mptcplab doctor --packages lab

\b
Exit status:
  0    experiments can run on this machine; something for another purpose may be missing.
       With --for: nothing that they need is missing
  2    the input is invalid
  3    experiments cannot run: the report names what is broken and the command that fixes it.
       With --for: something that they need is missing, also after --install
  130  interrupted
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--for",
    "names",
    multiple=True,
    metavar="FILE|STUDY[/TABLE]",
    shell_complete=complete.files_and_tables,
    help="Report only what is missing for this scenario, or for these tables of a study: Debian packages, lab kernels,"
    " programs of gateways, and what building these takes. Repeatable.",
)
@click.option(
    "--install",
    "installs",
    is_flag=True,
    help="Get what is missing: install packages with apt, as root or by sudo, and build the rest. It asks nothing, and"
    " services of the packages are not started.",
)
@set_option("Set a key of every scenario of --for. Repeatable.")
@engine_option("Engine that is to execute the runs of --for.")
@beds_option("With --for: what `mptcplab reproduce STUDY --beds N` needs, whose kernels and settings can differ.")
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

    With --for, it checks only what some experiments need, and finds all of it at once.
    """
