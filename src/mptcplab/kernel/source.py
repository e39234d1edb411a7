# SPDX-License-Identifier: MIT
"""Linux sources: their identity and version, and unpacking one for a build."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from mptcplab.errors import InputError
from mptcplab.files import expand_home
from mptcplab.kernel.process import CommandError, build_environment, capture, run_logged

# The data of a repository is never part of a source.
SKIPPED = frozenset({".git"})

# Folders whose code no User-Mode kernel compiles: other architectures, and drivers for hardware. Their Kconfig and
# Makefile files are needed and stay. Without the code, a tree has a third of its size.
_OTHER_ARCHITECTURES = (
    "alpha arc arm arm64 csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc powerpc riscv s390 sh "
    "sparc xtensa"
)
_HARDWARE = (
    "accel clk comedi crypto gpu hwmon iio infiniband media mfd misc mtd net/ethernet net/wireless/ath "
    "net/wireless/broadcom net/wireless/intel net/wireless/marvell net/wireless/mediatek net/wireless/realtek "
    "pinctrl platform scsi soc staging usb video"
)
UNUSED = (
    *(f"*/arch/{name}/*.[chS]" for name in _OTHER_ARCHITECTURES.split()),
    "*/arch/*/boot/dts/*.dts*",
    "*/Documentation/devicetree/*",
    *(f"*/drivers/{name}/*.[ch]" for name in _HARDWARE.split()),
    "*/sound/*.[ch]",
    "*/tools/perf/*",
)
#: What tar prints about patterns without a file.
_ABSENT = re.compile(r"Not found in archive|Exiting with failure status due to previous errors")


@dataclass(frozen=True)
class KernelSource:
    """A local Linux source: a tarball, or a tree if `path` is a directory."""

    kind: str
    """Its origin: "debian", "tarball" or "tree"."""
    name: str
    """The name of the package, file or directory, for messages."""
    path: Path
    sha256: str
    """Hash of the tarball, or of all names and contents of the tree."""
    package_version: str | None = None

    def describe(self) -> dict[str, str | None]:
        """Return its description for a manifest, without its path."""
        return {
            "kind": self.kind,
            "name": self.name,
            "package_version": self.package_version,
            "sha256": self.sha256,
        }


def local_source(path: Path) -> KernelSource:
    """Return the source in a user's tarball or unpacked tree, and hash all of it.

    :raises InputError: if there is no Linux source at `path`.
    """
    path = expand_home(path).resolve()
    if path.is_file():
        return KernelSource(kind="tarball", name=path.name, path=path, sha256=file_sha256(path))
    if path.is_dir():
        if not (path / "arch" / "um" / "Makefile").is_file():
            raise InputError(
                f"'{path}' is not a Linux source tree with User-Mode Linux",
                hint="give the directory that has Makefile, Kconfig and arch/um",
            )
        return KernelSource(kind="tree", name=path.name, path=path, sha256=tree_sha256(path))
    raise InputError(f"'{path}' does not exist", hint="give a Linux tarball or an unpacked tree")


def file_sha256(path: Path) -> str:
    """Return the hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_sha256(tree: Path) -> str:
    """Return a hash of the relative path, mode, size and content of all files, which any edit changes."""
    digest = hashlib.sha256()
    for path in _tree_files(tree):
        name = path.relative_to(tree).as_posix()
        if path.is_symlink():
            digest.update(f"link {name} {path.readlink()}\n".encode(errors="surrogateescape"))
            continue
        content = path.read_bytes()
        runs = os.access(path, os.X_OK)
        digest.update(f"file {name} {runs} {len(content)}\n".encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def listed_files(source: KernelSource) -> list[str] | None:
    """Return the names of the files in a user's git tree that git does not ignore; None for other sources."""
    if not (source.path / ".git").exists():
        return None
    command = ["git", "-C", str(source.path), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = capture(command).split("\0")
    except (CommandError, OSError):
        return None
    return sorted({name for name in names if name and os.path.lexists(source.path / name)})


def unpack(source: KernelSource, target: Path, *, log: TextIO, without: tuple[str, ...] = UNUSED) -> None:
    """Create a private copy of the source's tree at `target`; the original is only read.

    Files of a tarball that match `without`, patterns for tar, are left out.
    :raises InputError: for a tarball without a Linux source tree.
    """
    if source.path.is_dir():
        shutil.copytree(source.path, target, symlinks=True, ignore=_ignore)
        return
    target.mkdir()
    try:
        run_logged(
            ["tar", "--extract", "--file", str(source.path), "--directory", str(target),
             "--strip-components=1", "--no-same-owner", "--wildcards", *(f"--exclude={name}" for name in without)],
            log=log, env=_tar_environment(),
        )  # fmt: skip
    except CommandError as error:
        raise InputError(f"'{source.path.name}' cannot be unpacked", hint=error.hint) from error
    if not (target / "arch" / "um" / "Makefile").is_file():
        raise InputError(
            f"'{source.path.name}' does not contain a Linux source tree in a single top directory",
            hint="give a tarball of Linux as kernel.org or Debian makes it",
        )


def unpack_some(source: KernelSource, target: Path, patterns: Iterable[str], *, log: TextIO) -> None:
    """Create a copy of the files of the source whose names match one of `patterns`, which are patterns for a shell.

    A pattern may be without a file. :raises InputError: for a tarball that cannot be read.
    """
    wanted = [f"*/{pattern}" for pattern in patterns]
    target.mkdir()
    if source.path.is_dir():
        matches = re.compile("|".join(map(fnmatch.translate, wanted))).match
        for path in _tree_files(source.path):
            name = path.relative_to(source.path)
            if matches(f"/{name.as_posix()}"):
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target / name, follow_symlinks=False)
        return
    lines: list[str] = []
    try:
        run_logged(
            ["tar", "--extract", "--file", str(source.path), "--directory", str(target),
             "--strip-components=1", "--no-same-owner", "--wildcards", *wanted],
            log=log, env=_tar_environment(), on_line=lines.append,
        )  # fmt: skip
    except CommandError as error:
        if not all(_ABSENT.search(line) for line in lines):
            raise InputError(f"'{source.path.name}' cannot be unpacked", hint=error.hint) from error


def _tar_environment() -> dict[str, str]:
    """Return the environment of a build, in which xz decompresses the many blocks of a tarball in parallel."""
    return {**build_environment(os.environ), "XZ_DEFAULTS": "--threads=0"}


def source_version(source: KernelSource) -> str:
    """Return VERSION.PATCHLEVEL of a source without unpacking all of it. :raises InputError: if it has none."""
    if source.path.is_dir():
        return tree_version(source.path)
    command = ["tar", "--extract", "--to-stdout", "--occurrence=1", "--wildcards", "--no-wildcards-match-slash"]
    try:
        return _version(capture([*command, "--file", str(source.path), "*/Makefile"]))
    except CommandError as error:
        raise InputError(f"'{source.path.name}' cannot be unpacked", hint=error.hint or "give a tarball") from error


def tree_version(tree: Path) -> str:
    """Return VERSION.PATCHLEVEL of a tree's Makefile, such as 7.2. :raises InputError: if it has none."""
    return _version((tree / "Makefile").read_text(errors="replace"))


def _version(makefile: str) -> str:
    head = makefile[:1000]
    numbers = [re.search(rf"^{name} = (\d+)$", head, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL")]
    if not all(numbers):
        raise InputError("the source's Makefile does not state a version", hint="give a tarball or tree of Linux")
    return ".".join(number[1] for number in numbers if number)


def _tree_files(tree: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(tree):
        names[:] = sorted(name for name in names if name not in SKIPPED)
        links = [name for name in names if Path(directory, name).is_symlink()]
        for name in sorted([*files, *links]):
            path = Path(directory, name)
            if path.is_symlink() or path.is_file():
                yield path


def _ignore(_directory: str, names: list[str]) -> set[str]:
    return set(names) & SKIPPED
