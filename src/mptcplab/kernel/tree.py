# SPDX-License-Identifier: MIT
"""Kept trees: a later build that differs only in our own source files continues in one.

    ~/.cache/mptcplab/trees/7.2-BASE12/       a patched, configured and built tree, about 2 GB
                            7.2-BASE12.json   what we put into it, and whether a build was in progress

A tree belongs to a source, a compiler, patches and options: BASE is their hash. Our source files (`kernel/net/`) may
differ between builds: only those whose content changed are written, so that make compiles no others.

The result must be the same kernel as from a build in a new tree. Therefore a tree in which a build was killed is
removed, since make may have been writing a file. A tree in which the size or modification time of a file has changed
is not used: that is a user's work, so the build is refused and the tree stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mptcplab.errors import LabError
from mptcplab.kernel.cache import entry_name, variant_name
from mptcplab.kernel.data import KernelInputs, NamedFile
from mptcplab.kernel.process import CommandKilledError
from mptcplab.kernel.steps import EXPECTED_STEPS, BuildJob, add_file, compile_kernel, configure, prepare

_FORMAT = 1
Stat = list[int]


@dataclass
class _Contents:
    """The record of a tree. `files` has the size and modification time of every source file, including ours."""

    base: str
    busy: bool = True
    configured: bool = False
    config_sha256: str = ""
    files: dict[str, Stat] = field(default_factory=dict)
    overlay: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SourceTree:
    """The tree at `path`, which may or may not exist."""

    path: Path
    base: str

    @property
    def exists(self) -> bool:
        """Whether a tree was kept here. It may be unusable."""
        return self.path.is_dir()

    def build(self, job: BuildJob) -> None:
        """Build `job` in the existing tree or in a new one. :raises LabError: if it fails; the tree then stays."""
        known = self._load()
        contents = known or self._make(job)
        if known:
            self._refuse_changes(known)
            job.tree, job.warnings, job.lost = self.path, known.warnings, tuple(known.lost)
        with self._mark_busy(contents):
            self._update_overlay(job, contents)
            if not contents.configured:
                configure(job)
                contents.configured, contents.lost = True, list(job.lost)
                contents.config_sha256 = _sha256(self.path / ".config")
            compile_kernel(job, expected=None if known else EXPECTED_STEPS)

    def _make(self, job: BuildJob) -> _Contents:
        """Create a new tree, still without our files."""
        shutil.rmtree(self.path, ignore_errors=True)
        prepare(job)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        contents = _Contents(self.base, files=dict(_stats(job.tree)), warnings=job.warnings)
        self._save(contents)
        job.tree.rename(self.path)
        job.tree = self.path
        return contents

    def _update_overlay(self, job: BuildJob, contents: _Contents) -> None:
        """Bring our files up to date. Unchanged files keep their modification time, by which make decides."""
        overlay = {file.name: file for file in job.inputs.overlay}
        changed = [name for name, file in overlay.items() if contents.overlay.get(name) != file.sha256]
        removed = [name for name in contents.overlay if name not in overlay]
        for name in removed:
            (self.path / name).unlink()
            del contents.files[name], contents.overlay[name]
            contents.warnings.pop(str(Path(name).with_suffix(".o")), None)
        for name in changed:
            self._write(overlay[name], contents)
        if any(Path(name).name.startswith("Kconfig") for name in (*changed, *removed)):
            contents.configured = False

    def _write(self, file: NamedFile, contents: _Contents) -> None:
        if file.name in contents.overlay:
            (self.path / file.name).write_bytes(file.content)
        else:
            add_file(self.path, file.name, file.content)
        contents.files[file.name] = _stat(self.path / file.name)
        contents.overlay[file.name] = file.sha256

    @contextmanager
    def _mark_busy(self, contents: _Contents) -> Iterator[None]:
        """Mark the tree as busy, and so as unusable, while inside.

        A make that failed leaves the tree consistent; a killed make may not, so the mark stays.
        """
        contents.busy = True
        self._save(contents)
        try:
            yield
        except CommandKilledError:
            raise
        except LabError:
            contents.busy = False
            self._save(contents)
            raise
        contents.busy = False
        self._save(contents)

    def _refuse_changes(self, contents: _Contents) -> None:
        changed = [name for name, known in contents.files.items() if _stat(self.path / name) != known]
        if contents.configured and _sha256(self.path / ".config") != contents.config_sha256:
            changed.append(".config")
        if changed:
            raise LabError(
                f"the kept tree {self.path} was modified: {changed[0]} has changed",
                hint=f"save the change as a patch, or build it from another tree with --source; then rm -r {self.path}",
            )

    @property
    def _file(self) -> Path:
        return self.path.with_name(f"{self.path.name}.json")

    def _load(self) -> _Contents | None:
        """Return the record of the tree; None if there is no usable tree."""
        try:
            known: dict[str, Any] = json.loads(self._file.read_text())
            if known.pop("format") != _FORMAT:
                return None
            contents = _Contents(**known)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return contents if self.exists and contents.base == self.base and not contents.busy else None

    def _save(self, contents: _Contents) -> None:
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps({"format": _FORMAT, **vars(contents)}))
        part.rename(self._file)


def tree_for(
    inputs: KernelInputs, *, source_sha256: str, compiler: str, version: str, variant: str, cache: Path
) -> SourceTree:
    """Return the place of the kept tree in which a kernel of these inputs can be built."""
    base = inputs.without_overlay.key(source_sha256=source_sha256, compiler=compiler)
    return SourceTree(cache / "trees" / entry_name(variant_name(version, variant), base), base)


def _stats(tree: Path) -> Iterator[tuple[str, Stat]]:
    for folder, _, names in os.walk(tree):
        for name in names:
            path = Path(folder, name)
            yield path.relative_to(tree).as_posix(), _stat(path)


def _stat(path: Path) -> Stat:
    """Return the size and modification time; empty if the file does not exist."""
    try:
        pair = path.lstat()
    except OSError:
        return []
    return [pair.st_size, pair.st_mtime_ns]


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
