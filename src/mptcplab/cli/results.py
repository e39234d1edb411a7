# SPDX-License-Identifier: MIT
"""``mptcplab report``, ``mptcplab figure`` and ``mptcplab serve``."""

from __future__ import annotations

import contextlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import click

from mptcplab import api
from mptcplab.cli.common import console
from mptcplab.cli.options import split_commas
from mptcplab.errors import InputError, MissingError, reason
from mptcplab.lazy import extra_command

# ``mptcplab report``.


def report(folder: Path, out: Path | None, as_json: bool) -> None:
    """Write the page about the results in ``folder``."""
    written = api.write_report(folder, out)
    if as_json:
        click.echo(json.dumps(written.document))
        return
    if written.scoreboard is not None:
        console().print(written.scoreboard, markup=False, soft_wrap=True)
    count = f"{written.warnings} warning{'s' if written.warnings != 1 else ''}"
    console().print(f"{written.file} ({written.bytes / 1e6:.1f} MB, {count})", markup=False)


# ``mptcplab figure``: a static figure from any results folder.

#: Formats of files, written here because their module takes long to load.
_FIGURE_SUFFIXES = (".svg", ".png", ".pdf")


def figure(
    source: Path,
    files: tuple[Path, ...],
    points: tuple[str, ...],
    labels: tuple[str, ...],
    expected: tuple[str, ...],
    level: tuple[float | None, str],
    no_note: bool,
    **options: Any,
) -> None:
    """Draw the results, or the table, in ``source``."""
    for file in files:
        if file.suffix.lower() not in _FIGURE_SUFFIXES:
            raise InputError(
                f"{file} does not end with the suffix of a format", hint=f"use {', '.join(_FIGURE_SUFFIXES)}"
            )
    # Late, since the libraries behind it take long to load.
    from mptcplab.figure import FigureChoice, build_figure, build_table_figure, read_table

    choice = FigureChoice(
        points=tuple(_pair(text, "--points KEY=VALUE") for text in points),
        labels=tuple(_pair(text, "--label NAME=TEXT") for text in labels),
        by=tuple(split_commas(options.pop("by"))),
        panels=tuple(split_commas(options.pop("panels"))),
        workloads=tuple(split_commas(options.pop("workload"))),
        expected=expected,
        level=level[0],
        level_words=level[1],
        ignored=tuple(split_commas(options.pop("ignore"))),
        note=not no_note,
        **options,
    )
    is_table = source.suffix.lower() == ".csv" and not source.is_dir()
    if is_table:
        made = build_table_figure(read_table(source), choice)
    else:
        made = build_figure(api.open_results(source), choice)
    for file in files or (Path(f"figure-{made.kind}.svg"),):
        try:
            made.write(file)
        except OSError as error:
            raise InputError(
                f"{file} cannot be written: {reason(error)}", hint="name another file with --out"
            ) from error
        console().print(f"{file}: {made.shows}", markup=False, soft_wrap=True)
    if no_note:
        console().print(f"Note: {made.note}", markup=False, highlight=False, soft_wrap=True)


def _pair(text: str, form: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise InputError(f"'{text}' is not a key with a value", hint=f"write {form}")
    return key.strip(), value.strip()


# ``mptcplab serve``.

_DEFAULT_FOLDER = Path("results")


def serve(results: tuple[Path, ...], port: int) -> None:
    """Answer requests of this machine's browser until Ctrl-C. :raises MissingError: if the framework is missing."""
    if importlib.util.find_spec("flask") is None:
        raise MissingError("the live page needs Flask", hint=extra_command("serve"))
    for folder in results:
        # The default folder may come with the first experiment that the page starts.
        if not folder.exists() and folder != _DEFAULT_FOLDER:
            hint = "name results folders, or a folder that has some; without one, the page shows results/"
            raise InputError(f"there is no folder '{folder}'", hint=hint)
    from mptcplab.serve.app import Folders, listen

    with listen(Folders.find_below(results or (_DEFAULT_FOLDER,)), port) as live:
        click.echo(f"Open this address in a browser of this machine; it works for nobody else:\n  {live.url}")
        click.echo("Ctrl-C ends the server, and an experiment that is running.")
        with contextlib.suppress(KeyboardInterrupt):
            live.run()
