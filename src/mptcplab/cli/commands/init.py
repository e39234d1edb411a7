# SPDX-License-Identifier: MIT
"""``mptcplab init``: writes a first scenario from options, or from answers on a terminal."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import complete
from mptcplab.cli.deferred import DeferredChoice, defer_to
from mptcplab.scenario.answer_examples import EVENT_EXAMPLE, PATH_EXAMPLE

_EPILOG = """\b
Examples:
  mptcplab init                              ask questions, on a terminal
  mptcplab init my.toml --path '50 Mbit/s, 10 ms' --path '20 Mbit/s, 30 ms, 0.1 %'
  mptcplab init cable-and-lte.toml --path '50/10 Mbit/s, 8 ms' --path lte-2014 --direction download
  mptcplab init call.toml --workload voip --event 'link1 down 4 s' --event 'link1 up 9 s'
  mptcplab init - --paths 3 --workload iperf3 --duration '20 s' --repeats 5 > three.toml

\b
Files:
  FILE    written completely or not at all; an existing file is replaced only with --force
"""


@click.command(epilog=_EPILOG)
@click.argument(
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    default="scenario.toml",
    shell_complete=complete.scenario_files,
)
@click.option("--title", help="Title of the scenario. Default: composed from the other options.")
@click.option(
    "--path",
    "described",
    multiple=True,
    metavar="RATE,DELAY,LOSS",
    help=f"One path, such as '{PATH_EXAMPLE}'; the delay is one-way. A rate of '50/10 Mbit/s' is 50 for "
    "downloads and 10 for uploads. In place of all, a link preset such as lte-2014. Repeatable. Default: two paths of "
    "100 Mbit/s, 10 ms.",
)
@click.option(
    "--paths",
    "count",
    type=click.IntRange(1, 16),
    help="Number of paths. Default: the number of --path options, or 2. A single --path describes all of them.",
)
@click.option(
    "--workload", type=DeferredChoice("mptcplab.scenario.template:KINDS"), default="flow", help="Kind of the workload."
)
@click.option(
    "--direction",
    type=DeferredChoice("mptcplab.scenario.template:DIRECTIONS"),
    help="Whether the server sends the data, or the client. Default: as the kind does by itself.",
)
@click.option(
    "--event",
    "happening",
    multiple=True,
    metavar="LINK TYPE TIME",
    help=f"A link that fails or returns, such as '{EVENT_EXAMPLE}'. Repeatable.",
)
@click.option("--duration", help="Time that the workload sends. Default: 10 s.")
@click.option("--size", help="Amount that the workload sends, instead of a duration. Default for transfer: 100 MB.")
@click.option(
    "--compare",
    default="tcp,mptcp",
    help="Protocols to compare, or a single protocol. "
    "Of different paths, tcp,mptcp gives a point for TCP on each path (link1, link2, ...) and one for MPTCP on all: "
    "TCP on one path does not say what MPTCP adds to the best.",
)
@click.option("--repeats", type=click.IntRange(1, 10_000), default=3, help="Runs per point, each with its own seed.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.pass_context
@defer_to("mptcplab.cli.init:init")
def init() -> None:
    """Write a commented scenario to FILE, or to standard output if FILE is -.

    Its network is a client and a server with several paths between them. Without options, and on a terminal, mptcplab
    asks for the values.
    """
