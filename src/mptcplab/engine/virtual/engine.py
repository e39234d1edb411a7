# SPDX-License-Identifier: MIT
"""The engine ``virtual``: one plan in one lab kernel, in virtual time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.memory import available_memory, with_limits
from mptcplab.engine.process import Watchdog, watch
from mptcplab.engine.protocol import Capabilities, Outcome
from mptcplab.engine.report import hidden_folders, package_folder, read_outcome
from mptcplab.engine.virtual.machine import (
    LabBoot,
    LabMachine,
    are_trusted,
    check_folder,
    find_lab_programs,
    free_for_memory,
)
from mptcplab.errors import MissingError, try_each
from mptcplab.files import format_json
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.plan.model import Plan

_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class VirtualEngine:
    """Executes plans in the lab kernel ``kernel``. ``tools`` maps names of our programs to their paths."""

    kernel: KernelBuild
    tools: Mapping[str, Path]
    stall_seconds: float = DEFAULT_STALL_SECONDS

    @property
    def kernel_facts(self) -> dict[str, Any]:
        """See :class:`mptcplab.engine.protocol.Engine`."""
        return {
            "release": self.kernel.release,
            "key": self.kernel.key,
            "config_sha256": self.kernel.config_sha256,
            "hz": self.kernel.hz,
        }

    def check(self, plan: Plan) -> None:
        """See :class:`mptcplab.engine.protocol.Engine`: the guest itself checks what the lab kernel has."""

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """Execute ``plan``; write the guest's files and the kernel's messages to ``folder``, which is empty.

        ``stop`` is a descriptor that becomes readable to request a stop.
        :raises LabError: if the lab does not run to its end; it has the end of the console, and the files remain.
        :raises DiskFullError: if there is no space for the files.
        :raises RunInterruptedError: if ``stop`` becomes readable.
        """
        programs = find_lab_programs(plan.uses, self.tools, dispensable=plan.dispensable)
        _write_plan(with_limits(plan), programs, folder)
        boot = LabBoot(
            kernel=self.kernel,
            seed=seed,
            cpu=cpu,
            folder=folder,
            source=package_folder(),
            exposed=hidden_folders(path.parent for path in programs.values()),
            memory=plan.memory_bytes,
            is_trusted=are_trusted(programs, self.tools),
        )
        started = time.monotonic()
        with LabMachine(boot) as machine:
            verdict = watch(machine, Watchdog(plan.deadline_ns, self.stall_seconds), _POLL_SECONDS, stop)
        (folder / "console.txt").write_text(machine.console.text)
        return read_outcome(folder, machine, verdict, plan, started=started)


def _write_plan(plan: Plan, programs: Mapping[str, Path], folder: Path) -> None:
    work = {"plan": plan.to_dict(), "programs": {name: str(path) for name, path in programs.items()}}
    (folder / "plan.json").write_text(format_json(work, levels=3))


class VirtualEngineKind:
    """The kind of engine that runs the lab kernel in virtual time."""

    capabilities = Capabilities(
        virtual_time=True, needs_root=False, one_kernel=True, chooses_kernel=True, features=None, executes_commands=True
    )

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> VirtualEngine:
        """See :class:`mptcplab.engine.protocol.EngineKind`."""
        return VirtualEngine(find_kernel(version), tools, stall_seconds)

    def find_missing(self, versions: Iterable[str | None]) -> Iterator[MissingError]:
        """See :class:`mptcplab.engine.protocol.WithNeeds`: each lab kernel that is not built."""
        yield from (error for _, error in try_each(find_kernel, versions))

    def check_folder(self, folder: Path) -> None:
        """See :class:`mptcplab.engine.protocol.EngineKind`."""
        check_folder(folder)

    def free_memory(self) -> int:
        """See :class:`mptcplab.engine.protocol.WithMemory`: labs keep their memory in files of a temporary folder."""
        return min(available_memory(), free_for_memory())
