# SPDX-License-Identifier: MIT
"""``mptcplab report``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option

_EPILOG = """\b
Examples:
  mptcplab report results/two-paths
  mptcplab report results/reproduce/subramani2018 --out study.html
  mptcplab report results/reproduce         all studies, with the scoreboard
"""


@click.command(epilog=_EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE.html", help="File to write. Default: DIR/report.html."
)
@json_option
@defer_to("mptcplab.cli.report:report")
def report() -> None:
    """Write one HTML page about the results in DIR: warnings, network, tables, figures, commands to repeat it.

    DIR is the results folder of `mptcplab run`, or of `mptcplab reproduce`, or of one study in it. Nothing is
    executed. The page is self-contained: it needs no network access and no other files.
    """
