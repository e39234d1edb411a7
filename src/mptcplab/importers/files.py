# SPDX-License-Identifier: MIT
"""The files that a user names, as one scenario: each is recognised by its content.

Files with *client* or *server* in their names belong to that machine, all others to one host.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, reason
from mptcplab.files import list_paths
from mptcplab.importers.commands import read_script
from mptcplab.importers.compose import Composer
from mptcplab.importers.mininet import read_mininet
from mptcplab.importers.minitopo import read_minitopo
from mptcplab.importers.uci import is_uci, read_uci
from mptcplab.importers.world import Origin, UnreadLine, World, printable, set_sysctl
from mptcplab.scenario.load import load
from mptcplab.scenario.writing import uncomment, write_scenario

_MAX_BYTES = 2**20
_ROLE = re.compile(r"(?:^|[^a-z])(client|server)(?:[^a-z]|$)")
_MINITOPO = re.compile(r"^\s*(?:path_(?:[a-z]\w*_)?\d+|topoType|leftSubnet|xpType)\s*:", re.MULTILINE)
_PYTHON = re.compile(r"^\s*(?:from\s+mininet|import\s+mininet|from\s+mn_wifi|from\s+containernet)", re.MULTILINE)
_SYSCTL = re.compile(r"\s*(?P<key>net[./][\w./*-]{1,100})\s*=\s*(?P<value>\S.*?)\s*$")
_MAX_REPAIRS = 30
_EVENT = re.compile(r"\bevents\.(?P<number>\d+)\b")
_ADDRESSES = re.compile(r"\blinks\.[\w-]+\.addresses\b")


@dataclass(frozen=True)
class ImportedScenario:
    """A scenario, and what did not become a part of it."""

    text: str
    unread: tuple[UnreadLine, ...]
    assumptions: tuple[str, ...]
    formats: tuple[str, ...]


def import_files(files: str | Path | Sequence[str | Path], title: str | None = None) -> ImportedScenario:
    """Return a scenario, which loads, of scripts of ``tc`` and ``ip``, or of files of Mininet, minitopo or UCI.

    Nothing in a file is run. ``title`` is the scenario's, by default with the names of the files.

    :raises InputError: if a file cannot be read or is not understood, or if there is no network in them.
    """
    texts = {path.name: _read(path) for path in list_paths(files)}
    return import_texts(texts, title)


def import_texts(texts: dict[str, str], title: str | None = None) -> ImportedScenario:
    """Return the scenario of some texts by their names. :raises InputError: as :func:`import_files` does."""
    world = World()
    names = ", ".join(printable(name) for name in texts)
    world.title = title or f"Imported from {names}"[:100]
    formats = read_texts(world, {printable(name): text for name, text in texts.items()})
    tables = _repair(world, Composer(world).tables(), formats)
    return ImportedScenario(_write(world, tables, formats), tuple(world.unread), tuple(world.assumptions), formats)


def read_texts(world: World, texts: dict[str, str]) -> tuple[str, ...]:
    """Take some texts; return the name of each with its format. :raises InputError: if one is not understood."""
    uci = {name: text for name, text in texts.items() if is_uci(text)}
    kinds = {name: _read_text(world, name, text) for name, text in texts.items() if name not in uci}
    if uci:
        read_uci(world, uci)
    return tuple(f"{name} ({kinds.get(name, 'UCI')})" for name in texts)


def _read(path: Path) -> str:
    name = printable(str(path))
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{name} has more than {_MAX_BYTES >> 20} MiB", hint="import the part with the commands")
        return path.read_bytes().decode(errors="replace")
    except OSError as error:
        hint = "name a script, a Mininet file, files of minitopo or UCI"
        raise InputError(f"'{name}' cannot be read: {reason(error)}", hint=hint) from error


def _read_text(world: World, name: str, text: str) -> str:
    """Take one text; return the name of its format."""
    if "\0" in text:
        raise InputError(
            f"'{name}' is not a text", hint="a capture is read by `mptcplab explain` and `mptcplab capture`"
        )
    if _PYTHON.search(text):
        read_mininet(world, name, text)
        return "Mininet"
    if _MINITOPO.search(text):
        read_minitopo(world, name, text)
        return "minitopo"
    role = _ROLE.search(name.lower())
    machine = role[1] if role else "client"
    world.now_s = None
    if not read_script(world, name, _take_settings(world, name, text, machine), machine):
        hint = "docs/import.md lists what is understood"
        if not any(node.sysctl or node.transport for node in world.nodes.values()):
            raise InputError(f"nothing in {name} is recognised", hint=hint)
    return "commands"


def _take_settings(world: World, name: str, text: str, machine: str) -> str:
    """Take the lines of ``sysctl.conf``; return the text with empty lines in their place."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        match = _SYSCTL.fullmatch(line)
        if match is not None:
            set_sysctl(world, world.node(machine), match["key"], match["value"], Origin(name, index + 1))
            lines[index] = ""
    return "\n".join(lines)


def _repair(world: World, tables: dict[str, Any], formats: Sequence[str]) -> dict[str, Any]:
    """Return tables that load, without the events and addresses that a scenario cannot have.

    :raises InputError: if they do not load even so.
    """
    for _ in range(_MAX_REPAIRS):
        try:
            _load(_write(world, tables, formats))
        except InputError as error:
            event = _EVENT.search(str(error.message))
            if event is not None and int(event["number"]) < len(tables.get("events", [])):
                entry = tables["events"].pop(int(event["number"]))
                origin = Origin(*_place_of(entry.comment))
                world.skip(origin, f"event {uncomment(entry)['type']}", _shorten(error))
                if not tables["events"]:
                    del tables["events"]
            elif _ADDRESSES.search(str(error.message)) and _without_addresses(tables):
                world.assume(f"addresses are the lab's: {_shorten(error)}")
            else:
                hint = "send us the file: what is written should always be a valid scenario"
                raise InputError(
                    f"what was read makes no valid scenario: {_shorten(error)}", hint=error.hint or hint
                ) from error
        else:
            return tables
    raise InputError("what was read makes no valid scenario", hint="import a part of the file")


def _place_of(comment: str) -> tuple[str, int]:
    file, _, line = comment.rpartition(":")
    return (file, int(line)) if line.isdigit() else (comment, 0)


def _shorten(error: InputError) -> str:
    """Return the message of a loader without its file."""
    return printable(re.sub(r"^\S*scenario\.toml(?::\d+)?: ", "", str(error.message)))


def _without_addresses(tables: dict[str, Any]) -> bool:
    """Remove the addresses of links; return whether there were any."""
    plain = [getattr(link, "value", link) for link in tables["links"].values()]
    removed = [link.pop("addresses", None) for link in plain]
    if any(removed):
        tables.pop("family", None)
    return any(removed)


def _load(text: str) -> None:
    with tempfile.TemporaryDirectory(prefix="mptcplab-import-") as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text, encoding="utf-8")
        load(file)


def _write(world: World, tables: dict[str, Any], formats: Sequence[str]) -> str:
    return write_scenario(tables, heading="\n".join(_heading(world, formats)))


def _heading(world: World, formats: Sequence[str]) -> list[str]:
    """Return the comment at the begin: sources, assumptions, and what is not imported."""
    lines = [f"Made by `mptcplab import` from {', '.join(formats)}. The comments name file and line of each value."]
    if world.assumptions:
        lines += ["", "Assumed:", *(f"- {text}" for text in world.assumptions)]
    if world.replaced:
        lines += ["", "The lab does this by itself:"]
        lines += [f"- {what}: {_lines_of(origins)}" for what, origins in world.replaced.items()]
    if world.unread:
        lines += ["", "Not imported:"]
        lines += [f"- {entry.origin}: {entry.text}: {entry.reason}" for entry in world.unread]
    return lines


def _lines_of(origins: set[Origin]) -> str:
    """Return places in short, as in ``setup.sh:3, 5-9``."""
    parts = []
    for file, of_file in groupby(sorted(origins), key=lambda origin: origin.file):
        numbers = sorted({origin.line for origin in of_file})
        runs: list[list[int]] = []
        for number in numbers:
            if runs and number == runs[-1][-1] + 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        shown = ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
        parts.append(f"{file}:{shown}")
    return "; ".join(parts)
