# SPDX-License-Identifier: MIT
"""Loads and unloads congestion controls as eBPF programs in the running kernel, and tells which are there.

bpftool registers them; the kernel then keeps them until they are unregistered. What is pinned in :data:`PINS` is ours.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mptcplab.ebpf import bpftool
from mptcplab.ebpf.objects import CONTROLS, check_name, object_file
from mptcplab.errors import InputError, LabError, MissingError, reason

BPF_FILES = Path("/sys/fs/bpf")
PINS = BPF_FILES / "mptcplab"
BTF = Path("/sys/kernel/btf/vmlinux")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: The oldest kernel on which the programs were tried.
FIRST_VERSION = (6, 1)


@dataclass(frozen=True)
class CongestionControl:
    """One congestion control of the running kernel."""

    name: str
    state: str
    """`loaded` by mptcplab, `not loaded`, or `taken`: the kernel or someone else has one of this name."""
    subflows: int | None = None
    """MPTCP subflows that use it at this moment; None unless it is loaded, or if the kernel does not say."""
    uncoupled: int | None = None
    """Subflows so far that stayed uncoupled, because their connection had too many; None likewise."""


def check_machine() -> None:
    """Check that this machine can load programs. :raises MissingError: naming what it lacks."""
    if os.geteuid() != 0:
        raise MissingError("only root may load eBPF programs", hint="run the command with sudo")
    release = os.uname().release
    if not BTF.is_file():
        hint = "use a kernel with CONFIG_DEBUG_INFO_BTF=y, as distributions' kernels have it"
        raise MissingError(f"the kernel {release} has no type information (BTF)", hint=hint)
    if version_of(release) < FIRST_VERSION:
        raise MissingError(f"the kernel {release} is too old for these eBPF programs", hint="use version 6.1 or later")


def version_of(release: str) -> tuple[int, int]:
    """Return major and minor version of a kernel's release; (0, 0) if it has none."""
    match = re.match(r"(\d+)\.(\d+)", release)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def load(name: str) -> None:
    """Load the congestion control ``name`` and pin it.

    :raises InputError: if it has no program, or its name is taken. :raises MissingError: if this machine cannot.
    """
    check_name(name)
    check_machine()
    if _is_pinned(name) and name in _read_available():
        raise InputError(f"'{name}' is loaded already", hint=f"to load it anew: mptcplab cc unload {name}")
    if name in _read_available():
        raise InputError(f"the kernel has a congestion control '{name}' already", hint="use it, or unload it first")
    bpftool.register(object_file(name), name, os.uname().release)
    try:
        _pin(name)
    except BaseException:  # an interruption as well: what is not pinned could not be unloaded
        bpftool.show("struct_ops", "unregister", "name", name)
        raise


def unload(name: str) -> None:
    """Unload ``name``. Sockets that use it keep it until they close.

    :raises InputError: if mptcplab has not loaded it. :raises MissingError: if this machine cannot.
    """
    check_name(name)
    check_machine()
    if not _is_pinned(name):
        raise InputError(f"'{name}' was not loaded by mptcplab", hint="mptcplab cc list")
    if name in _read_available():
        number = bpftool.show("map", "show", "pinned", str(PINS / name))["id"]
        bpftool.show("struct_ops", "unregister", "id", str(number))
    (PINS / name).unlink()


def status(name: str) -> CongestionControl:
    """Return the state of ``name``. :raises InputError: if it has no program."""
    check_name(name)
    if name not in _read_available():
        return CongestionControl(name, "not loaded")
    if not _is_pinned(name):
        return CongestionControl(name, "taken")
    data = bpftool.find(bpftool.show("map", "show"), name=f"{name}.bss")
    if not data:
        return CongestionControl(name, "loaded")
    number = data[-1]["id"]
    users = [program for program in bpftool.show("prog", "show") if number in program.get("map_ids", ())]
    maps = {entry for program in users for entry in program["map_ids"]} - {number}
    members = sum(len(bpftool.show("map", "dump", "id", str(entry))) for entry in maps)
    return CongestionControl(name, "loaded", members, _counter(number))


def states() -> list[CongestionControl]:
    """Return the state of all congestion controls that have a program."""
    return [status(name) for name in CONTROLS]


def _counter(number: int) -> int:
    """Return the value of the program's only variable, from the map with its data."""
    (entry,) = bpftool.show("map", "dump", "id", str(number))
    (variable,) = entry["formatted"]["value"][".bss"] if "formatted" in entry else entry["value"][".bss"]
    return int(variable["uncoupled"])


def _read_available() -> list[str]:
    try:
        return AVAILABLE.read_text().split()
    except OSError as error:
        raise MissingError(f"'{AVAILABLE}' cannot be read: {reason(error)}", hint="use Linux with TCP") from error


def _is_pinned(name: str) -> bool:
    try:
        return (PINS / name).exists()
    except PermissionError as error:
        raise MissingError(
            f"only root can see the programs in {BPF_FILES}", hint="run the command with sudo"
        ) from error


def mount_files() -> None:
    """Mount the file system for pins unless it is mounted. If that fails, nothing can be pinned."""
    if not os.path.ismount(BPF_FILES):
        subprocess.run(["mount", "-t", "bpf", "bpf", BPF_FILES], check=False, capture_output=True)


def _pin(name: str) -> None:
    """Pin the newest map of this name, which is the registration. :raises LabError: if it is not there."""
    mount_files()
    entries = bpftool.find(bpftool.show("map", "show"), name=name, type="struct_ops")
    if not entries:
        raise LabError(f"'{name}' was loaded, but is not among the kernel's eBPF maps", hint="bpftool map show")
    try:
        PINS.mkdir(mode=0o700, exist_ok=True)
        (PINS / name).unlink(missing_ok=True)
    except OSError as error:
        hint = f"mount -t bpf bpf {BPF_FILES}"
        raise MissingError(f"programs cannot be pinned in {PINS}: {reason(error)}", hint=hint) from error
    bpftool.show("map", "pin", "id", str(entries[-1]["id"]), str(PINS / name))
