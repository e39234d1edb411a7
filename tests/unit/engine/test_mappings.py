# SPDX-License-Identifier: MIT
"""Why a lab stands still: a program has as many memory mappings as this machine allows a process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mptcplab.engine.virtual import machine
from mptcplab.engine.virtual.machine import LabMachine


@pytest.fixture
def lab() -> Iterator[LabMachine]:
    """A machine whose process is a program with a child, in a session of their own."""
    shell = subprocess.Popen(["sh", "-c", "sleep 100 & echo; wait"], start_new_session=True, stdout=subprocess.PIPE)
    assert shell.stdout is not None
    # Popen returns before the kernel maps the program: of 1,500 on a busy machine, 4 had two mappings then.
    shell.stdout.readline()
    made = LabMachine.__new__(LabMachine)
    made._process = shell
    yield made
    os.killpg(shell.pid, 9)
    shell.communicate()


@pytest.mark.parametrize(("limit", "expected"), [(5, "has 5 memory mappings"), (100_000, None)])
def test_a_process_at_the_limit_is_the_cause(
    lab: LabMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, expected: str | None
) -> None:
    """Any program has more than five: its code, its data, its stack and the C library's."""
    (tmp_path / "max_map_count").write_text(f"{limit}\n")
    monkeypatch.setattr(machine, "_MAX_MAPPINGS", tmp_path / "max_map_count")
    cause = lab.cause_of_stall()
    assert (cause is None) == (expected is None), cause
    assert expected is None or expected in str(cause), cause


def test_processes_are_those_of_the_session(lab: LabMachine) -> None:
    processes = set(machine._processes(lab.pid))
    assert lab.pid in processes
    assert os.getpid() not in processes
