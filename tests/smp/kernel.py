# SPDX-License-Identifier: MIT
"""Builds the kernel for QEMU: the source, patches and files of the lab kernel, for x86 with other options.

    ~/.cache/mptcplab/smp/VERSION-VARIANT-KEY12/   bzImage, System.map, config

The patches that only concern User-Mode Linux (`*-um-*`) are left out. A variant is a file of `tests/smp/config/` that
adds to guest.config: `lockdep` or `kcsan`. A *plain* kernel has none of our code: a report on it is mainline's own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TextIO

from mptcplab.cache import KEY_CHARS, cache_root, hold_lock, make_work_folder
from mptcplab.errors import LabError, MissingError
from mptcplab.kernel.config import lost_options, parse_config
from mptcplab.kernel.data import DEFAULT_VERSION, MACHINE_PATCHES, KernelInputs, load_inputs
from mptcplab.kernel.debian import debian_source
from mptcplab.kernel.patching import apply_patches
from mptcplab.kernel.process import TOOLS, CommandError, build_environment, compiler_version, require_tools, run_logged
from mptcplab.kernel.progress import Reporter
from mptcplab.kernel.source import KernelSource, unpack
from mptcplab.kernel.steps import STEP, add_file

VARIANTS = ("lockdep", "kcsan")
_CONFIG = Path(__file__).parent / "config"
#: The kernel's objtool, which User-Mode Linux does not need.
_LIBELF = Path("/usr/include/gelf.h")
#: The folders that KCSAN watches. All other code runs at full speed, so that more of the watched code is executed.
WATCHED = ("net/mptcp", "net/ipv4", "net/ipv6", "net/core")
#: Part of the key. Change it when the steps of `build` change.
_RECIPE = "smp 1"
#: The number of lines such as "  CC      net/mptcp/protocol.o" in a full build; only the progress bar uses it.
_EXPECTED_STEPS = 1150
_MAKE = ("make", "ARCH=x86_64", "RUSTC=absent", "PAHOLE=absent")


def inputs_of(variant: str, *, plain: bool = False) -> KernelInputs:
    """Return the options, patches and files that this project adds to the kernel."""
    lab = load_inputs(DEFAULT_VERSION)
    fragment = "\n".join((_CONFIG / f"{name}.config").read_text() for name in ("guest", variant))
    patches = tuple(patch for patch in lab.patches if not PurePath(patch.name).match(MACHINE_PATCHES))
    return KernelInputs(fragment, () if plain else patches, () if plain else lab.overlay)


@dataclass
class _Build:
    source: KernelSource
    inputs: KernelInputs
    jobs: int
    work: Path
    log: TextIO
    progress: Reporter
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        return self.work / "tree"

    def run(self, *command: str) -> None:
        run_logged(command, cwd=self.tree, log=self.log, env=self.environment)

    def prepare(self) -> None:
        """Unpack the source and add our patches and files."""
        self.progress.stage(f"unpacking {self.source.name}")
        unpack(self.source, self.tree, log=self.log, without=())
        apply_patches(self.inputs.patches, self.tree, work=self.work, log=self.log)
        for file in self.inputs.overlay:
            add_file(self.tree, file.name, file.content)
        for folder in WATCHED:
            with (self.tree / folder / "Makefile").open("a") as makefile:
                makefile.write("KCSAN_SANITIZE := y\n")

    def configure(self) -> None:
        """Merge the options into x86's smallest configuration. :raises LabError: if it does not accept one."""
        self.progress.stage("configuring")
        fragment = self.work / "smp.config"
        fragment.write_text(self.inputs.fragment)
        self.run(*_MAKE, "tinyconfig")
        self.run("scripts/kconfig/merge_config.sh", "-m", ".config", str(fragment))
        self.run(*_MAKE, "olddefconfig")
        final = parse_config((self.tree / ".config").read_text())
        if lost := lost_options(parse_config(self.inputs.fragment), final):
            raise LabError(
                f"this kernel does not accept {', '.join(lost)}",
                hint="look for a dependency that tests/smp/config lacks",
            )

    def compile(self) -> None:
        """Run make."""
        steps = 0

        def on_line(line: str) -> None:
            nonlocal steps
            if STEP.match(line):
                steps += 1
                self.progress.count(steps, _EXPECTED_STEPS)

        self.progress.stage(f"compiling with {self.jobs} jobs")
        run_logged(
            [*_MAKE, "--output-sync=target", "-j", str(self.jobs), "bzImage"],
            cwd=self.tree,
            log=self.log,
            env=self.environment,
            on_line=on_line,
        )


def build(variant: str, progress: Reporter, *, plain: bool = False, jobs: int | None = None) -> Path:
    """Return the image of the kernel, building it unless it is cached.

    :raises MissingError: without tools or source. :raises LabError: if the build fails.
    """
    require_tools(TOOLS)
    if not _LIBELF.exists():
        raise MissingError(
            "the kernel cannot be built without libelf's headers", hint="sudo apt-get install libelf-dev"
        )
    cache, logs = cache_root(), cache_root() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (logs / "download.log").open("w") as log:
        source = debian_source(DEFAULT_VERSION, cache, progress=progress, log=log)
    inputs = inputs_of(variant, plain=plain)
    recipe = f"{compiler_version()}; {_RECIPE}; {' '.join(WATCHED)}"
    key = inputs.key(source_sha256=source.sha256, compiler=recipe)[:KEY_CHARS]
    entry = cache / "smp" / f"{DEFAULT_VERSION}-{variant}{'-plain' if plain else ''}-{key}"
    with hold_lock(f"smp-{key}", cache, waiting=lambda: progress.stage("waiting for another build of this kernel")):
        if not entry.is_dir():
            with make_work_folder(f"smp-{key}", cache) as work, (logs / f"smp-{key}.log").open("w") as log:
                _make(_Build(source, inputs, jobs or len(os.sched_getaffinity(0)), work, log, progress), entry)
    return entry / "bzImage"


def _make(job: _Build, entry: Path) -> None:
    # A Makefile's own assignment overrides the environment's: see WATCHED.
    job = replace(job, environment=build_environment(os.environ) | {"KCSAN_SANITIZE": "n"})
    try:
        job.prepare()
        job.configure()
        job.compile()
    except CommandError as error:
        raise LabError("the kernel's build failed", hint=f"the log is {job.log.name}\n{error.hint}") from error
    new = job.work / "entry"
    new.mkdir()
    for file, name in (("arch/x86/boot/bzImage", "bzImage"), ("System.map", "System.map"), (".config", "config")):
        shutil.copyfile(job.tree / file, new / name)
    entry.parent.mkdir(parents=True, exist_ok=True)
    new.rename(entry)
