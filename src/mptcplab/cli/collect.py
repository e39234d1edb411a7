# SPDX-License-Identifier: MIT
"""``mptcplab collect``."""

from __future__ import annotations

import click

from mptcplab.errors import Exit
from mptcplab.explain.collector import collector_script, run_collector


def collect(
    is_run: bool, seconds: int, interval: int, name: str | None, hide: bool, packets: bool, count: int | None
) -> int:
    """Print the script, or run it and return its exit status."""
    if is_run:
        return run_collector(seconds=seconds, interval=interval, name=name, hide=hide, packets=packets, count=count)
    click.echo(collector_script(), nl=False)
    return Exit.DONE
