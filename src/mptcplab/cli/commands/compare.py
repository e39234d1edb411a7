# SPDX-License-Identifier: MIT
"""``mptcplab compare``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import columns_option, files_option, json_option, sort_option
from mptcplab.metrics.margin import MARGIN_PERCENT

_EPILOG = """\b
Examples:
  mptcplab compare results/before results/after
  mptcplab compare results/cc --by transport.scheduler,transport.congestion_control
  mptcplab compare results/cc --by transport.scheduler --reference default
  mptcplab compare results/mix --by transport.scheduler --metric bulk:goodput --metric call:mos
  mptcplab compare results/before results/after --fail-if-different --margin 2
  mptcplab compare results/before results/after --columns scheduler,A,B,%,verdict --out table.tex --out all.csv

\b
The exit status is 0 after every comparison, whatever its result. With --fail-if-different it is 1 if a row differs by
the margin or more, with --fail-if-uncertain also if such a difference could have been missed. With either it is 2 if
no row could be compared.
"""


@click.command(epilog=_EPILOG)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path), required=False)
@click.option(
    "--by",
    metavar="KEY[,KEY...]",
    help="Compare the values of this swept key within A, or the combinations of several keys: all pairs, best first.",
)
@click.option(
    "--reference", metavar="VALUE[,VALUE...]", help="Compare each value of --by with this one, instead of all pairs."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="[WORKLOAD:]NAME",
    help="Metric to compare, of all workloads or of one, by its name in tables or in JSON: goodput, mos, outage. "
    "Repeatable. Default: goodput.",
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    metavar="PERCENT",
    default=MARGIN_PERCENT,
    show_default=True,
    help="Smallest difference that matters.",
)
@click.option("--fail-if-different", is_flag=True, help="Exit with status 1 if a row differs by the margin or more.")
@click.option(
    "--fail-if-uncertain", is_flag=True, help="Exit with status 1 if such a difference could have been missed."
)
@columns_option
@sort_option
@files_option("File to write, too: .csv has every number unrounded, .md and .tex have the printed tables. Repeatable.")
@json_option
@defer_to("mptcplab.cli.compare:compare")
def compare() -> None:
    """Test whether the results in folder B differ from those in folder A, or the values of a swept key within A.

    Rows are matched by their settings and workload. Runs with the same seeds are compared in pairs (Student's t), other
    runs as independent samples (Welch's t). All rows of all tables form one family of tests: the probability of any
    false alarm in it is at most 5 %, and the intervals belong to the corrected tests.
    """
