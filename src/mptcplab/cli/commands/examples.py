# SPDX-License-Identifier: MIT
"""``mptcplab examples``."""

from __future__ import annotations

import click

from mptcplab.cli import complete
from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option

_EPILOG = """\b
Examples:
  mptcplab examples                     all names, with what each is about
  mptcplab examples wifi                the names that contain this word
  mptcplab examples handover > my.toml  the file, to copy and change
  mptcplab run @handover                any command takes @NAME in place of a file
"""


@click.command(epilog=_EPILOG)
@click.argument("name", required=False, shell_complete=complete.examples)
@json_option
@defer_to("mptcplab.cli.examples:examples")
def examples() -> None:
    """List the scenarios that come with mptcplab, or print the one called NAME.

    If no scenario is called NAME, those whose names contain it are listed.
    """
