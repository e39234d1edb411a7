# SPDX-License-Identifier: MIT
"""Checks the machine itself: its processor, space on disk and in memory, limits of this process, and this Python."""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet

from mptcplab.cache import OTHER_CACHE, cache_root, check_cache
from mptcplab.doctor.model import Finding, Level, as_root, finding_without_fix, words
from mptcplab.engine.memory import available_memory
from mptcplab.engine.virtual.machine import memory_folder
from mptcplab.errors import MissingError, reason
from mptcplab.kernel.cache import check_processor
from mptcplab.lazy import install_command
from mptcplab.plan.model import USUAL_MEMORY_BYTES

# Checks the machine itself: its processor, space on disk and in memory, and the limits of this process.

_GIB = 1 << 30
#: The memory of a lab's guest, unless its scenario needs more. Pages that it never touches use none.
LAB_BYTES = USUAL_MEMORY_BYTES
#: The unpacked and built tree takes 2 GB, its tarball 0.2 GB; the rest is for the next version.
BUILD_BYTES = 3 * _GIB
_MIN_BYTES = 100 << 20
#: A lab maps its memory into some gigabytes of address space. Its processes and open files count as this machine's.
_LIMITS = (
    (resource.RLIMIT_AS, 4 * _GIB, "address space", "v"),
    (resource.RLIMIT_FSIZE, LAB_BYTES, "size of files", "f"),
    (resource.RLIMIT_NOFILE, 256, "open files", "n"),
    (resource.RLIMIT_NPROC, 256, "processes", "u"),
)


def check_host() -> Iterator[Finding]:
    """Check everything except programs and kernels."""
    yield _processor()
    yield _system_calls()
    yield _disk()
    yield from _memory()
    yield from _limits()
    yield from _virtual_clock()


def _processor() -> Finding:
    try:
        check_processor()
    except MissingError as error:
        return Finding("processor", Level.BROKEN, error.message, "every run", error.hint or "")
    count = len(os.sched_getaffinity(0))
    plural = "s" if count > 1 else ""
    return finding_without_fix("processor", f"{count} CPU{plural} of {os.cpu_count()}: {count} lab{plural} in parallel")


def _system_calls() -> Finding:
    """Report where programs of a lab run, which decides what their system calls cost (docs/decisions/0021)."""
    flags = _cpu_flags(Path("/proc/cpuinfo"))
    release = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
    lacks = [
        *(["FSGSBASE"] if "fsgsbase" not in flags else []),
        *(["syscall user dispatch (Linux 5.11)"] if release < (5, 11) else []),
    ]
    if lacks:
        message = f"slower: each switches between processes, as this machine lacks {', '.join(lacks)}"
    elif "ospke" in flags:
        message = "fast: programs run in the process of the lab kernel, guarded by protection keys"
    else:
        message = (
            "fast in experiments; slower in `mptcplab exec` and `selftest`, whose programs are not trusted, as the CPU "
            "lacks protection keys (PKU)"
        )
    return finding_without_fix("system calls", message)


def _cpu_flags(cpuinfo: Path) -> set[str]:
    """Return the features of the first processor; none if the file does not name them."""
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        return set()
    return next((set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), set())


def _disk() -> Finding:
    folder = cache_root()
    try:
        existing = check_cache()
    except MissingError as error:
        return Finding("cache folder", Level.BROKEN, error.message, "every run", error.hint or "")
    free = shutil.disk_usage(existing).free
    message = f"{_size(free)} free in {folder}"
    if free >= BUILD_BYTES:
        return finding_without_fix("cache folder", message)
    level = Level.BROKEN if free < _MIN_BYTES else Level.MISSING
    use = f"`mptcplab kernel build`, which takes {_size(BUILD_BYTES)}"
    return Finding("cache folder", level, message, use, OTHER_CACHE)


def _memory() -> Iterator[Finding]:
    cpus = len(os.sched_getaffinity(0))
    try:
        folder = memory_folder()
    except MissingError as error:
        yield Finding("memory", Level.BROKEN, error.message, "every run", _remount_command(cpus))
        return
    available = available_memory()
    yield _space("memory", available, f"{_size(available)} free", cpus, f"mptcplab run --jobs {_labs(available)}")
    free = shutil.disk_usage(folder).free
    message = f"{_size(free)} free in {folder}, where labs keep their memory"
    yield _space("memory folder", free, message, cpus, _remount_command(cpus))


def _remount_command(labs: int) -> str:
    """Return the command that makes /dev/shm large enough for ``labs``, with memory that can be executed."""
    return as_root(f"mount -o remount,exec,size={max(labs, 2)}G /dev/shm")


def _labs(size: int) -> int:
    return max(size // LAB_BYTES, 1)


def _space(subject: str, size: int, message: str, cpus: int, command: str) -> Finding:
    if size >= cpus * LAB_BYTES:
        return finding_without_fix(
            subject, f"{message}: enough for {cpus} lab{'s' if cpus > 1 else ''} of {_size(LAB_BYTES)}"
        )
    use = f"{cpus} labs in parallel, each of up to {_size(LAB_BYTES)}"
    if size < LAB_BYTES:
        use = f"a lab that uses all of its {_size(LAB_BYTES)}"
    return Finding(subject, Level.MISSING, message, use, command)


def _limits() -> Iterator[Finding]:
    too_low = False
    for limit, min_value, noun, letter in _LIMITS:
        soft, hard = resource.getrlimit(limit)
        if soft == resource.RLIM_INFINITY or soft >= min_value:
            continue
        too_low = True
        size = _size(soft) if limit in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE) else str(soft)
        value = "unlimited" if hard == resource.RLIM_INFINITY else "hard"
        yield Finding(f"ulimit -{letter}", Level.MISSING, f"{noun}: {size}", "every run", f"ulimit -{letter} {value}")
    seconds = resource.getrlimit(resource.RLIMIT_CPU)[0]
    if seconds != resource.RLIM_INFINITY:
        too_low = True
        use = f"runs that take more than {seconds} s of CPU time"
        yield Finding("ulimit -t", Level.MISSING, f"CPU time: {seconds} s", use, "ulimit -t unlimited")
    if not too_low:
        yield finding_without_fix("ulimits", "none is too low for a lab")


def _virtual_clock() -> Iterator[Finding]:
    """Check that the watchdog can read a lab's clock from its memory, which Yama, hidepid or seccomp may forbid."""
    child = subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(60)"], stdin=subprocess.DEVNULL)
    try:
        with open(f"/proc/{child.pid}/mem", "rb"):
            pass
    except OSError as error:
        message = f"the memory of a child process cannot be read ({reason(error)})"
        use = "the watchdog, which terminates labs that hang"
        yield Finding("virtual clock", Level.MISSING, message, use, _trace_command())
    else:
        yield finding_without_fix("virtual clock", "can be read from outside the lab")
    finally:
        child.kill()
        child.wait()


def _trace_command() -> str:
    try:
        scope = int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        scope = 0
    if scope > 1:
        return as_root("sysctl kernel.yama.ptrace_scope=1")
    return "docker run --cap-add SYS_PTRACE, or the equivalent for your container"


def _size(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size >= _GIB // 2 else f"{size / (1 << 20):.0f} MiB"


# Checks this Python and the packages that mptcplab and its extras require according to its metadata.

_PACKAGE = "mptcplab"
_SHOWN_PACKAGES = 2


def check_python() -> Iterator[Finding]:
    """Check Python's version and the packages that every command needs."""
    try:
        package = metadata.metadata(_PACKAGE)
    except metadata.PackageNotFoundError:
        command = install_command(["--editable", "."])
        yield Finding("mptcplab", Level.MISSING, "is not installed, only imported", "its packages", command)
        return
    yield _version(package["Requires-Python"] or "")
    if missing := _missing_packages().get(""):
        command = install_command(missing)
        yield Finding(
            "Python packages", Level.BROKEN, f"{words(missing)} not installed, or too old", "every command", command
        )
    else:
        yield finding_without_fix("Python packages", "all that mptcplab needs")


def check_extras() -> Iterator[Finding]:
    """Say which extras are there: their packages are for optional features and for maintainers, so none is missing."""
    try:
        extras = sorted({_extra_of(requirement) for requirement in _requirements()} - {""})
    except metadata.PackageNotFoundError:
        return  # check_python reports it
    missing = _missing_packages()
    complete = [extra for extra in extras if extra not in missing]
    others = [f"{extra} (lacks {_list_packages(missing[extra])})" for extra in extras if extra in missing]
    parts = [f"with {words(complete)}" if complete else "", f"without {words(others)}" if others else ""]
    yield finding_without_fix("extras", f"{'; '.join(filter(None, parts))}: for optional features and maintainers")


def _list_packages(packages: list[str]) -> str:
    return words(packages) if len(packages) <= _SHOWN_PACKAGES else f"{len(packages)} packages"


def _missing_packages() -> dict[str, list[str]]:
    """Return the packages that are not installed, or too old, by the extra that needs them; "" is every command."""
    missing: dict[str, list[str]] = {}
    for requirement in _requirements():
        if not _is_installed(requirement):
            package = f"{requirement.name}{requirement.specifier}"
            missing.setdefault(_extra_of(requirement), []).append(package)
    return missing


def _requirements() -> Iterator[Requirement]:
    for text in metadata.requires(_PACKAGE) or []:
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue


def _version(required: str) -> Finding:
    version = platform.python_version()
    if version in SpecifierSet(required, prereleases=True):
        return finding_without_fix("Python", f"{version} at {sys.executable}")
    message = f"{version} is not {required}"
    return Finding("Python", Level.BROKEN, message, "every command", "install a newer Python and mptcplab with it")


def _extra_of(requirement: Requirement) -> str:
    """Return the extra that needs the package; empty if every command does."""
    if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
        return ""
    for extra in metadata.metadata(_PACKAGE).get_all("Provides-Extra") or []:
        if requirement.marker.evaluate({"extra": extra}):
            return str(extra)
    return ""


def _is_installed(requirement: Requirement) -> bool:
    if requirement.marker is not None and not _extra_of(requirement) and not requirement.marker.evaluate({"extra": ""}):
        return True  # this machine does not need it
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False
