# SPDX-License-Identifier: MIT
"""``mptcplab plan --node``: write the configuration of one node for a real machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import click

from mptcplab.errors import InputError, reason
from mptcplab.export.collect import ExportMachine, collect
from mptcplab.export.devices import devices_of
from mptcplab.export.model import File
from mptcplab.export.registry import FORMATS
from mptcplab.scenario.document import name_hint
from mptcplab.scenario.schema import Scenario

#: Characters that need no quotes in URLs, JSON and command lines.
_PASSWORD = re.compile(r"[A-Za-z0-9._~-]{8,128}")


def export(
    scenario: Scenario, node: str, form: str, devices: Iterable[str], password_file: Path | None, out: Path | None
) -> None:
    """Write the configuration of ``node`` to the folder ``out``, or to standard output.

    :raises InputError: if there is no such node, if the format cannot express it, or if a file cannot be read or
        written.
    """
    if node not in scenario.nodes:
        raise InputError(f"the scenario has no node '{node}'", hint=name_hint(node, scenario.nodes))
    links = [name for name, link in scenario.links.items() if node in link.between]
    password = _password(password_file) if password_file is not None else None
    machine = ExportMachine(devices_of(devices, links), FORMATS[form].folder, password)
    sides = {side for gateway in scenario.gateways.values() for side in (gateway.entry, gateway.exit)}
    if password is not None and node not in sides:
        raise InputError(f"--password-file has no effect: '{node}' has no gateway", hint="remove it")
    files = FORMATS[form].write(collect(scenario, node, machine))
    if out is not None:
        _write(files, out)
    elif len(files) == 1:
        click.echo(files[0].text, nl=False)
    else:
        click.echo("\n".join(f"==> /{file.path} <==\n{file.text}" for file in files), nl=False)


def _password(file: Path) -> str:
    try:
        text = file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is not text"
        raise InputError(f"{file} cannot be read: {why}", hint="name a file with one password") from error
    if not _PASSWORD.fullmatch(text):
        hint = f"use 8 to 128 letters, digits, '.', '_', '~' or '-': openssl rand -hex 16 > {file}"
        raise InputError(f"{file} has no password that all programs accept", hint=hint)
    return text


def _write(files: Iterable[File], out: Path) -> None:
    for file in files:
        place = out / file.path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            # A file with a password has its mode before it has content.
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, file.mode), "w") as written:
                os.fchmod(written.fileno(), file.mode)
                written.write(file.text)
        except OSError as error:
            raise InputError(f"'{place}' cannot be written: {reason(error)}", hint="name another folder") from error
        click.echo(place)
