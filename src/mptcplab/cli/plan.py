# SPDX-License-Identifier: MIT
"""``mptcplab plan``: the commands of one run, or the configuration of one node."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from mptcplab import api
from mptcplab.errors import InputError, reason
from mptcplab.scenario.points import select_point


def plan(
    file: Path | str,
    overrides: tuple[str, ...],
    seed: int | None,
    wanted: tuple[str, ...],
    node: str | None,
    form: str | None,
    devices: tuple[str, ...],
    password_file: Path | None,
    out: Path | None,
) -> None:
    """Print the commands of one run; with ``node``, the configuration of that node for a real machine."""
    with api.open_source(file, overrides=overrides, seed=seed) as source:
        chosen = select_point(source.experiment.points, wanted)
        if node is None:
            _check_options({"--format": form, "--device": devices, "--password-file": password_file, "--out": out})
            click.echo(api.plan_script(source.experiment, wanted), nl=False)
            return
        if seed is not None:
            raise InputError("--seed has no effect with --node", hint="remove it: a seed changes links and workloads")
        form = form or api.export_formats()[0]
        files = api.export_node(chosen.scenario, node, form, devices=devices, password_file=password_file)
        if out is None:
            _print(files)
        else:
            _write(files, out)


def _check_options(given: dict[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise InputError(f"{option} needs --node", hint="name a node of the scenario, like --node client")


def _print(files: list[api.ExportedFile]) -> None:
    """Print one file as it is, several with their paths."""
    if len(files) == 1:
        click.echo(files[0].text, nl=False)
    else:
        click.echo("\n".join(f"==> /{file.path} <==\n{file.text}" for file in files), nl=False)


def _write(files: Iterable[api.ExportedFile], out: Path) -> None:
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
