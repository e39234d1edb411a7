# SPDX-License-Identifier: MIT
"""``mptcplab collect``."""

from __future__ import annotations

import click

from mptcplab import api
from mptcplab.errors import Exit


def collect(
    is_run: bool, seconds: int, interval: int, name: str | None, hide: bool, packets: bool, count: int | None
) -> int:
    """Print the script, or run it and return its exit status."""
    if is_run:
        return api.run_collector(seconds=seconds, interval=interval, name=name, hide=hide, packets=packets, count=count)
    click.echo(api.collector_script(), nl=False)
    return Exit.DONE
