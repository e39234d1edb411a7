# SPDX-License-Identifier: MIT
"""The commands that execute experiments and studies, or describe what would be executed."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab import api
from mptcplab.cli import shell_completion
from mptcplab.cli.options import (
    DeferredChoice,
    ScenarioFile,
    beds_option,
    columns_option,
    defer_to,
    json_option,
    junit_option,
    point_option,
    repeats_option,
    running_options,
    seed_option,
    set_option,
    sort_option,
    source_argument,
    trust_option,
)

# ``mptcplab run``.

_RUN_EPILOG = """\b
Examples:
  mptcplab run examples/two-paths.toml
  mptcplab run two.toml --set links.link1.loss='1 %' --repeats 10
  mptcplab run two.toml --set transport.scheduler='["default", "blest"]'
  mptcplab run two.toml --links
  mptcplab run two.toml --columns scheduler,goodput,response_p99_ms --sort -goodput
  mptcplab run @two-paths --junit tests.xml
  mptcplab run two.toml --require mptcp --require 'goodput_mbps >= 20'
  mptcplab run two.toml --json | jq '.rows[].goodput_mbps.mean'
  mptcplab run @handover
  mptcplab run https://example.org/two.mptcplab.zip
"""


@click.command(epilog=_RUN_EPILOG)
@source_argument
@set_option()
@seed_option()
@repeats_option
@click.option("--out", type=click.Path(path_type=Path), help="Results folder. Default: results/NAME.")
@click.option("--links", is_flag=True, help="Also show what every link carried, lost and queued.")
@columns_option
@sort_option
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="REQUIREMENT",
    help="What the results have to meet, else the exit status is 1: `mptcp` (each workload that asks for MPTCP uses "
    "it, bulk data on all paths), `connections` (none fails), or a bound for the mean of a metric in each row, by its "
    "name in results.json: 'goodput_mbps >= 20', 'call:mos > 4' for one workload. Repeatable.",
)
@junit_option
@running_options
@trust_option
@defer_to("mptcplab.cli.run:run")
def run() -> None:
    """Run the experiment in FILE and show its table. FILE can be a pack, or the address of a scenario or pack.

    Every point of the sweep runs with every seed. The results folder receives the recordings, the table (Markdown,
    CSV), results.json and the figures. A run that is recorded there is not executed again. Until the sweep is complete,
    partial.md holds the results so far. In JUnit XML, each run is a test, which fails if the run does, and so
    is each requirement for each row.

    For a pack that has recordings (see `mptcplab pack`), it says whether the numbers are the same bytes, and what
    differs between the two machines.
    """


# ``mptcplab show``.


@click.command()
@source_argument
@set_option()
@seed_option()
@repeats_option
@json_option
@defer_to("mptcplab.cli.show:show")
def show() -> None:
    """Show the scenario in FILE as mptcplab reads it: its first point, its runs, and estimates of time and disk space.

    The first point is printed as a scenario with presets, sweep values and bases resolved. Defaults are left out.
    """


# ``mptcplab plan``.


@click.command()
@source_argument
@set_option()
@seed_option("Seed of the run. Default: the scenario's first.")
@point_option()
@click.option(
    "--node",
    metavar="NODE",
    shell_complete=shell_completion.nodes,
    help="Write the configuration of this node for a real machine, instead of the commands of the run.",
)
@click.option(
    "--format",
    "form",
    type=DeferredChoice("mptcplab.api:export_formats"),
    help="Format of the configuration: a shell script, files for systemd, or files for OpenWrt. Default: sh.",
)
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="LINK=DEVICE[,...]",
    shell_complete=shell_completion.links_of_node,
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


# ``mptcplab exec``.

_EXEC_EPILOG = """\b
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


@click.command(
    epilog=_EXEC_EPILOG, context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False}
)
@click.option(
    "--scenario",
    type=ScenarioFile(),
    shell_complete=shell_completion.scenario_files,
    help="Scenario whose network to set up (its first point).",
)
@click.option(
    "--on",
    "node",
    metavar="NODE",
    shell_complete=shell_completion.nodes,
    help="Node to run COMMAND on. Default: the scenario's first host.",
)
@click.option(
    "--kernel",
    "version",
    metavar="VERSION",
    shell_complete=shell_completion.kernels,
    help="Lab kernel. Default: the scenario's, else 7.2.",
)
@click.option(
    "--seed", type=click.IntRange(0, 10**18), help="Seed of all random numbers. Default: the scenario's, else 1."
)
@set_option()
@click.option("--timeout", default="1 h", show_default=True, help="Virtual time after which COMMAND is terminated.")
@click.option(
    "--stall",
    default=f"{api.DEFAULT_STALL_SECONDS:g} s",
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


# ``mptcplab reproduce``.

_REPRODUCE_EPILOG = """\b
Examples:
  mptcplab reproduce --all --quick          all tables, in their short form
  mptcplab reproduce subramani2018          all tables of one study
  mptcplab reproduce nguyen2014/rtt --quick
  mptcplab reproduce ito2016 --beds 32      in how many of 32 possible test beds each published value agrees
  mptcplab reproduce --all --list           list the tables, their recorded runs, and the time that the rest takes

\b
The exit status is 1 if a run failed, or if a value differs or a claim does not hold and the study's data gives no
reason for it. A reason that no run shows counts as supposed. A difference that the data declares open, with what was
tried, counts as unexplained. Neither changes the status. It is 3 if a table was not measured because this machine
lacks something, such as a program or a lab kernel: all of it is named before the first run, with the command that
gets it (`mptcplab doctor --for STUDY --install`).
"""


@click.command(epilog=_REPRODUCE_EPILOG)
@click.argument("wanted", metavar="[STUDY[/TABLE]]", required=False, shell_complete=shell_completion.study_tables)
@click.option("--all", "everything", is_flag=True, help="All tables of all studies, as without STUDY.")
@click.option(
    "--quick", is_flag=True, help="Short form: the fewer rows and the fewer, shorter runs that each table defines."
)
@beds_option(
    "Measure the tables on N test beds that the study could have had, with one run for each cell. Parameters that its"
    " source leaves open are drawn from the ranges in the study's beds.toml."
)
@set_option("Set a key of every scenario. Repeatable.")
@click.option(
    "--list", "only_list", is_flag=True, help="List the tables and the time that they would take; run nothing."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results/reproduce"),
    show_default=True,
    help="Results folder.",
)
@running_options
@defer_to("mptcplab.cli.reproduce:reproduce")
def reproduce() -> None:
    """Reproduce published tables and figures: published value, measured value, difference, verdict.

    The claims of a STUDY, such as that one value is twice another, are judged with their confidence intervals. Without
    STUDY, all tables of all studies are measured, and the results folder receives a scoreboard and one HTML page.
    """
