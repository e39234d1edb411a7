# SPDX-License-Identifier: MIT
"""``mptcplab gateways``: builds the programs of gateways that Debian does not have, and lists them."""

from __future__ import annotations

import json
import time

import click

from mptcplab.cli import complete
from mptcplab.cli.options import json_option
from mptcplab.errors import LabError
from mptcplab.proxies.build import build as build_program
from mptcplab.proxies.build import chosen
from mptcplab.proxies.catalog import RECIPES, compiler_of, folder_of, is_built
from mptcplab.proxies.toolchain import missing_packages

_LINE_EVERY_S = 5.0


@click.group()
def gateways() -> None:
    """Build the programs of gateways that Debian does not have, and list them."""


@gateways.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete.proxies)
@click.option("--fresh", is_flag=True, help="Build again what is built already, such as by another compiler.")
def build(names: tuple[str, ...], fresh: bool) -> None:
    """Build the programs NAME from their registries. Default: all.

    Versions and checksums are pinned. A program that is built already is not built again.
    """
    failed: list[LabError] = []
    for recipe in chosen(names):
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


@gateways.command(name="list")
@click.option(
    "--packages",
    is_flag=True,
    help="Print only the Debian packages of toolchains that this machine lacks for programs that are not built.",
)
@json_option
def list_(packages: bool, as_json: bool) -> None:
    """List the programs that can be built, and of those that are, their folders and compilers."""
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
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    for line in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


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
