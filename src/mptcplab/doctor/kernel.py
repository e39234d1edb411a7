# SPDX-License-Identifier: MIT
"""Checks that lab kernels are built and current, and that a lab boots on this machine."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from mptcplab.cache import OTHER_CACHE, cache_root, make_work_folder
from mptcplab.doctor.model import Finding, Level, as_root, finding_without_fix
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.engine.virtual.machine import starts_at_fixed_addresses
from mptcplab.errors import InputError, LabError, MissingError, reason
from mptcplab.kernel.cache import KernelBuild, find_kernel, list_kernels
from mptcplab.kernel.config import kernel_text
from mptcplab.kernel.data import DEFAULT_VERSION
from mptcplab.plan.model import Plan
from mptcplab.prebuilt import PACKAGE, find_prebuilt
from mptcplab.steps import Program

_SECOND_NS = 10**9
#: An empty lab. A boot takes a tenth of a second, on a busy machine a few tenths.
_EMPTY = Plan(
    nodes=("node",),
    setup=(),
    programs=(Program("nothing", "node", "client", ("true",), 0, _SECOND_NS),),
    counters=(),
    sampled=(),
    sample_interval_ns=_SECOND_NS,
)
_SHOWN_LINES = 3


def check_kernels() -> Iterator[Finding]:
    """Check the default version and every other version and variant that was ever built, and boot the default one."""
    default: KernelBuild | None = None
    others = dict.fromkeys(
        kernel.name for kernel in list_kernels() if kernel.name != DEFAULT_VERSION and not kernel.given
    )
    for version in (DEFAULT_VERSION, *others):
        is_default = version == DEFAULT_VERSION
        try:
            kernel = find_kernel(version)
        except InputError:
            continue  # of a variant that no longer exists
        except MissingError as error:
            if not error.command:
                continue  # No command builds it on this processor, which is a finding of its own.
            level = Level.BROKEN if is_default else Level.MISSING
            use = "every run" if is_default else f'scenarios with kernel = "{version}"'
            yield Finding(f"kernel {version}", level, _summarize(error), use, error.command)
        else:
            default = kernel if is_default else default
            origin = f"from {kernel.package}" if kernel.package else f"built {kernel.built[:10]}"
            yield finding_without_fix(f"kernel {version}", f"{kernel_text(kernel.release, kernel.hz)}, {origin}")
    yield from _package()
    if default is not None:
        yield boot(default)
        yield from _addresses(default)


def _package() -> Iterator[Finding]:
    """Check that this machine can run what the package of kernels has, if it is installed."""
    prebuilt = find_prebuilt()
    if prebuilt is not None and prebuilt.obstacle is not None:
        use = "runs without a compiler"
        yield Finding(PACKAGE, Level.MISSING, f"is not used: it {prebuilt.obstacle}", use, "mptcplab kernel build")


def _summarize(error: MissingError) -> str:
    """Return a short message: not built, or stale."""
    is_stale = error.subject.endswith("(stale)")
    return "is stale: our patches or options have changed since" if is_stale else "is not built"


def boot(kernel: KernelBuild) -> Finding:
    """Boot an empty lab. This is the first check that notices what a container forbids."""
    started = time.monotonic()
    try:
        with make_work_folder("doctor", cache_root()) as folder:
            cpu = max(os.sched_getaffinity(0))
            VirtualEngine(kernel, {}, stall_seconds=20).execute(_EMPTY, seed=1, folder=folder, cpu=cpu)
    except MissingError as error:
        return Finding("boot", Level.BROKEN, f"a lab cannot be started: {error.message}", "every run", error.hint or "")
    except LabError as error:
        texts, command = _restrictions()
        console = [line.strip() for line in (error.hint or "").splitlines()[1:] if line.strip() != "(nothing)"]
        message = "; ".join([f"a lab does not start: {error.message}", *texts, *console[-_SHOWN_LINES:]])
        return Finding("boot", Level.BROKEN, message, "every run", command)
    except OSError as error:
        message = f"a lab cannot be started: {reason(error)}"
        return Finding("boot", Level.BROKEN, message, "every run", OTHER_CACHE)
    return finding_without_fix("boot", f"a lab boots and ends in {time.monotonic() - started:.1f} s")


def _addresses(kernel: KernelBuild) -> Iterator[Finding]:
    """Report a machine on which labs start at random addresses, so that their memory differs a little each time."""
    if not starts_at_fixed_addresses(kernel):
        message = "address randomisation cannot be disabled, so the largest receive buffer differs from run to run"
        command = "docker run --security-opt seccomp=unconfined, or the equivalent for your container"
        yield Finding("addresses", Level.MISSING, message, "the same bytes in every run", command)


def _restrictions() -> tuple[list[str], str]:
    """Return known restrictions that prevent User-Mode Linux from working, and the command that lifts them.

    These are seccomp filters and Yama.
    """
    try:
        status = Path("/proc/self/status").read_text()
        if re.search(r"^Seccomp:\s+[12]$", status, re.MULTILINE):
            command = "docker run --security-opt seccomp=unconfined, or the equivalent for your container"
            return ["a seccomp filter restricts this process"], command
        scope = Path("/proc/sys/kernel/yama/ptrace_scope").read_text().strip()
    except OSError:
        return [], ""
    if scope <= "1":
        return [], ""
    return [f"kernel.yama.ptrace_scope is {scope}"], as_root("sysctl kernel.yama.ptrace_scope=1")
