# SPDX-License-Identifier: MIT
"""Lab kernels: built, stale or missing; and whether one really boots here."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from mptcplab.cache import cache_root, work_dir
from mptcplab.doctor.host import OTHER_CACHE
from mptcplab.doctor.model import Finding, Level, as_root, fine
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.errors import LabError, MissingError, reason
from mptcplab.kernel.cache import KernelBuild, find_kernel, list_kernels
from mptcplab.kernel.config import kernel_text
from mptcplab.kernel.data import DEFAULT_VERSION
from mptcplab.plan.model import Plan
from mptcplab.steps import Program

_SECOND_NS = 10**9
#: Nothing happens in it; a boot takes a tenth of a second, on a busy machine some.
_NOTHING = Plan(
    nodes=("node",),
    setup=(),
    programs=(Program("nothing", "node", "client", ("true",), 0, _SECOND_NS),),
    counters=(),
    sampled=(),
    sample_interval_ns=_SECOND_NS,
)
_SHOWN_LINES = 3


def look_at_kernels() -> Iterator[Finding]:
    """The usual version, every other one that was ever built, and a boot of the usual one."""
    usual: KernelBuild | None = None
    others = dict.fromkeys(kernel.version for kernel in list_kernels() if kernel.version != DEFAULT_VERSION)
    for version in (DEFAULT_VERSION, *others):
        is_usual = version == DEFAULT_VERSION
        try:
            kernel = find_kernel(version)
        except MissingError as error:
            level = Level.BROKEN if is_usual else Level.MISSING
            use = "every run" if is_usual else f'scenarios with kernel = "{version}"'
            command = f"mptcplab kernel build{'' if is_usual else f' {version}'}"
            yield Finding(f"kernel {version}", level, _short(error), use, command)
        else:
            usual = kernel if is_usual else usual
            yield fine(f"kernel {version}", f"{kernel_text(kernel.release, kernel.hz)}, built {kernel.built[:10]}")
    if usual is not None:
        yield boot(usual)


def _short(error: MissingError) -> str:
    """Not built at all, or stale."""
    return "is not built" if "not built" in error.message else "is stale: our patches or options have changed since"


def boot(kernel: KernelBuild) -> Finding:
    """Start a lab in which nothing happens. What containers forbid shows here, and nowhere sooner."""
    started = time.monotonic()
    try:
        with work_dir("doctor", cache_root()) as folder:
            cpu = max(os.sched_getaffinity(0))
            VirtualEngine(kernel, {}, stall_seconds=20).execute(_NOTHING, seed=1, folder=folder, cpu=cpu)
    except LabError as error:
        found, command = _restrictions()
        console = [line.strip() for line in (error.hint or "").splitlines()[1:] if line.strip() != "(nothing)"]
        says = "; ".join([f"a lab does not start: {error.message}", *found, *console[-_SHOWN_LINES:]])
        return Finding("boot", Level.BROKEN, says, "every run", command)
    except OSError as error:
        says = f"a lab cannot be started: {reason(error)}"
        return Finding("boot", Level.BROKEN, says, "every run", OTHER_CACHE)
    return fine("boot", f"a lab boots and ends in {time.monotonic() - started:.1f} s")


def _restrictions() -> tuple[list[str], str]:
    """What is known to keep User-Mode Linux from working, and what takes it away: seccomp filters, and Yama."""
    try:
        status = Path("/proc/self/status").read_text()
        if re.search(r"^Seccomp:\s+[12]$", status, re.MULTILINE):
            command = "docker run --security-opt seccomp=unconfined, or the like of your container"
            return ["a seccomp filter restricts this process"], command
        scope = Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
    except OSError:
        return [], ""
    if scope <= "1":
        return [], ""
    return [f"kernel.yama.ptrace_scope is {scope}"], as_root("sysctl kernel.yama.ptrace_scope=1")
