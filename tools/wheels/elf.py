# SPDX-License-Identifier: MIT
"""Reads from executables which C library they need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

_MAGIC = b"\x7fELF"
#: The names by which ELF knows architectures, as `uname -m` prints them.
_MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


def elf_files(folder: Path) -> list[Path]:
    """Return all executables and libraries below a folder, by name."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in files if path.open("rb").read(len(_MAGIC)) == _MAGIC]


def machine_of(files: Iterable[Path]) -> str:
    """Return the architecture of the files, as `uname -m` prints it. :raises ValueError: if they differ."""
    machines = {_machine(path) for path in files}
    if len(machines) != 1:
        raise ValueError(f"the executables are for {', '.join(sorted(machines)) or 'no machine'}: only one is possible")
    return machines.pop()


def needed_glibc(files: Iterable[Path]) -> tuple[int, int]:
    """Return the oldest glibc that has all symbols the files need: the newest version among these symbols."""
    return max((version for path in files for version in _symbol_versions(path)), default=(2, 0))


def wheel_tag(files: Iterable[Path]) -> str:
    """Return the tag of a wheel with these files, by the rules of PEP 600: py3-none-manylinux_2_35_x86_64."""
    paths = list(files)
    major, minor = needed_glibc(paths)
    return f"py3-none-manylinux_{major}_{minor}_{machine_of(paths)}"


def _machine(path: Path) -> str:
    with path.open("rb") as file:
        name: str = ELFFile(file)["e_machine"]
    return _MACHINES.get(name, name)


def _symbol_versions(path: Path) -> Iterator[tuple[int, int]]:
    with path.open("rb") as file:
        for section in ELFFile(file).iter_sections():
            if not isinstance(section, GNUVerNeedSection):
                continue
            for _, versions in section.iter_versions():
                for version in versions:
                    if match := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version.name):
                        yield int(match[1]), int(match[2])
