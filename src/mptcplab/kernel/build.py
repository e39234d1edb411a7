# SPDX-License-Identifier: MIT
"""Builds the lab kernel: unpacks, patches, configures, compiles, strips, and puts it into the cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder, open_log
from mptcplab.errors import InputError, LabError
from mptcplab.kernel.cache import (
    FORMAT,
    VERSION_PATTERN,
    KernelBuild,
    check_processor,
    find_by_key,
    install_entry,
)
from mptcplab.kernel.config import timer_frequency
from mptcplab.kernel.data import (
    DEFAULT_HZ,
    DEFAULT_VERSION,
    WITHOUT_SCHEDULERS,
    KernelInputs,
    load_inputs,
    variant_of,
    with_patches,
)
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.process import (
    MAKE,
    TOOLS,
    CommandError,
    build_environment,
    capture,
    compiler_version,
    require_tools,
    sigterm_as_interrupt,
)
from mptcplab.kernel.progress import Reporter, SilentProgress
from mptcplab.kernel.source import KernelSource, local_source, source_version
from mptcplab.kernel.steps import STEP, BuildJob, add_file, compile_kernel, configure, prepare
from mptcplab.kernel.tree import SourceTree, tree_for

__all__ = [
    "TOOLS",
    "BuildOptions",
    "build_environment",
    "build_kernel",
    "compiler_version",
    "find_tree",
    "first_errors",
]

_ERROR = re.compile(r"\berror\b|\*\*\*|undefined reference|FAILED|No such file", re.IGNORECASE)


@dataclass(frozen=True)
class BuildOptions:
    """The options of `mptcplab kernel build`."""

    debug: bool = False
    """Build the variant that checks itself."""
    hz: int = DEFAULT_HZ
    """Timer frequency, one of HZ_CHOICES."""
    plain: bool = False
    """Build mainline's network stack."""
    cpu: bool = False
    """Let system calls of a node's programs take time."""
    wifi: bool = False
    """Let simulated radios push back."""
    fixes: Collection[str] = ()
    """Patches of kernel/upstream to include, as keys of FIXES."""
    patches: Sequence[Path] = ()
    """Patches of the user, applied after ours."""
    jobs: int | None = None
    """Number of compilers that run in parallel; None: one per CPU of this process."""
    keep_tree: bool = False
    """Leave the patched and built tree in `find_tree()`, where later builds continue."""

    @property
    def variant(self) -> str:
        """The name of the variant that these options select."""
        return variant_of(
            plain=self.plain, hz=self.hz, cpu=self.cpu, wifi=self.wifi, fixes=self.fixes, debug=self.debug
        )


@dataclass(frozen=True)
class KernelRecipe:
    """Everything that determines the kernel to build."""

    source: KernelSource
    version: str
    variant: str
    inputs: KernelInputs
    compiler: str

    @property
    def key(self) -> str:
        """The identity of the kernel."""
        return self.inputs.key(source_sha256=self.source.sha256, compiler=self.compiler)

    def tree(self, cache: Path) -> SourceTree:
        """Return the place of the kept tree that this kernel can be built in."""
        return tree_for(
            self.inputs,
            self.source,
            compiler=self.compiler,
            version=self.version,
            variant=self.variant,
            cache=cache,
        )


_DEFAULTS = BuildOptions()


def build_kernel(
    version: str | None = None,
    source: Path | None = None,
    options: BuildOptions = _DEFAULTS,
    *,
    progress: Reporter | None = None,
    cache: Path | None = None,
    inputs: KernelInputs | None = None,
) -> KernelBuild:
    """Return the kernel of `version` (None: the source's, else the default), building it unless it is cached.

    `source` is a tarball or a tree to use instead of Debian's package. `inputs` replace this checkout's.
    :raises MissingError: if tools or the source are missing. :raises InputError: for a bad version, source or patch.
    :raises LabError: if the build fails.
    """
    cache = cache or cache_root()
    progress = progress or SilentProgress()
    with sigterm_as_interrupt():
        recipe = find_recipe(version, source, options, progress=progress, cache=cache, inputs=inputs)
        with _hold_lock(recipe.key[:KEY_CHARS], progress, cache):
            cached = find_by_key(recipe.key, cache)
            if cached is not None and (recipe.tree(cache).exists or not options.keep_tree):
                return cached
            return _build(recipe, options, progress, cache)


def find_recipe(
    version: str | None,
    source: Path | None,
    options: BuildOptions,
    *,
    progress: Reporter,
    cache: Path,
    inputs: KernelInputs | None = None,
) -> KernelRecipe:
    """Return everything that determines the kernel of `version` or `source`, after a download if it takes one.

    :raises MissingError: if tools or the source are missing. :raises InputError: for a bad version, source or patch.
    """
    check_processor()
    require_tools(TOOLS)
    compiler = compiler_version()
    origin, actual = find_source(version, source, options, progress=progress, cache=cache)
    inputs = with_patches(inputs or load_inputs(actual, variant=options.variant), options.patches)
    return KernelRecipe(origin, actual, options.variant, inputs, compiler)


def find_source(
    version: str | None, source: Path | None, options: BuildOptions, *, progress: Reporter, cache: Path
) -> tuple[KernelSource, str]:
    """Return the source of `version`, or `source`, with its version, after a download if it takes one.

    :raises MissingError: if it cannot be downloaded. :raises InputError: for a bad version or source.
    """
    if version is not None and not VERSION_PATTERN.match(version):
        raise InputError(
            f"'{version}' is not a kernel version",
            hint=f"write it as two numbers, such as {DEFAULT_VERSION}, or name a tarball or a tree with --source",
        )
    _check_parts(version, options)
    origin = _origin(version, source, cache, progress)
    actual = source_version(origin)
    _check_version(actual, version)
    _check_parts(actual, options)
    return origin, actual


@contextmanager
def open_job(recipe: KernelRecipe, options: BuildOptions, progress: Reporter, cache: Path) -> Iterator[BuildJob]:
    """Yield a job for `recipe` in a work folder that is removed. If it fails, its log is moved to the cache's logs."""
    with make_work_folder(recipe.key[:KEY_CHARS], cache) as work, (work / "build.log").open("w") as log:
        job = BuildJob(
            inputs=recipe.inputs,
            source=recipe.source,
            version=recipe.version,
            variant=recipe.variant,
            key=recipe.key,
            compiler=recipe.compiler,
            jobs=options.jobs or len(os.sched_getaffinity(0)),
            work=work,
            tree=work / "tree",
            log=log,
            progress=progress,
        )
        with _reporting_failures(job, cache):
            yield job


def _build(recipe: KernelRecipe, options: BuildOptions, progress: Reporter, cache: Path) -> KernelBuild:
    """Build the kernel and install it in the cache."""
    kept = recipe.tree(cache)
    lock = _hold_lock(f"tree-{kept.base[:KEY_CHARS]}", progress, cache)
    with open_job(recipe, options, progress, cache) as job, lock:
        _compile(job, kept if options.keep_tree or kept.exists else None)
        return install_entry(_assemble(job, kept), cache)


def find_tree(kernel: KernelBuild, cache: Path | None = None) -> Path | None:
    """Return the kept tree in which `kernel` can be built again; None if there is none."""
    tree = (cache or cache_root()) / "trees" / kernel.tree
    return tree if kernel.tree and tree.is_dir() else None


def first_errors(log: str, limit: int = 3) -> list[str]:
    """Return the first lines of a build log that report errors."""
    lines = (line for line in log.splitlines() if not line.startswith("$ ") and not STEP.match(line))
    return [line.strip() for line in lines if _ERROR.search(line)][:limit]


def _origin(version: str | None, source: Path | None, cache: Path, progress: Reporter) -> KernelSource:
    if source is not None:
        progress.stage(f"reading {source.name}")
        return local_source(source)
    with open_log("download", cache) as log:
        return debian_source(version or DEFAULT_VERSION, cache, progress=progress, log=log)


def _check_version(actual: str, requested: str | None) -> None:
    if requested is not None and actual != requested:
        hint = f"leave the version out, or write {actual}"
        raise InputError(f"the source is Linux {actual}, not {requested}", hint=hint)


def _check_parts(version: str | None, options: BuildOptions) -> None:
    if version in WITHOUT_SCHEDULERS and (options.cpu or options.wifi or options.fixes):
        message = f"Linux {version} has no variant '{options.variant}': patches of it are for later versions"
        raise InputError(message, hint="leave --cpu, --wifi and --fix out, or build a later version")


@contextmanager
def _hold_lock(name: str, progress: Reporter, cache: Path) -> Iterator[None]:
    """Hold the lock `name`: only one process at a time builds the same kernel, or in the same tree."""
    with hold_lock(name, cache, waiting=lambda: progress.stage("waiting for another build of this kernel")):
        yield


def _compile(job: BuildJob, kept: SourceTree | None) -> None:
    if kept is not None:
        kept.build(job)
        return
    prepare(job)
    for file in job.inputs.overlay:
        add_file(job.tree, file.name, file.content)
    configure(job)
    compile_kernel(job)


def _assemble(job: BuildJob, kept: SourceTree) -> Path:
    """Create the entry's directory with all its files, in the work directory. `kept` need not exist."""
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
def _reporting_failures(job: BuildJob, cache: Path) -> Iterator[None]:
    """Report a failed build with its first errors, and move its log to the cache's logs."""
    try:
        yield
    except InputError:
        raise
    except LabError as error:
        job.log.flush()
        log = job.work / "build.log"
        errors = first_errors(log.read_text(errors="replace"))
        target = cache / "logs" / f"{job.key[:KEY_CHARS]}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.log"
        target.parent.mkdir(parents=True, exist_ok=True)
        log.rename(target)
        lines = [f"the log is {target}", *errors]
        if isinstance(error, CommandError):
            raise LabError("the kernel's build failed", hint="\n".join(lines)) from error
        raise LabError(error.message, hint="\n".join([error.hint or "", *lines]).strip()) from error


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
