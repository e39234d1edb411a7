# SPDX-License-Identifier: MIT
"""The structs that a compiled eBPF program registers (``struct_ops``), by name, from its type information."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.ebpf.objects import find_tool

#: The section of structs that are registered until they are unregistered, and the section of structs that a link keeps.
SECTION, LINKED_SECTION = ".struct_ops", ".struct_ops.link"
#: Fields of ELF's header for 64 bit: offset of the table of sections; size of an entry, their number, offset of names.
_SECTIONS_AT, _SECTIONS = 0x28, 0x3A
#: Of a section's entry: its name, and after type, flags and address its place and size.
_ENTRY = struct.Struct("<IIQQQQ")
#: A symbol: its name, type, visibility, section, value (the place in the section) and size.
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class Registered:
    """A struct that a program registers: its type, and what the user calls it."""

    type: str
    name: str


def sections(content: bytes) -> dict[str, bytes]:
    """Return the contents of the sections of a compiled program by name."""
    (table,) = struct.unpack_from("<Q", content, _SECTIONS_AT)
    size, count, names_at = struct.unpack_from("<HHH", content, _SECTIONS)
    entries = [_ENTRY.unpack_from(content, table + number * size) for number in range(count)]
    parts = [(name, content[place : place + length]) for name, _, _, _, place, length in entries]
    names = parts[names_at][1]
    return {_text(names, name): part for name, part in parts}


def _places(parts: Mapping[str, bytes]) -> dict[str, int]:
    """Return the place of every variable in its section, by name."""
    names = parts[".strtab"]
    return {_text(names, name): value for name, _, _, _, value, _ in _SYMBOL.iter_unpack(parts[".symtab"])}


def _text(names: bytes, at: int) -> str:
    return names[at:].split(b"\0", 1)[0].decode(errors="replace")


def read_registered(file: Path, section: str = SECTION) -> list[Registered]:
    """Return what a compiled program registers with the structs of ``section``."""
    command = [str(find_tool("bpftool")), "--json", "btf", "dump", "file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    types: dict[int, Mapping[str, Any]] = {load["id"]: load for load in json.loads(done.stdout)["types"]}
    parts = sections(file.read_bytes())
    places = _places(parts)
    of_section = [entry for entry in types.values() if entry["kind"] == "DATASEC" and entry["name"] == section]
    structs = []
    for variable in (types[part["type_id"]] for entry in of_section for part in entry["vars"]):
        made = _struct(types, variable["type_id"])
        # The type information does not have the places yet: the loader fills them in.
        structs.append(Registered(made["name"], _name(made, parts[section][places[variable["name"]] :])))
    return structs


def _struct(types: Mapping[int, Mapping[str, Any]], number: int) -> Mapping[str, Any]:
    """Return the struct behind qualifiers and other names."""
    while types[number]["kind"] != "STRUCT":
        number = types[number]["type_id"]
    return types[number]


def _name(made: Mapping[str, Any], content: bytes) -> str:
    """Return the value of the member ``name``; empty if there is none."""
    at = next((member["bits_offset"] // 8 for member in made["members"] if member["name"] == "name"), None)
    return "" if at is None else _text(content, at)
