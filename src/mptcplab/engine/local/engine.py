# SPDX-License-Identifier: MIT
"""The engine ``local``: one plan on this machine's kernel, in network namespaces and in real time."""

from __future__ import annotations

import gzip
import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mptcplab.engine.defaults import DEFAULT_STALL_SECONDS
from mptcplab.engine.local import isolation, start
from mptcplab.engine.local.needs import check_needs
from mptcplab.engine.local.process import LocalProcess
from mptcplab.engine.protocol import Capabilities, Outcome
from mptcplab.engine.report import PLAN_HINT, hidden_folders, read_report
from mptcplab.engine.tools import find_programs
from mptcplab.engine.watchdog import Watchdog, watch
from mptcplab.files import format_json
from mptcplab.kernel.config import timer_frequency
from mptcplab.plan.model import Plan

_POLL_SECONDS = 0.25
_CLOCK_SOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")


@dataclass(frozen=True)
class LocalEngine:
    """Executes plans on this machine's kernel. ``tools`` maps names of our programs to their paths."""

    tools: Mapping[str, Path]
    stall_seconds: float = DEFAULT_STALL_SECONDS

    @property
    def kernel_facts(self) -> dict[str, Any]:
        """See :class:`mptcplab.engine.protocol.Engine`. Time is real, so the clock is a fact, too."""
        return dict(_kernel_facts())

    def check(self, plan: Plan) -> None:
        """See :class:`mptcplab.engine.protocol.Engine`. :raises MissingError: naming all that the kernel lacks."""
        check_needs(plan)

    def execute(self, plan: Plan, *, seed: int, folder: Path, cpu: int, stop: int | None = None) -> Outcome:
        """See :class:`mptcplab.engine.protocol.Engine`. The seed is in the plan; this kernel takes none."""
        del seed
        programs = find_programs(plan.uses, self.tools)
        work = {"plan": plan.to_dict(), "programs": {name: str(path) for name, path in programs.items()}}
        (folder / "plan.json").write_text(format_json(work, levels=3))
        exposed = [str(path) for path in hidden_folders(path.parent for path in programs.values())]
        code = f"from mptcplab.engine.local.start import main; main({str(folder.resolve())!r}, {exposed!r})"
        started = time.monotonic()
        with LocalProcess(code, cpu=cpu, folder=folder) as process:
            verdict = watch(process, Watchdog(plan.deadline_ns, self.stall_seconds), _POLL_SECONDS, stop)
        (folder / "console.txt").write_text(process.console.text)
        report = read_report(folder, process, verdict, hint=PLAN_HINT)
        return Outcome(
            programs=report["programs"],
            zero_ns=report["zero_ns"],
            virtual_ns=report["virtual_ns"],
            wall_seconds=time.monotonic() - started,
        )


@cache
def _kernel_facts() -> Mapping[str, Any]:
    kernel, config = os.uname(), _config()
    code = b"".join(Path(str(module.__file__)).read_bytes() for module in (isolation, start))
    with_root = os.geteuid() == 0
    key = hashlib.sha256(f"{kernel.release} {kernel.version} {kernel.machine} {with_root}".encode() + code)
    return {
        "release": kernel.release,
        "key": key.hexdigest(),
        "config_sha256": hashlib.sha256(config.encode()).hexdigest() if config else "",
        "hz": timer_frequency(config),
        "time": "real",
        "clock_source": _CLOCK_SOURCE.read_text().strip() if _CLOCK_SOURCE.is_file() else "",
    }


def _config() -> str:
    """Return the running kernel's configuration; empty if this machine does not have it."""
    packed = Path("/proc/config.gz")
    if packed.is_file():
        return gzip.decompress(packed.read_bytes()).decode()
    try:
        return Path(f"/boot/config-{os.uname().release}").read_text()
    except OSError:
        return ""


class Local:
    """The kind of engine that uses this machine's kernel."""

    capabilities = Capabilities(
        virtual_time=False, needs_root=False, one_kernel=True, chooses_kernel=False, features=None
    )

    def prepare(self, version: str, tools: Mapping[str, Path], *, stall_seconds: float) -> LocalEngine:
        """See :class:`mptcplab.engine.protocol.EngineKind`. ``version`` is of lab kernels, and so not used."""
        del version
        return LocalEngine(tools, stall_seconds)

    def check_folder(self, folder: Path) -> None:
        """See :class:`mptcplab.engine.protocol.EngineKind`: every folder of this machine will do."""
