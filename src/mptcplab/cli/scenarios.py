# SPDX-License-Identifier: MIT
"""``mptcplab init``, ``mptcplab import`` and ``mptcplab schema``."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from mptcplab import api
from mptcplab.errors import InputError
from mptcplab.fields import Protocol
from mptcplab.files import check_new_file, write_new_file
from mptcplab.scenario import template
from mptcplab.scenario.answer_examples import EVENT_EXAMPLE
from mptcplab.scenario.jsonschema import scenario_schema
from mptcplab.scenario.load import load
from mptcplab.scenario.record import MAX_REPEATS
from mptcplab.scenario.template import Answers, EventAnswer, compares_each, compose

# ``mptcplab init``: writes a first scenario from options, or from answers on a terminal.

_Answer = TypeVar("_Answer")


def init(
    ctx: click.Context,
    file: Path,
    title: str | None,
    described: tuple[str, ...],
    count: int | None,
    workload: str,
    direction: str | None,
    happening: tuple[str, ...],
    duration: str | None,
    size: str | None,
    compare: str,
    repeats: int,
    force: bool,
) -> None:
    """Ask for what the options do not say, and write the scenario."""
    to_stdout = str(file) == "-"
    if not to_stdout and not force:
        check_new_file(file)
    given = {name for name in ctx.params if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    if not given - {"file", "force"} and sys.stdin.isatty() and sys.stderr.isatty():
        answers = _ask_all()
    else:
        protocols = template.parse_protocols(compare)
        paths = template.spread_paths([template.parse_path(text) for text in described], count)
        time, amount = template.parse_goal(duration, size, workload)
        name = template.default_title(paths, protocols) if title is None else template.parse_title(title)
        transfer = None if direction is None else template.parse_direction(direction, workload)
        events = tuple(template.parse_event(text, len(paths)) for text in happening)
        if time is not None:
            template.check_events(events, protocols, len(paths))
        answers = Answers(name, paths, workload, time, amount, protocols, repeats, transfer, events)
    text = compose(answers)
    _check(text)
    if to_stdout:
        click.echo(text, nl=False)
        return
    write_new_file(file, text, force=force)
    count = len(answers.paths)
    alike = f" with {count} paths like the one of --path" if len(described) == 1 < count else ""
    click.echo(f"Wrote {file}{alike}. Check it with `mptcplab show {file}`, then run it with `mptcplab run {file}`.")
    if compares_each(answers) and answers.repeats > 1:
        printed = "MPTCP - TCP on the best path, and the `mptcplab compare` command for each path"
        click.echo(f"It has TCP on each path, and MPTCP on all. `run` prints {printed}.")


def _check(text: str) -> None:
    """Load the scenario: events may be too late although each answer is right. :raises InputError: as load does."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text, encoding="utf-8")
        try:
            load(file)
        except InputError as error:
            raise InputError(str(error.message).partition(": ")[2], hint=error.hint) from error


def _ask_all() -> Answers:
    """Ask all questions on standard error. :raises click.Abort: at the end of input and at Ctrl-C."""
    click.echo("A few questions. Press Enter to accept a default.", err=True)
    count = int(_ask("How many paths between client and server?", "2", _make_parser(1, template.MAX_PATHS)))
    paths: list[template.PathAnswer] = []
    shown = template.path_text(template.DEFAULT_PATH)
    for number in range(1, count + 1):
        paths.append(_ask(f"Path {number}: rate, one-way delay, loss?", shown, template.parse_path))
        shown = template.path_text(paths[-1])
    kind = _ask(f"Which kind of workload ({', '.join(template.KINDS)})?", "flow", _kind)
    transfer = None
    if template.KINDS[kind].has_key("reverse"):
        transfer = _ask("Download or upload?", "upload", lambda text: template.parse_direction(_direction(text), kind))
    time, amount = None, None
    if not template.KINDS[kind].has_key("duration"):
        amount = _ask("How much data?", str(template.DEFAULT_SIZE), lambda text: template.parse_size(text, kind))
    else:
        time = _ask("For how long?", str(template.DEFAULT_DURATION), lambda text: template.parse_duration(text, kind))
    words = f"What fails, such as '{EVENT_EXAMPLE}; link1 up 9 s'?"
    sends = time is not None
    events = _ask(words, "nothing", lambda text: _events(text, count, sends_until_end=sends))
    checked = events if sends else ()
    protocols = _ask("Which protocols to compare?", "tcp,mptcp", lambda text: _protocols(text, checked, count))
    repeats = _ask("How many runs of each, with different seeds?", "3", _make_parser(1, MAX_REPEATS))
    title = _ask("Which title?", template.default_title(paths, protocols), template.parse_title)
    return Answers(title, tuple(paths), kind, time, amount, protocols, repeats, transfer, events)


def _ask(question: str, default: str, parse: Callable[[str], _Answer]) -> _Answer:
    """Ask until ``parse`` accepts the answer. The reason why it rejects one is shown before the next attempt."""
    while True:
        try:
            text = click.prompt(question, default=default, err=True, prompt_suffix=" ")
        except click.Abort:
            click.echo(err=True)  # the message belongs on the line below the question
            raise
        try:
            return parse(str(text))
        except InputError as error:
            click.echo(f"  {error.message}{f' ({error.hint})' if error.hint else ''}", err=True)


def _make_parser(min_value: int, max_value: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if text.strip().isdecimal() and len(text) < 9 else -1
        if not min_value <= number <= max_value:
            message = f'"{text}" is not a whole number from {min_value} to {max_value}'
            raise InputError(message, hint=f"for example {min_value + 1}")
        return number

    return parse


def _direction(text: str) -> str:
    for direction in template.TRANSFER_DIRECTIONS:
        if text.strip().lower() == direction:
            return direction
    raise InputError(f'"{text}" is not a direction', hint=f"use {' or '.join(template.TRANSFER_DIRECTIONS)}")


def _events(text: str, count: int, *, sends_until_end: bool) -> tuple[EventAnswer, ...]:
    """Parse events that are separated by semicolons."""
    if text.strip().lower() in ("", "nothing"):
        return ()
    events = tuple(template.parse_event(part, count) for part in text.split(";"))
    if sends_until_end:
        template.check_events(events, ("mptcp",), count)  # which protocols is asked later
    return events


def _protocols(text: str, events: tuple[EventAnswer, ...], count: int) -> tuple[Protocol, ...]:
    protocols = template.parse_protocols(text)
    template.check_events(events, protocols, count)
    return protocols


def _kind(text: str) -> str:
    for kind in template.KINDS:
        if text.strip().lower() == kind:
            return kind
    raise InputError(f'"{text}" is not a workload', hint=f"use {', '.join(template.KINDS)}")


# ``mptcplab import``.

_MAX_LISTED = 20


def import_(files: tuple[Path, ...], out: Path, title: str | None, force: bool) -> None:
    """Write the scenario, and list what is not in it."""
    to_stdout = str(out) == "-"
    if not to_stdout and not force:
        check_new_file(out)
    imported = api.import_files(files, title)
    if to_stdout:
        click.echo(imported.text, nl=False)
    else:
        write_new_file(out, imported.text, force=force)
        click.echo(f"Wrote {out}. Check it with `mptcplab show {out}`, then run it with `mptcplab run {out}`.")
    for line in _summary(imported):
        click.echo(line, err=True)


def _summary(imported: api.ImportedScenario) -> list[str]:
    """Return what the user should look at."""
    lines = [f"Assumed: {text}" for text in imported.assumptions[:_MAX_LISTED]]
    lines += [f"Not imported: {line.origin}: {line.text}: {line.reason}" for line in imported.unread[:_MAX_LISTED]]
    left = max(0, len(imported.assumptions) - _MAX_LISTED) + max(0, len(imported.unread) - _MAX_LISTED)
    if left:
        lines.append(f"{left} more are listed at the beginning of the scenario.")
    return lines


# ``mptcplab schema``.


def schema() -> None:
    """Print the JSON Schema."""
    click.echo(json.dumps(scenario_schema(), indent=1, ensure_ascii=False))
