# SPDX-License-Identifier: MIT
"""``mptcplab kernel``: builds the lab kernel, lists the built ones, prints the path of one."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mptcplab.cache import cache_root
from mptcplab.errors import MissingError
from mptcplab.kernel.build import BuildOptions, build_kernel, find_tree
from mptcplab.kernel.cache import KernelBuild, find_kernel, is_current, list_kernels
from mptcplab.kernel.stock import DEFAULT_STOCK, StockKernel, list_stock
from mptcplab.kernel.stock_debian import obtain_stock
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
    as_json: bool,
) -> None:
    """Build a kernel and print its path."""
    # Only a build needs rich, and importing it takes longer than all of `kernel path`.
    from mptcplab.kernel.console import StderrReporter

    options = BuildOptions(
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
    with StderrReporter() as progress:
        built = build_kernel(version, source, options, progress=progress)
    if as_json:
        click.echo(json.dumps(_as_dict(built)))
        return
    click.echo(f"Linux {built.release}: {built.executable}")
    if keep_tree:
        click.echo(f"Kept tree, for the next build: {find_tree(built)}")


def list_(as_json: bool) -> None:
    """Print the kernels that are built."""
    kernels = list_kernels()
    default = _default_path()
    if as_json:
        click.echo(json.dumps([_as_dict(item) | {"default": item.path == default} for item in kernels]))
        return
    prebuilt = find_prebuilt()
    if prebuilt is not None and prebuilt.obstacle is not None:
        click.echo(f"The kernel of {prebuilt.name} is not used: the package {prebuilt.obstacle}.", err=True)
    if not kernels:
        click.echo("No kernel is built yet. Build one with `mptcplab kernel build`.", err=True)
        return
    rows: list[tuple[str, ...]] = [("", "version", "release", "HZ", "hash", "size", "built", "tree", "")]
    rows += [_row(item, default=item.path == default) for item in kernels]
    click.echo("\n".join(align_columns(rows)))


def stock(version: str | None, as_json: bool) -> None:
    """Obtain a stock kernel if one is named, and print all that were obtained."""
    if version is not None:
        _obtain(version)
    kernels = list_stock()
    if as_json:
        click.echo(json.dumps([_stock_as_dict(item) for item in kernels]))
    elif not kernels:
        click.echo(f"No stock kernel is there yet. Obtain one with `mptcplab kernel stock {DEFAULT_STOCK}`.", err=True)
    else:
        rows = [("version", "release", "HZ", "package"), *map(_stock_row, kernels)]
        click.echo("\n".join(align_columns(rows)))


def _obtain(version: str) -> None:
    from mptcplab.kernel.console import StderrReporter

    cache = cache_root()
    (cache / "logs").mkdir(parents=True, exist_ok=True)
    with StderrReporter() as progress, (cache / "logs" / "stock.log").open("w") as log:
        obtain_stock(version, cache, progress=progress, log=log)


def _stock_row(item: StockKernel) -> tuple[str, ...]:
    return (item.version, item.release, "?" if item.hz is None else str(item.hz), item.package_version)


def _stock_as_dict(item: StockKernel) -> dict[str, object]:
    return {
        "version": item.version,
        "release": item.release,
        "hz": item.hz,
        "package_version": item.package_version,
        "sha256": item.sha256,
        "image": str(item.image),
    }


def path(version: str, tree: bool) -> None:
    """Print the path of a kernel, or of its tree."""
    kernel = find_kernel(version)
    if not tree:
        click.echo(kernel.executable)
        return
    kept = find_tree(kernel)
    if kept is None:
        raise MissingError(
            f"the tree of the kernel {kernel.name} was not kept",
            hint=f"mptcplab kernel build {kernel.version} --keep-tree",
        )
    click.echo(kept)


def _default_path() -> Path | None:
    try:
        return find_kernel().path
    except MissingError:
        return None


def _row(item: KernelBuild, *, default: bool) -> tuple[str, ...]:
    size = f"{item.executable.stat().st_size / 1e6:.1f} MB"
    tree = "kept" if find_tree(item) else ""
    hz = "?" if item.hz is None else str(item.hz)
    name = f"{item.name} + {len(item.given)}" if item.given else item.name
    return (
        "*" if default else "",
        name,
        item.release,
        hz,
        item.key[:12],
        size,
        item.built,
        tree,
        ", ".join(note for note in (item.package, "" if is_current(item) else "stale") if note),
    )


def _as_dict(item: KernelBuild) -> dict[str, object]:
    return {
        "version": item.version,
        "variant": item.variant,
        "release": item.release,
        "hz": item.hz,
        "key": item.key,
        "executable": str(item.executable),
        "built": item.built,
        "lost_options": list(item.lost_options),
        "given_patches": list(item.given),
        "current": is_current(item),
        "package": item.package or None,
        "tree": str(tree) if (tree := find_tree(item)) else None,
    }
