# SPDX-License-Identifier: MIT
"""Runs bpftool, which loads eBPF programs and lists the loaded ones; turns its log into one sentence."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mptcplab.ebpf.objects import find_tool
from mptcplab.errors import LabError, MissingError

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
