# SPDX-License-Identifier: MIT
"""The steps of a build in one tree: applying our patches and files, configuring, compiling."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from mptcplab.kernel.config import check_essential, lost_options, parse_config
from mptcplab.kernel.data import KernelInputs
from mptcplab.kernel.patching import apply_patches, check_new
from mptcplab.kernel.process import MAKE, build_environment, run_logged
from mptcplab.kernel.progress import Reporter
from mptcplab.kernel.source import KernelSource, unpack

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


def unpack_source(job: BuildJob) -> None:
    """Unpack the source to `job.tree`, still without our patches."""
    job.progress.stage(f"unpacking {job.source.name}")
    unpack(job.source, job.tree, log=job.log)
    if job.source.path.is_dir():
        # The user's tree may contain a build, which the kernel's own cleaning removes.
        job.make("mrproper")


def prepare(job: BuildJob) -> None:
    """Unpack the source to `job.tree` and apply our patches. :raises LabError: if one does not apply."""
    unpack_source(job)
    job.progress.stage("applying patches")
    apply_patches(job.inputs.patches, job.tree, work=job.work, log=job.log)


def add_file(tree: Path, name: str, content: bytes) -> None:
    """Add one of our files to a tree. :raises LabError: if the tree already has such a file."""
    target = tree / name
    check_new([name], [name] if target.exists() else [])
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
