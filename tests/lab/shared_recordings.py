# SPDX-License-Identifier: MIT
"""What sessions of pytest share: recordings, as long as nothing that makes recordings has changed, and a little more.

A recording's identity covers the kernel, the programs, the plan and the code in the guest, but not the code outside of
it, which boots kernels and moves files: that is part of the folder's name here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path

from mptcplab.cache import cache_root
from mptcplab.campaign.identity import code_digest

#: Set by `make test FRESH=1`: execute every run.
FRESH = "MPTCPLAB_FRESH_TESTS"
#: What makes recordings, besides what each recording's identity contains.
_MAKERS = ("engine/**/*.py", "campaign/*.py", "steps.py")
_DAYS = 3
_LARGE_BYTES = 32 << 20


def kept_folder() -> Path:
    """Return the folder of the code as it is now."""
    return cache_root() / "tests" / code_digest(_MAKERS)


def folder(name: str) -> Path:
    """Return a folder of what does not depend on the code that makes recordings, which is thereby in use."""
    place = cache_root() / "tests" / name
    place.mkdir(parents=True, exist_ok=True)
    os.utime(place)
    return place


def keeps() -> bool:
    """Return whether this session takes recordings of earlier ones."""
    return not os.environ.get(FRESH)


def starts_session() -> bool:
    """Return whether this is the process that starts the others of a session which keeps recordings."""
    return keeps() and "PYTEST_XDIST_WORKER" not in os.environ


def begin() -> None:
    """Mark the folder as used now, and remove folders that were not used for days."""
    mine = kept_folder()
    mine.mkdir(parents=True, exist_ok=True)
    os.utime(mine)
    (mine / "log.jsonl").unlink(missing_ok=True)
    for other in mine.parent.iterdir():
        if other.stat().st_mtime < time.time() - _DAYS * 86400:
            shutil.rmtree(other, ignore_errors=True)


def lend(source: Path, target: Path) -> bool:
    """Copy a kept folder to ``target``; return whether it is kept."""
    if not source.is_dir():
        return False
    # A worker that labels a recording anew has a hidden file there for a moment.
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)
    return True


def keep(folder: Path, target: Path) -> None:
    """Keep a copy of ``folder`` at ``target``, complete or not at all, if none is there yet."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent.parent) as place:
        new = shutil.copytree(folder, Path(place) / "copy")
        # Another worker may have been faster.
        with contextlib.suppress(OSError):
            new.rename(target)


def end() -> None:
    """Remove the few recordings, most of them with captures, that take most of the room."""
    places = [place for kind in ("runs", "plans") for place in (kept_folder() / kind).glob("[!.]*")]
    for recording in places:
        if sum(file.stat().st_size for file in recording.rglob("*") if file.is_file()) > _LARGE_BYTES:
            shutil.rmtree(recording, ignore_errors=True)
