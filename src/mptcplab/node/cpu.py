# SPDX-License-Identifier: MIT
"""The CPU of a node, which makes its programs take virtual time: docs/cpu.md.

In virtual time computing takes no time, unless the kernel charges it: kernel/options/cpu/. It charges the system calls
of programs that ask for it, and of their descendants. A plan starts the programs of workloads, gateways and nodes so;
the lab's own programs (commands, counters, captures, path managers) take no time on any node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, model_validator

from mptcplab.fields import Misnomers, Part, idle, value_error
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.steps import Counter, Program
from mptcplab.units import CpuTime

#: The counter of a node's CPU; its format is as in /proc/net/lab_cpu.
COUNTER = "cpu.txt"
_NO_TIME = CpuTime(0)
_SETTING = "net.lab.cpu_{}_ps"
#: Words before a command line whose program is to be charged. The shell that it replaces is charged for very little.
CHARGED = ("sh", "-c", 'echo 1 >/proc/sys/net/lab/cpu_charge && exec "$0" "$@"')


def limit_time(limit: CpuTime, *, min_time: CpuTime = _NO_TIME) -> Any:
    """Return the validator of a time between ``min_time`` and ``limit``."""

    def check(time: CpuTime) -> CpuTime:
        if time > limit:
            raise value_error("is not plausible", f"use at most {limit}")
        if time < min_time:
            raise value_error("is too short", f"use at least {min_time}, or remove the key")
        return time

    return AfterValidator(check)


class Cpu(Part):
    """The CPU of a node: the time that system calls of the node's programs take."""

    misnomers: ClassVar[Misnomers] = {
        "per_call": ("call", "syscall", "per_syscall", "per_system_call"),
        "per_byte": ("byte", "copy", "per_copy"),
    }

    per_call: Annotated[CpuTime, limit_time(CpuTime(10**12))] = Field(
        default=CpuTime(0), description="time of each system call", examples=["1.2 us"]
    )
    per_byte: Annotated[CpuTime, limit_time(CpuTime(10**9))] = Field(
        default=CpuTime(0), description="time per byte that a call reads or writes", examples=["0.35 ns"]
    )

    @model_validator(mode="after")
    def _check_cost(self) -> Cpu:
        if not self.per_call and not self.per_byte:
            hint = 'write for example cpu = { per_call = "1.2 us", per_byte = "0.35 ns" }, or remove `cpu`'
            raise idle("takes no time for anything", hint)
        return self

    def settings(self) -> tuple[str, str]:
        """Return the settings of the CPU for ``sysctl``."""
        costs = {"per_call": self.per_call, "per_byte": self.per_byte}
        per_call, per_byte = (f"{_SETTING.format(key)}={int(cost)}" for key, cost in costs.items())
        return per_call, per_byte


def cpu_counter(node: str) -> Counter:
    """Return the counter of the CPU of ``node``."""
    return Counter(node, COUNTER, ("cat", "/proc/net/lab_cpu"))


def with_cpu_cost(program: Program) -> Program:
    """Return ``program`` so that it takes time of its node's CPU; a path manager stays as it is."""
    if program.argv[0] == PATH_MANAGER:
        return program
    return replace(program, argv=(*CHARGED, *program.argv), starts=program.uses)


def without_cpu_cost(program: Program) -> tuple[str, ...]:
    """Return the command line of ``program`` without the words that :func:`with_cpu_cost` has added."""
    return program.argv[len(CHARGED) :] if program.argv[: len(CHARGED)] == CHARGED else program.argv


def cpu_words(described: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the caption of a node's CPU, for a node as ``described`` in a resolved scenario; empty without one."""
    cpu = described.get("cpu")
    return (f"CPU: {cpu['per_call']} per call, {cpu['per_byte']} per byte",) if cpu else ()
