# SPDX-License-Identifier: MIT
"""``mptcplab pack``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab import api
from mptcplab.cli.common import console
from mptcplab.metrics.values import size_text


def pack(file: Path, results: Path | None, out: Path | None, as_json: bool) -> None:
    """Write the pack of the scenario in ``file``. :raises InputError: if it cannot be packed."""
    written = api.write_pack(file, results=results, out=out)
    if as_json:
        click.echo(json.dumps(written.document))
        return
    shown, made = console(), written.pack
    files, recordings = len(made.manifest.files), len(made.manifest.recordings)
    named = sum(name.startswith("scenario/") for name in made.manifest.files)
    text = f"{written.file}: {named} file{'s' * (named > 1)} of the scenario"
    text += f", {recordings} recording{'s' * (recordings > 1)}" if files > named else ""
    shown.print(f"{text}, {size_text(len(made.content))}", markup=False, soft_wrap=True)
    shown.print(f"sha256 {written.sha256}", markup=False, soft_wrap=True)
    if made.other_recordings:
        text = f"{results} has {made.other_recordings} more of other settings, seeds or scenarios, which are left out."
        shown.print(text, markup=False, soft_wrap=True)
    for name in made.manifest.plugins:
        text = f"It needs the plugin {name}, which a pack does not contain."
        shown.print(text, style="yellow", markup=False, soft_wrap=True)
