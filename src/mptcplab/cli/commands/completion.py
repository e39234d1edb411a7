# SPDX-License-Identifier: MIT
"""``mptcplab completion`` and the completion protocol for bash. :mod:`mptcplab.cli.complete` provides the values."""

from __future__ import annotations

import click

from mptcplab.cli.deferred import DeferredChoice, defer_to

_EPILOG = """\b
Examples:
  mptcplab completion bash > ~/.local/share/bash-completion/completions/mptcplab
  mptcplab completion zsh > ~/.zfunc/_mptcplab     # with fpath+=(~/.zfunc) before compinit in ~/.zshrc
  mptcplab completion fish > ~/.config/fish/completions/mptcplab.fish
  eval "$(mptcplab completion bash)"               # this shell only

\b
Files:
  ~/.local/share/bash-completion/completions/mptcplab    bash (create the folder first)
  ~/.zfunc/_mptcplab                                     zsh
  ~/.config/fish/completions/mptcplab.fish               fish
"""


@click.command(epilog=_EPILOG)
@click.argument("shell", type=DeferredChoice("mptcplab.cli.completion:PLACES"))
@click.pass_context
@defer_to("mptcplab.cli.completion:completion")
def completion() -> None:
    """Print the script with which SHELL completes mptcplab's commands, options and values.

    Values are scenario files, keys of --set, nodes, studies and their tables, and kernels.
    """
