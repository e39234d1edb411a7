# SPDX-License-Identifier: MIT
"""Build the lab kernel: unpack, patch, configure, compile, strip, and put it into the cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, locked, work_dir
from mptcplab.errors import InputError, LabError
from mptcplab.kernel.cache import (
    FORMAT,
    VERSION_PATTERN,
    KernelBuild,
    find_by_key,
    install_entry,
)
from mptcplab.kernel.config import timer_frequency
from mptcplab.kernel.data import DEFAULT_HZ, DEFAULT_VERSION, KernelInputs, load_inputs, variant_of, with_patches
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.process import CommandError, capture, require_tools, sigterm_as_interrupt
from mptcplab.kernel.progress import Reporter, SilentProgress
from mptcplab.kernel.source import Source, local_source, source_version
from mptcplab.kernel.steps import STEP, Job, add_file, compile_kernel, configure, prepare
from mptcplab.kernel.toolchain import MAKE, TOOLS, build_environment, compiler_version
from mptcplab.kernel.tree import SourceTree, tree_for

__all__ = ["TOOLS", "build_environment", "build_kernel", "compiler_version", "first_errors", "kept_tree"]

_ERROR = re.compile(r"\berror\b|\*\*\*|undefined reference|FAILED|No such file", re.IGNORECASE)


def build_kernel(
    version: str | None = None,
    source: Path | None = None,
    jobs: int | None = None,
    keep_tree: bool = False,
    progress: Reporter | None = None,
    *,
    debug: bool = False,
    hz: int = DEFAULT_HZ,
    plain: bool = False,
    fixes: Collection[str] = (),
    patches: Sequence[Path] = (),
    cache: Path | None = None,
    inputs: KernelInputs | None = None,
) -> KernelBuild:
    """The kernel of `version` (None: the source's own, else the default), built unless it is cached.

    `source` is a tarball or a tree to take instead of Debian's package; `jobs` is how many
    compilers run at once (None: one per CPU of this process); `keep_tree` leaves the patched
    and built tree in `kept_tree()`, where later builds go on; `debug` makes the variant that
    checks itself, `hz` one with another timer frequency (one of HZ_CHOICES), `plain` one with
    mainline's network stack, and `fixes` one with some of kernel/upstream (keys of FIXES);
    `patches` are applied after ours. Raises MissingError when tools or the source are missing,
    InputError for a bad version, source or patch, LabError when the build fails.
    """
    if version is not None and not VERSION_PATTERN.match(version):
        raise InputError(
            f"'{version}' is not a kernel version", hint=f"write it as two numbers, such as {DEFAULT_VERSION}"
        )
    cache = cache or cache_root()
    progress = progress or SilentProgress()
    require_tools(TOOLS)
    compiler = compiler_version()
    with sigterm_as_interrupt():
        origin = _origin(version, source, cache, progress)
        actual = source_version(origin)
        _check_version(actual, version)
        variant = variant_of(plain=plain, hz=hz, fixes=fixes, debug=debug)
        inputs = with_patches(inputs or load_inputs(actual, variant=variant), patches)
        key = inputs.key(source_sha256=origin.sha256, compiler=compiler)
        kept = tree_for(
            inputs, source_sha256=origin.sha256, compiler=compiler, version=actual, variant=variant, cache=cache
        )
        with _alone(key[:KEY_CHARS], progress, cache):
            cached = find_by_key(key, cache)
            if cached is not None and (kept.exists or not keep_tree):
                return cached
            with work_dir(key[:KEY_CHARS], cache) as work, (work / "build.log").open("w") as log:
                job = Job(
                    inputs=inputs,
                    source=origin,
                    version=actual,
                    variant=variant,
                    key=key,
                    compiler=compiler,
                    jobs=jobs or len(os.sched_getaffinity(0)),
                    work=work,
                    tree=work / "tree",
                    log=log,
                    progress=progress,
                )
                with _reporting_failures(job, cache), _alone(f"tree-{kept.base[:KEY_CHARS]}", progress, cache):
                    _compile(job, kept if keep_tree or kept.exists else None)
                    return install_entry(_assemble(job, kept), cache)


def kept_tree(kernel: KernelBuild, cache: Path | None = None) -> Path | None:
    """Where the tree is that `kernel` can be built in again, if it was kept and still is there."""
    tree = (cache or cache_root()) / "trees" / kernel.tree
    return tree if kernel.tree and tree.is_dir() else None


def first_errors(log: str, limit: int = 3) -> list[str]:
    """The first lines of a build log that tell what went wrong."""
    lines = (line for line in log.splitlines() if not line.startswith("$ ") and not STEP.match(line))
    return [line.strip() for line in lines if _ERROR.search(line)][:limit]


def _origin(version: str | None, source: Path | None, cache: Path, progress: Reporter) -> Source:
    if source is not None:
        progress.stage(f"reading {source.name}")
        return local_source(source)
    logs = cache / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "download.log").open("w") as log:
        return debian_source(version or DEFAULT_VERSION, cache, progress=progress, log=log)


def _check_version(actual: str, asked: str | None) -> None:
    if asked is not None and actual != asked:
        hint = f"leave the version out, or say {actual}"
        raise InputError(f"the source is Linux {actual}, not {asked}", hint=hint)


@contextmanager
def _alone(name: str, progress: Reporter, cache: Path) -> Iterator[None]:
    """Only one process builds the same kernel, or in the same tree, at a time."""
    with locked(name, cache, waiting=lambda: progress.stage("waiting for another build of this kernel")):
        yield


def _compile(job: Job, kept: SourceTree | None) -> None:
    if kept is not None:
        kept.build(job)
        return
    prepare(job)
    for file in job.inputs.overlay:
        add_file(job.tree, file.name, file.content)
    configure(job)
    compile_kernel(job)


def _assemble(job: Job, kept: SourceTree) -> Path:
    """The entry's directory with all its files, still in the work directory. `kept` need not be there."""
    job.progress.stage("stripping")
    entry = job.work / "entry"
    entry.mkdir()
    job.run("strip", "--strip-all", "-o", str(entry / "linux"), "linux")
    (entry / "linux").chmod(0o755)
    shutil.copyfile(job.tree / "System.map", entry / "System.map")
    shutil.copyfile(job.tree / ".config", entry / "config")
    environment = build_environment(os.environ)
    release = capture([*MAKE, "--silent", "kernelrelease"], cwd=job.tree, env=environment).strip()
    job.log.flush()
    shutil.copyfile(job.work / "build.log", entry / "build.log")
    manifest = {
        "format": FORMAT,
        "version": job.version,
        "variant": job.variant,
        "release": release,
        "key": job.key,
        "inputs": job.inputs.digest,
        "source": job.source.describe(),
        "fragment_sha256": hashlib.sha256(job.inputs.fragment.encode()).hexdigest(),
        "patches": {patch.name: patch.sha256 for patch in job.inputs.patches},
        "overlay": {file.name: file.sha256 for file in job.inputs.overlay},
        "compiler": job.compiler,
        "config_sha256": _sha256(entry / "config"),
        "hz": timer_frequency((entry / "config").read_text()),
        "executable_sha256": _sha256(entry / "linux"),
        "executable_bytes": (entry / "linux").stat().st_size,
        "lost_options": list(job.lost),
        "warnings": [line for lines in job.warnings.values() for line in lines],
        "tree": kept.path.name,
        "jobs": job.jobs,
        "build_seconds": round(time.monotonic() - job.started, 1),
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (entry / "entry.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return entry


@contextmanager
def _reporting_failures(job: Job, cache: Path) -> Iterator[None]:
    """What a user reads of a failed build; its log is moved to where it stays."""
    try:
        yield
    except InputError:
        raise
    except LabError as error:
        job.log.flush()
        log = job.work / "build.log"
        said = first_errors(log.read_text(errors="replace"))
        stays = cache / "logs" / f"{job.key[:KEY_CHARS]}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.log"
        stays.parent.mkdir(parents=True, exist_ok=True)
        log.rename(stays)
        ours = not isinstance(error, CommandError)
        hint = "\n".join([error.hint or "", f"the log is {stays}", *said] if ours else [f"the log is {stays}", *said])
        raise LabError(error.message if ours else "the kernel's build failed", hint=hint.strip()) from error


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
