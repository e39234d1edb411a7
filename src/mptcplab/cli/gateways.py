# SPDX-License-Identifier: MIT
"""``mptcplab gateways``: builds the programs of gateways that Debian does not have, and lists them."""

from __future__ import annotations

import json
import time

import click

from mptcplab.errors import LabError
from mptcplab.plain_tables import align_columns
from mptcplab.proxies.build import build as build_program
from mptcplab.proxies.build import select_recipes
from mptcplab.proxies.catalog import RECIPES, compiler_of, folder_of, is_built
from mptcplab.proxies.toolchain import missing_packages

_LINE_EVERY_S = 5.0


def build(names: tuple[str, ...], fresh: bool) -> None:
    """Build the programs. :raises LabError: if one failed, after all others are built."""
    failed: list[LabError] = []
    for recipe in select_recipes(names):
        if fresh or not is_built(recipe):
            click.echo(f"building {recipe.name} {recipe.version} from {_registry(recipe.language)}", err=True)
        try:
            folder = build_program(recipe, _Lines(), fresh=fresh)
        except LabError as error:
            failed.append(error)
        else:
            click.echo(f"{recipe.name} {recipe.version}: {folder}")
    if failed:
        first, *others = failed
        hints = [first.hint or "", *(f"also: {error.message}\n    {error.hint}" for error in others)]
        raise type(first)(first.message, hint="\n  ".join(hints))


def list_(packages: bool, as_json: bool) -> None:
    """Print the programs, or the packages that their builds need."""
    if packages:
        click.echo(" ".join(missing_packages(recipe for recipe in RECIPES.values() if not is_built(recipe))))
        return
    rows = [
        {
            "name": recipe.name,
            "version": recipe.version,
            "licence": recipe.licence,
            "programs": list(recipe.binaries),
            "folder": str(folder_of(recipe)) if is_built(recipe) else None,
            "compiler": compiler_of(recipe) or None,
        }
        for recipe in RECIPES.values()
    ]
    if as_json:
        click.echo(json.dumps(rows))
        return
    cells = [
        (str(row["name"]), str(row["version"]), str(row["folder"] or "not built"), str(row["compiler"] or ""))
        for row in rows
    ]
    click.echo("\n".join(align_columns(cells)))


def _registry(language: str) -> str:
    return "the Go module proxy" if language == "go" else "crates.io"


class _Lines:
    """Prints a line of a build from time to time, on standard error."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, line: str) -> None:
        if line and time.monotonic() - self._last >= _LINE_EVERY_S:
            self._last = time.monotonic()
            click.echo(f"  {line}", err=True)
