# SPDX-License-Identifier: MIT
"""The engine ``virtual``: one plan in one lab kernel, in virtual time."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mptcplab
from mptcplab.engine.process import Console
from mptcplab.engine.protocol import DEFAULT_STALL_SECONDS, Capabilities, DiskFullError, Outcome
from mptcplab.engine.tools import find_programs
from mptcplab.engine.virtual.machine import Boot, Machine, check_folder
from mptcplab.engine.watchdog import Watchdog, watch
from mptcplab.errors import LabError
from mptcplab.kernel import KernelBuild, find_kernel
from mptcplab.plan.model import Plan

_POLL_SECONDS = 0.25
_SHOWN_LINES = 12
_DISK_FULL = "no space left on device"
_DISK_FULL_HINT = "see `df`: results need more space; the same command continues and keeps the recorded runs"
#: For an error in a run, or while its network is set up.
PLAN_HINT = "see the plan: `mptcplab plan FILE`"
#: The prefix of a message on the console by the guest's first process, if it cannot write a report.
_GUEST_PREFIX = "mptcplab: "
_PRIVATE = {Path("/tmp"), Path("/run")}


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

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """Execute ``plan``; write the guest's files and the kernel's messages to ``folder``, which is empty.

        ``stop`` is a descriptor that becomes readable to request a stop.
        :raises LabError: if the lab does not run to its end; it has the end of the console, and the files remain.
        :raises DiskFullError: if there is no space for the files.
        :raises RunInterruptedError: if ``stop`` becomes readable.
        """
        programs = find_programs(plan.uses, self.tools)
        _write_plan(plan, programs, folder)
        boot = Boot(
            kernel=self.kernel,
            seed=seed,
            cpu=cpu,
            folder=folder,
            source=package_folder(),
            exposed=exposed_folders(path.parent for path in programs.values()),
        )
        started = time.monotonic()
        with Machine(boot) as machine:
            verdict = watch(machine, Watchdog(plan.deadline_ns, self.stall_seconds), _POLL_SECONDS, stop)
        (folder / "console.txt").write_text(machine.console.text)
        report = read_report(folder, machine, verdict, hint=PLAN_HINT)
        return Outcome(
            programs=report["programs"],
            zero_ns=report["zero_ns"],
            virtual_ns=report["virtual_ns"],
            wall_seconds=time.monotonic() - started,
        )


def _write_plan(plan: Plan, programs: Mapping[str, Path], folder: Path) -> None:
    work = {"plan": asdict(plan), "programs": {name: str(path) for name, path in programs.items()}}
    (folder / "plan.json").write_text(json.dumps(work, sort_keys=True, indent=1))


class Virtual:
    """The kind of engine that runs the lab kernel in virtual time."""

    capabilities = Capabilities(
        virtual_time=True, needs_root=False, one_kernel=True, chooses_kernel=True, features=None
    )

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> VirtualEngine:
        """See :class:`mptcplab.engine.protocol.EngineKind`."""
        return VirtualEngine(find_kernel(version), tools, stall_seconds)

    def check_folder(self, folder: Path) -> None:
        """See :class:`mptcplab.engine.protocol.EngineKind`."""
        check_folder(folder)


def package_folder() -> Path:
    """Return the folder that contains our package, where the guest finds its program."""
    return Path(mptcplab.__file__).resolve().parent.parent


def exposed_folders(needed: Iterable[Path]) -> tuple[Path, ...]:
    """Return our own folders and those of ``needed`` that the guest's private /tmp and /run would hide."""
    folders = [package_folder(), Path(sys.base_prefix).resolve(), *(folder.resolve() for folder in needed)]
    return tuple(folder for folder in dict.fromkeys(folders) if _PRIVATE & set(folder.parents))


def read_report(folder: Path, machine: Machine, verdict: str | None, *, hint: str | None) -> dict[str, Any]:
    """Return the guest's report. :raises LabError: if there is none, or if it reports an error.

    ``hint`` is for errors that have no hint of their own.
    """
    if verdict is None:
        try:
            report: dict[str, Any] = json.loads((folder / "guest.json").read_text())
        except (OSError, ValueError):
            verdict = _death(machine)
        else:
            if "error" not in report:
                return report
            raise _reported_error(report, hint)
    if _DISK_FULL in verdict:
        raise DiskFullError(verdict, hint=_DISK_FULL_HINT)
    raise LabError(verdict, hint=f"the console ended with:\n{_indented(machine.console)}")


def _reported_error(report: dict[str, Any], hint: str | None) -> LabError:
    message = str(report["error"])
    if "traceback" in report:
        return LabError(message, hint=f"report this with the lines below\n{report['traceback']}")
    if _DISK_FULL in message.lower():
        return DiskFullError(message, hint=_DISK_FULL_HINT)
    return LabError(message, hint=report.get("hint") or hint)


def _death(machine: Machine) -> str:
    """Return why the lab ended without a report."""
    for line in machine.console.text.splitlines():
        if line.startswith(_GUEST_PREFIX):
            return line.removeprefix(_GUEST_PREFIX)
        if "Kernel mode signal 7" in line:  # SIGBUS
            return "there was no space left for the lab's memory, which is in /dev/shm or TMPDIR"
        if "Kernel panic" in line:
            return f"the lab kernel panicked: {line.partition('not syncing: ')[2] or line}"
        if "out of memory" in line.lower():
            return "the lab ran out of memory"
    status = machine.status
    if status is None:
        return "the lab kernel ended without a result (its exit status is unknown)"
    if status == -signal.SIGKILL:
        return "the lab kernel was killed (SIGKILL), by a user or because this machine ran out of memory"
    cause = f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
    return f"the lab kernel ended without a result ({cause})"


def _indented(console: Console) -> str:
    return "\n".join(f"  {line}" for line in console.tail(_SHOWN_LINES).splitlines()) or "  (nothing)"
