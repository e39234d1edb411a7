# SPDX-License-Identifier: MIT
"""``mptcplab kernel``: builds the lab kernel, lists the built ones, prints the path of one."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab import api
from mptcplab.errors import InputError
from mptcplab.kernel.build import BuildOptions, find_tree
from mptcplab.kernel.cache import BUILD_COMMAND
from mptcplab.kernel.data import DEFAULT_VERSION, build_options
from mptcplab.kernel.develop import check_build, write_tree
from mptcplab.kernel.inventory import KernelEntry, describe_kernel, list_entries, require_tree
from mptcplab.kernel.stock import DEFAULT_STOCK, StockKernel, list_stock
from mptcplab.plain_tables import align_columns
from mptcplab.prebuilt import find_prebuilt


def build(
    version: str | None,
    source: Path | None,
    jobs: int | None,
    keep_tree: bool,
    debug: bool,
    hz: str,
    plain: bool,
    cpu: bool,
    wifi: bool,
    fixes: tuple[str, ...],
    patches: tuple[Path, ...],
    check: bool,
    as_json: bool,
) -> None:
    """Build a kernel and print its path, or check that it can be built."""
    # Only a build needs rich, and importing it takes longer than all of `kernel path`.
    from mptcplab.kernel.console import StderrReporter

    options = api.BuildOptions(
        debug=debug,
        hz=int(hz),
        plain=plain,
        cpu=cpu,
        wifi=wifi,
        fixes=fixes,
        patches=patches,
        jobs=jobs,
        keep_tree=keep_tree,
    )
    if check:
        _check(version, source, options, as_json)
        return
    with StderrReporter() as progress:
        built = api.build_kernel(version, source, options, progress=progress)
    if as_json:
        click.echo(json.dumps(describe_kernel(built).to_json()))
        return
    click.echo(f"Linux {built.release}: {built.executable}")
    if keep_tree:
        click.echo(f"Kept tree, for the next build: {find_tree(built)}")


def _check(version: str | None, source: Path | None, options: BuildOptions, as_json: bool) -> None:
    from mptcplab.kernel.console import StderrReporter

    if options.keep_tree or options.jobs is not None:
        raise InputError("--check compiles nothing and keeps nothing", hint="leave out --keep-tree and --jobs")
    with StderrReporter() as progress:
        checked = check_build(version, source, options, progress=progress)
    if as_json:
        click.echo(json.dumps(checked.to_json()))
        return
    number = len(checked.patches)
    patches = "1 patch applies" if number == 1 else f"{number} patches apply"
    lost = f"lacks {', '.join(checked.lost_options)}" if checked.lost_options else "has all of the lab's options"
    click.echo(f"Linux {checked.version}: {patches}, and the configuration {lost}.")


def tree(
    folder: Path,
    version: str | None,
    source: Path | None,
    plain: bool,
    fixes: tuple[str, ...],
    patches: tuple[Path, ...],
) -> None:
    """Write a tree for a developer, and print what to do with it."""
    from mptcplab.kernel.console import StderrReporter

    options = BuildOptions(plain=plain, fixes=fixes, patches=patches)
    with StderrReporter() as progress:
        written = write_tree(folder, version, source, options, progress=progress)
    number = len(written.commits) - 1
    click.echo(f"Linux {written.version}, {number} {'commit' if number == 1 else 'commits'} above: {written.path}")
    words = [*([] if written.version == DEFAULT_VERSION else [written.version]), *build_options(options.variant)]
    click.echo(f"Build a patch of it: {' '.join([BUILD_COMMAND, *words])} --keep-tree --patch FILE")


def list_(as_json: bool) -> None:
    """Print the kernels that are built."""
    entries = list_entries()
    if as_json:
        click.echo(json.dumps([entry.to_json() | {"default": entry.is_default} for entry in entries]))
        return
    prebuilt = find_prebuilt()
    if prebuilt is not None and prebuilt.obstacle is not None:
        click.echo(f"The kernel of {prebuilt.name} is not used: the package {prebuilt.obstacle}.", err=True)
    if not entries:
        click.echo("No kernel is built yet. Build one with `mptcplab kernel build`.", err=True)
        return
    rows: list[tuple[str, ...]] = [("", "version", "release", "HZ", "hash", "size", "built", "tree", "")]
    rows += map(_row, entries)
    click.echo("\n".join(align_columns(rows)))


def stock(version: str | None, as_json: bool) -> None:
    """Obtain a stock kernel if one is named, and print all that were obtained."""
    if version is not None:
        from mptcplab.kernel.console import StderrReporter

        with StderrReporter() as progress:
            api.obtain_stock(version, progress=progress)
    kernels = list_stock()
    if as_json:
        click.echo(json.dumps([item.to_json() for item in kernels]))
    elif not kernels:
        click.echo(f"No stock kernel is there yet. Obtain one with `mptcplab kernel stock {DEFAULT_STOCK}`.", err=True)
    else:
        rows = [("version", "release", "HZ", "package"), *map(_stock_row, kernels)]
        click.echo("\n".join(align_columns(rows)))


def _stock_row(item: StockKernel) -> tuple[str, ...]:
    return (item.version, item.release, "?" if item.hz is None else str(item.hz), item.package_version)


def path(version: str, tree: bool) -> None:
    """Print the path of a kernel, or of its tree."""
    kernel = api.find_kernel(version)
    click.echo(require_tree(kernel) if tree else kernel.executable)


def _row(entry: KernelEntry) -> tuple[str, ...]:
    item = entry.kernel
    size = f"{item.executable.stat().st_size / 1e6:.1f} MB"
    hz = "?" if item.hz is None else str(item.hz)
    name = f"{item.name} + {len(item.given)}" if item.given else item.name
    return (
        "*" if entry.is_default else "",
        name,
        item.release,
        hz,
        item.key[:12],
        size,
        item.built,
        "kept" if entry.tree else "",
        ", ".join(note for note in (item.package, "" if entry.is_current else "stale") if note),
    )
