# SPDX-License-Identifier: MIT
"""``mptcplab serve``."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path

import click

from mptcplab.errors import MissingError

_DEFAULT_FOLDER = Path("results")


def serve(results: tuple[Path, ...], port: int) -> None:
    """Answer requests of this machine's browser until Ctrl-C. :raises MissingError: if the framework is missing."""
    if importlib.util.find_spec("flask") is None:
        raise MissingError("the live page needs Flask", hint="pip install 'mptcplab[serve]'")
    from mptcplab.serve.folders import Folders
    from mptcplab.serve.server import listen

    with listen(Folders.find_below(results or (_DEFAULT_FOLDER,)), port) as live:
        click.echo(f"Open this address in a browser of this machine; it works for nobody else:\n  {live.url}")
        click.echo("Ctrl-C ends the server, and an experiment that is running.")
        with contextlib.suppress(KeyboardInterrupt):
            live.run()
