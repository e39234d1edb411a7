# SPDX-License-Identifier: MIT
"""The parts of the guest's program that run anywhere."""

from __future__ import annotations

import ast
import errno
import signal
import sys
from pathlib import Path

import pytest

import mptcplab.guest
from mptcplab.guest import algorithms, init, kernel_log, nodes, timeline


def test_guest_needs_the_standard_library_only() -> None:
    """It runs with ``python -IS``: without site-packages and modules of the host side."""
    for file in Path(mptcplab.guest.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                top = name.partition(".")[0]
                assert name.startswith("mptcplab.guest") or top in sys.stdlib_module_names, f"{file.name}: {name}"


def test_ends_of_programs() -> None:
    assert timeline._end_of(7) == "ended with status 7"
    assert timeline._end_of(-signal.SIGSEGV) == "was killed by SIGSEGV"


@pytest.mark.parametrize(("text", "count"), [("uncoupled 7\n", 7), ("later 1\nuncoupled 0\n", 0), ("", None)])
def test_uncoupled_subflows_are_read_by_name(text: str, count: int | None) -> None:
    assert algorithms.parse_uncoupled(text) == count


def test_a_name_that_the_kernel_lacks_is_reported_with_those_it_has(tmp_path: Path) -> None:
    available = tmp_path / "available"
    available.write_text("reno cubic\n")
    algorithms._check_names(["cubic"], str(available), "congestion control")
    with pytest.raises(nodes.GuestError, match="no congestion control 'lia': it has cubic, reno"):
        algorithms._check_names(["cubic", "lia"], str(available), "congestion control")
    algorithms._check_names(["lia"], str(tmp_path / "older-kernels-lack-it"), "MPTCP scheduler")


def test_the_kernels_log_is_kept_for_a_complaint_only(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = "6,1,1000000,-;all is well\n SUBSYSTEM=net\n"
    monkeypatch.setattr(kernel_log, "_whole_text", lambda: b"")
    monkeypatch.setattr(kernel_log, "_records", lambda: [quiet])
    assert kernel_log.read_log_of_problems() == ""
    monkeypatch.setattr(kernel_log, "_records", lambda: [quiet, "4,2,2500000,-;WARNING: here\n"])
    with_complaint = "[    1.000000] all is well\n[    2.500000] WARNING: here\n"
    assert kernel_log.read_log_of_problems() == with_complaint
    monkeypatch.setattr(kernel_log, "_whole_text", lambda: f"<4>{with_complaint}".encode())
    assert kernel_log.read_log_of_problems() == with_complaint
    monkeypatch.setattr(kernel_log, "_whole_text", lambda: b"all is well")
    monkeypatch.setattr(kernel_log, "_records", list)
    assert kernel_log.read_log_of_problems() == ""


def test_error_without_a_number_is_not_blamed_on_the_results_folder(capfd: pytest.CaptureFixture[str]) -> None:
    error = OSError("the kernel does not tell the state of queue 1:")
    assert init._describe_error(error)["error"] == "the guest failed, which is a bug of mptcplab"
    full = OSError(errno.ENOSPC, "No space left on device")
    assert init._describe_error(full)["error"] == "the results folder cannot be written: no space left on device"
    capfd.readouterr()
