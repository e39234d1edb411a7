# SPDX-License-Identifier: MIT
"""``mptcplab plan --node``: write the configuration of one node for a real machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from mptcplab.errors import InputError, reason
from mptcplab.export.collect import collect
from mptcplab.export.devices import devices_of
from mptcplab.export.model import File
from mptcplab.export.registry import FORMATS
from mptcplab.report.files import write_text
from mptcplab.scenario.document import name_hint
from mptcplab.scenario.schema import Scenario


def export(scenario: Scenario, node: str, form: str, devices: Iterable[str], out: Path | None) -> None:
    """Write the configuration of ``node`` to the folder ``out``, or to standard output.

    :raises InputError: if there is no such node, if the format cannot express it, or if ``out`` cannot be written.
    """
    if node not in scenario.nodes:
        raise InputError(f"the scenario has no node '{node}'", hint=name_hint(node, scenario.nodes))
    links = [name for name, link in scenario.links.items() if node in link.between]
    files = FORMATS[form](collect(scenario, node, devices_of(devices, links)))
    if out is not None:
        _write(files, out)
    elif len(files) == 1:
        click.echo(files[0].text, nl=False)
    else:
        click.echo("\n".join(f"==> /{file.path} <==\n{file.text}" for file in files), nl=False)


def _write(files: Iterable[File], out: Path) -> None:
    for file in files:
        place = out / file.path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_text(place, file.text)
            place.chmod(0o755 if file.executable else 0o644)
        except OSError as error:
            raise InputError(f"{place} cannot be written: {reason(error)}", hint="name another folder") from error
        click.echo(place)
