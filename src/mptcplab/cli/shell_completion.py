# SPDX-License-Identifier: MIT
"""Completion for shells: the protocol, and the values of scenario files, keys of ``--set``, nodes, studies, kernels."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from mptcplab.cli.main import COMPLETION_VARIABLE
from mptcplab.errors import LabError
from mptcplab.files import expand_home

if TYPE_CHECKING:
    from pydantic import BaseModel


# ``mptcplab completion`` and the completion protocol for bash.

_PROGRAM = "mptcplab"
PLACES = {
    "bash": "~/.local/share/bash-completion/completions/mptcplab",
    "zsh": "_mptcplab in a folder of your $fpath",
    "fish": "~/.config/fish/completions/mptcplab.fish",
}


def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for ``shell``."""
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    click.echo(f"# Completion of mptcplab for {shell}. Save it as {PLACES[shell]}.")
    click.echo(completion_class(ctx.find_root().command, {}, _PROGRAM, COMPLETION_VARIABLE).source())


class _Bash(BashComplete):
    """bash splits words at ``=`` and completes only the part behind it. A key without its value gets no blank."""

    source_template = """\
%(complete_func)s() {
    local line kind value
    COMPREPLY=()
    while IFS= read -r line; do
        kind=${line%%%%,*} value=${line#*,}
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value"); [[ $value == *= ]] && compopt -o nospace ;;
        esac
    done < <(COMP_WORDS="$(printf '%%s\\n' "${COMP_WORDS[@]}")" COMP_CWORD=$COMP_CWORD \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        words = os.environ["COMP_WORDS"].split("\n")
        at = int(os.environ["COMP_CWORD"])
        words += [""] * (at + 1 - len(words))  # the shell strips empty lines from the end
        whole = _rejoin(words[: at + 1])
        self._shown_from = len(whole[-1]) - len(words[at]) if words[at] != "=" else len(whole[-1])
        return [_unquote(word) for word in whole[1:-1]], _unquote(whole[-1])

    def format_completion(self, item: CompletionItem) -> str:
        value = item.value[self._shown_from :] if item.type == "plain" else item.value
        return f"{item.type},{value}"


def _rejoin(words: list[str]) -> list[str]:
    """Join ``a``, ``=``, ``b`` to ``a=b``, which bash has split."""
    whole: list[str] = []
    for index, word in enumerate(words):
        if whole and index > 1 and (word == "=" or words[index - 1] == "="):
            whole[-1] += word
        else:
            whole.append(word)
    return whole


def _unquote(word: str) -> str:
    """Return a word as the command would receive it, even if a quotation mark is still unclosed."""
    return word.replace("\\", "").replace("'", "").replace('"', "")


add_completion_class(_Bash)


# Shell completion of values: scenario files, keys of ``--set``, nodes, studies, kernels.
#
# The parameters name these functions as their ``shell_complete``, and click calls them when a shell asks. A file that
# cannot be read, such as a half-written scenario, gives no completions.

_MAX_FILES = 200
_MAX_DEPTH = 3
_SKIPPED_FOLDERS = ("results", "node_modules", "__pycache__", "build", "dist")

_Choices = Callable[[click.Context, str], Iterable[str]]
_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _make_completion(choices: _Choices) -> _Complete:
    """Turn a function that returns all valid values into a completion function for click."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with contextlib.suppress(LabError, OSError):
            completion_items = [
                CompletionItem(text) for text in choices(ctx, incomplete) if text.startswith(incomplete)
            ]
            if completion_items:
                return completion_items
        return param.type.shell_complete(ctx, param, incomplete)

    return complete


@_make_completion
def scenario_files(_ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Return the scenario files in the folder typed so far and a few levels below it, or names after an ``@``."""
    return _scenario_files(incomplete)


def _scenario_files(incomplete: str) -> list[str]:
    if incomplete.startswith("@"):
        from mptcplab.scenario.examples import list_examples

        return [f"@{example.name}" for example in list_examples()]
    path = expand_home(incomplete)
    typed = path if incomplete.endswith("/") else path.parent
    prefix = incomplete[: incomplete.rfind("/") + 1]
    files: list[str] = []
    for file in _toml_files(typed, _MAX_DEPTH):
        files.append(prefix + str(file.relative_to(typed)))
        if len(files) == _MAX_FILES:
            break
    return sorted(files)


def _toml_files(folder: Path, depth: int) -> Iterator[Path]:
    """Yield TOML files, first in ``folder``; hidden and large folders are skipped."""
    subfolders: list[Path] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _SKIPPED_FOLDERS:
            continue
        if path.suffix == ".toml" and path.name != "pyproject.toml":
            yield path
        elif depth and path.is_dir() and not path.is_symlink():
            subfolders.append(path)
    for path in subfolders:
        with contextlib.suppress(OSError):
            yield from _toml_files(path, depth - 1)


@_make_completion
def examples(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the names of the scenarios that come with mptcplab."""
    from mptcplab.scenario.examples import list_examples

    return [example.name for example in list_examples()]


@_make_completion
def settings(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Return ``KEY=`` for every key of the scenario on the command line, and the values of keys that have choices."""
    file = _find_scenario(ctx)
    if file is None:
        return []
    key, equals, _ = incomplete.partition("=")
    keys = dict(_keys(file))
    return [f"{key}={value}" for value in keys.get(key, ())] if equals else [f"{known}=" for known in keys]


def _find_scenario(ctx: click.Context) -> Path | None:
    """Return the scenario file that the command line names."""
    named = ctx.params.get("file") or ctx.params.get("scenario")
    # While an option still lacks its value, click has not assigned the other words to parameters.
    named = named or next((word for word in ctx.args if word.endswith(".toml")), None)
    if named and str(named).startswith("@"):
        from mptcplab.scenario.examples import find_example

        return find_example(str(named)[1:])
    return Path(named) if named else None


def _keys(file: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the keys that can be set, with the valid values if a key has choices."""
    from mptcplab.node.transport import Transport
    from mptcplab.scenario.load import load

    scenario = load(file).points[0].scenario
    yield from _walk_values(Transport(), "transport.")
    for name, link in scenario.links.items():
        yield from _walk_values(link.forward, f"links.{name}.")
    yield from _walk_values(scenario, "")


def _walk_values(part: BaseModel, prefix: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    from pydantic import BaseModel

    for name, field in type(part).model_fields.items():
        key, value = f"{prefix}{field.alias or name}", getattr(part, name)
        if isinstance(value, BaseModel):
            yield from _walk_values(value, f"{key}.")
        elif isinstance(value, dict):
            for named, below in value.items():
                if isinstance(below, BaseModel):
                    yield from _walk_values(below, f"{key}.{named}.")
        elif name not in ("title", "question", "kind"):
            yield key, tuple(word for word in get_args(field.annotation) if isinstance(word, str))


@_make_completion
def nodes(ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the nodes of the scenario on the command line."""
    from mptcplab.scenario.load import load

    file = _find_scenario(ctx)
    if file is None:
        return []
    return list(load(file).points[0].scenario.nodes)


@_make_completion
def links_of_node(ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Return ``LINK=`` for every link of the node on the command line, behind the pairs that are complete."""
    from mptcplab.scenario.load import load

    file, node = _find_scenario(ctx), ctx.params.get("node")
    if file is None or node is None:
        return []
    before = incomplete[: incomplete.rfind(",") + 1]
    links = load(file).points[0].scenario.links
    return [f"{before}{name}=" for name, link in links.items() if node in link.between]


@_make_completion
def study_tables(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Return every ``STUDY`` and ``STUDY/TABLE``."""
    return _study_tables()


def _study_tables() -> list[str]:
    from mptcplab.study.library import select, study_names

    return [*study_names(), *(selected.name for selected in select(None))]


@_make_completion
def files_and_tables(_ctx: click.Context, incomplete: str) -> Iterable[str]:
    """Return scenario files, every ``STUDY`` and every ``STUDY/TABLE``."""
    with contextlib.suppress(OSError):
        yield from _scenario_files(incomplete)
    yield from _study_tables()


@_make_completion
def congestion_controls(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the congestion controls that have an eBPF program."""
    from mptcplab.ebpf.objects import CONGESTION_CONTROLS

    return CONGESTION_CONTROLS


@_make_completion
def proxies(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the programs of gateways that are built."""
    from mptcplab.proxies.catalog import RECIPES

    return RECIPES


@_make_completion
def stock_kernels(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Return versions of stock kernels: the default and the obtained ones."""
    from mptcplab.kernel.stock import DEFAULT_STOCK, list_stock

    return dict.fromkeys([DEFAULT_STOCK, *(kernel.version for kernel in list_stock())])


@_make_completion
def kernels(_ctx: click.Context, _incomplete: str) -> Iterable[str]:
    """Return versions of lab kernels: the default and the built ones."""
    from mptcplab.kernel.cache import list_kernels
    from mptcplab.kernel.data import DEFAULT_VERSION

    return dict.fromkeys([DEFAULT_VERSION, *(kernel.version for kernel in list_kernels())])
