# SPDX-License-Identifier: MIT
"""``mptcplab exec``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import complete
from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import ScenarioFile, set_option
from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS

_EPILOG = """\b
Inside:
  time       is virtual. It stops while any process can run, and jumps to the next timer when all processes sleep:
             `sleep 1h` takes no real time. It also stops while the lab waits for standard input or for the reader
             of its output, so that the same command, seed and kernel print the same bytes.
  files      are this machine's, read-only, with the same working directory. /tmp and /run are private and
             temporary; --expose shows folders below them. With --out DIR, /run/out is DIR and can be written.
  variables  are PATH, HOME, TMPDIR, LC_ALL and TERM with fixed values, and the variables of --env.
  nodes      are network namespaces: `ip netns exec server COMMAND` runs a command on another node.

\b
Exit status:
  COMMAND's, or 128 + n if signal n ended it. If the lab itself fails, a line on standard error begins with
  "mptcplab:", and the status is 1, 2 or 3 as for all commands.

\b
Examples:
  mptcplab exec -- sleep 3600
  mptcplab exec --scenario two.toml --on client -- ping -c 3 10.0.2.2
  mptcplab exec --scenario two.toml --shell
  tar c data | mptcplab exec -- sh -c 'cd /tmp && tar x && ls data' > list
"""


@click.command(epilog=_EPILOG, context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "--scenario",
    type=ScenarioFile(),
    shell_complete=complete.scenario_files,
    help="Scenario whose network to set up (its first point).",
)
@click.option(
    "--on",
    "node",
    metavar="NODE",
    shell_complete=complete.nodes,
    help="Node to run COMMAND on. Default: the scenario's first host.",
)
@click.option(
    "--kernel",
    "version",
    metavar="VERSION",
    shell_complete=complete.kernels,
    help="Lab kernel. Default: the scenario's, else 7.2.",
)
@click.option(
    "--seed", type=click.IntRange(0, 10**18), help="Seed of all random numbers. Default: the scenario's, else 1."
)
@set_option()
@click.option("--timeout", default="1 h", show_default=True, help="Virtual time after which COMMAND is terminated.")
@click.option(
    "--stall",
    default=f"{DEFAULT_STALL_SECONDS:g} s",
    show_default=True,
    help="Real time without progress of virtual time after which COMMAND is terminated.",
)
@click.option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Environment variable for COMMAND. Repeatable. Default value: as in this environment.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder that COMMAND can write, as /run/out; created if missing."
)
@click.option(
    "--expose",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder below /tmp or /run that COMMAND can read. Repeatable.",
)
@click.option("--no-stdin", is_flag=True, help="Close standard input; without --shell, COMMAND never gets a terminal.")
@click.option("--shell", is_flag=True, help="Open a terminal with an interactive shell, or with COMMAND if given.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@defer_to("mptcplab.cli.exec:exec")
def exec() -> None:
    """Run COMMAND in virtual time, on a machine without a network or on a node of a scenario.

    Its standard streams are pipes to mptcplab's. The scenario's network is set up, but its workloads do not
    start.
    """
