# SPDX-License-Identifier: MIT
"""The command ``mptcplab``: its subcommands, and how every error is told."""

from __future__ import annotations

import importlib
import os
import sys
from typing import NoReturn

import click

import mptcplab
from mptcplab.cli.help import VARIABLE, complete
from mptcplab.cli.usage import explain_usage, is_group_alone
from mptcplab.errors import Exit, LabError
from mptcplab.kernel.process import sigterm_as_interrupt

_SENTENCE = 200
#: Commands and the modules that hold them.
_COMMANDS = {
    "run": "mptcplab.cli.run",
    "show": "mptcplab.cli.show",
    "plan": "mptcplab.cli.show",
    "reproduce": "mptcplab.cli.reproduce",
    "report": "mptcplab.cli.report",
    "exec": "mptcplab.cli.exec",
    "compare": "mptcplab.cli.compare",
    "capture": "mptcplab.cli.capture",
    "selftest": "mptcplab.cli.selftest",
    "kernel": "mptcplab.cli.kernel",
    "init": "mptcplab.cli.init",
    "doctor": "mptcplab.cli.doctor",
    "schema": "mptcplab.cli.schema",
    "completion": "mptcplab.cli.completion",
}


class _Commands(click.Group):
    """Imports a command when it is asked for: the libraries behind some take longer than others need in all."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click decides the signature
        return list(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Whole sentences, not their beginnings."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(limit=_SENTENCE)) for name, command in found if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)
        complete(command, cmd_name)
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(mptcplab.__version__, prog_name="mptcplab")
def commands() -> None:
    """A laboratory for Multipath TCP.

    Describe hosts, paths and workloads in a file; the real Linux stack carries them out in virtual time; tables and
    figures say what MPTCP did, against TCP, and how sure that is.
    """


complete(commands, "")


def main() -> NoReturn:
    """Run the command line. Never shows a traceback for what a user can cause."""
    if VARIABLE in os.environ:
        # click looks for the shell's way to ask before it looks for commands
        importlib.import_module("mptcplab.cli.completion")
    try:
        with sigterm_as_interrupt():
            status = commands.main(standalone_mode=False)
    except LabError as error:
        report_error(error)
        sys.exit(error.status)
    except click.ClickException as error:
        if is_group_alone(error):
            click.echo(error.format_message(), err=True)
        else:
            report_error(explain_usage(error))
        sys.exit(Exit.BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        report_error(LabError("interrupted"))
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has seen enough; nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.FAILED)
    sys.exit(status if isinstance(status, int) else Exit.DONE)


def report_error(error: LabError) -> None:
    """One sentence, and a hint on a line of its own."""
    click.echo(f"mptcplab: {error.message}", err=True)
    if error.hint:
        click.echo(f"  hint: {error.hint}", err=True)
