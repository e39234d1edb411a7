# SPDX-License-Identifier: MIT
"""``mptcplab completion`` and the completion protocol for bash. :mod:`mptcplab.cli.complete` provides the values."""

from __future__ import annotations

import os

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

from mptcplab.cli.help import COMPLETION_VARIABLE

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
