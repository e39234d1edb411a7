# SPDX-License-Identifier: MIT
"""``mptcplab figure``: a static figure from any results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mptcplab.cli.common import console
from mptcplab.cli.options import split_commas
from mptcplab.errors import InputError, reason

#: Formats of files, written here because their module takes long to load.
_SUFFIXES = (".svg", ".png", ".pdf")


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
        if file.suffix.lower() not in _SUFFIXES:
            raise InputError(f"{file} does not end with the suffix of a format", hint=f"use {', '.join(_SUFFIXES)}")
    # Late, since the libraries behind it take long to load.
    from mptcplab.figure import FigureChoice, build_figure, build_table_figure, read_table
    from mptcplab.results import open_results

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
    made = build_table_figure(read_table(source), choice) if is_table else build_figure(open_results(source), choice)
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
