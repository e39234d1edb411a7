# SPDX-License-Identifier: MIT
"""The package `mptcplab-kernel`: the lab kernel and our programs in C, compiled elsewhere and installed by pip.

    mptcplab_kernel/manifest.json   the machine and C library they need, and the hash of each program's source
                    kernels/VERSION-KEY/   an entry as in the cache, see `kernel.cache`
                    programs/NAME/         NAME, with what it loads
                    source/                our options, patches and files, and where the rest of the source is

`python -m tools.wheels` builds it. A kernel or program in it is used only if its source equals this installation's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

#: The name by which pip knows the package.
PACKAGE = "mptcplab-kernel"
MODULE = "mptcplab_kernel"
FORMAT = 1


@dataclass(frozen=True)
class PrebuiltKernel:
    """An installed `mptcplab-kernel`."""

    folder: Path
    """The folder of its module."""
    version: str
    machine: str
    """The architecture, as `uname -m` prints it."""
    glibc: tuple[int, int]
    """The oldest GNU C library that has all symbols of the kernel and the programs."""
    programs: Mapping[str, str]
    """The hash of each program's source, by the program's name."""

    @property
    def name(self) -> str:
        """The package with its version, for messages."""
        return f"{PACKAGE} {self.version}"

    @property
    def kernels(self) -> Path:
        """The folder of the kernels' entries."""
        return self.folder / "kernels"

    @property
    def obstacle(self) -> str | None:
        """The reason why this machine cannot run its contents, as the predicate of a sentence; None if it can."""
        machine, glibc = os.uname().machine, glibc_version()
        if machine != self.machine:
            return f"is for {self.machine}, and this machine is {machine}"
        if glibc is None or glibc < self.glibc:
            present = "another C library" if glibc is None else f"glibc {_version_text(glibc)}"
            return f"needs glibc {_version_text(self.glibc)} or later, and this machine has {present}"
        return None

    def program(self, name: str, source: str) -> Path | None:
        """Return the path of the program `name`; None if it was not compiled from the source with this hash."""
        path = self.folder / "programs" / name / name
        return path if self.programs.get(name) == source and path.is_file() else None


def find_prebuilt() -> PrebuiltKernel | None:
    """Return the installed package, even if this machine cannot run its contents; None if there is none."""
    spec = find_spec(MODULE)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        if manifest["format"] != FORMAT:
            return None
        major, minor = manifest["glibc"].split(".")
        return PrebuiltKernel(
            folder, manifest["version"], manifest["machine"], (int(major), int(minor)), dict(manifest["programs"])
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def find_usable_prebuilt() -> PrebuiltKernel | None:
    """Return the installed package if this machine can run its contents."""
    prebuilt = find_prebuilt()
    return prebuilt if prebuilt is not None and prebuilt.obstacle is None else None


def glibc_version() -> tuple[int, int] | None:
    """Return the version of the C library of this process, such as (2, 36); None if it is not GNU's."""
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        major, minor = (int(part) for part in version.split(".")[:2])
    except (ValueError, OSError):
        return None
    return (major, minor) if name == "glibc" else None


def _version_text(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


# Folders outside of the Python package that belong to it: the kernel's options, the workload program.

#: Files of a study's folder beside its scenarios: its tables, what its source says, and its possible test beds.
STUDY_DESCRIPTIONS = frozenset({"study.toml", "source.toml", "beds.toml"})


def find_shipped_folder(installed: str, checkout: str, *, proof: str) -> Path | None:
    """Return the folder with the file ``proof``: ``_data/INSTALLED`` of an installed package, or ``CHECKOUT``."""
    package = Path(__file__).resolve().parent
    candidates = [package / "_data" / installed, *(parent / checkout for parent in (package, *package.parents))]
    return next((folder for folder in candidates if (folder / proof).is_file()), None)
