# SPDX-License-Identifier: MIT
"""Users' own congestion controls and schedulers in eBPF: compiled against the types of the kernel that they are for.

A program registers structs of a kernel's type (``struct_ops``), and may include ``vmlinux.h``, which has all types of
that kernel, and the headers of libbpf. It is compiled for each kernel anew, so it can use fields that others lack.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.ebpf.objects import CONTROLS, find_tool
from mptcplab.ebpf.registered import LINKED_SECTION, Registered, read_registered
from mptcplab.ebpf.types import HEADER, KernelTypes, types_of
from mptcplab.errors import InputError, MissingError
from mptcplab.kernel.stock import StockKernel
from mptcplab.plan.model import ProgramSource

#: Structs that a program can register here.
CONTROL, SCHEDULER = "tcp_congestion_ops", "mptcp_sched_ops"
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
    registers: tuple[Registered, ...]
    content: bytes

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of what it registers of one type."""
        return tuple(struct.name for struct in self.registers if struct.type == kind)


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
        if re.search(rf"\bstruct\s+{SCHEDULER}\b", source.text) and SCHEDULER not in types.registered:
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
        return MissingError(f"'{name}' does not compile: {missing[0]}", hint="sudo apt-get install libbpf-dev")
    first = _ERROR.search(log)
    where = f"{first['file']}, line {first['line']}: {first['text']}" if first else "clang fails"
    shown = "\n".join(f"  {line}" for line in log.splitlines()[:_SHOWN_LINES])
    return InputError(f"the eBPF program '{name}' does not compile: {where}", hint=f"clang reports:\n{shown}")


def _check(program: UserProgram, types: KernelTypes, kernel: StockKernel) -> None:
    """Check what a program registers. :raises InputError: if this kernel cannot have it."""
    if not program.registers:
        hint = f'mark one with SEC(".struct_ops") struct {CONTROL} NAME = {{ … }}'
        raise InputError(f"'{program.file}' registers no congestion control", hint=hint)
    for struct in program.registers:
        if struct.type not in (CONTROL, SCHEDULER):
            message = f"'{program.file}' registers a struct {struct.type}, which no scenario can use"
            raise InputError(message, hint=f"write a struct {CONTROL}")
        if struct.type not in types.registered:
            message = f"the stock kernel {kernel.release} cannot have a struct {struct.type} as an eBPF program"
            raise InputError(message, hint="use a kernel with CONFIG_BPF_JIT=y, as distributions' kernels have it")
        if not re.fullmatch(r"[A-Za-z0-9_]{1,15}", struct.name):
            message = f"'{program.file}' registers a struct {struct.type} with the name '{struct.name}'"
            raise InputError(message, hint='give it a name of up to 15 letters, digits and "_": .name = "mine"')


def _check_names(programs: Iterable[UserProgram]) -> None:
    """:raises InputError: if two programs register the same name, or a name of mptcplab's."""
    owners: dict[Registered, str] = {}
    for program in programs:
        for struct in program.registers:
            if struct.type == CONTROL and struct.name in CONTROLS:
                message = f"'{program.file}' registers '{struct.name}', which is one of mptcplab's own programs"
                raise InputError(message, hint=f'give it another name, like .name = "my_{struct.name}"')
            if struct in owners:
                message = f"'{owners[struct]}' and '{program.file}' both register '{struct.name}'"
                raise InputError(message, hint="give one of them another name")
            owners[struct] = program.file
