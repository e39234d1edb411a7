# SPDX-License-Identifier: MIT
"""For developers of patches: trying in half a minute whether they apply, and a git tree to write them in."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from mptcplab.cache import cache_root, make_work_folder
from mptcplab.errors import InputError, reason
from mptcplab.files import expand_home
from mptcplab.kernel.build import BuildOptions, find_recipe, find_source, open_job
from mptcplab.kernel.data import KernelInputs, NamedFile, load_inputs, with_patches
from mptcplab.kernel.patching import apply_patches, touched_files
from mptcplab.kernel.process import build_environment, require_tools, run_logged, sigterm_as_interrupt
from mptcplab.kernel.progress import Reporter, SilentProgress
from mptcplab.kernel.source import KernelSource, unpack, unpack_some
from mptcplab.kernel.steps import add_file, configure

#: The files of a source that its configuration reads.
_CONFIGURATION = ("Makefile*", "Kconfig*", "Kbuild*", "scripts/*", "arch/um/*", "kernel/configs/*")
#: The programs that make a tree, with their Debian packages.
_TOOLS = {"git": "git", "patch": "patch", "tar": "tar", "xz": "xz-utils"}
#: Commits are the same on all machines, and no user's hook or key takes part.
_GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_NAME": "mptcplab" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "mptcplab@localhost" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_DATE": "1970-01-01T00:00:00Z" for role in ("AUTHOR", "COMMITTER")},
}
_SUBJECT = re.compile(r"^Subject: (?:\[[^]]*\] *)?(.+(?:\n[ \t]+.+)*)", re.MULTILINE)
_OVERLAY_SUBJECT = "The lab's files of kernel/net"
_DEFAULTS = BuildOptions()


@dataclass(frozen=True)
class CheckedBuild:
    """The result of a check: what a build would apply, and options that this version does not accept."""

    version: str
    variant: str
    patches: tuple[str, ...]
    lost_options: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return what ``mptcplab kernel build --check --json`` prints."""
        return {
            "version": self.version,
            "variant": self.variant,
            "patches": list(self.patches),
            "lost_options": list(self.lost_options),
        }


@dataclass(frozen=True)
class DeveloperTree:
    """A git tree with the lab's changes as commits: its place, the version of Linux, and the subjects in order."""

    path: Path
    version: str
    commits: tuple[str, ...]


def check_build(
    version: str | None = None,
    source: Path | None = None,
    options: BuildOptions = _DEFAULTS,
    *,
    progress: Reporter | None = None,
    cache: Path | None = None,
    inputs: KernelInputs | None = None,
) -> CheckedBuild:
    """Check that all patches apply, and that the configuration has the lab's options, without compiling anything.

    Only the files that patches touch and the files that the configuration reads are unpacked. The arguments are as for
    :func:`mptcplab.kernel.build.build_kernel`.

    :raises MissingError: if tools or the source are missing. :raises InputError: for a bad version, source or patch.
    :raises LabError: if a patch does not apply, or an essential option is lost.
    """
    cache = cache or cache_root()
    progress = progress or SilentProgress()
    with sigterm_as_interrupt():
        recipe = find_recipe(version, source, options, progress=progress, cache=cache, inputs=inputs)
        with open_job(recipe, options, progress, cache) as job:
            progress.stage(f"unpacking parts of {recipe.source.name}")
            patterns = (*_CONFIGURATION, *(f"*/{name}" for name in _CONFIGURATION), *touched_files(job.inputs.patches))
            unpack_some(recipe.source, job.tree, patterns, log=job.log)
            progress.stage("applying patches")
            apply_patches(job.inputs.patches, job.tree, work=job.work, log=job.log)
            for file in job.inputs.overlay:
                add_file(job.tree, file.name, file.content)
            configure(job)
    names = tuple(patch.name for patch in recipe.inputs.patches)
    return CheckedBuild(recipe.version, recipe.variant, names, job.lost)


def write_tree(
    path: Path,
    version: str | None = None,
    source: Path | None = None,
    options: BuildOptions = _DEFAULTS,
    *,
    progress: Reporter | None = None,
    cache: Path | None = None,
    inputs: KernelInputs | None = None,
) -> DeveloperTree:
    """Write a git tree to the new folder `path`: Linux, then a commit for each of the lab's patches and its files.

    It is complete, for patches of any part of Linux. The other arguments are as for
    :func:`mptcplab.kernel.build.build_kernel`.

    :raises MissingError: if git or the source are missing.
    :raises InputError: if `path` exists, or for a bad version, source or patch.
    :raises LabError: if a patch does not apply.
    """
    cache = cache or cache_root()
    progress = progress or SilentProgress()
    path = expand_home(path).absolute()
    if path.exists():
        raise InputError(f"'{path}' exists already", hint="name a new folder")
    require_tools(_TOOLS)
    with sigterm_as_interrupt(), make_work_folder("tree", cache) as work, (work / "log").open("w") as log:
        origin, actual = find_source(version, source, options, progress=progress, cache=cache)
        inputs = with_patches(inputs or load_inputs(actual, variant=options.variant), options.patches)
        part = path.with_name(f".{path.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            part.parent.mkdir(parents=True, exist_ok=True)
            commits = _write_commits(part, origin, inputs, work, log, progress)
            part.rename(path)
        except OSError as error:
            raise InputError(f"'{path}' cannot be written: {reason(error)}", hint="name another folder") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return DeveloperTree(path, actual, commits)


def _write_commits(
    tree: Path, source: KernelSource, inputs: KernelInputs, work: Path, log: TextIO, progress: Reporter
) -> tuple[str, ...]:
    """Write the tree with its commits, and return their subjects."""
    environment = build_environment(os.environ) | _GIT

    def commit(subject: str, names: Iterable[str]) -> str:
        run_logged(["git", "add", "--all", "--force", "--", *names], cwd=tree, log=log, env=environment)
        run_logged(["git", "commit", "--quiet", "-m", subject], cwd=tree, log=log, env=environment)
        return subject

    progress.stage(f"unpacking {source.name}")
    unpack(source, tree, log=log, without=())
    progress.stage("committing")
    run_logged(["git", "init", "--quiet", "--initial-branch=lab"], cwd=tree, log=log, env=environment)
    package = f" {source.package_version}" if source.package_version else ""
    subjects = [commit(f"{source.name}{package}", ["."])]
    for patch in inputs.patches:
        apply_patches([patch], tree, work=work, log=log)
        subjects.append(commit(_subject_of(patch), touched_files([patch])))
    for file in inputs.overlay:
        add_file(tree, file.name, file.content)
    if inputs.overlay:
        subjects.append(commit(_OVERLAY_SUBJECT, [file.name for file in inputs.overlay]))
    return tuple(subjects)


def _subject_of(patch: NamedFile) -> str:
    """Return the subject of a patch as `git format-patch` writes it, or its file's name."""
    match = _SUBJECT.search(patch.content.decode(errors="replace").partition("\n---\n")[0])
    return " ".join(match[1].split()) if match else Path(patch.name).stem
