# SPDX-License-Identifier: MIT
"""The files that a scenario names: bases, traces, sources of eBPF programs. They are noted as they are found.

A scenario of the user's own may name any file. A stranger's scenario is confined to the folder that it came in.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class NamedFile:
    """A file that a scenario names, with its ``name`` as written there.

    A run ``executes`` what it contains, or reads it as data.
    """

    path: Path
    name: str
    executes: bool

    @property
    def is_portable(self) -> bool:
        """Whether the name leads to the file also in a copy of the scenario's folder."""
        return not (self.name.startswith("~") or os.path.isabs(self.name))


@dataclass
class NamedFiles:
    """Finds the files that a scenario names. With a ``root``, all must be regular files in that folder."""

    root: Path | None = None
    files: dict[Path, NamedFile] = field(default_factory=dict)

    def locate(self, folder: Path, name: str, *, executes: bool, confined: bool) -> Path | None:
        """Return the path of ``name`` in ``folder``, and note it.

        None if it is ``confined`` and outside of the root.
        """
        if self.root is not None and confined:
            path = _locate_inside(self.root, folder, name)
            if path is None:
                return None
        else:
            path = folder / _expand(name)
        # A file that is executed once is code, however else it is read.
        before = self.files.get(path)
        self.files[path] = NamedFile(path, name, executes or (before is not None and before.executes))
        return path


def _expand(name: str) -> Path:
    """Return ``name`` with the home folder in place of ``~``; as it is if it names an unknown user."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def _locate_inside(root: Path, folder: Path, name: str) -> Path | None:
    """Return the path of ``name`` if it is in ``root``, by its text and with links followed; None otherwise."""
    if "\0" in name:
        return None
    path = Path(os.path.normpath(folder / name))
    real = Path(os.path.realpath(path))
    inside = path.is_relative_to(root) and real.is_relative_to(os.path.realpath(root))
    return path if inside else None
