# SPDX-License-Identifier: MIT
"""The steps of a build, in one tree: our files and patches, the configuration, compiling."""

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
from mptcplab.kernel.source import Source, unpack
from mptcplab.kernel.toolchain import MAKE, build_environment

# Lines such as "  CC      net/mptcp/protocol.o" that a whole build prints; measured
# with 7.2. Only the progress bar uses it.
EXPECTED_STEPS = 1660
STEP = re.compile(r"^  [A-Z][A-Z0-9]* +(\S*)")


@dataclass
class Job:
    """One build at work. `tree` is where; `version` and `variant` are what it will be called."""

    inputs: KernelInputs
    source: Source
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
    """What the compiler complained of, by the file that it made."""
    lost: tuple[str, ...] = ()
    """Options that this version did not take."""
    started: float = field(default_factory=time.monotonic)

    def run(self, *command: str) -> None:
        """Run `command` in the tree, logged."""
        run_logged(command, cwd=self.tree, log=self.log, env=build_environment(os.environ))

    def make(self, *targets: str) -> None:
        """Run the kernel's make."""
        self.run(*MAKE, *targets)

    @property
    def own_warnings(self) -> list[str]:
        """Complaints about our own source files."""
        names = tuple(f"{file.name}:" for file in self.inputs.overlay)
        return [line for lines in self.warnings.values() for line in lines if line.startswith(names)]


def prepare(job: Job) -> None:
    """The source into `job.tree`, with our patches. Raises LabError when one does not fit."""
    job.progress.stage(f"unpacking {job.source.name}")
    unpack(job.source, job.tree, log=job.log)
    job.progress.stage("applying patches")
    if job.source.path.is_dir():
        # A user's tree may have been built in; the kernel's own cleaning knows how to undo that.
        job.make("mrproper")
    apply_patches(job.inputs.patches, job.tree, work=job.work, log=job.log)


def apply_patches(patches: Iterable[NamedFile], tree: Path, *, work: Path, log: TextIO) -> None:
    """Apply `patches` to `tree`; they are written below `work`. Raises LabError when one does not fit."""
    for patch in patches:
        path = work / patch.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(patch.content)
        # No fuzz: a hunk that only nearly fits may land in the wrong function. Force:
        # ask nothing, and don't take a patch back that is in the source already.
        command = ["patch", "-p1", "--force", "--fuzz=0", "--no-backup-if-mismatch", "-i", str(path)]
        try:
            run_logged(command, cwd=tree, log=log, env=build_environment(os.environ))
        except CommandError as error:
            raise LabError(f"the patch {patch.name} does not fit this source", hint=error.hint) from error


def add_file(tree: Path, name: str, content: bytes) -> None:
    """One of our files into a tree that does not have it. Raises LabError when it does."""
    target = tree / name
    if target.exists():
        raise LabError(f"the source already has {name}", hint="rename the file in kernel/net")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def configure(job: Job) -> None:
    """Merge the fragment into UML's smallest configuration; what was lost is noted in the job."""
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
        job.progress.warn(f"this kernel does not take {len(job.lost)} of the lab's options: {', '.join(job.lost)}")


def compile_kernel(job: Job, *, expected: int | None = EXPECTED_STEPS) -> None:
    """Run make. Warnings are noted by the file that was made, so that those of files left alone stay known.

    `expected` is how many steps there will be; None: nobody knows.
    """
    steps, making = 0, ""

    def on_line(line: str) -> None:
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
        # What belongs to one file is printed together, also with several compilers at once.
        [*MAKE, "--output-sync=target", "-j", str(job.jobs), "linux"],
        cwd=job.tree,
        log=job.log,
        env=build_environment(os.environ),
        on_line=on_line,
    )
    for line in job.own_warnings:
        job.progress.warn(line)
