# SPDX-License-Identifier: MIT
"""``mptcplab init``: a first scenario from flags, or on a terminal from questions."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from mptcplab.cli import complete
from mptcplab.errors import InputError, reason
from mptcplab.scenario import template
from mptcplab.scenario.template import Answers, Kind

_EPILOG = """\b
Examples:
  mptcplab init                              on a terminal: asks
  mptcplab init my.toml --path '50 Mbit/s, 10 ms' --path '20 Mbit/s, 30 ms, 0.1 %'
  mptcplab init - --paths 3 --workload iperf3 --duration '20 s' --repeats 5 > three.toml

\b
Files:
  FILE    written whole or not at all; one that is there is kept unless --force is given
"""
_Answer = TypeVar("_Answer")


@click.command(epilog=_EPILOG)
@click.argument(
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    default="scenario.toml",
    shell_complete=complete.scenario_files,
)
@click.option("--title", help="What the scenario is about. Default: made of the answers.")
@click.option(
    "--path",
    "described",
    multiple=True,
    metavar="RATE,DELAY,LOSS",
    help=f"A path, like '{template.PATH_EXAMPLE}'; repeat it for each. Default: two of 100 Mbit/s, 10 ms.",
)
@click.option("--paths", "count", type=click.IntRange(1, 16), help="How many paths. Default: 2, or as many as --path.")
@click.option("--workload", type=click.Choice(template.KINDS), default="flow", help="Program that transfers data.")
@click.option("--duration", help="How long it sends. Default: 10 s.")
@click.option("--size", help="How much it sends instead. Default for transfer: 100 MB.")
@click.option("--compare", default="tcp,mptcp", help="Protocols to compare, or the only one.")
@click.option("--repeats", type=click.IntRange(1, 10_000), default=3, help="Runs per point, each with its own seed.")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.pass_context
def init(
    ctx: click.Context,
    file: Path,
    title: str | None,
    described: tuple[str, ...],
    count: int | None,
    workload: Kind,
    duration: str | None,
    size: str | None,
    compare: str,
    repeats: int,
    force: bool,
) -> None:
    """Write a commented scenario to FILE, or to standard output if it is -.

    The network is a client and a server with two paths between them, or more. Options say what is known; without any of
    them, and on a terminal, mptcplab asks.
    """
    is_output = str(file) == "-"
    if not is_output and not force and os.path.lexists(file):
        raise _there_is(file)
    said = {name for name in ctx.params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    if not said - {"file", "force"} and sys.stdin.isatty() and sys.stderr.isatty():
        answers = _ask_all()
    else:
        protocols = template.parse_protocols(compare)
        paths = template.spread_paths([template.parse_path(text) for text in described], count)
        time, amount = template.parse_goal(duration, size, workload)
        name = template.default_title(paths, protocols) if title is None else template.parse_title(title)
        answers = Answers(name, paths, workload, time, amount, protocols, repeats)
    text = template.compose(answers)
    if is_output:
        click.echo(text, nl=False)
        return
    _write(file, text, force=force)
    click.echo(f"{file} is written; look at it with `mptcplab show {file}`, run it with `mptcplab run {file}`")


def _ask_all() -> Answers:
    """The questions, on standard error. :raises click.Abort: at the end of input and at Ctrl-C."""
    # Importing polars lets system calls go on behind Ctrl-C, and a prompt would not hear of it.
    signal.siginterrupt(signal.SIGINT, True)
    click.echo("A few questions; the default is taken when you answer nothing.", err=True)
    count = int(_ask("How many paths between client and server?", "2", _whole(1, 16)))
    paths: list[template.PathAnswer] = []
    shown = "100 Mbit/s, 10 ms, 0 %"
    for number in range(1, count + 1):
        paths.append(_ask(f"Path {number}: rate, one-way delay, loss?", shown, template.parse_path))
        shown = f"{paths[-1].rate}, {paths[-1].delay}, {paths[-1].loss if paths[-1].loss else '0 %'}"
    kind = _ask(f"What transfers data ({', '.join(template.KINDS)})?", "flow", _kind)
    time, amount = None, None
    if kind == "transfer":
        amount = _ask("How much?", str(template.DEFAULT_SIZE), lambda text: template.parse_size(text, kind))
    else:
        time = _ask("For how long?", str(template.DEFAULT_DURATION), lambda text: template.parse_duration(text, kind))
    protocols = _ask("Which protocols to compare?", "tcp,mptcp", template.parse_protocols)
    repeats = _ask("How many runs of each, with seeds of their own?", "3", _whole(1, 10_000))
    title = _ask("What is it about?", template.default_title(paths, protocols), template.parse_title)
    return Answers(title, tuple(paths), kind, time, amount, protocols, repeats)


def _ask(question: str, default: str, parse: Callable[[str], _Answer]) -> _Answer:
    """Ask until ``parse`` takes the answer; what is wrong with one is said before the next question."""
    while True:
        try:
            text = click.prompt(question, default=default, err=True, prompt_suffix=" ")
        except click.Abort:
            click.echo(err=True)  # the message shall not stand behind the question
            raise
        try:
            return parse(str(text))
        except InputError as error:
            click.echo(f"  {error.message}{f' ({error.hint})' if error.hint else ''}", err=True)


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if text.strip().isdecimal() and len(text) < 9 else -1
        if not least <= number <= most:
            raise InputError(f'"{text}" is not a whole number from {least} to {most}', hint=f"for example {least + 1}")
        return number

    return parse


def _kind(text: str) -> Kind:
    for kind in template.KINDS:
        if text.strip().lower() == kind:
            return kind
    raise InputError(f'"{text}" is not a workload', hint=f"use {', '.join(template.KINDS)}")


def _write(file: Path, text: str, *, force: bool) -> None:
    """Whole or not at all, and never over a file that appeared meanwhile unless that is wished."""
    made = file.with_name(f".{file.name}.{os.getpid()}") if force else file
    try:
        try:
            with made.open("x", encoding="utf-8") as opened:
                opened.write(text)
        except FileExistsError as error:
            raise _there_is(made) from error
        except OSError:
            made.unlink(missing_ok=True)
            raise
        if force:
            os.replace(made, file)
    except OSError as error:
        if force:
            made.unlink(missing_ok=True)
        hint = "name another place for the file"
        raise InputError(f"{file}: {reason(error)}", hint=hint) from error


def _there_is(file: Path) -> InputError:
    return InputError(f"{file}: is there already", hint="name another file, or replace it with --force")
