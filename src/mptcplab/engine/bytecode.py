# SPDX-License-Identifier: MIT
"""Compiles the guest's modules. A lab cannot write beside them, so each run would compile them again."""

from __future__ import annotations

import compileall
import sys
from functools import cache
from pathlib import Path

import mptcplab


@cache
def compile_guest() -> None:
    """Write the bytecode of the guest's modules that is missing or old, as Python does where it imports them.

    Where that is not allowed, or not wanted (PYTHONDONTWRITEBYTECODE), labs take longer to start.
    """
    if sys.dont_write_bytecode:
        return
    compileall.compile_dir(Path(mptcplab.__file__).with_name("guest"), quiet=2)
