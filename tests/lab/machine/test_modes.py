# SPDX-License-Identifier: MIT
"""Recordings are the same bytes with user code in stubs and in the kernel's process, captures included.

The long form is `python -m tests.setups.modes`. MPTCPLAB_TEST_KERNEL=PATH tests another kernel than the default one.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.setups.commands import Comparison
from tests.setups.modes import measure

from mptcplab.engine.virtual.machine import has_inproc
from mptcplab.kernel import find_kernel

KERNEL = os.environ.get("MPTCPLAB_TEST_KERNEL", "7.2")
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
#: Many system calls, many requests, and many programs.
CASES = ("iperf3.toml", "requests.toml", "transfer.toml")


@pytest.mark.parametrize("file", CASES)
def test_recordings_are_the_same_in_both_modes(file: str, tmp_path: Path) -> None:
    if not has_inproc(find_kernel(KERNEL)):
        pytest.skip(f"kernel {KERNEL} cannot run user code in its own process")
    options = ("--set", f"kernel={KERNEL}", "--set", "record.captures=[{node='client'}]", "--repeats", "1")
    difference = measure(Comparison(file, ("run", str(EXAMPLES / file), *options), ("--out",)), tmp_path)
    print(difference)
    captures = [path for path in (tmp_path / "on").rglob("*.pcap") if path.stat().st_size > 1000]
    assert captures, "nothing was captured"
    assert difference.compared > len(captures)
    assert not difference.files, ", ".join(difference.files)
