# SPDX-License-Identifier: MIT
"""The command ``mptcplab``: its subcommands, and how every error is told."""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

import mptcplab
from mptcplab.errors import Exit, LabError

_EPILOG = """\b
Exit status:
  0    done
  1    a run failed, or a verdict that was asked for did not hold
  2    the input is wrong
  3    this machine lacks something
  130  interrupted
"""


#: Commands and the modules that hold them.
_COMMANDS = {
    "run": "mptcplab.cli.run",
    "show": "mptcplab.cli.show",
    "plan": "mptcplab.cli.show",
    "reproduce": "mptcplab.cli.reproduce",
    "kernel": "mptcplab.cli.kernel",
}


class _Commands(click.Group):
    """Imports a command when it is asked for: the libraries behind some take longer than others need in all."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click decides the signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)
        return command


@click.group(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(mptcplab.__version__, prog_name="mptcplab")
def commands() -> None:
    """A laboratory for Multipath TCP.

    Describe hosts, paths and workloads in a file; the real Linux stack carries them out in virtual time; tables and
    figures say what MPTCP did, against TCP, and how sure that is.

    \b
    Start here:
      mptcplab kernel build                     once: the lab kernel
      mptcplab run examples/two-lines.toml      an experiment
      mptcplab reproduce subramani2018/4.1      a published table, measured again
    """


def main() -> NoReturn:
    """Run the command line. Never shows a traceback for what a user can cause."""
    try:
        status = commands.main(standalone_mode=False)
    except LabError as error:
        tell(error)
        sys.exit(error.status)
    except click.ClickException as error:
        hint = f"{error.ctx.command_path} --help" if isinstance(error, click.UsageError) and error.ctx else None
        tell(LabError(error.format_message().rstrip("."), hint=hint))
        sys.exit(Exit.BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        tell(LabError("interrupted"))
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has seen enough; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.FAILED)
    sys.exit(status if isinstance(status, int) else Exit.DONE)


def tell(error: LabError) -> None:
    """One sentence, and a hint on a line of its own."""
    click.echo(f"mptcplab: {error.message}", err=True)
    if error.hint:
        click.echo(f"  hint: {error.hint}", err=True)
