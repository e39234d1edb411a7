# SPDX-License-Identifier: MIT
"""Build the lab kernel: unpack, patch, configure, compile, strip, and put it into the cache."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.kernel.cache import (
    FORMAT,
    VERSION_PATTERN,
    KernelBuild,
    cache_root,
    entry_name,
    find_by_key,
    install_entry,
    locked,
    work_dir,
)
from mptcplab.kernel.config import check_essential, lost_options, parse_config
from mptcplab.kernel.data import DEFAULT_VERSION, Inputs, load_inputs
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.process import CommandError, capture, require_tools, run_logged, sigterm_as_interrupt
from mptcplab.kernel.progress import Reporter, Silent
from mptcplab.kernel.source import Source, local_source, tree_version, unpack

# Program to Debian package.
TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "ld": "binutils",
    "strip": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "patch": "patch",
    "tar": "tar",
    "xz": "xz-utils",
}

# Lines such as "  CC      net/mptcp/protocol.o" that a whole build prints; measured
# with 7.2. Only the progress bar uses it.
EXPECTED_STEPS = 1660
_STEP = re.compile(r"^  [A-Z][A-Z0-9]* ")
_ERROR = re.compile(r"\berror\b|\*\*\*|undefined reference|FAILED|No such file", re.IGNORECASE)

# The same inputs shall give the same bytes, whoever builds them and when.
_REPRODUCIBLE = {
    "LC_ALL": "C",
    "TZ": "UTC",
    "LOCALVERSION": "",
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "mptcplab",
    "KBUILD_BUILD_HOST": "mptcplab",
    "KBUILD_BUILD_VERSION": "1",
}
# Kconfig writes the versions of these into .config when it finds them, although UML
# uses neither; a name that does not exist makes all machines alike.
_MAKE = ("make", "ARCH=um", "RUSTC=absent", "PAHOLE=absent")


@dataclass
class _Job:
    """One build at work."""

    inputs: Inputs
    source: Source
    key: str
    compiler: str
    jobs: int
    work: Path
    log: TextIO
    progress: Reporter
    warnings: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    @property
    def tree(self) -> Path:
        return self.work / "tree"

    def run(self, *command: str) -> None:
        run_logged(command, cwd=self.tree, log=self.log, env=build_environment(os.environ))

    def make(self, *targets: str) -> None:
        self.run(*_MAKE, *targets)


def build_kernel(
    version: str | None = None,
    source: Path | None = None,
    jobs: int | None = None,
    keep_tree: bool = False,
    progress: Reporter | None = None,
    *,
    cache: Path | None = None,
    inputs: Inputs | None = None,
) -> KernelBuild:
    """The kernel of `version` (None: the source's own, else the default), built unless it is cached.

    `source` is a tarball or a tree to take instead of Debian's package; `jobs` is how many
    compilers run at once (None: one per CPU of this process); `keep_tree` leaves the patched
    and built tree in `kept_tree()`. Raises MissingError when tools or the source are missing,
    InputError for a bad version or source, LabError when the build fails.
    """
    if version is not None and not VERSION_PATTERN.match(version):
        raise InputError(
            f"'{version}' is not a kernel version", hint=f"write it as two numbers, such as {DEFAULT_VERSION}"
        )
    cache = cache or cache_root()
    progress = progress or Silent()
    inputs = inputs or load_inputs()
    require_tools(TOOLS)
    compiler = compiler_version()
    with sigterm_as_interrupt():
        origin = _origin(version, source, cache, progress)
        key = inputs.key(source_sha256=origin.sha256, compiler=compiler)
        with locked(key[:12], cache, waiting=lambda: _say_waiting(progress)):
            cached = find_by_key(key, cache)
            if cached is not None and (not keep_tree or kept_tree(cached, cache).is_dir()):
                _check_version(cached.version, version)
                return cached
            with work_dir(key[:12], cache) as work, (work / "build.log").open("w") as log:
                job = _Job(
                    inputs=inputs,
                    source=origin,
                    key=key,
                    compiler=compiler,
                    jobs=jobs or len(os.sched_getaffinity(0)),
                    work=work,
                    log=log,
                    progress=progress,
                )
                return _build(job, version, cache, keep_tree=keep_tree)


def kept_tree(kernel: KernelBuild, cache: Path | None = None) -> Path:
    """Where `keep_tree` leaves the tree of a kernel (its selftests, for example)."""
    return (cache or cache_root()) / "trees" / entry_name(kernel.version, kernel.key)


def compiler_version() -> str:
    """First lines of `gcc --version` and `ld --version`; also sees that gcc finds the C library's headers."""
    lines = [capture([tool, "--version"]).partition("\n")[0] for tool in ("gcc", "ld")]
    probe = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"],
        input="#include <stdlib.h>\n",
        text=True,
        capture_output=True,
        check=False,
    )
    if probe.returncode != 0:
        raise MissingError(
            "the kernel cannot be built without the C library's headers",
            hint="sudo apt-get install libc6-dev",
        )
    return "; ".join(lines)


def build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the build: only what finds programs, so that no one's CFLAGS get in."""
    kept = {name: environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in environ}
    return kept | _REPRODUCIBLE


def first_errors(log: str, limit: int = 3) -> list[str]:
    """The first lines of a build log that tell what went wrong."""
    lines = (line for line in log.splitlines() if not line.startswith("$ ") and not _STEP.match(line))
    return [line.strip() for line in lines if _ERROR.search(line)][:limit]


def _origin(version: str | None, source: Path | None, cache: Path, progress: Reporter) -> Source:
    if source is not None:
        progress.stage(f"reading {source.name}")
        return local_source(source)
    logs = cache / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "download.log").open("w") as log:
        return debian_source(version or DEFAULT_VERSION, cache, progress=progress, log=log)


def _build(job: _Job, version: str | None, cache: Path, *, keep_tree: bool) -> KernelBuild:
    try:
        job.progress.stage(f"unpacking {job.source.name}")
        unpack(job.source, job.tree, log=job.log)
        actual = tree_version(job.tree)
        _check_version(actual, version)
        _prepare(job)
        lost = _configure(job)
        _compile(job)
        kernel = install_entry(_assemble(job, actual, lost), cache)
        if keep_tree:
            _keep_tree(job, kept_tree(kernel, cache))
        return kernel
    except InputError:
        raise
    except LabError as error:
        raise _failure(job, error, cache) from error


def _check_version(actual: str, asked: str | None) -> None:
    if asked is not None and actual != asked:
        hint = f"leave the version out, or say {actual}"
        raise InputError(f"the source is Linux {actual}, not {asked}", hint=hint)


def _prepare(job: _Job) -> None:
    """Our files and patches into the tree."""
    job.progress.stage("applying patches")
    if job.source.path.is_dir():
        # A user's tree may have been built in; the kernel's own cleaning knows how to undo that.
        job.make("mrproper")
    for file in job.inputs.overlay:
        target = job.tree / file.name
        if target.exists():
            raise LabError(f"the source already has {file.name}", hint="rename the file in kernel/net")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
    for patch in job.inputs.patches:
        path = job.work / patch.name
        path.write_bytes(patch.content)
        try:
            # No fuzz: a hunk that only nearly fits may land in the wrong function. Force:
            # ask nothing, and don't take a patch back that is in the source already.
            job.run("patch", "-p1", "--force", "--fuzz=0", "--no-backup-if-mismatch", "-i", str(path))
        except CommandError as error:
            raise LabError(f"the patch {patch.name} does not fit this source", hint=error.hint) from error


def _configure(job: _Job) -> tuple[str, ...]:
    """Merge the fragment into UML's smallest configuration; returns the options that were lost."""
    job.progress.stage("configuring")
    fragment = job.work / "lab.config"
    fragment.write_text(job.inputs.fragment)
    job.make("tinyconfig")
    job.run("scripts/kconfig/merge_config.sh", "-m", ".config", str(fragment))
    job.make("olddefconfig")
    final = parse_config((job.tree / ".config").read_text())
    lost = lost_options(parse_config(job.inputs.fragment), final)
    check_essential(lost)
    if lost:
        job.progress.warn(f"this kernel does not take {len(lost)} of the lab's options: {', '.join(lost)}")
    return lost


def _compile(job: _Job) -> None:
    steps = 0

    def on_line(line: str) -> None:
        nonlocal steps
        if _STEP.match(line):
            steps += 1
            job.progress.count(steps, EXPECTED_STEPS)
        elif "warning:" in line:
            job.warnings.append(line.strip())

    job.progress.stage(f"compiling with {job.jobs} {'job' if job.jobs == 1 else 'jobs'}")
    run_logged(
        [*_MAKE, "-j", str(job.jobs), "linux"],
        cwd=job.tree,
        log=job.log,
        env=build_environment(os.environ),
        on_line=on_line,
    )


def _assemble(job: _Job, version: str, lost: Sequence[str]) -> Path:
    """The entry's directory with all its files, still in the work directory."""
    job.progress.stage("stripping")
    entry = job.work / "entry"
    entry.mkdir()
    job.run("strip", "--strip-all", "-o", str(entry / "linux"), "linux")
    (entry / "linux").chmod(0o755)
    shutil.copyfile(job.tree / "System.map", entry / "System.map")
    shutil.copyfile(job.tree / ".config", entry / "config")
    environment = build_environment(os.environ)
    release = capture([*_MAKE, "--silent", "kernelrelease"], cwd=job.tree, env=environment).strip()
    job.log.flush()
    shutil.copyfile(job.work / "build.log", entry / "build.log")
    manifest = {
        "format": FORMAT,
        "version": version,
        "release": release,
        "key": job.key,
        "inputs": job.inputs.digest,
        "source": job.source.describe(),
        "fragment_sha256": hashlib.sha256(job.inputs.fragment.encode()).hexdigest(),
        "patches": {patch.name: patch.sha256 for patch in job.inputs.patches},
        "overlay": {file.name: file.sha256 for file in job.inputs.overlay},
        "compiler": job.compiler,
        "config_sha256": _sha256(entry / "config"),
        "executable_sha256": _sha256(entry / "linux"),
        "executable_bytes": (entry / "linux").stat().st_size,
        "lost_options": list(lost),
        "warnings": job.warnings,
        "jobs": job.jobs,
        "build_seconds": round(time.monotonic() - job.started, 1),
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (entry / "entry.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return entry


def _keep_tree(job: _Job, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    job.tree.rename(target)


def _failure(job: _Job, error: LabError, cache: Path) -> LabError:
    """What a user reads of a failed build; its log is moved to where it stays."""
    job.log.flush()
    log = job.work / "build.log"
    said = first_errors(log.read_text(errors="replace"))
    kept = cache / "logs" / f"{job.key[:12]}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.log"
    kept.parent.mkdir(parents=True, exist_ok=True)
    log.rename(kept)
    hint = "\n".join([f"the log is {kept}", *said])
    message = "the kernel's build failed" if isinstance(error, CommandError) else error.message
    return LabError(message, hint=hint)


def _say_waiting(progress: Reporter) -> None:
    progress.stage("waiting for another build of the same kernel")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
