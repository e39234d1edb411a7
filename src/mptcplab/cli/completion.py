# SPDX-License-Identifier: MIT
"""``mptcplab completion``, and what shells complete: scenario files, keys of ``--set``, studies, kernels.

Commands declare ordinary types. When a shell asks for completions, :func:`teach` gives their parameters types that know
what may stand there; whatever cannot be read meanwhile (a scenario half written) completes to nothing.
"""

from __future__ import annotations

import abc
import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from mptcplab.cli.help import VARIABLE
from mptcplab.errors import LabError

_PROGRAM = "mptcplab"
_MOST_FILES = 200
_DEEPEST = 3
_NOT_LOOKED_INTO = ("results", "node_modules", "__pycache__", "build", "dist")
_PLACES = {
    "bash": "~/.local/share/bash-completion/completions/mptcplab",
    "zsh": "a folder of your $fpath, as _mptcplab",
    "fish": "~/.config/fish/completions/mptcplab.fish",
}
_EPILOG = """\b
Examples:
  mptcplab completion bash > ~/.local/share/bash-completion/completions/mptcplab
  mptcplab completion zsh > ~/.zfunc/_mptcplab     # with fpath+=(~/.zfunc) before compinit in ~/.zshrc
  mptcplab completion fish > ~/.config/fish/completions/mptcplab.fish
  eval "$(mptcplab completion bash)"               # this shell only

\b
Files:
  ~/.local/share/bash-completion/completions/mptcplab    bash (make the folder first)
  ~/.zfunc/_mptcplab                                     zsh
  ~/.config/fish/completions/mptcplab.fish               fish
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(list(_PLACES)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete mptcplab's commands, options and their values.

    Scenario files, keys of --set, studies and their tables, and kernels are completed as well.
    """
    made = get_completion_class(shell)
    assert made is not None
    click.echo(f"# Completion of mptcplab for {shell}. It belongs into {_PLACES[shell]}.")
    click.echo(made(ctx.find_root().command, {}, _PROGRAM, VARIABLE).source())


def teach(command: click.Command) -> None:
    """Let the parameters of ``command``, and of its subcommands, complete what belongs there."""
    for parameter in command.params:
        known = _KNOWN.get(parameter.name or "")
        if known is not None and not isinstance(parameter.type, click.Choice):
            parameter.type = known(parameter.type)
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        teach(below)


if TYPE_CHECKING:
    from pydantic import BaseModel

    _Type = click.ParamType[Any]
else:  # older versions of click have no parameters there
    _Type = click.ParamType


class _Taught(_Type, abc.ABC):
    """Converts as the type that was declared, and completes more."""

    def __init__(self, declared: _Type) -> None:
        self.declared, self.name = declared, declared.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.declared.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        with contextlib.suppress(LabError, OSError):
            found = [CompletionItem(text) for text in self.choices(ctx, incomplete) if text.startswith(incomplete)]
            if found:
                return found
        return self.declared.shell_complete(ctx, param, incomplete)

    @abc.abstractmethod
    def choices(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
        """Everything that may stand here; the caller takes what begins with ``incomplete``."""


class _ScenarioFile(_Taught):
    """Scenario files in the folder that was begun, and some folders below; else whatever the shell finds."""

    def choices(self, ctx: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG002
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


class _Setting(_Taught):
    """``KEY=`` for every key of the scenario that is named before, and the values of keys that have a choice."""

    def choices(self, ctx: click.Context, incomplete: str) -> Iterable[str]:
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


class _Node(_Taught):
    """Nodes of the scenario that is named before."""

    def choices(self, ctx: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG002
        from mptcplab.scenario.load import load

        file = _scenario_of(ctx)
        if file is None:
            return []
        return list(load(file).points[0].scenario.nodes)


class _StudyTable(_Taught):
    """``STUDY`` and ``STUDY/TABLE``."""

    def choices(self, ctx: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG002
        from mptcplab.study.load import select, study_names

        return [*study_names(), *(selected.name for selected in select(None))]


class _Kernel(_Taught):
    """Versions of lab kernels: the usual one, and those that are built."""

    def choices(self, ctx: click.Context, incomplete: str) -> Iterable[str]:  # noqa: ARG002
        from mptcplab.kernel.cache import list_kernels
        from mptcplab.kernel.data import DEFAULT_VERSION

        return dict.fromkeys([DEFAULT_VERSION, *(kernel.version for kernel in list_kernels())])


#: Parameters by their names, which mean the same in every command.
_KNOWN: dict[str, type[_Taught]] = {
    "file": _ScenarioFile,
    "scenario": _ScenarioFile,
    "overrides": _Setting,
    "wanted": _StudyTable,
    "version": _Kernel,
    "node": _Node,
}


class _Bash(BashComplete):
    """bash cuts words at ``=`` and completes only what follows; and a key that awaits its value wants no blank."""

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
        words += [""] * (at + 1 - len(words))  # the shell takes empty lines off the end
        whole = _rejoined(words[: at + 1])
        self._shown_from = len(whole[-1]) - len(words[at]) if words[at] != "=" else len(whole[-1])
        return [_unquoted(word) for word in whole[1:-1]], _unquoted(whole[-1])

    def format_completion(self, item: CompletionItem) -> str:
        value = item.value[self._shown_from :] if item.type == "plain" else item.value
        return f"{item.type},{value}"


def _rejoined(words: list[str]) -> list[str]:
    """``a``, ``=``, ``b`` as ``a=b``: bash has taken the word apart."""
    whole: list[str] = []
    for index, word in enumerate(words):
        if whole and index > 1 and (word == "=" or words[index - 1] == "="):
            whole[-1] += word
        else:
            whole.append(word)
    return whole


def _unquoted(word: str) -> str:
    """A word as the command would get it, also while its quotes are open."""
    return word.replace("\\", "").replace("'", "").replace('"', "")


add_completion_class(_Bash)
