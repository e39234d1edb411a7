# SPDX-License-Identifier: MIT
"""Users' own congestion controls and schedulers in eBPF: compiled against the types of a kernel image."""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.ebpf.objects import CONGESTION_CONTROLS, LIBBPF, find_tool
from mptcplab.errors import InputError, MissingError
from mptcplab.kernel.stock import StockKernel, uncompress
from mptcplab.plan.model import ProgramSource

# The types of a kernel image, from its type information (BTF): as a header for programs, and which it can register.

#: The name by which programs include all types of a kernel.
HEADER = "vmlinux.h"
_ELF = b"\x7fELF"
#: A kernel that can register a struct has a type for it.
_REGISTERED = re.compile(r"^struct bpf_struct_ops_(\w+) \{$", re.MULTILINE)


@dataclass(frozen=True)
class KernelTypes:
    """The types of one kernel, in a header."""

    header: Path

    @cached_property
    def registered_structs(self) -> frozenset[str]:
        """The names of structs that eBPF programs can register, among a few others."""
        return frozenset(_REGISTERED.findall(self.header.read_text()))


@cache
def types_of(kernel: StockKernel) -> KernelTypes:
    """Return the types of ``kernel``, from its image. :raises MissingError: if that has none, or without bpftool."""
    tool = find_tool("bpftool")
    version = subprocess.run([tool, "version"], capture_output=True, check=False).stdout
    digest = hashlib.sha256(version + kernel.sha256.encode()).hexdigest()
    header = cache_root() / "tools" / f"btf-{digest[:KEY_CHARS]}" / HEADER
    with hold_lock("btf", cache_root()):
        if not header.is_file():
            with make_work_folder("btf", cache_root()) as work:
                (work / HEADER).write_bytes(_dump_types(tool, kernel, work))
                header.parent.mkdir(parents=True, exist_ok=True)
                os.rename(work / HEADER, header)
    return KernelTypes(header)


def _dump_types(tool: Path, kernel: StockKernel, work: Path) -> bytes:
    image = kernel.image
    with image.open("rb") as file:
        is_plain = file.read(len(_ELF)) == _ELF
    if not is_plain:
        content = uncompress(image)
        if content is None:
            hint = "compress the kernel with gzip, xz or zstd (CONFIG_KERNEL_ZSTD=y)"
            raise MissingError(f"the image of the kernel {kernel.release} cannot be uncompressed", hint=hint)
        image = work / "vmlinux"
        image.write_bytes(content)
    command = [str(tool), "btf", "dump", "file", str(image), "format", "c"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        hint = "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels have it"
        raise MissingError(f"the stock kernel {kernel.release} has no type information (BTF)", hint=hint)
    return done.stdout


# The structs that a compiled eBPF program registers (``struct_ops``), by name, from its type information.

#: The section of structs that are registered until they are unregistered, and the section of structs that a link keeps.
SECTION, LINKED_SECTION = ".struct_ops", ".struct_ops.link"
#: Fields of ELF's header for 64 bit: offset of the table of sections; size of an entry, their number, offset of names.
_SECTIONS_AT, _SECTIONS = 0x28, 0x3A
#: Of a section's entry: its name, and after type, flags and address its place and size.
_ENTRY = struct.Struct("<IIQQQQ")
#: A symbol: its name, type, visibility, section, value (the place in the section) and size.
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class RegisteredStruct:
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


def read_registered(file: Path, section: str = SECTION) -> list[RegisteredStruct]:
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
        structs.append(RegisteredStruct(made["name"], _name(made, parts[section][places[variable["name"]] :])))
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


# Users' own congestion controls and schedulers in eBPF: compiled against the types of the kernel that they are for.
#
# A program registers structs of a kernel's type (``struct_ops``), and may include ``vmlinux.h``, which has all types
# of that kernel, and the headers of libbpf. It is compiled for each kernel anew, so it can use fields that others
# lack.

#: Structs that a program can register here.
CONGESTION_CONTROL, SCHEDULER = "tcp_congestion_ops", "mptcp_sched_ops"
_PROGRAM = ".bpf.c"
#: No path of this machine is in a program. Types of a kernel may use extensions of C that it is compiled with.
_FLAGS = (
    *("-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-D__TARGET_ARCH_x86", "-fdebug-compilation-dir=.", "-I."),
    *("-fms-extensions", "-Wno-missing-declarations", "-Wno-microsoft-anon-tag"),
)
_ERROR = re.compile(r"^(?P<file>\S+?):(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_LIBBPF = re.compile(r"'bpf/\w+\.h' file not found")
_SHOWN_LINES = 12


@dataclass(frozen=True)
class UserProgram:
    """A compiled program: the name of its source, what it registers, and the object."""

    file: str
    registers: tuple[RegisteredStruct, ...]
    content: bytes

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of what it registers of one type."""
        return tuple(entry.name for entry in self.registers if entry.type == kind)


def names_of(programs: Iterable[UserProgram], kind: str) -> tuple[str, ...]:
    """Return the names of all that ``programs`` register of one type."""
    return tuple(name for program in programs for name in program.names(kind))


@cache
def compile_user_programs(sources: tuple[ProgramSource, ...], kernel: StockKernel) -> tuple[UserProgram, ...]:
    """Return the programs among ``sources``, compiled for ``kernel``.

    :raises InputError: if one does not compile, or registers something that cannot be registered.
    :raises MissingError: if this machine or the kernel lacks something for that.
    """
    if not sources:
        return ()
    types = types_of(kernel)
    _check_schedulers(sources, types, kernel)
    with make_work_folder("bpf", cache_root()) as work:
        (work / HEADER).symlink_to(types.header)
        for source in sources:
            (work / source.name).write_text(source.text)
        programs = tuple(_compile(source.name, work) for source in sources if source.name.endswith(_PROGRAM))
    for program in programs:
        _check(program, types, kernel)
    _check_names(programs)
    return programs


def _check_schedulers(sources: Iterable[ProgramSource], types: KernelTypes, kernel: StockKernel) -> None:
    """Refuse a scheduler before it is compiled, which would fail for a kernel without that type."""
    for source in sources:
        if re.search(rf"\bstruct\s+{SCHEDULER}\b", source.text) and SCHEDULER not in types.registered_structs:
            message = f"'{source.name}' is an MPTCP scheduler, and the stock kernel {kernel.release} has none in eBPF"
            hint = "mainline Linux has none either; --engine stock:PATH runs an image of the MPTCP developers' tree"
            raise InputError(message, hint=hint)


def _compile(name: str, work: Path) -> UserProgram:
    made = work / f"{name}.o"
    command = [str(find_tool("clang")), *_FLAGS, "-c", name, "-o", made.name]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise _refusal(name, done.stderr)
    linked = read_registered(made, LINKED_SECTION)
    if linked:
        hint = 'write SEC(".struct_ops"): the kernel then keeps it by itself'
        raise InputError(f"'{name}' registers '{linked[0].name}' by a link ({LINKED_SECTION})", hint=hint)
    return UserProgram(name, tuple(read_registered(made)), made.read_bytes())


def _refusal(name: str, log: str) -> InputError | MissingError:
    """Return the error of a program that clang refuses with this output."""
    if missing := _LIBBPF.search(log):
        return MissingError(f"'{name}' does not compile: {missing[0]}", subject="headers of libbpf", packages=(LIBBPF,))
    first = _ERROR.search(log)
    where = f"{first['file']}, line {first['line']}: {first['text']}" if first else "clang fails"
    shown = "\n".join(f"  {line}" for line in log.splitlines()[:_SHOWN_LINES])
    return InputError(f"the eBPF program '{name}' does not compile: {where}", hint=f"clang reports:\n{shown}")


def _check(program: UserProgram, types: KernelTypes, kernel: StockKernel) -> None:
    """Check what a program registers. :raises InputError: if this kernel cannot have it."""
    if not program.registers:
        hint = f'mark one with SEC(".struct_ops") struct {CONGESTION_CONTROL} NAME = {{ … }}'
        raise InputError(f"'{program.file}' registers no congestion control", hint=hint)
    for entry in program.registers:
        if entry.type not in (CONGESTION_CONTROL, SCHEDULER):
            message = f"'{program.file}' registers a struct {entry.type}, which no scenario can use"
            raise InputError(message, hint=f"write a struct {CONGESTION_CONTROL}")
        if entry.type not in types.registered_structs:
            message = f"the stock kernel {kernel.release} cannot have a struct {entry.type} as an eBPF program"
            raise InputError(message, hint="use a kernel with CONFIG_BPF_JIT=y, as distributions' kernels have it")
        if not re.fullmatch(r"[A-Za-z0-9_]{1,15}", entry.name):
            message = f"'{program.file}' registers a struct {entry.type} with the name '{entry.name}'"
            raise InputError(message, hint='give it a name of up to 15 letters, digits and "_": .name = "mine"')


def _check_names(programs: Iterable[UserProgram]) -> None:
    """:raises InputError: if two programs register the same name, or a name of mptcplab's."""
    owners: dict[RegisteredStruct, str] = {}
    for program in programs:
        for entry in program.registers:
            if entry.type == CONGESTION_CONTROL and entry.name in CONGESTION_CONTROLS:
                message = f"'{program.file}' registers '{entry.name}', which is one of mptcplab's own programs"
                raise InputError(message, hint=f'give it another name, like .name = "my_{entry.name}"')
            if entry in owners:
                message = f"'{owners[entry]}' and '{program.file}' both register '{entry.name}'"
                raise InputError(message, hint="give one of them another name")
            owners[entry] = program.file
