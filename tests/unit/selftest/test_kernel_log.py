# SPDX-License-Identifier: MIT
"""Complaints of the kernel during a selftest are a separate failure; the status remains the script's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mptcplab.selftest.tap import kernel_result, watch_log

_QUIET = "[    0.000000] Linux version 7.2\n[    9.000000] MPTCP: kernel_bind error, err=-98\n"
_SPLAT = (
    "[   12.5] ============================\n[   12.5] WARNING: suspicious RCU usage\n"
    "[   13.0] WARNING: suspicious RCU usage\n[   14.0] BUG: KASAN: slab-out-of-bounds in olia_alpha+0x10/0x20\n"
)


def _run(tmp_path: Path, log: str, command: str) -> subprocess.CompletedProcess[str]:
    """Run ``command`` in a shell whose dmesg prints ``log``."""
    (tmp_path / "log").write_text(log)
    dmesg = tmp_path / "dmesg"
    dmesg.write_text(f"#!/bin/sh\ncat {tmp_path / 'log'}\n")
    dmesg.chmod(0o755)
    line = f"PATH={tmp_path}:$PATH && {{ {watch_log(command)}; }}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=10)


def test_a_quiet_kernel_adds_nothing_to_the_scripts_output(tmp_path: Path) -> None:
    done = _run(tmp_path, _QUIET, "echo ok 1 - first")
    assert (done.stdout, done.returncode) == ("ok 1 - first\n", 0)
    assert kernel_result(done.stdout) is None


@pytest.mark.parametrize("status", [0, 1, 4])
def test_a_complaint_is_a_failed_test_and_the_status_is_the_scripts(tmp_path: Path, status: int) -> None:
    done = _run(tmp_path, _SPLAT, f"(echo ok 1 - first; exit {status})")
    result = kernel_result(done.stdout)
    assert done.returncode == status
    assert done.stdout.startswith("ok 1 - first\n")
    assert _SPLAT in done.stdout
    assert result is not None
    assert result.verdict == "not ok"
    assert result.reason == "WARNING: suspicious RCU usage (and others, 2 in total)", result.reason


def test_words_of_a_script_are_not_the_kernels() -> None:
    assert kernel_result("WARNING: this test is slow\nok 1 - first\n") is None
