# SPDX-License-Identifier: MIT
"""What shells complete: scenario files, keys of ``--set``, nodes, studies, kernels.

Each function here stands as ``shell_complete`` with the parameters that it is for; click calls it when a shell asks.
Whatever cannot be read meanwhile (a scenario half written) completes to nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
from click.shell_completion import CompletionItem

from mptcplab.errors import LabError

if TYPE_CHECKING:
    from pydantic import BaseModel

_MOST_FILES = 200
_DEEPEST = 3
_NOT_LOOKED_INTO = ("results", "node_modules", "__pycache__", "build", "dist")

_Choices = Callable[[click.Context, str], Iterable[str]]
_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completing(choices: _Choices) -> _Complete:
    """Make what click calls of a function that returns everything that may stand there."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with contextlib.suppress(LabError, OSError):
            found = [CompletionItem(text) for text in choices(ctx, incomplete) if text.startswith(incomplete)]
            if found:
                return found
        return param.type.shell_complete(ctx, param, incomplete)

    return complete


@_completing
def scenario_files(_ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Scenario files in the folder that was begun, and some folders below; else whatever the shell finds."""
    begun = Path(incomplete).expanduser() if incomplete.endswith("/") else Path(incomplete).expanduser().parent
    prefix = incomplete[: incomplete.rfind("/") + 1]
    files: list[str] = []
    for file in _toml_files(begun, _DEEPEST):
        files.append(prefix + str(file.relative_to(begun)))
        if len(files) == _MOST_FILES:
            break
    return sorted(files)


def _toml_files(folder: Path, depth: int) -> Iterator[Path]:
    """TOML files, those of ``folder`` first; hidden and large folders are not looked into."""
    below: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _NOT_LOOKED_INTO:
            continue
        if path.suffix == ".toml" and path.name != "pyproject.toml":
            yield path
        elif depth and path.is_dir() and not path.is_symlink():
            below.append(path)
    for path in below:
        with contextlib.suppress(OSError):
            yield from _toml_files(path, depth - 1)


@_completing
def settings(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """``KEY=`` for every key of the scenario that is named before, and the values of keys that have a choice."""
    file = _scenario_of(ctx)
    if file is None:
        return []
    key, equals, _ = incomplete.partition("=")
    keys = dict(_keys(file))
    return [f"{key}={value}" for value in keys.get(key, ())] if equals else [f"{known}=" for known in keys]


def _scenario_of(ctx: click.Context) -> Path | None:
    """The scenario that the command line names before."""
    named = ctx.params.get("file") or ctx.params.get("scenario")
    # An option that still awaits its value has kept click from sorting the other words.
    named = named or next((word for word in ctx.args if word.endswith(".toml")), None)
    return Path(named) if named else None


def _keys(file: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys that may be set, with the values that one of them may take when these are few."""
    from mptcplab.node.transport import Transport
    from mptcplab.scenario.load import load

    scenario = load(file).points[0].scenario
    yield from _below(Transport(), "transport.")
    for name, link in scenario.links.items():
        yield from _below(link.forward, f"links.{name}.")
    yield from _below(scenario, "")


def _below(part: BaseModel, prefix: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    from pydantic import BaseModel

    for name, field in type(part).model_fields.items():
        key, value = f"{prefix}{field.alias or name}", getattr(part, name)
        if isinstance(value, BaseModel):
            yield from _below(value, f"{key}.")
        elif isinstance(value, dict):
            for named, below in value.items():
                if isinstance(below, BaseModel):
                    yield from _below(below, f"{key}.{named}.")
        elif name not in ("title", "question", "kind"):
            yield key, tuple(word for word in get_args(field.annotation) if isinstance(word, str))


@_completing
def nodes(ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Nodes of the scenario that is named before."""
    from mptcplab.scenario.load import load

    file = _scenario_of(ctx)
    if file is None:
        return []
    return list(load(file).points[0].scenario.nodes)


@_completing
def study_tables(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """``STUDY`` and ``STUDY/TABLE``."""
    from mptcplab.study.load import select, study_names

    return [*study_names(), *(selected.name for selected in select(None))]


@_completing
def kernels(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Versions of lab kernels: the usual one, and those that are built."""
    from mptcplab.kernel.cache import list_kernels
    from mptcplab.kernel.data import DEFAULT_VERSION

    return dict.fromkeys([DEFAULT_VERSION, *(kernel.version for kernel in list_kernels())])
