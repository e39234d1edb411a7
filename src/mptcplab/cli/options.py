# SPDX-License-Identifier: MIT
"""Options that several commands share, and parts of a command that are imported when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from mptcplab import api
from mptcplab.cli import shell_completion
from mptcplab.errors import InputError
from mptcplab.lazy import load

# Parts of a command that are imported when they are needed: its body, and the values of a choice.


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


# Options that several commands share. This module imports little besides click: `kernel path` must start quickly.

_Command = TypeVar("_Command", bound=Callable[..., Any])


class ScenarioFile(click.Path):
    """The path of a scenario file or pack, or ``@NAME`` for a scenario that comes with mptcplab.

    With ``urls``, also an address on the web, which stays text: a path would lose one of its slashes.
    """

    def __init__(self, *, urls: bool = False) -> None:
        super().__init__(path_type=Path)
        self._urls = urls

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. :raises InputError: for an unknown @NAME, and for an address of another kind."""
        if isinstance(value, str) and value.startswith("@") and not Path(value).exists():
            return load("mptcplab.scenario.examples:find_example")(value[1:])
        if self._urls and isinstance(value, str) and load("mptcplab.packs:is_url")(value):
            return value
        if self._urls and isinstance(value, str) and "://" in value:
            hint = "download the file, and name it here"
            raise InputError(f"{ascii(value)[1:-1]} is neither an HTTP nor an HTTPS address", hint=hint)
        return super().convert(value, param, ctx)


scenario_argument = click.argument("file", type=ScenarioFile(), shell_complete=shell_completion.scenario_files)
source_argument = click.argument(
    "file", metavar="FILE|PACK|URL", type=ScenarioFile(urls=True), shell_complete=shell_completion.scenario_files
)
trust_option = click.option(
    "--trust", "trusted", is_flag=True, help="Let the runs of a pack execute programs that it brings or chooses."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
junit_option = click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the results as JUnit XML, for continuous integration.",
)
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


def split_commas(text: str | None) -> list[str]:
    """Return the parts of an option's value that are separated by commas."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else []


def set_option(description: str = "Set a key of the scenario. Repeatable.") -> Callable[[_Command], _Command]:
    """Return a decorator that adds the repeatable option ``--set KEY=VALUE`` as the argument ``overrides``."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=shell_completion.settings,
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


def point_option() -> Callable[[_Command], _Command]:
    """Return a decorator that adds the repeatable option ``--point`` as the argument ``wanted``."""
    return click.option(
        "--point",
        "wanted",
        multiple=True,
        metavar="NUMBER|KEY=VALUE",
        help="The sweep's point: its number in the order of `mptcplab show`, or a value of a swept key. Repeatable for "
        "values of several keys. Default: the first.",
    )


class _EngineName(DeferredChoice):
    """The name of an engine, and for some a colon and its kernel image or inventory."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if ctx is not None and ctx.resilient_parsing:  # a shell asks for completions: no engine is needed
            return value
        name, colon, image = value.partition(":")
        text = f"{super().convert(name, param, ctx)}{colon}{image}"
        api.engine_kind(text)
        return text


def engine_option(description: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds ``--engine``."""
    return click.option(
        "--engine",
        type=_EngineName("mptcplab.api:engine_names"),
        default=api.DEFAULT_ENGINE,
        show_default=True,
        help=description,
    )


def beds_option(description: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds ``--beds N``, the number of test beds that a study could have had."""
    return click.option("--beds", type=click.IntRange(1, 4096), metavar="N", help=description)


def running_options(command: _Command) -> _Command:
    """Add the options of every command that runs labs."""
    options = [
        click.option("--jobs", type=click.IntRange(1, 1024), help="Labs to run in parallel. Default: one per CPU."),
        engine_option(
            "Engine that executes the runs: the lab kernel, a kernel image (stock:VERSION or stock:PATH), this "
            "machine (local), or the machines of an inventory (ssh:FILE)."
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Execute the runs on a dask.distributed cluster: a scheduler's address, or local[:WORKERS].",
        ),
        click.option("--fresh", is_flag=True, help="Execute runs again that are already recorded."),
        json_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command
