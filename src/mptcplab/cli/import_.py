# SPDX-License-Identifier: MIT
"""``mptcplab import``."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.files import check_new_file, write_new_file
from mptcplab.importers.files import Imported, import_files

_MAX_LISTED = 20


def import_(files: tuple[Path, ...], output: Path, title: str | None, force: bool) -> None:
    """Write the scenario, and list what is not in it."""
    is_output = str(output) == "-"
    if not is_output and not force:
        check_new_file(output)
    imported = import_files(files, title)
    if is_output:
        click.echo(imported.text, nl=False)
    else:
        write_new_file(output, imported.text, force=force)
        click.echo(f"Wrote {output}. Check it with `mptcplab show {output}`, then run it with `mptcplab run {output}`.")
    for line in _summary(imported):
        click.echo(line, err=True)


def _summary(imported: Imported) -> list[str]:
    """Return what the user should look at."""
    lines = [f"Assumed: {text}" for text in imported.assumptions[:_MAX_LISTED]]
    lines += [f"Not imported: {line.origin}: {line.text}: {line.reason}" for line in imported.unread[:_MAX_LISTED]]
    left = max(0, len(imported.assumptions) - _MAX_LISTED) + max(0, len(imported.unread) - _MAX_LISTED)
    if left:
        lines.append(f"{left} more are listed at the beginning of the scenario.")
    return lines
