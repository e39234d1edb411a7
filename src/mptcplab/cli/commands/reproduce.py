# SPDX-License-Identifier: MIT
"""``mptcplab reproduce``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli import complete
from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import beds_option, running_options, set_option

_EPILOG = """\b
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


@click.command(epilog=_EPILOG)
@click.argument("wanted", metavar="[STUDY[/TABLE]]", required=False, shell_complete=complete.study_tables)
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
