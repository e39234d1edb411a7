# SPDX-License-Identifier: MIT
"""``mptcplab serve``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import defer_to

_EPILOG = """\b
Examples:
  mptcplab serve                        the results in results/
  mptcplab serve results ~/course --port 0

\b
Exit status:
  0    ended by Ctrl-C or SIGTERM
  2    the input is invalid, or the port is in use
  3    the framework of the page is not installed: pip install 'mptcplab[serve]'
"""


@click.command(epilog=_EPILOG)
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8642, help="Port on 127.0.0.1; 0 for any free port.")
@defer_to("mptcplab.cli.serve:serve")
def serve() -> None:
    """Show the results folders in RESULTS on a page in the browser, which can also start experiments.

    A form chooses an example, rate and delay of each link, congestion control and scheduler, and shows the command that
    does the same. While the runs are executed, the page draws them.

    The page is for this machine only. Its address has a token, and other sites cannot reach it.
    """
