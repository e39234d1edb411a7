# SPDX-License-Identifier: MIT
"""The commands that write scenario files, or what belongs to them."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import shell_completion
from mptcplab.cli.options import DeferredChoice, defer_to, json_option, scenario_argument
from mptcplab.scenario.answer_examples import EVENT_EXAMPLE, PATH_EXAMPLE

# ``mptcplab init``: writes a first scenario from options, or from answers on a terminal.

_INIT_EPILOG = """\b
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


@click.command(epilog=_INIT_EPILOG)
@click.argument(
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    default="scenario.toml",
    shell_complete=shell_completion.scenario_files,
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
    type=DeferredChoice("mptcplab.scenario.template:TRANSFER_DIRECTIONS"),
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
    help="Protocols to compare, or a single protocol. Of different paths, tcp,mptcp gives a point for TCP on each path "
    "(link1, link2, ...) and one for MPTCP on all: TCP on one path does not say what MPTCP adds to the best.",
)
@click.option("--repeats", type=click.IntRange(1, 10_000), default=3, help="Runs per point, each with its own seed.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.pass_context
@defer_to("mptcplab.cli.scenarios:init")
def init() -> None:
    """Write a commented scenario to FILE, or to standard output if FILE is -.

    Its network is a client and a server with several paths between them. Without options, and on a terminal, mptcplab
    asks for the values.
    """


# ``mptcplab import``.

_IMPORT_EPILOG = """\b
Examples:
  mptcplab import setup.sh > scenario.toml
  mptcplab import topology.py --out scenario.toml
  mptcplab import topo xp --out minitopo.toml --title 'Two paths of minitopo'
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


@click.command("import", epilog=_IMPORT_EPILOG)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, allow_dash=True),
    default="-",
    help="Write the scenario to this file, which must not exist. Default: standard output.",
)
@click.option("--title", help="Title of the scenario. Default: names the files.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@defer_to("mptcplab.cli.scenarios:import_")
def import_() -> None:
    """Make a scenario of scripts, or of files of other tools.

    What is not understood is listed on standard error, and in the scenario.
    """


# ``mptcplab examples``.

_EXAMPLES_EPILOG = """\b
Examples:
  mptcplab examples                     all names, with what each is about
  mptcplab examples wifi                the names that contain this word
  mptcplab examples handover > my.toml  the file, to copy and change
  mptcplab run @handover                any command takes @NAME in place of a file
"""


@click.command(epilog=_EXAMPLES_EPILOG)
@click.argument("name", required=False, shell_complete=shell_completion.examples)
@json_option
@defer_to("mptcplab.cli.examples:examples")
def examples() -> None:
    """List the scenarios that come with mptcplab, or print the one called NAME.

    If no scenario is called NAME, those whose names contain it are listed.
    """


# ``mptcplab pack``.

_PACK_EPILOG = """\b
Examples:
  mptcplab pack two.toml
  mptcplab pack two.toml --recordings results/two -o two.mptcplab.zip
  mptcplab run two.mptcplab.zip        elsewhere, also from a web address
"""


@click.command(epilog=_PACK_EPILOG)
@scenario_argument
@click.option(
    "--recordings",
    "results",
    type=click.Path(path_type=Path),
    metavar="RESULTS",
    help="Results folder of `mptcplab run FILE`, whose recordings the pack contains.",
)
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="The pack. Default: NAME.mptcplab.zip in this folder."
)
@json_option
@defer_to("mptcplab.cli.pack:pack")
def pack() -> None:
    """Make one file of the scenario in FILE and everything that it names: files that it extends, traces, sources.

    `mptcplab run`, `show` and `plan` take it in place of a scenario. The same files give the same bytes. With the
    recordings, `run` says on another machine whether its numbers are the same.
    """


# ``mptcplab schema``.

_SCHEMA_EPILOG = """\b
Examples:
  mptcplab schema > mptcplab.schema.json
  (echo '#:schema ./mptcplab.schema.json'; cat my.toml) > with-schema.toml

\b
docs/editors.md describes how to set up an editor.
"""


@click.command(epilog=_SCHEMA_EPILOG)
@defer_to("mptcplab.cli.scenarios:schema")
def schema() -> None:
    """Print the JSON Schema of scenario files, for editors that complete, explain and check keys.

    It is generated from the types that check a scenario, and accepts every scenario that mptcplab accepts. It cannot
    check relations between keys, such as an address that is used twice; `mptcplab show FILE` checks everything.
    """
