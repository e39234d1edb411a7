# SPDX-License-Identifier: MIT
"""Options of several commands. It imports next to nothing but click: `kernel path` has to begin quickly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from mptcplab.cli import complete

_Command = TypeVar("_Command", bound=Callable[..., Any])
scenario_argument = click.argument("file", type=click.Path(path_type=Path), shell_complete=complete.scenario_files)
repeats_option = click.option("--repeats", type=click.IntRange(min=1), help="Seeds per point. Default: the scenario's.")


def set_option(description: str = "Change one key of the scenario.") -> Callable[[_Command], _Command]:
    """Return a decorator that adds ``--set KEY=VALUE``, any number of times, as the argument ``overrides``."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=complete.settings,
        help=description,
    )


def seed_option(description: str = "First seed. Default: the scenario's.") -> Callable[[_Command], _Command]:
    """Return a decorator that adds ``--seed`` for a scenario's."""
    return click.option("--seed", type=click.IntRange(min=0), help=description)


def patch_option(description: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds ``--patch FILE``, any number of times, as the argument ``patches``."""
    return click.option(
        "--patch",
        "patches",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE",
        help=description,
    )
