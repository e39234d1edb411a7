# SPDX-License-Identifier: MIT
"""Kept trees: a later build of the same source with other patches or files of ours continues in one.

    ~/.cache/mptcplab/trees/7.2-BASE12/       a patched, configured and built tree, about 2 GB
                                .mptcplab/    the files that patches changed, as they were before
                            7.2-BASE12.json   what we put into it, and whether a build was in progress

A tree belongs to a source, a compiler and options: BASE is their hash. Patches and our source files (`kernel/net/`) may
differ between builds. Patches are applied to copies of the original files, and only the files whose content differs
from the tree's are written, so that make compiles no others. A user's git tree (`--source`) is identified by its path:
its files that changed since the last build are copied.

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
from mptcplab.kernel.patching import apply_patches, check_new, copy_file, is_same_file, touched_files
from mptcplab.kernel.process import CommandKilledError
from mptcplab.kernel.source import KernelSource, listed_files
from mptcplab.kernel.steps import EXPECTED_STEPS, BuildJob, add_file, compile_kernel, configure, unpack_source

_FORMAT = 2
_ORIGINALS = ".mptcplab"
Stat = list[int]


@dataclass
class _Contents:
    """The record of a tree. `files` has the size and modification time of every source file, including ours."""

    base: str
    busy: bool = True
    configured: bool = False
    config_sha256: str = ""
    files: dict[str, Stat] = field(default_factory=dict)
    source_sha256: str = ""
    source: dict[str, Stat] = field(default_factory=dict)
    """The files of a user's git tree, as they were when they were copied."""
    patches: list[list[str]] = field(default_factory=list)
    """The names and hashes of the patches that are applied."""
    patched: list[str] = field(default_factory=list)
    """The names of the files that these patches touch."""
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
        """True if a tree was kept here. It may be unusable."""
        return self.path.is_dir()

    def build(self, job: BuildJob) -> None:
        """Build `job` in the existing tree or in a new one. :raises LabError: if it fails; the tree then stays."""
        known = self._load()
        contents = known or self._make(job)
        if known:
            self._refuse_changes(known)
            job.tree, job.warnings, job.lost = self.path, known.warnings, tuple(known.lost)
        with self._mark_busy(contents):
            self._remove_overlay(job, contents)
            self._update_source(job, contents)
            self._update_patches(job, contents)
            self._update_overlay(job, contents)
            if not contents.configured:
                configure(job)
                contents.configured, contents.lost = True, list(job.lost)
                contents.config_sha256 = _sha256(self.path / ".config")
            compile_kernel(job, expected=None if known else EXPECTED_STEPS)

    def _make(self, job: BuildJob) -> _Contents:
        """Create a new tree, still without patches and our files."""
        shutil.rmtree(self.path, ignore_errors=True)
        source = _source_stats(job.source)
        unpack_source(job)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        contents = _Contents(
            self.base,
            files=dict(_stats(job.tree)),
            source_sha256=job.source.sha256,
            source=source,
            warnings=job.warnings,
        )
        self._save(contents)
        job.tree.rename(self.path)
        job.tree = self.path
        return contents

    def _update_source(self, job: BuildJob, contents: _Contents) -> None:
        """Copy what changed in the user's git tree. A file that a patch touches is only copied to the originals."""
        if job.source.sha256 == contents.source_sha256:
            return
        job.progress.stage(f"copying changes of {job.source.name}")
        source = _source_stats(job.source)
        names = {name for name in {*source, *contents.source} if source.get(name) != contents.source.get(name)}
        check_new((file.name for file in job.inputs.overlay), source)
        for name in sorted(names):
            target = self._originals / name if name in contents.patched else self.path / name
            self._replace(job.source.path / name if name in source else None, target, name, contents)
        contents.source_sha256, contents.source = job.source.sha256, source
        if names.intersection(contents.patched):
            contents.patches = []

    def _update_patches(self, job: BuildJob, contents: _Contents) -> None:
        """Bring the files that patches touch up to date, and keep the originals of these files."""
        patches = [[patch.name, patch.sha256] for patch in job.inputs.patches]
        if patches == contents.patches:
            return
        job.progress.stage("applying patches")
        names = touched_files(job.inputs.patches)
        check_new((file.name for file in job.inputs.overlay), names)
        patched = job.work / "patched"
        patched.mkdir()
        for name in names:
            known = name in contents.files and name not in contents.overlay
            original = self._originals / name if name in contents.patched else self.path / name
            if known or name in contents.patched:
                _copy_if_there(original, patched / name)
        # Nothing of the tree has changed if this fails.
        apply_patches(job.inputs.patches, patched, work=job.work, log=job.log)
        for name in sorted(names - set(contents.patched)):
            if name in contents.files:
                _copy_if_there(self.path / name, self._originals / name)
        for name in sorted(names.union(contents.patched)):
            wanted = (patched if name in names else self._originals) / name
            self._replace(wanted if wanted.is_file() else None, self.path / name, name, contents)
        for name in set(contents.patched) - names:
            (self._originals / name).unlink(missing_ok=True)
        contents.patches, contents.patched = patches, sorted(names)

    def _replace(self, wanted: Path | None, target: Path, name: str, contents: _Contents) -> None:
        """Give `target`, the file `name` or its original, the content of `wanted`; None: remove it.

        An unchanged file keeps its modification time, by which make decides.
        """
        in_tree = target == self.path / name
        if wanted is None:
            target.unlink(missing_ok=True)
            if in_tree:
                contents.files.pop(name, None)
                contents.warnings.pop(str(Path(name).with_suffix(".o")), None)
        elif is_same_file(wanted, target):
            return
        else:
            target.unlink(missing_ok=True)
            _copy_if_there(wanted, target)
            if in_tree:
                contents.files[name] = _stat(target)
        if in_tree and Path(name).name.startswith("Kconfig"):
            contents.configured = False

    def _remove_overlay(self, job: BuildJob, contents: _Contents) -> None:
        """Remove our files that are no longer wanted."""
        wanted = {file.name for file in job.inputs.overlay}
        for name in [name for name in contents.overlay if name not in wanted]:
            self._replace(None, self.path / name, name, contents)
            del contents.overlay[name]

    def _update_overlay(self, job: BuildJob, contents: _Contents) -> None:
        """Bring our files up to date. Unchanged files keep their modification time, by which make decides."""
        changed = [file for file in job.inputs.overlay if contents.overlay.get(file.name) != file.sha256]
        for file in changed:
            self._write(file, contents)
        if any(Path(file.name).name.startswith("Kconfig") for file in changed):
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
    def _originals(self) -> Path:
        return self.path / _ORIGINALS

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
    inputs: KernelInputs, source: KernelSource, *, compiler: str, version: str, variant: str, cache: Path
) -> SourceTree:
    """Return the place of the kept tree in which a kernel of these inputs can be built."""
    # Without git's list, nothing tells the sources of a user's tree from what a build left there.
    identity = source.sha256 if listed_files(source) is None else f"git tree {source.path}"
    base = inputs.options_alone.key(source_sha256=identity, compiler=compiler)
    return SourceTree(cache / "trees" / entry_name(variant_name(version, variant), base), base)


def _source_stats(source: KernelSource) -> dict[str, Stat]:
    return {name: _stat(source.path / name) for name in listed_files(source) or ()}


def _copy_if_there(path: Path, target: Path) -> None:
    """Copy a file or a symbolic link."""
    if path.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(path.readlink())
    elif path.is_file():
        copy_file(path, target)


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
