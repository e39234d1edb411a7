# SPDX-License-Identifier: MIT
"""The additions of this project to Linux: options, patches, source files.

kernel/config/lab.config     options of every lab kernel
       config/hz100.config   options that `mptcplab kernel build --hz 100` adds; hz250.config likewise
       config/debug.config   options that `mptcplab kernel build --debug` adds to these
       config/6.1.config     options that only this version has
       patches/*.patch       for every version, in the order of their names; `--plain` applies only NNNN-um-*.patch
       patches/7.2/*.patch   only for that version, after the others, or in place of the one with the same name
       net/                  files that are copied into the tree, except with `--plain`
       options/cpu/          patches, options and files that `mptcplab kernel build --cpu` adds; options/wifi/ likewise
       upstream/             patches for mainline, see its README; a kernel has the ones named by `--fix`
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from mptcplab.errors import InputError, LabError
from mptcplab.kernel.code_digests import FILE, CodeDigest, digest_of_input, read_code_digests
from mptcplab.prebuilt import find_shipped_folder

DEFAULT_VERSION = "7.2"
#: The versions that the tests of this project build and run; our patches may not apply to others.
TESTED_VERSIONS = (DEFAULT_VERSION, "6.12", "6.1")
#: Versions before mainline had schedulers to choose from, Linux 6.6. Their kernels have our congestion controls, and of
#: the patches for the machine and for their version.
WITHOUT_SCHEDULERS = ("6.1",)

# Part of every key. Increase it when the make flags, the environment or the stripping of the build change, so that a
# kernel built the old way is not mistaken for a new one.
RECIPE = 2

#: Timer frequencies that the lab kernel can have, in Hz (patches/0011).
HZ_CHOICES = (100, 250, 1000)
#: The timer frequency in lab.config.
DEFAULT_HZ = 1000

#: The folder of a user's patches, in the names of inputs.
GIVEN = "given"
_PLAIN = "plain"
_DEBUG = "debug"
#: The part of a variant whose nodes can have a CPU of limited speed, and its folder below options/.
CPU = "cpu"
#: The part of a variant whose simulated radios push back (tools/radio), and its folder below options/.
WIFI = "wifi"
#: All parts with a folder below options/.
_OPTIONS = (CPU, WIFI)
#: Fixes for mainline that a kernel can have, below upstream/; the lab kernel always has the fix mptcp/0001.
FIXES: Mapping[str, str] = {
    "join": "mptcp/0003-mptcp-push-pending-data-when-a-join-is-accepted.patch",
    "tsq": "tcp/0001-tcp-do-not-wait-for-tcp_wfree-of-a-clone-that-netem-.patch",
    "window": "mptcp-window/0001-mptcp-take-the-data-window-from-the-packet-of-the-DA.patch",
}
#: The suffix of a version that names a variant, see :func:`variant_of`; empty for the default kernel.
VARIANT_SUFFIX = (
    rf"(?:-{_PLAIN})?(?:-hz(?:{'|'.join(map(str, HZ_CHOICES))}))?(?:-{CPU})?(?:-{WIFI})?"
    rf"(?:-(?:{'|'.join(FIXES)}))*(?:-{_DEBUG})?"
)
#: Names of the patches that make Linux the lab's machine. All others change or extend the network stack.
MACHINE_PATCHES = "[0-9][0-9][0-9][0-9]-um-*.patch"


@dataclass(frozen=True)
class NamedFile:
    """A file: its name (relative, with slashes) and its content. ``counts_as`` is its hash in keys, if not its own."""

    name: str
    content: bytes
    counts_as: str = ""

    @property
    def sha256(self) -> str:
        """Hash of the content alone, hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def input_digest(self) -> str:
        """The hash by which the file counts in keys: comments do not (:mod:`mptcplab.kernel.code_digests`)."""
        return self.counts_as or self.sha256


@dataclass(frozen=True)
class KernelInputs:
    """Everything that this project adds to a kernel; the source and the compiler are separate."""

    fragment: str
    patches: tuple[NamedFile, ...]
    overlay: tuple[NamedFile, ...] = ()

    @property
    def digest(self) -> str:
        """Hash of these inputs and of the recipe. Comments don't count."""
        return _hash(
            {
                "recipe": RECIPE,
                "options": option_lines(self.fragment),
                "patches": [[patch.name, patch.input_digest] for patch in self.patches],
                "overlay": [[file.name, file.input_digest] for file in self.overlay],
            }
        )

    def key(self, *, source_sha256: str, compiler: str) -> str:
        """Return the identity of the kernel that these inputs, the source and the compiler make."""
        return _hash({"source": source_sha256, "inputs": self.digest, "compiler": compiler})

    @property
    def options_alone(self) -> KernelInputs:
        """The options without patches and source files: these must be the same for every build in a kept tree."""
        return replace(self, patches=(), overlay=())


def option_lines(fragment: str) -> list[str]:
    """Return the lines of a configuration fragment that set options, in order."""
    lines = (line.strip() for line in fragment.splitlines())
    return [line for line in lines if line.startswith(("CONFIG_", "# CONFIG_"))]


def data_dir() -> Path:
    """Return the directory with `config/`, `patches/` and perhaps `net/`.

    In an installed package it is `mptcplab/_data/kernel`, in a checkout `kernel/`.
    :raises LabError: if neither exists.
    """
    folder = find_shipped_folder("kernel", "kernel", proof="config/lab.config")
    if folder is None:
        raise LabError(
            "the kernel's configuration lab.config is missing in this installation",
            hint="install mptcplab again, or run it from a complete checkout",
        )
    return folder


def variant_of(
    *,
    plain: bool = False,
    hz: int = DEFAULT_HZ,
    cpu: bool = False,
    wifi: bool = False,
    fixes: Collection[str] = (),
    debug: bool = False,
) -> str:
    """Return the name of a variant: `plain`, `hz100`, `plain-hz250-cpu-window-debug`, empty for the default kernel."""
    chosen = {_PLAIN: plain, f"hz{hz}": hz != DEFAULT_HZ, CPU: cpu, WIFI: wifi}
    parts = {**chosen, **{name: name in fixes for name in FIXES}, _DEBUG: debug}
    return "-".join(part for part, is_chosen in parts.items() if is_chosen)


def is_plain(variant: str) -> bool:
    """Return whether `variant` has mainline's network stack without our changes."""
    return _PLAIN in variant.split("-")


def has_part(kernel: str, part: str) -> bool:
    """Return whether ``kernel``, a version with its variant or an entry of the cache, was built with ``--PART``."""
    return part in re.split(r"[-/]", kernel)


def with_part(kernel: str, part: str) -> str:
    """Return the name of the kernel that is like ``kernel`` and was built with ``--PART``, CPU or WIFI."""
    named = re.fullmatch(rf"(\d+\.\d+)({VARIANT_SUFFIX})", kernel)
    version, variant = named.groups() if named else (DEFAULT_VERSION, "")
    return f"{version}-{canonical_variant(f'{variant}-{part}')}"


def canonical_variant(variant: str) -> str:
    """Return the form of `variant` that `variant_of` gives.

    `variant` can have fixes in any order and name the default frequency: `hz1000-debug` becomes `debug`, `window-join`
    becomes `join-window`.
    """
    parts = variant.split("-")
    hz = next((int(part.removeprefix("hz")) for part in parts if part.startswith("hz")), DEFAULT_HZ)
    return variant_of(
        plain=_PLAIN in parts, hz=hz, cpu=CPU in parts, wifi=WIFI in parts, fixes=parts, debug=_DEBUG in parts
    )


def build_options(variant: str) -> list[str]:
    """Return the options of `mptcplab kernel build` that make `variant`."""
    return [option for part in variant.split("-") if part for option in _build_option(part)]


def _build_option(part: str) -> list[str]:
    if part in FIXES:
        return ["--fix", part]
    return ["--hz", part.removeprefix("hz")] if part.startswith("hz") else [f"--{part}"]


def load_inputs(version: str, *, variant: str = "", directory: Path | None = None) -> KernelInputs:
    """Return the inputs of a kernel of `version` (such as "7.2"), without inputs that only concern other versions.

    A file `net/mptcp/x.c` here becomes `net/mptcp/x.c` of the kernel's tree; the Makefile lines that name it come from
    a patch. A patch of the version replaces the common one with its name. A `variant` adds an option file for each of
    its parts, and its release has the variant's name. The plain variant has only the patches of the machine, and no
    source files of net/. The parts `cpu` and `wifi` add the patches, options and files of their folders in options/.
    Fixes are applied last.
    """
    directory = directory or data_dir()
    read = partial(_read_named, directory=directory, known=read_code_digests(directory / FILE))
    patches = directory / "patches"
    plain = is_plain(variant)
    pattern = MACHINE_PATCHES if plain else "*.patch"
    common = MACHINE_PATCHES if version in WITHOUT_SCHEDULERS else pattern
    parts = variant.split("-")
    fixes = [directory / "upstream" / FIXES[part] for part in parts if part in FIXES]
    options = [part for part in parts if part not in ("", _PLAIN, *_OPTIONS, *FIXES)]
    of_version = sorted((patches / version).glob(pattern))
    by_name = {path.name: path for path in (*sorted(patches.glob(common)), *of_version)}
    added = [directory / "options" / part for part in _OPTIONS if part in parts]
    files = () if plain else tuple(read(path, directory) for path in _sources(directory / "net"))
    configs = [directory / "config" / f"{name}.config" for name in ("lab", *options)]
    configs += (directory / "config").glob(f"{version}.config")
    fragments = [path.read_text() for path in configs]
    fragments += [path.read_text() for folder in added for path in sorted(folder.glob("*.config"))]
    if variant:
        fragments.append(f'CONFIG_LOCALVERSION="-mptcplab-{variant}"\n')
    return KernelInputs(
        fragment="\n".join(fragments),
        patches=(
            *(read(path, patches) for path in by_name.values()),
            *(read(path, directory) for folder in added for path in sorted(folder.glob("*.patch"))),
            *(read(path, directory) for path in fixes),
        ),
        overlay=(
            *files,
            *(read(path, folder) for folder in added for path in _sources(folder) if path.parent != folder),
        ),
    )


def with_patches(inputs: KernelInputs, files: Sequence[Path]) -> KernelInputs:
    """Return `inputs` with the patches `files` of a user, which are applied after ours.

    :raises InputError: for a file that cannot be read.
    """
    return replace(inputs, patches=(*inputs.patches, *select_patches(files)))


def select_patches(files: Sequence[Path]) -> tuple[NamedFile, ...]:
    """Return the patches `files` of a user, in the given order.

    :raises InputError: for a file that cannot be read.
    """
    given = []
    for number, path in enumerate(files, start=1):
        try:
            # The number distinguishes two files of the same name.
            given.append(NamedFile(f"{GIVEN}/{number:02}-{path.name}", path.read_bytes()))
        except OSError as error:
            raise InputError(
                f"the patch '{path}' cannot be read: {error.strerror}",
                hint="give a file with a unified diff, such as `git format-patch` writes",
            ) from error
    return tuple(given)


def _sources(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if _is_source(path)]


def _is_source(path: Path) -> bool:
    """Return whether `path` is a file that is not a remnant of an editor, of patch or of a compiler."""
    remnant = path.name.startswith(".") or path.name.endswith(("~", ".orig", ".rej", ".o"))
    return path.is_file() and not remnant


def _read_named(path: Path, base: Path, *, directory: Path, known: Mapping[str, CodeDigest]) -> NamedFile:
    content, name = path.read_bytes(), path.relative_to(directory).as_posix()
    counts_as = digest_of_input(name, content, known) if name in known else ""
    return NamedFile(path.relative_to(base).as_posix(), content, counts_as)


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


# Names of the congestion controls and schedulers that the lab's kernels have, from their sources and options.
#
# Kernels with a user's patches may have more: a scenario names these by hash or path, and only the kernel itself
# knows.

_PLAIN_VERSION = re.compile(r"\d+\.\d+(?:-(?!plain)[a-z]+[0-9]*)*")
_NAME = re.compile(r'^\s*\.name\s*=\s*"([a-z0-9_]+)"', re.MULTILINE)
_OPTION = re.compile(r"^CONFIG_TCP_CONG_([A-Z0-9]+)=y", re.MULTILINE)
_NOT_A_CONGESTION_CONTROL = "advanced"
#: What every kernel has.
_CONGESTION_CONTROL, _SCHEDULER = "reno", "default"


def has_known_algorithms(kernel: str) -> bool:
    """Return whether a scenario's ``kernel`` is one of ours without a user's patches, so that the names are known."""
    return _PLAIN_VERSION.fullmatch(kernel) is not None


def has_one_scheduler(kernel: str) -> bool:
    """Return whether a scenario's ``kernel`` is of a version whose scheduler cannot be chosen."""
    return kernel.partition("-")[0] in WITHOUT_SCHEDULERS


@cache
def congestion_controls() -> frozenset[str]:
    """Return the names of congestion controls. :raises LabError: if the kernel's files are missing."""
    options = _OPTION.findall((data_dir() / "config" / "lab.config").read_text())
    return frozenset(
        {_CONGESTION_CONTROL, *(name.lower() for name in options), *_names("mptcp_*.c", "v09_*.c")}
        - {_NOT_A_CONGESTION_CONTROL}
    )


@cache
def schedulers() -> frozenset[str]:
    """Return the names of MPTCP schedulers. :raises LabError: if the kernel's files are missing."""
    return frozenset({_SCHEDULER, *_names("sched_*.c")})


def _names(*patterns: str) -> set[str]:
    folder = data_dir() / "net" / "mptcp"
    files = [file for pattern in patterns for file in folder.glob(pattern)]
    return {name for file in files for name in _NAME.findall(file.read_text())}
