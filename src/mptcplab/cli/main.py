# SPDX-License-Identifier: MIT
"""The command ``mptcplab``: its subcommands, the sections of their help, and its error reports."""

from __future__ import annotations

import difflib
import gc
import importlib
import os
import re
import shlex
import sys
import warnings
from functools import cache
from keyword import iskeyword
from typing import NoReturn, TextIO

import click

import mptcplab
from mptcplab.cache import report_cache_errors
from mptcplab.errors import Exit, InputError, LabError
from mptcplab.kernel.process import sigterm_as_interrupt
from mptcplab.lazy import load

# Rewords click's errors about a command line in the form of all our errors.

_COMMAND = re.compile(r"No such command '(.*)'")
_NUMBER = re.compile(r"is not a valid (integer|float)(?: range)?\b")
#: What users of other programs type for an option whose name is unlike it, or less like it than another's.
_MEANT = {"--seeds": "--repeats for the number of seeds, or --seed for the first of them"}
#: What they type for a command.
_MEANT_COMMANDS = {"plot": "figure", "graph": "figure", "chart": "figure", "check": "show", "validate": "show"}
#: Names that are less alike than this are not meant; click proposes them.
_ALIKE = 0.6
_VALUE = re.compile(r"Invalid value for '?(.*?)'?: (.*)", re.DOTALL)


def lacks_subcommand(error: click.ClickException) -> bool:
    """Return whether a command group was called without a subcommand; ``error`` then contains the group's help."""
    return error.format_message().startswith("Usage: ")


def explain_usage(error: click.ClickException) -> InputError:
    """Return ``error`` as one sentence and a hint."""
    message = error.format_message().rstrip(".")
    ctx = getattr(error, "ctx", None)
    hint = f"see `{ctx.command_path if ctx is not None else 'mptcplab'} --help`"
    if isinstance(error, click.NoSuchOption):
        return InputError(f"there is no option '{error.option_name}'", hint=_option_hint(error) or hint)
    if (command := _COMMAND.match(message)) is not None:
        known = ctx.command.list_commands(ctx) if ctx is not None and isinstance(ctx.command, click.Group) else []
        meant = [_MEANT_COMMANDS[command[1]]] if command[1] in _MEANT_COMMANDS else []
        texts = [text for text in meant if text in known] or difflib.get_close_matches(command[1], known, n=1)
        return InputError(f"there is no command '{command[1]}'", hint=f"did you mean {texts[0]}?" if texts else hint)
    if (value := _VALUE.match(message)) is not None:
        message = f"{value[1]}: {_NUMBER.sub(_number_words, value[2])}"
    elif not re.match("[A-Z]{2}", message):  # FILE keeps its capitals
        message = f"{message[:1].lower()}{message[1:]}"
    return InputError(message.replace("\n", " "), hint=hint)


def _option_hint(error: click.NoSuchOption) -> str | None:
    """Return which option was probably meant, or that it belongs behind its command; None if nothing is near."""
    if error.ctx is not None and isinstance(error.ctx.command, click.Group):
        group = error.ctx.command
        behind = next((word for word in sys.argv[1:] if word in group.list_commands(error.ctx)), None)
        command = group.get_command(error.ctx, behind) if behind is not None else None
        if command is not None and any(error.option_name in parameter.opts for parameter in command.params):
            return f"write it behind the command: {error.ctx.command_path} {behind} ... {error.option_name}"
    known = _options_of(error)
    if (meant := _MEANT.get(error.option_name)) is not None and meant.split()[0] in known:
        return f"use {meant}"
    near = list(error.possibilities or []) or _options_with_letter(error)
    begun = [option for option in near if option.startswith((error.option_name, f"-{error.option_name}"))]
    name = error.option_name.lstrip("-")
    alike = difflib.get_close_matches(name, [option.lstrip("-") for option in near], cutoff=_ALIKE)
    texts = begun or [option for option in near if option.lstrip("-") in alike]
    return f"did you mean {' or '.join(texts)}?" if texts else None


def _options_of(error: click.NoSuchOption) -> list[str]:
    """Return the options that the command has."""
    return (
        [option for parameter in error.ctx.command.params for option in parameter.opts] if error.ctx is not None else []
    )


def _options_with_letter(error: click.NoSuchOption) -> list[str]:
    """Return the options that begin with the letter of a short one: other programs have it."""
    is_short = len(error.option_name) == 2 and error.option_name[0] == "-"
    return [option for option in _options_of(error) if is_short and option.startswith(f"-{error.option_name}")]


def _number_words(match: re.Match[str]) -> str:
    return "is not a whole number" if match[1] == "integer" else "is not a number"


# The sections that every ``--help`` has: examples, exit status, files, environment.
#
# A command defines its own examples and each section that differs from the standard one; :func:`add_sections` adds the
# others.

_EXIT = """\b
Exit status:
  0    success
  1    a run failed, or a requested check did not pass
  2    the input is invalid
  3    this machine lacks something that the command needs
  130  interrupted
"""
_FILES = """\b
Files:
  results/NAME/          results of `mptcplab run`: tables, figures, results.json and recordings
  ~/.cache/mptcplab/     lab kernels, their sources and build logs, compiled tools
"""
_ENVIRONMENT = """\b
Environment:
  XDG_CACHE_HOME         the cache is mptcplab/ in this folder. Default: ~/.cache
  TMPDIR                 holds the lab's memory if /dev/shm is too small, or mounted noexec
  NO_COLOR               if set, no colours; output that is not a terminal never has colours
"""
#: A shell that asks for completions sets this variable to the name of its completion protocol.
COMPLETION_VARIABLE = "_MPTCPLAB_COMPLETE"
SECTIONS = {"Exit status:": _EXIT, "Files:": _FILES, "Environment:": _ENVIRONMENT}
#: Examples of the commands whose modules define none.
EXAMPLES = {
    "": """\b
Examples:
  mptcplab doctor                           check what this machine lacks
  mptcplab kernel build                     build the lab kernel, once
  mptcplab init my.toml                     write a scenario, from a few questions
  mptcplab run examples/two-paths.toml      run an experiment
  mptcplab reproduce subramani2018/4.1      reproduce a published table
""",
    "show": """\b
Examples:
  mptcplab show examples/two-paths.toml
  mptcplab show my.toml --set links.link2.delay='50 ms' --json | jq .runs
""",
    "plan": """\b
Examples:
  mptcplab plan examples/two-paths.toml
  mptcplab plan my.toml --point 2 --seed 7 > point2.sh
  mptcplab plan my.toml --node client --device link1=eth0,link2=wlan0 > client.sh
  mptcplab plan my.toml --node router --format uci --out router
""",
    "kernel": """\b
Examples:
  mptcplab kernel build        build the kernel that runs use, once
  mptcplab kernel list         list the kernels that are built
""",
    "kernel build": """\b
Examples:
  mptcplab kernel build                               the default version, from Debian's source
  mptcplab kernel build 6.12                          a long-term version; 6.1 is another
  mptcplab kernel build --source ~/linux --jobs 8     your own tree or tarball
""",
    "kernel list": """\b
Examples:
  mptcplab kernel list
  mptcplab kernel list --json | jq -r '.[].executable'
""",
    "gateways": """\b
Examples:
  mptcplab gateways build      build all programs, once
  mptcplab gateways list       list the built programs
""",
    "gateways build": """\b
Examples:
  mptcplab gateways build
  mptcplab gateways build go-shadowsocks2
""",
    "gateways list": """\b
Examples:
  mptcplab gateways list
  mptcplab gateways list --json | jq -r '.[] | select(.folder == null).name'
""",
    "cc": """\b
Examples:
  mptcplab cc load lia       let programs of this machine use LIA
  mptcplab cc list           list what can be loaded, and what is
  mptcplab cc unload lia     take it out of the kernel
""",
    "cc load": """\b
Examples:
  mptcplab cc load lia
  mptcplab cc load wvegas
""",
    "cc unload": """\b
Examples:
  mptcplab cc unload lia
""",
    "cc list": """\b
Examples:
  mptcplab cc list
  mptcplab cc list --json | jq -r '.[] | select(.state == "loaded").name'
""",
    "cc status": """\b
Examples:
  mptcplab cc status lia
""",
    "steer agent": """\b
Examples:
  mptcplab steer agent --config ap1.toml     beside hostapd, as root
""",
    "steer status": """\b
Examples:
  mptcplab steer status
  mptcplab steer status /run/mptcplab-steer.sock --json | jq .last.terminals
""",
    "steer program": """\b
Examples:
  mptcplab steer program       print the path; copy that file to the access points
""",
    "kernel path": """\b
Examples:
  mptcplab kernel path
  mptcplab kernel path 6.12
""",
}


def add_sections(command: click.Command, name: str) -> None:
    """Add the sections that the help of ``mptcplab NAME`` and of its subcommands lacks."""
    epilog = command.epilog or ""
    sections = [EXAMPLES[name]] if "Examples:" not in epilog and name in EXAMPLES else []
    sections += [epilog] if epilog else []
    sections += [section for title, section in SECTIONS.items() if title not in epilog]
    command.epilog = "\n".join(sections)
    for sub_name, subcommand in command.commands.items() if isinstance(command, click.Group) else ():
        add_sections(subcommand, f"{name} {sub_name}".strip())


# The command ``mptcplab``: its subcommands and its error reports.

_MAX_SUMMARY_CHARS = 200
#: New objects before the collector of cycles looks at them. By default it does so after 700, a hundred times while
#: modules are imported, whose objects all stay: a tenth of the time of a short command.
_GC_THRESHOLD = 200_000
#: The commands in the order of the help, each with the module of :mod:`mptcplab.cli.commands` that declares it. Any
#: other module there declares the command of its own name, which comes last.
_COMMANDS = {
    "run": "experiments",
    "show": "experiments",
    "plan": "experiments",
    "reproduce": "experiments",
    "report": "results",
    "figure": "results",
    "exec": "experiments",
    "compare": "results",
    "capture": "observations",
    "explain": "observations",
    "collect": "observations",
    "fit": "observations",
    "selftest": "machine",
    "calibrate": "machine",
    "kernel": "kernel",
    "gateways": "gateways",
    "cc": "cc",
    "steer": "steer",
    "init": "scenarios",
    "import": "scenarios",
    "examples": "scenarios",
    "pack": "scenarios",
    "serve": "results",
    "doctor": "machine",
    "schema": "scenarios",
    "completion": "machine",
}


@cache
def _modules() -> dict[str, str]:
    """Return all commands in the order of the help, each with the module that declares it."""
    files = os.listdir(os.path.join(os.path.dirname(__file__), "commands"))
    modules = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    others = sorted(name for name in modules - {*_COMMANDS.values()} if not name.startswith("_"))
    # A module whose name would be a keyword ends with an underscore, as the command's function does.
    return _COMMANDS | {name.rstrip("_"): name for name in others}


class _Commands(click.Group):
    """Imports the declaration of a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click defines the signature
        return list(_modules())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List every command with its whole first sentence, which click would truncate."""
        pairs = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, cmd.get_short_help_str(limit=_MAX_SUMMARY_CHARS)) for name, cmd in pairs if cmd is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _modules():
            return None
        # Python has no function with the name of a keyword.
        function = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = load(f"mptcplab.cli.commands.{_modules()[cmd_name]}:{function}")
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
        importlib.import_module("mptcplab.cli.shell_completion")
    try:
        with sigterm_as_interrupt(), report_cache_errors():
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
