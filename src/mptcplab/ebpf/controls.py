# SPDX-License-Identifier: MIT
"""Loads and unloads congestion controls as eBPF programs in the running kernel, and tells which are there.

bpftool registers them; the kernel then keeps them until they are unregistered. What is pinned in :data:`PINS` is ours.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.ebpf.objects import CONGESTION_CONTROLS, check_name, find_tool, object_file
from mptcplab.errors import InputError, LabError, MissingError, reason

# Runs bpftool, which loads eBPF programs and lists the loaded ones; turns its log into one sentence.

_HINT = "use a kernel of version 6.1 or later that has MPTCP"
#: libbpf's messages, and the end of a sentence for each.
_REASONS = (
    (re.compile(r"failed to resolve CO-RE relocation <\S+> \[\d+\] struct ([\w.]+)"), "it has no field '{}'"),
    (re.compile(r"extern \(func ksym\) '(\w+)': not found"), "it has no function '{}' for eBPF programs"),
    (re.compile(r"extern \(func ksym\) '(\w+)': func_proto"), "its function '{}' is another one"),
    (re.compile(r"struct_ops init_kern: struct (\w+) is not found"), "it has no '{}'"),
    (re.compile(r"[Cc]annot find member (\w+) in"), "its congestion controls have no operation '{}'"),
    (re.compile(r"prog '(\w+)': BPF program load failed"), "its verifier refuses the operation '{}'"),
    (re.compile(r"can't register struct_ops (\w+): File exists"), "it has '{}' already"),
)
#: Lines of a log that say where it begins and ends, or how large the program is.
_FRAME = re.compile(r"-- (BEGIN|END) PROG LOAD LOG --|^processed \d+ insns")
_SHOWN_LINES = 12


def show(*words: str) -> Any:
    """Run bpftool with ``words`` and return what it prints. :raises LabError: if it fails."""
    done = _run("--json", *words)
    if done.returncode:
        raise LabError(f"bpftool failed: {_error(done)}", hint=f"to see why: bpftool {' '.join(words)}")
    return json.loads(done.stdout or "null")


def register(file: Path, name: str, release: str) -> None:
    """Register the congestion control ``name`` from ``file`` in the running kernel, whose release this is.

    :raises MissingError: if the kernel lacks something that the program needs. :raises LabError: if that fails.
    """
    done = _run("struct_ops", "register", str(file))
    log = done.stdout + done.stderr
    if done.returncode == 0 and f"Registered tcp_congestion_ops {name} " in log:
        return
    text = reason_of(log)
    again = f"to see why: bpftool struct_ops register {file}"
    if text is None:
        raise LabError(f"the kernel {release} does not load '{name}'", hint=again)
    raise MissingError(
        f"the kernel {release} cannot have '{name}' as an eBPF program: {text}", hint=f"{_HINT}; {again}"
    )


def reason_of(log: str) -> str | None:
    """Return what a log of libbpf says that the kernel lacks; None if it does not."""
    for pattern, sentence in _REASONS:
        match = pattern.search(log)
        if match:
            return sentence.format(match[1])
    return None


def verifier_lines(log: str) -> list[str]:
    """Return the end of the verifier's log in a log of libbpf, which says what it refuses; of any other log its end."""
    lines = log.splitlines()
    ends = [number for number, line in enumerate(lines) if line.startswith("processed ")]
    kept = lines[: ends[-1]] if ends else lines
    return [line for line in kept if line.strip() and not _FRAME.search(line)][-_SHOWN_LINES:]


def find(rows: Sequence[Mapping[str, Any]], **values: object) -> list[Mapping[str, Any]]:
    """Return the rows that have these values, the newest last."""
    entries = [row for row in rows if all(row.get(key) == value for key, value in values.items())]
    return sorted(entries, key=lambda row: int(row["id"]))


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([find_tool("bpftool"), *words], capture_output=True, text=True, check=False)


def _error(done: subprocess.CompletedProcess[str]) -> str:
    """Return the message of a failed command, which is in its JSON or on standard error."""
    try:
        return str(json.loads(done.stdout)["error"])
    except (ValueError, KeyError, TypeError):
        return done.stderr.strip().rpartition("\n")[2] or f"status {done.returncode}"


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
    register(object_file(name), name, os.uname().release)
    try:
        _pin(name)
    except BaseException:  # an interruption as well: what is not pinned could not be unloaded
        show("struct_ops", "unregister", "name", name)
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
        number = show("map", "show", "pinned", str(PINS / name))["id"]
        show("struct_ops", "unregister", "id", str(number))
    (PINS / name).unlink()


def status(name: str) -> CongestionControl:
    """Return the state of ``name``. :raises InputError: if it has no program."""
    check_name(name)
    if name not in _read_available():
        return CongestionControl(name, "not loaded")
    if not _is_pinned(name):
        return CongestionControl(name, "taken")
    data = find(show("map", "show"), name=f"{name}.bss")
    if not data:
        return CongestionControl(name, "loaded")
    number = data[-1]["id"]
    users = [program for program in show("prog", "show") if number in program.get("map_ids", ())]
    maps = {entry for program in users for entry in program["map_ids"]} - {number}
    members = sum(len(show("map", "dump", "id", str(entry))) for entry in maps)
    return CongestionControl(name, "loaded", members, _counter(number))


def states() -> list[CongestionControl]:
    """Return the state of all congestion controls that have a program."""
    return [status(name) for name in CONGESTION_CONTROLS]


def _counter(number: int) -> int:
    """Return the value of the program's only variable, from the map with its data."""
    (entry,) = show("map", "dump", "id", str(number))
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
    entries = find(show("map", "show"), name=name, type="struct_ops")
    if not entries:
        raise LabError(f"'{name}' was loaded, but is not among the kernel's eBPF maps", hint="bpftool map show")
    try:
        PINS.mkdir(mode=0o700, exist_ok=True)
        (PINS / name).unlink(missing_ok=True)
    except OSError as error:
        hint = f"mount -t bpf bpf {BPF_FILES}"
        raise MissingError(f"programs cannot be pinned in {PINS}: {reason(error)}", hint=hint) from error
    show("map", "pin", "id", str(entries[-1]["id"]), str(PINS / name))
