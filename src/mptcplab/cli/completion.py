# SPDX-License-Identifier: MIT
"""``mptcplab completion``, and how bash asks. What may stand for a parameter, :mod:`mptcplab.cli.complete` says."""

from __future__ import annotations

import os

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from mptcplab.cli.help import VARIABLE

_PROGRAM = "mptcplab"
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
