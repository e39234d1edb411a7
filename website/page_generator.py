# SPDX-License-Identifier: MIT
"""Pages of the site that are generated: the commands from their help, the Python API, and the gallery of figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

import click

from mptcplab.cli.main import commands
from website.stage import DOCS

_FIGURE = re.compile(
    r"<!-- figure (?P<target>\S+) "
    r"(?:by (?P<command>mptcplab figure .+?)|from (?P<file>\S+)|by (?P<program>docs\.\S+)) -->"
)
_COMMAND = re.compile(r"^\$ (?P<command>mptcplab (?:figure|reproduce|run) (?:.*\\\n)*.*)$", re.MULTILINE)
_IMAGE = re.compile(r"!\[(?P<caption>[^\]]*)\]\((?P<path>[^)]+)\)")
_CAPTION_CHARS = 200
#: Modules that scripts and notebooks import, see docs/python.md.
_MODULES = {
    "mptcplab.api": "Load scenarios, execute them, open, compare and reproduce results.",
    "mptcplab.results": "Open results folders; data frames of everything that was recorded.",
    "mptcplab.figure": "Draw figures from results folders and tables.",
}


def write_commands() -> str:
    """Return the page of all commands, with the text of their `--help`."""
    lines = ["# Commands", "", "What `mptcplab COMMAND --help` prints.", ""]
    for name, command in _walk(commands, "mptcplab"):
        context = click.Context(command, info_name=name, max_content_width=100, help_option_names=["-h", "--help"])
        lines += [f"## `{name}`", "", "```text", command.get_help(context), "```", ""]
    return "\n".join(lines)


def _walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            if subcommand is not None:
                yield from _walk(subcommand, f"{name} {child}")


def write_api() -> str:
    """Return the page of the Python API; mkdocstrings fills in the docstrings."""
    start = "For scripts and notebooks. [mptcplab in Python](python.md) is an introduction with examples."
    lines = ["# Python API", "", start, ""]
    for module, purpose in _MODULES.items():
        lines += [f"## `{module}`", "", purpose, "", f"::: {module}", "    options:", "      heading_level: 3", ""]
    return "\n".join(lines)


def write_gallery() -> str:
    """Return the page of all figures of the documentation, each with the command that draws it."""
    lines = ["# Gallery", "", "Every figure of these pages, and below each the command that draws it.", ""]
    for page in sorted(DOCS.glob("*.md")):
        lines += _gallery_of(page.name, page.read_text())
    return "\n".join(lines)


def _gallery_of(page: str, text: str) -> Iterator[str]:
    marks = list(_FIGURE.finditer(text))
    if not marks:
        return
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    yield from (f"## [{heading[1] if heading else page}]({page})", "")
    for mark in marks:
        image = _IMAGE.search(text, mark.end())
        if image is None:
            continue
        caption = image["caption"][:_CAPTION_CHARS]
        yield from (f"![{caption}]({image['path']})", "", f"*{escape(caption, quote=False)}*", "")
        yield from ("```sh", _command_of(mark, text), "```", "")


def _command_of(mark: re.Match[str], text: str) -> str:
    """Return the command that draws a figure: the one in its mark, or the last one above it on the page."""
    if mark["command"]:
        return f"{mark['command']} --out FILE.svg"
    if mark["program"]:
        return f"python -m {mark['program']} --out FILE.svg"
    above = [match["command"] for match in _COMMAND.finditer(text, 0, mark.start())]
    return above[-1].replace("\\\n", "\\\n ") if above else f"# {mark['file']}"


def list_generated() -> dict[str, str]:
    """Return the texts of all generated pages, by their file on the site."""
    return {"commands.md": write_commands(), "api.md": write_api(), "gallery.md": write_gallery()}
