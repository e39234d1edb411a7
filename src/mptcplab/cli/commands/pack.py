# SPDX-License-Identifier: MIT
"""``mptcplab pack``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option, scenario_argument

_EPILOG = """\b
Examples:
  mptcplab pack two.toml
  mptcplab pack two.toml --recordings results/two -o two.mptcplab.zip
  mptcplab run two.mptcplab.zip        elsewhere, also from a web address
"""


@click.command(epilog=_EPILOG)
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
