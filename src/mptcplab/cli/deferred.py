# SPDX-License-Identifier: MIT
"""Parts of a command that are imported when they are needed: its body, and the values of a choice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any

import click

from mptcplab.lazy import load


def defer_to(target: str) -> Callable[[Callable[[], None]], Callable[..., Any]]:
    """Return a decorator that gives a command the body ``target``, a ``module:function``, imported when it is called.

    The decorated function has the command's name and its help.
    """

    def decorate(declared: Callable[[], None]) -> Callable[..., Any]:
        @wraps(declared)
        def call(*arguments: Any, **options: Any) -> Any:
            return load(target)(*arguments, **options)

        vars(call)["target"] = target
        return call

    return decorate


class DeferredChoice(click.Choice[str]):
    """A choice among the names in ``target``, a ``module:name``: a collection, or a function that returns one."""

    def __init__(self, target: str) -> None:
        self._target, self.case_sensitive = target, True

    # click sets an attribute of this name, which mypy does not let a property replace.
    @cached_property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names."""
        entry = load(self._target)
        return tuple(entry() if callable(entry) else entry)
