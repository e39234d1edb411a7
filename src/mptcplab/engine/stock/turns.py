# SPDX-License-Identifier: MIT
"""Compiles `turns.c`, the library that makes the threads of QEMU take turns, on first use."""

from __future__ import annotations

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.engine.fingerprints import fingerprint
from mptcplab.engine.tools import find_program
from mptcplab.errors import LabError

SOURCE = Path(__file__).with_name("turns.c")
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared")


@cache
def turns_library() -> Path:
    """Return the path of the library. :raises MissingError: without a compiler. :raises LabError: if that fails."""
    compiler = find_program("gcc")
    digest = hashlib.sha256(fingerprint(compiler).encode() + SOURCE.read_bytes())
    library = cache_root() / "tools" / f"turns-{digest.hexdigest()[:KEY_CHARS]}.so"
    with hold_lock("turns", cache_root()):
        if not library.is_file():
            with make_work_folder("turns", cache_root()) as work:
                command = [str(compiler), *_FLAGS, "-o", str(work / "turns.so"), str(SOURCE)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise LabError(
                        f"the source `{SOURCE.name}` does not compile", hint=f"to see why: {' '.join(command)}"
                    )
                library.parent.mkdir(parents=True, exist_ok=True)
                os.rename(work / "turns.so", library)
    return library
