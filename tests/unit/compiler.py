# SPDX-License-Identifier: MIT
"""Compiling the kernel's headers for user space: a mistake in one is reported by the compiler's first error."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

_HINT = "types that headers of kernel/net/mptcp may use in user space are in coupled_types.h: u32, s32, u64, s64"


def compile_c(command: Sequence[str | Path]) -> None:
    """Run a compiler, and fail the test with its first error if it fails: the summary names it once for each test."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    print(done.stderr)
    lines = done.stderr.splitlines()
    first = next((line for line in lines if " error: " in line or "undefined reference" in line), "".join(lines[:1]))
    hint = f" ({_HINT})" if "unknown type name" in first else ""
    pytest.fail(f"{first or f'{command[0]} ended with status {done.returncode}'}{hint}", pytrace=False)
