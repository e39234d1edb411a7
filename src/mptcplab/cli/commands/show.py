# SPDX-License-Identifier: MIT
"""``mptcplab show``."""

from __future__ import annotations

import click

from mptcplab.cli.deferred import defer_to
from mptcplab.cli.options import json_option, repeats_option, seed_option, set_option, source_argument


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
