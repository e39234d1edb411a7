# SPDX-License-Identifier: MIT
"""The results folders that the page shows: those in the folders that the user has named, and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import InputError

_MAX_DEPTH, _MAX_FOLDERS = 4, 500
_MAX_DOCUMENT_BYTES = 64 << 20
_MARKS = ("results.json", "partial.json", "runs")


@dataclass(frozen=True)
class Folder:
    """A results folder: the number of the root, and the path below it with slashes."""

    root: int
    name: str
    path: Path
    title: str
    is_complete: bool


@dataclass(frozen=True)
class Folders:
    """Results folders below ``roots``, which need not exist yet."""

    roots: tuple[Path, ...]

    @classmethod
    def find_below(cls, roots: Sequence[Path]) -> Folders:
        """Return the folders below ``roots``. :raises InputError: if one is a file."""
        for root in roots:
            if root.exists() and not root.is_dir():
                raise InputError(f"'{root}' is not a folder", hint="name results folders, or a folder that has some")
        return cls(tuple(root.resolve() for root in roots))

    def list(self) -> list[Folder]:
        """Return all results folders, by root and name."""
        listed = []
        for number, root in enumerate(self.roots):
            for path in _results_below(root, _MAX_DEPTH):
                name = path.relative_to(root).as_posix()
                listed.append(Folder(number, name, path, _title(path), (path / "results.json").is_file()))
                if len(listed) == _MAX_FOLDERS:
                    return listed
        return listed

    def find(self, root: int, name: str) -> Path:
        """Return a results folder. :raises InputError: if there is none of this name below the root."""
        for folder in _results_below(self.roots[root], _MAX_DEPTH) if root < len(self.roots) else ():
            # Compared with the folders that exist, so that no name can lead to another place.
            if folder.relative_to(self.roots[root]).as_posix() == name:
                return folder
        raise InputError("there is no such results folder", hint="choose one of the list")


def _results_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the results folders in ``folder``, itself included; links are not followed."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    if any(entry.name in _MARKS for entry in entries):
        yield folder
        return
    for entry in entries if depth else ():
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield from _results_below(folder / entry.name, depth - 1)


def _title(folder: Path) -> str:
    """Return the title of an experiment, or the folder's name."""
    for name in ("results.json", "partial.json"):
        try:
            if (folder / name).stat().st_size <= _MAX_DOCUMENT_BYTES:
                title = json.loads((folder / name).read_text())["title"]
                return title if isinstance(title, str) else folder.name
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return folder.name
