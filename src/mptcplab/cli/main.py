# SPDX-License-Identifier: MIT
"""The command ``mptcplab``: its subcommands and its error reports."""

from __future__ import annotations

import gc
import importlib
import os
import shlex
import sys
import warnings
from keyword import iskeyword
from typing import NoReturn, TextIO

import click

import mptcplab
from mptcplab.cli.help import COMPLETION_VARIABLE, add_sections
from mptcplab.cli.usage import explain_usage, lacks_subcommand
from mptcplab.errors import Exit, LabError
from mptcplab.kernel.process import sigterm_as_interrupt
from mptcplab.lazy import load

_MAX_SUMMARY_CHARS = 200
#: New objects before the collector of cycles looks at them. By default it does so after 700, a hundred times while
#: modules are imported, whose objects all stay: a tenth of the time of a short command.
_GC_THRESHOLD = 200_000
#: The commands, each declared in the module of :mod:`mptcplab.cli.commands` with its name.
_COMMANDS = (
    "run",
    "show",
    "plan",
    "reproduce",
    "report",
    "figure",
    "exec",
    "compare",
    "capture",
    "explain",
    "collect",
    "fit",
    "selftest",
    "calibrate",
    "kernel",
    "gateways",
    "cc",
    "steer",
    "init",
    "import",
    "examples",
    "pack",
    "serve",
    "doctor",
    "schema",
    "completion",
)


class _Commands(click.Group):
    """Imports the declaration of a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click defines the signature
        return list(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List every command with its whole first sentence, which click would truncate."""
        pairs = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, cmd.get_short_help_str(limit=_MAX_SUMMARY_CHARS)) for name, cmd in pairs if cmd is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        # Python has no module and no function with the name of a keyword.
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = load(f"mptcplab.cli.commands.{module}:{module}")
        add_sections(command, cmd_name)
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.version_option(mptcplab.__version__, prog_name="mptcplab")
def commands() -> None:
    """A laboratory for Multipath TCP.

    Describe hosts, links and workloads in a file. mptcplab runs them on the real Linux network stack, in virtual time.
    Its tables and figures show what MPTCP achieves, how that compares with TCP, and how certain each result is.
    """


add_sections(commands, "")


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,  # noqa: ARG001  Python defines the signature
    line: str | None = None,
) -> None:
    """Print a warning to users as one sentence, and one to programmers as Python does."""
    if issubclass(category, FutureWarning):
        click.echo(f"mptcplab: warning: {message}", err=True)
    else:
        click.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)


def main() -> NoReturn:
    """Run the command line. An error that a user can cause never shows a traceback."""
    gc.set_threshold(_GC_THRESHOLD)
    warnings.showwarning = _show_warning
    if COMPLETION_VARIABLE in os.environ:
        # click needs the shell's completion class before it looks up commands
        importlib.import_module("mptcplab.cli.completion")
    try:
        with sigterm_as_interrupt():
            status = commands.main(standalone_mode=False)
    except LabError as error:
        report_error(error)
        sys.exit(error.status)
    except click.ClickException as error:
        if lacks_subcommand(error):
            click.echo(error.format_message(), err=True)
        else:
            report_error(explain_usage(error))
        sys.exit(Exit.BAD_INPUT)
    except (KeyboardInterrupt, click.Abort) as error:
        # A command that can go on says what it has kept.
        # click turns an interrupt into its own error.
        said = str(error.__cause__ or error)
        kept = f": {said}" if said else ""
        hint = f"to go on: {shlex.join(['mptcplab', *sys.argv[1:]])}" if kept else None
        report_error(LabError(f"interrupted{kept}", hint=hint))
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has closed the pipe and would not see a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.FAILED)
    sys.exit(status if isinstance(status, int) else Exit.DONE)


def report_error(error: LabError) -> None:
    """Print the message on one line and the hint on the next."""
    click.echo(f"mptcplab: {error.message}", err=True)
    if error.hint:
        click.echo(f"  hint: {error.hint}", err=True)
