# SPDX-License-Identifier: MIT
"""Every command's ``--help`` is a manual page: its sections, its examples and its layout."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import mptcplab
from mptcplab.cli.main import _COMMANDS, EXAMPLES, SECTIONS, _modules, commands

CLI = (sys.executable, "-m", "mptcplab")
_ANSI = re.compile(r"\x1b\[([0-9;]*)m")


def _walk(command: click.Command, ctx: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield every command with its name, without ``mptcplab``."""
    yield ctx.command_path.removeprefix("mptcplab").strip(), command, ctx
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            subcommand = command.get_command(ctx, name)
            assert subcommand is not None
            yield from _walk(subcommand, click.Context(subcommand, info_name=name, parent=ctx))


ALL = list(_walk(commands, click.Context(commands, info_name="mptcplab", **commands.context_settings)))
NAMES = [name for name, _, _ in ALL]


def test_walk_finds_all() -> None:
    assert set(_COMMANDS) <= set(NAMES)
    assert "kernel build" in NAMES
    assert set(EXAMPLES) <= set(NAMES), "examples of a command that does not exist"


def test_a_module_with_the_name_of_a_command_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["__init__.py", "__pycache__", "experiments.py", "kernel.py", "where.py", "lambda_.py"]
    with monkeypatch.context() as patched:
        patched.setattr("mptcplab.cli.main.os.listdir", lambda _: files)
        modules = _modules.__wrapped__()
    assert list(modules) == [*_COMMANDS, "lambda", "where"]
    assert (modules["run"], modules["lambda"]) == ("experiments", "lambda_")


@pytest.mark.parametrize(("name", "command", "ctx"), ALL, ids=[name or "mptcplab" for name in NAMES])
def test_help_has_all_parts(name: str, command: click.Command, ctx: click.Context) -> None:
    text = command.get_help(ctx)
    assert text.startswith(f"Usage: mptcplab{f' {name}' if name else ''} ")
    assert command.help, "a description"
    first = command.help.split("\n\n")[0]
    assert first[0].isupper()
    assert first.rstrip().endswith((".", ":")), first
    assert "Options:" in text
    for title in ("Examples:", *SECTIONS):
        assert text.count(f"  {title}\n") == 1, f"{title} in {text}"
    examples = text.split("  Examples:\n")[1].split("\n\n")[0]
    assert f"mptcplab {name}".strip() in examples
    for line in EXAMPLES.get(name, "").splitlines():
        assert line.strip("\b ") in text, f"the epilog of `{name}` hides its entry of EXAMPLES: {line}"
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            _check_option(parameter, text)
        else:
            assert isinstance(parameter, click.Argument)
            word = re.findall("[A-Z]+", parameter.human_readable_name)[0]
            prose = text.split("\n", 1)[1]
            assert re.search(word, prose, re.IGNORECASE), f"{word} is not explained"
    too_wide = [line for line in text.splitlines() if len(line) > 120]
    assert too_wide == []


def _check_option(option: click.Option, text: str) -> None:
    assert option.help, f"{option.name} has no help"
    assert option.help[0].isupper()
    assert option.help.endswith("."), option.help
    default = option.default
    if option.is_flag or default is None or default == () or "UNSET" in repr(default).upper():
        return
    flat = " ".join(text.split())
    assert f"[default: {default}" in flat or "Default:" in option.help, f"{option.name}: its default is not documented"


@pytest.mark.parametrize(("name", "command", "ctx"), ALL, ids=[name or "mptcplab" for name in NAMES])
def test_examples_are_commands_that_exist(name: str, command: click.Command, ctx: click.Context) -> None:
    """Every command line in a help names commands and options that exist."""
    known = {path: command for path, command, _ in ALL}
    text = command.get_help(ctx)
    examples = text.split("  Examples:\n")[1].split("\n\n")[0]
    lines = [line.strip() for line in examples.splitlines() if line.strip().startswith("mptcplab")]
    assert lines, name
    for line in lines:
        words = re.split(r"[|>#]|   ", line)[0].split(" -- ")[0].split()[1:]
        path = max((other for other in known if other and words[: len(other.split())] == other.split()), key=len)
        options = {opt for parameter in known[path].params for opt in parameter.opts} | {"--help"}
        for word in words:
            if word.startswith("--") and len(word) > 2:
                assert word.split("=")[0] in options, f"{line}: {word}"


def test_version() -> None:
    done = subprocess.run([*CLI, "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"mptcplab, version {mptcplab.__version__}\n"


def _on_terminal(*command: str, **variables: str) -> str:
    """Return the output of a command on a terminal, including escape sequences."""
    master, slave = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    environment |= {"TERM": "xterm-256color", **variables}
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    text, deadline = b"", time.monotonic() + 60
    while select.select([master], [], [], max(deadline - time.monotonic(), 0))[0]:
        try:
            text += os.read(master, 65536)
        except OSError:  # the command has closed the terminal
            break
    os.close(master)
    assert process.wait(timeout=10) == 0, text
    return text.decode()


def _colours(text: str) -> set[str]:
    """Return the codes of colours among the escape sequences, without the codes of bold and dim text."""
    codes = {code for number in _ANSI.findall(text) for code in number.split(";")}
    return codes - {"", "0", "1", "2", "3", "4", "22", "23", "24"}


@pytest.fixture
def colour_command(tmp_path: Path) -> tuple[str, ...]:
    """Return a command that prints in colours."""
    program = tmp_path / "coloured.py"
    program.write_text("from mptcplab.cli.common import console\nconsole().print('text', style='bold red')\n")
    return (sys.executable, str(program))


@pytest.mark.slow
def test_colours_on_a_terminal_only(colour_command: tuple[str, ...]) -> None:
    assert _colours(_on_terminal(*colour_command)) != set()
    assert _colours(_on_terminal(*colour_command, NO_COLOR="1")) == set()
    assert "\x1b" not in _on_terminal(*colour_command, TERM="dumb")
    done = subprocess.run(colour_command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "text\n"


@pytest.mark.slow
def test_show_in_a_file_is_plain() -> None:
    """A command that prints tables uses colours only on a terminal."""
    example = Path(__file__).resolve().parents[3] / "examples" / "two-paths.toml"
    done = subprocess.run([*CLI, "show", str(example)], capture_output=True, text=True, check=True, timeout=60)
    assert "\x1b" not in done.stdout
    output = _on_terminal(*CLI, "show", str(example), NO_COLOR="1")
    assert _colours(output) == set()
    assert "Two equal paths" in output
