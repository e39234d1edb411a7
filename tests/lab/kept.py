# SPDX-License-Identifier: MIT
"""Recordings that sessions of pytest share, as long as nothing that makes recordings has changed.

A recording's identity covers the kernel, the programs, the plan and the code in the guest, but not the code outside of
it, which boots kernels and moves files: that is part of the folder's name here.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from mptcplab.cache import cache_root
from mptcplab.campaign.identity import code_digest

#: Set by `make test FRESH=1`: execute every run.
FRESH = "MPTCPLAB_FRESH_TESTS"
#: What makes recordings, besides what each recording's identity contains.
_MAKERS = ("engine/**/*.py", "campaign/*.py", "steps.py")
_DAYS = 3
_LARGE_BYTES = 10 << 20


def kept_folder() -> Path:
    """Return the folder of the code as it is now."""
    return cache_root() / "tests" / code_digest(_MAKERS)


def keeps() -> bool:
    """Return whether this session takes recordings of earlier ones."""
    return not os.environ.get(FRESH)


def starts_session() -> bool:
    """Return whether this is the process that starts the others of a session which keeps recordings."""
    return keeps() and "PYTEST_XDIST_WORKER" not in os.environ


def begin() -> None:
    """Mark the folder as used now, and remove those that were not used for days."""
    mine = kept_folder()
    mine.mkdir(parents=True, exist_ok=True)
    os.utime(mine)
    (mine / "log.jsonl").unlink(missing_ok=True)
    for folder in mine.parent.iterdir():
        if folder.stat().st_mtime < time.time() - _DAYS * 86400:
            shutil.rmtree(folder, ignore_errors=True)


def end() -> None:
    """Remove the few recordings, most of them with captures, that take most of the room."""
    for recording in (kept_folder() / "runs").glob("[!.]*"):
        if sum(file.stat().st_size for file in recording.rglob("*") if file.is_file()) > _LARGE_BYTES:
            shutil.rmtree(recording, ignore_errors=True)
