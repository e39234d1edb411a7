# SPDX-License-Identifier: MIT
"""The steps of a build in one tree: applying our patches and files, configuring, compiling."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from mptcplab.errors import LabError
from mptcplab.kernel.config import check_essential, lost_options, parse_config
from mptcplab.kernel.data import KernelInputs, NamedFile
from mptcplab.kernel.process import CommandError, run_logged
from mptcplab.kernel.progress import Reporter
from mptcplab.kernel.source import KernelSource, unpack
from mptcplab.kernel.toolchain import MAKE, build_environment

# The number of lines such as "  CC      net/mptcp/protocol.o" that a full build prints, measured with 7.2. Only the
# progress bar uses it.
EXPECTED_STEPS = 1660
STEP = re.compile(r"^  [A-Z][A-Z0-9]* +(\S*)")


@dataclass
class BuildJob:
    """A build in progress in `tree`. `version` and `variant` give its name."""

    inputs: KernelInputs
    source: KernelSource
    version: str
    variant: str
    key: str
    compiler: str
    jobs: int
    work: Path
    tree: Path
    log: TextIO
    progress: Reporter
    warnings: dict[str, list[str]] = field(default_factory=dict)
    """The compiler's warnings by the file that it made."""
    lost: tuple[str, ...] = ()
    """Options that this version did not accept."""
    started: float = field(default_factory=time.monotonic)

    def run(self, *command: str) -> None:
        """Run `command` in the tree and log its output."""
        run_logged(command, cwd=self.tree, log=self.log, env=build_environment(os.environ))

    def make(self, *targets: str) -> None:
        """Run the kernel's make."""
        self.run(*MAKE, *targets)

    @property
    def own_warnings(self) -> list[str]:
        """Warnings about our own source files."""
        names = tuple(f"{file.name}:" for file in self.inputs.overlay)
        return [line for lines in self.warnings.values() for line in lines if line.startswith(names)]


def prepare(job: BuildJob) -> None:
    """Unpack the source to `job.tree` and apply our patches. :raises LabError: if one does not apply."""
    job.progress.stage(f"unpacking {job.source.name}")
    unpack(job.source, job.tree, log=job.log)
    job.progress.stage("applying patches")
    if job.source.path.is_dir():
        # The user's tree may contain a build, which the kernel's own cleaning removes.
        job.make("mrproper")
    apply_patches(job.inputs.patches, job.tree, work=job.work, log=job.log)


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


def add_file(tree: Path, name: str, content: bytes) -> None:
    """Add one of our files to a tree. :raises LabError: if the tree already has such a file."""
    target = tree / name
    if target.exists():
        raise LabError(f"the source already has {name}", hint="rename the file in kernel/net")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def configure(job: BuildJob) -> None:
    """Merge the fragment into UML's smallest configuration; `job.lost` receives the options that were lost."""
    job.progress.stage("configuring")
    fragment = job.work / "lab.config"
    fragment.write_text(job.inputs.fragment)
    job.make("tinyconfig")
    job.run("scripts/kconfig/merge_config.sh", "-m", ".config", str(fragment))
    job.make("olddefconfig")
    final = parse_config((job.tree / ".config").read_text())
    job.lost = lost_options(parse_config(job.inputs.fragment), final)
    check_essential(job.lost)
    if job.lost:
        job.progress.warn(f"this kernel does not accept {len(job.lost)} of the lab's options: {', '.join(job.lost)}")


def compile_kernel(job: BuildJob, *, expected: int | None = EXPECTED_STEPS) -> None:
    """Run make. Warnings are kept by the file that was made, so that warnings remain for files that are not recompiled.

    `expected` is the expected number of steps; None if it is unknown.
    """
    steps, making = 0, ""

    def handle_line(line: str) -> None:
        nonlocal steps, making
        if step := STEP.match(line):
            steps, making = steps + 1, step[1]
            job.warnings.pop(making, None)
            if expected is not None:
                job.progress.count(steps, expected)
        elif "warning:" in line:
            job.warnings.setdefault(making, []).append(line.strip())

    job.progress.stage(f"compiling with {job.jobs} {'job' if job.jobs == 1 else 'jobs'}")
    run_logged(
        # Keep the output for one file together while several compilers run.
        [*MAKE, "--output-sync=target", "-j", str(job.jobs), "linux"],
        cwd=job.tree,
        log=job.log,
        env=build_environment(os.environ),
        on_line=handle_line,
    )
    for line in job.own_warnings:
        job.progress.warn(line)
