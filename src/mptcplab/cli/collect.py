# SPDX-License-Identifier: MIT
"""``mptcplab collect``."""

from __future__ import annotations

import subprocess
from importlib import resources

import click

from mptcplab.errors import Exit


def collect(
    is_run: bool, seconds: int, interval: int, name: str | None, hide: bool, packets: bool, count: int | None
) -> int:
    """Print the script, or run it and return its exit status."""
    script = resources.files("mptcplab.explain").joinpath("collect.sh").read_text()
    if not is_run:
        click.echo(script, nl=False)
        return Exit.DONE
    options = ["-t", str(seconds), "-i", str(interval)]
    options += ["-o", name] if name is not None else []
    options += ["-a"] if hide else []
    options += ["-p"] if packets else []
    options += ["-n", str(count)] if count is not None else []
    done = subprocess.run(["sh", "-s", "--", *options], input=script, text=True, check=False)
    return done.returncode
