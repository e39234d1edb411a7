# SPDX-License-Identifier: MIT
"""Options that several commands share. This module imports little besides click: `kernel path` must start quickly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mptcplab.cli import complete

_Command = TypeVar("_Command", bound=Callable[..., Any])
scenario_argument = click.argument("file", type=click.Path(path_type=Path), shell_complete=complete.scenario_files)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
repeats_option = click.option(
    "--repeats", type=click.IntRange(min=1), help="Runs per point, each with its own seed. Default: the scenario's."
)

columns_option = click.option(
    "--columns", metavar="NAME[,NAME...]", help="Columns of the printed table, by their heads or names in JSON."
)
sort_option = click.option(
    "--sort", metavar="NAME", help="Column by which the printed rows are ordered; -NAME for descending order."
)


def files_option(description: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the repeatable option ``--out FILE`` as the argument ``files``."""
    return click.option(
        "--out", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE", help=description
    )


def listed(text: str | None) -> list[str]:
    """Return the parts of an option's value that are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def set_option(description: str = "Set a key of the scenario. Repeatable.") -> Callable[[_Command], _Command]:
    """Return a decorator that adds the repeatable option ``--set KEY=VALUE`` as the argument ``overrides``."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=complete.settings,
        help=description,
    )


def seed_option(description: str = "First seed. Default: the scenario's.") -> Callable[[_Command], _Command]:
    """Return a decorator that adds ``--seed``, which replaces the scenario's seed."""
    return click.option("--seed", type=click.IntRange(min=0), help=description)


def patch_option(description: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the repeatable option ``--patch FILE`` as the argument ``patches``."""
    return click.option(
        "--patch",
        "patches",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help=description,
    )
