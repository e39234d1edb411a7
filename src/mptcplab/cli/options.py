# SPDX-License-Identifier: MIT
"""Options of several commands. It imports nothing but click: `kernel path` has to begin quickly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


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
