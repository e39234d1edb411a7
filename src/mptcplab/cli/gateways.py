# SPDX-License-Identifier: MIT
"""``mptcplab gateways``: builds the programs of gateways that Debian does not have, and lists them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from mptcplab import api
from mptcplab.plain_tables import align_columns
from mptcplab.proxies.build import missing_toolchain_packages
from mptcplab.proxies.catalog import RECIPES, Recipe, describe_recipe, is_built

_LINE_EVERY_S = 5.0


def build(names: tuple[str, ...], fresh: bool) -> None:
    """Build the programs. :raises LabError: if one failed, after all others are built."""
    api.build_proxies(names, fresh=fresh, begin=_announce, line=_Lines(), built=_print_folder)


def _announce(recipe: Recipe) -> None:
    registry = "the Go module proxy" if recipe.language == "go" else "crates.io"
    click.echo(f"building {recipe.name} {recipe.version} from {registry}", err=True)


def _print_folder(recipe: Recipe, folder: Path) -> None:
    click.echo(f"{recipe.name} {recipe.version}: {folder}")


def list_(packages: bool, as_json: bool) -> None:
    """Print the programs, or the packages that their builds need."""
    if packages:
        click.echo(" ".join(missing_toolchain_packages(recipe for recipe in RECIPES.values() if not is_built(recipe))))
        return
    rows = [describe_recipe(recipe) for recipe in RECIPES.values()]
    if as_json:
        click.echo(json.dumps(rows))
        return
    cells = [
        (str(row["name"]), str(row["version"]), str(row["folder"] or "not built"), str(row["compiler"] or ""))
        for row in rows
    ]
    click.echo("\n".join(align_columns(cells)))


class _Lines:
    """Prints a line of a build from time to time, on standard error."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, line: str) -> None:
        if line and time.monotonic() - self._last >= _LINE_EVERY_S:
            self._last = time.monotonic()
            click.echo(f"  {line}", err=True)
