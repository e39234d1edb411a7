# SPDX-License-Identifier: MIT
"""The bench of the lab's tests, with the kernel whose nodes can have a CPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.bench import Bench

from mptcplab.engine.tools import compile_tools
from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.errors import MissingError
from mptcplab.kernel import find_kernel

KERNEL = "7.2-cpu"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Runs scenarios in a folder of the test's own. Without the kernel, its tests fail."""
    try:
        kernel = find_kernel(KERNEL)
    except MissingError as error:
        pytest.fail(f"{error.message}; {error.hint}", pytrace=False)
    return Bench({KERNEL: VirtualEngine(kernel, compile_tools())}, tmp_path)
