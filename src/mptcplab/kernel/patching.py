# SPDX-License-Identifier: MIT
"""Patches: the files that they touch, and applying them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TextIO

from mptcplab.errors import LabError
from mptcplab.kernel.data import NamedFile
from mptcplab.kernel.process import CommandError, build_environment, run_logged

# The names in the heads of a diff. The first part of a path, a/ or b/, is not a name: `patch -p1` drops it.
_PREFIXED = re.compile(r"^(?:---|\+\+\+) ([^\t\n]+)", re.MULTILINE)
_GIT_HEAD = re.compile(r"^diff --git (\S+) (\S+)$", re.MULTILINE)
_MOVED = re.compile(r"^(?:rename|copy) (?:from|to) (.+)$", re.MULTILINE)


def touched_files(patches: Iterable[NamedFile]) -> set[str]:
    """Return the names of all files that `patches` change, add, remove or rename, relative to the tree."""
    names: set[str] = set()
    for patch in patches:
        text = patch.content.decode(errors="replace")
        prefixed = [*_PREFIXED.findall(text), *(name for pair in _GIT_HEAD.findall(text) for name in pair)]
        names.update(name.strip().partition("/")[2] for name in prefixed if name.strip() != "/dev/null")
        names.update(name.strip() for name in _MOVED.findall(text))
    return {name for name in names if _is_inside(name)}


def apply_patches(patches: Iterable[NamedFile], tree: Path, *, work: Path, log: TextIO) -> None:
    """Apply `patches` to `tree`; they are written below `work`. :raises LabError: if one does not apply."""
    for patch in patches:
        path = work / patch.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(patch.content)
        # No fuzz: a hunk that matches only roughly may be applied to the wrong function. Force: ask nothing, and do
        # not revert a patch that the source already has.
        command = ["patch", "-p1", "--force", "--fuzz=0", "--no-backup-if-mismatch", "-i", str(path)]
        try:
            run_logged(command, cwd=tree, log=log, env=build_environment(os.environ))
        except CommandError as error:
            raise LabError(f"the patch {patch.name} does not apply to this source", hint=error.hint) from error


def check_new(names: Iterable[str], existing: Iterable[str]) -> None:
    """Check that the source has none of our files `names`. :raises LabError: naming the first that it has."""
    if common := sorted(set(names) & set(existing)):
        raise LabError(f"the source already has {common[0]}", hint="rename the file in kernel/net")


def copy_file(path: Path, target: Path) -> None:
    """Copy content and mode of a file. The copy has a new modification time, so that make compiles it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    shutil.copymode(path, target)


def is_same_file(path: Path, other: Path) -> bool:
    """Return whether two files exist and have the same content and mode."""
    return (
        path.is_file()
        and other.is_file()
        and path.stat().st_mode == other.stat().st_mode
        and path.read_bytes() == other.read_bytes()
    )


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(name) and not path.is_absolute() and ".." not in path.parts
