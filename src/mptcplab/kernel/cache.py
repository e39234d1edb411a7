# SPDX-License-Identifier: MIT
"""Built kernels: the entries in the cache folder and in `mptcplab-kernel`, and the search for one.

    ~/.cache/mptcplab/kernels/VERSION-KEY12/   linux, System.map, config, build.log, entry.json
                      trees/                   kept trees, see `tree`
                      sources/                 tarballs and their records

One rename adds a complete entry, so that no partial entry ever exists.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mptcplab.cache import KEY_CHARS, cache_root
from mptcplab.errors import InputError, MissingError
from mptcplab.files import expand_home
from mptcplab.kernel.data import (
    DEFAULT_VERSION,
    GIVEN,
    HZ_CHOICES,
    VARIANT_SUFFIX,
    KernelInputs,
    build_options,
    canonical_variant,
    load_inputs,
)
from mptcplab.prebuilt import find_prebuilt, find_usable_prebuilt

FORMAT = 1
#: The command that builds lab kernels, before a version and options.
BUILD_COMMAND = "mptcplab kernel build"
#: Linux has User-Mode Linux for x86 only. As `uname -m` prints it.
MACHINE = "x86_64"
VERSION_PATTERN = re.compile(r"^\d+\.\d+$")
#: A version, optionally followed by the variant: 7.2-debug, 7.2-hz100, 7.2-cpu, 7.2-wifi, 7.2-plain.
_NAME_PATTERN = re.compile(rf"^(\d+\.\d+)({VARIANT_SUFFIX})$")


@dataclass(frozen=True)
class KernelBuild:
    """A finished kernel, in the cache or in an installed package."""

    version: str
    """The version by which a user selects it, such as 7.2."""
    release: str
    """The output of `uname -r` in the lab, such as 7.2.12-mptcplab."""
    key: str
    """Hash of everything that went into it, 64 hexadecimal digits."""
    path: Path
    """The entry's directory."""
    config_sha256: str
    """Hash of the final .config."""
    inputs: str = ""
    """Hash of our inputs: options, patches, source files, recipe."""
    source_sha256: str = ""
    """Hash of the tarball or the tree."""
    built: str = ""
    """Time of the build, ISO 8601 in UTC."""
    lost_options: tuple[str, ...] = ()
    """Options that this version did not accept, as CONFIG_X=value."""
    variant: str = ""
    """`plain` without our network code, `hz100` with another timer frequency, `cpu` if programs can take time, names of
    fixes, `debug` if it checks itself, in this order with dashes between them; empty for the default kernel."""
    tree: str = ""
    """Name of the tree in which it can be built again, if that was kept."""
    hz: int | None = None
    """Timer frequency in ticks per second (CONFIG_HZ); None for entries that predate this field."""
    given: tuple[str, ...] = ()
    """Names of the patches that a user gave (`--patch`), in their order."""
    package: str = ""
    """The installed package that has it, with its version; empty for a kernel in the cache."""

    @property
    def name(self) -> str:
        """The name by which a user selects this variant of this version: 7.2, 7.2-hz100 or 7.2-debug."""
        return variant_name(self.version, self.variant)

    @property
    def executable(self) -> Path:
        """The kernel itself: a program that boots when it is run."""
        return self.path / "linux"

    @property
    def system_map(self) -> Path:
        """Addresses of the kernel's symbols, for reading a crash."""
        return self.path / "System.map"


def variant_name(version: str, variant: str) -> str:
    """Return the name of a variant: `7.2`, `7.2-debug`, `7.2-hz100` or `7.2-plain`."""
    return f"{version}-{variant}" if variant else version


def entry_name(name: str, key: str) -> str:
    """Return the name of an entry's directory; `name` is a version, optionally with its variant."""
    return f"{name}-{key[:KEY_CHARS]}"


def read_entry(directory: Path) -> KernelBuild | None:
    """Return the entry in `directory`; None if there is none that this version of mptcplab can read."""
    try:
        entry: dict[str, Any] = json.loads((directory / "entry.json").read_text())
        if entry["format"] != FORMAT or not (directory / "linux").is_file():
            return None
        return KernelBuild(
            version=entry["version"],
            release=entry["release"],
            key=entry["key"],
            path=directory,
            config_sha256=entry["config_sha256"],
            inputs=entry["inputs"],
            source_sha256=entry["source"]["sha256"],
            built=entry["built"],
            lost_options=tuple(entry["lost_options"]),
            variant=entry.get("variant", ""),
            tree=entry.get("tree", ""),
            hz=entry.get("hz"),
            given=tuple(name for name in entry.get("patches", {}) if name.startswith(f"{GIVEN}/")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def list_kernels(cache: Path | None = None) -> list[KernelBuild]:
    """Return all finished kernels by version: the newest build of each first, the builds of `mptcplab-kernel` last."""
    directories = ((cache or cache_root()) / "kernels").glob("*/")
    entries = [entry for entry in map(read_entry, directories) if entry is not None]
    entries.sort(key=lambda entry: entry.built, reverse=True)
    entries += installed_kernels()
    return sorted(entries, key=lambda entry: ([int(part) for part in entry.version.split(".")], entry.variant))


def installed_kernels() -> list[KernelBuild]:
    """Return the kernels of the installed package `mptcplab-kernel`, unless this machine cannot run them."""
    prebuilt = find_usable_prebuilt()
    if prebuilt is None:
        return []
    entries = map(read_entry, sorted(prebuilt.kernels.glob("*/")))
    return [replace(entry, package=prebuilt.name) for entry in entries if entry is not None]


def check_processor() -> None:
    """Check that lab kernels can be built and run here. :raises MissingError: on another processor than x86-64."""
    machine = os.uname().machine
    if machine != MACHINE:
        raise MissingError(
            f"the lab kernel (User-Mode Linux) needs x86-64, and this machine is {machine}",
            subject="processor",
            hint="use a machine with an x86-64 processor",
        )


def find_kernel(
    version: str | None = None,
    cache: Path | None = None,
    *,
    inputs: KernelInputs | None = None,
) -> KernelBuild:
    """Return the kernel to use for `version` (such as "7.2"; None: the default one), without building anything.

    "7.2-debug" is the one built with `--debug`, "7.2-hz100" with `--hz 100`, "7.2-cpu" with `--cpu`, "7.2-wifi" with
    `--wifi`, "7.2-plain" with `--plain`. Only a kernel built from the present options and patches qualifies. Of
    several, one from the source that `build_kernel` uses by default comes first, then the newest, then the kernel of
    `mptcplab-kernel`: whoever builds a kernel wants to use it. Instead of a version, `version` can be an entry's name,
    its directory or its `linux` file; that entry is used unchecked. A kernel with patches of a user (`--patch`) is
    selected this way.
    :raises MissingError: if there is none. :raises InputError: for a wrong `version`.
    """
    cache = cache or cache_root()
    parsed = _NAME_PATTERN.match(version or DEFAULT_VERSION)
    if not parsed:
        return _kernel_at(version or DEFAULT_VERSION, cache)
    variant = canonical_variant(parsed[2].removeprefix("-"))
    name = variant_name(parsed[1], variant)
    entries = [entry for entry in list_kernels(cache) if entry.name == name]
    command = _build_command(parsed[1], variant)
    if not entries:
        check_processor()
        message = f"the lab kernel {name} is not built on this machine{_refusal(name)}"
        raise MissingError(message, subject=f"kernel {name}", command=command)
    digest = (inputs or load_inputs(parsed[1], variant=variant)).digest
    current = [entry for entry in entries if entry.inputs == digest]
    if not current:
        place = f"kernel {name} of {entries[0].package}" if entries[0].package else f"cached kernel {name}"
        old = next((entry.path.name for entry in entries if not entry.given), "")
        raise MissingError(
            f"the {place} was built from other patches or options than the present ones{_refusal(name)}",
            subject=f"kernel {name} (stale)",
            command=command,
            alternative=f"go on with the old one, by its name: --set kernel={old}" if old else "",
        )
    default = read_sha256(parsed[1], cache)
    return next((entry for entry in current if entry.source_sha256 == default), current[0])


def _refusal(name: str) -> str:
    """Return the end of a sentence that says why the kernel `name` of `mptcplab-kernel` is not used, or nothing."""
    prebuilt = find_prebuilt()
    if prebuilt is None or prebuilt.obstacle is None:
        return ""
    entries = map(read_entry, prebuilt.kernels.glob("*/"))
    return f"; {prebuilt.name} {prebuilt.obstacle}" if any(entry and entry.name == name for entry in entries) else ""


def is_current(kernel: KernelBuild) -> bool:
    """Return whether a kernel was built from the present options and patches, so that its name selects it.

    One with patches of a user is selected by its place, and always current.
    """
    try:
        return bool(kernel.given) or kernel.inputs == load_inputs(kernel.version, variant=kernel.variant).digest
    except (InputError, OSError):
        return False  # of a variant that there is no more


def _build_command(version: str, variant: str) -> str:
    words = [BUILD_COMMAND, *([] if version == DEFAULT_VERSION else [version])]
    return " ".join([*words, *build_options(variant)])


def find_by_key(key: str, cache: Path) -> KernelBuild | None:
    """Return the finished kernel with exactly this key; None if there is none."""
    for directory in (cache / "kernels").glob(f"*-{key[:KEY_CHARS]}"):
        entry = read_entry(directory)
        if entry is not None and entry.key == key:
            return entry
    return next((kernel for kernel in installed_kernels() if kernel.key == key), None)


def source_record(version: str, cache: Path) -> Path:
    """Return the file that records which Debian source of `version` was downloaded."""
    return cache / "sources" / f"linux-source-{version}.json"


def read_sha256(version: str, cache: Path) -> str | None:
    """Return the hash of the Debian source of `version` that was downloaded; None if none was."""
    try:
        sha256 = json.loads(source_record(version, cache).read_text())["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return sha256 if isinstance(sha256, str) else None


def install_entry(directory: Path, cache: Path) -> KernelBuild:
    """Move a complete entry into the cache in one step and return it.

    If a good entry of that name exists by now, it stays and is returned; a damaged one is replaced.
    """
    entry = read_entry(directory)
    if entry is None:
        raise ValueError(f"{directory} is not a complete entry")
    target = cache / "kernels" / entry_name(entry.name, entry.key)
    target.parent.mkdir(parents=True, exist_ok=True)
    existing = read_entry(target)
    if existing is not None and existing.key == entry.key:
        return existing
    shutil.rmtree(target, ignore_errors=True)
    directory.rename(target)
    installed = read_entry(target)
    assert installed is not None
    return installed


def _kernel_at(place: str, cache: Path) -> KernelBuild:
    path = expand_home(place).resolve() if "/" in place else cache / "kernels" / place
    folder = path.parent if path.name == "linux" and not path.is_dir() else path
    installed = (kernel for kernel in installed_kernels() if kernel.path.name == place)
    entry = read_entry(folder) or next(installed, None)
    if entry is None:
        raise InputError(
            f"'{place}' is neither a kernel version such as {DEFAULT_VERSION} nor a kernel built by mptcplab",
            hint=_hint(place),
        )
    return entry


def _hint(place: str) -> str:
    if match := re.match(r"(\d+\.\d+(?:-plain)?)-hz", place):
        *others, last = map(str, HZ_CHOICES)
        return f"timers tick {', '.join(others)} or {last} times a second: write {match[1]}-hz{others[0]}"
    return "`mptcplab kernel list` lists the kernels that are built"
