# SPDX-License-Identifier: MIT
"""``mptcplab run``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import (
    columns_option,
    junit_option,
    repeats_option,
    running_options,
    seed_option,
    set_option,
    sort_option,
    source_argument,
    trust_option,
)

_EPILOG = """\b
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


@click.command(epilog=_EPILOG)
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
    "it, bulk data on all paths), or a bound for the mean of a metric in each row, by its name in results.json: "
    "'goodput_mbps >= 20', 'call:mos > 4' for one workload. Repeatable.",
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
