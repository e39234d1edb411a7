# SPDX-License-Identifier: MIT
"""QEMU's threads take turns: when its main thread wakes makes no difference."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.stock.conftest import Measure

from mptcplab.engine.stock import machine
from mptcplab.engine.stock.machine import turns_library

_SOURCE = Path(__file__).with_name("awake.c")
_SHORT = ("workloads.bulk.duration=300 ms",)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="QEMU's threads need a CPU each")
def test_a_main_thread_that_always_wakes_changes_nothing(
    measure: Measure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the library of turns, two such runs differ from each other."""
    quiet = measure("stock", *_SHORT, name="quiet")
    library = tmp_path / "awake.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, _SOURCE], check=True)
    turns = turns_library()
    monkeypatch.setattr(machine, "turns_library", lambda: f"{turns}:{library}")
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    monkeypatch.setattr(machine, "host_cpus", lambda _boot: cpus)
    awake = measure("stock", *_SHORT, name="awake")
    assert quiet.folder is not None
    assert awake.folder is not None
    assert quiet.virtual_ns == awake.virtual_ns
    for file in sorted(file for file in quiet.folder.rglob("*") if file.is_file()):
        assert file.read_bytes() == (awake.folder / file.relative_to(quiet.folder)).read_bytes(), file.name
