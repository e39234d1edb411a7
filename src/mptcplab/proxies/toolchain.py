# SPDX-License-Identifier: MIT
"""Finds a toolchain that is new enough: on the caller's PATH first, then where installers put it."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import MissingError
from mptcplab.proxies.catalog import Language, Recipe

#: What a build keeps of the caller's environment: where files are, and how registries are reached. Flags of compilers
#: are not kept, because the same recipe must give the same program.
_KEPT = re.compile(
    r"(HOME|TMPDIR|GOENV|GOPATH|GOMODCACHE|GOPROXY|GONOPROXY|GOINSECURE|CARGO_HOME|RUSTUP_HOME|RUSTUP_TOOLCHAIN"
    r"|CARGO_(HTTP|NET|REGISTRIES|SOURCE)_.*|SSL_CERT_(FILE|DIR)|NETRC|(https?|all|no)_proxy)",
    re.IGNORECASE,
)
_FIXED = {
    "LC_ALL": "C.UTF-8",
    # A toolchain that is missing or too old is an error, and is never downloaded.
    "GOTOOLCHAIN": "local",
    "RUSTUP_AUTO_INSTALL": "0",
}


@dataclass(frozen=True)
class _Language:
    """The toolchains of a language."""

    name: str
    programs: tuple[str, ...]
    """All that a build needs; the first builds."""
    version: tuple[str, ...]
    """The command that prints the compiler's version."""
    folders: tuple[str, ...]
    """Patterns of folders where installers put it; ``~`` is the home folder."""
    packages: tuple[str, ...]
    """Debian's packages of it in various versions, preferred ones first."""


_KINDS: Mapping[Language, _Language] = {
    "go": _Language(
        name="Go",
        programs=("go",),
        version=("go", "version"),
        folders=("/usr/local/go/bin", "/usr/lib/go-1.*/bin", "~/sdk/go1.*/bin"),
        packages=("golang-go", "golang-1.24-go"),
    ),
    "rust": _Language(
        name="Rust",
        programs=("cargo", "rustc", "cc"),
        version=("rustc", "--version"),
        folders=("~/.cargo/bin", "/usr/local/cargo/bin"),
        packages=("cargo", "cargo-web"),
    ),
}
_VERSION = re.compile(r"\b(?:go)?(\d+)\.(\d+)")
_PROBE_SECONDS = 60


@dataclass(frozen=True)
class Toolchain:
    """A toolchain of this machine: the path of the program that builds, its version, and the variables of a build.

    ``description`` is what its compiler prints about itself.
    """

    path: Path
    version: tuple[int, int]
    description: str
    environment: Mapping[str, str]


def toolchain_of(recipe: Recipe, environ: Mapping[str, str] = os.environ) -> Toolchain:
    """Return the first toolchain that builds a program: on the caller's PATH, else where installers put it.

    :raises MissingError: naming the version that it needs, and the newest that this machine has.
    """
    kind, newest = _KINDS[recipe.language], None
    for folder in _folders(kind, environ):
        environment = _environment(environ, f"{folder}:{environ.get('PATH', '')}")
        description = _description(kind, environment)
        version = _version(description)
        if version is not None and version >= recipe.compiler:
            return Toolchain(folder / kind.programs[0], version, description, environment)
        newest = max(filter(None, (newest, version)), default=None)
    missing = "is missing" if len(kind.programs) == 1 else f"lacks one of {', '.join(kind.programs)}"
    found_missing = f"is {newest[0]}.{newest[1]}" if newest else missing
    wanted = f"{kind.name} {recipe.compiler[0]}.{recipe.compiler[1]}"
    raise MissingError(
        f"{recipe.name} needs {wanted} or later, and this machine's {kind.name} {found_missing}",
        subject=f"{wanted} or later",
        hint=f"`make gateways` installs Debian's if that is new enough; or put a newer {kind.programs[0]} on PATH",
    )


def missing_packages(recipes: Iterable[Recipe]) -> list[str]:
    """Return the Debian packages with the toolchains that this machine lacks for ``recipes``.

    It leaves out packages of which apt has only too old versions. If apt knows no version at all, its lists have
    not been fetched yet, and the first of the toolchain's packages is returned.
    """
    wanted: list[str] = []
    for recipe in recipes:
        try:
            toolchain_of(recipe)
        except MissingError:
            packages = _KINDS[recipe.language].packages
            offered = _read_candidates(packages)
            new_enough = [name for name, version in offered.items() if version >= recipe.compiler]
            wanted += new_enough[:1] if offered else packages[:1]
    return list(dict.fromkeys(wanted))


def _folders(kind: _Language, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield every folder with the toolchain's first program, in the order of preference."""
    first = kind.programs[0]
    home = environ.get("HOME", str(Path.home()))
    known = [re.sub("^~", lambda _: home, pattern) for pattern in kind.folders]
    # Of several versions in versioned folders, the newest first.
    installed = [folder for pattern in known for folder in sorted(glob.glob(pattern), key=_numbers, reverse=True)]
    for folder in dict.fromkeys([*filter(None, environ.get("PATH", "").split(":")), *installed]):
        if shutil.which(first, path=folder):
            yield Path(folder)


def _numbers(folder: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder)]


def _environment(environ: Mapping[str, str], path: str) -> dict[str, str]:
    return {name: value for name, value in environ.items() if _KEPT.fullmatch(name)} | _FIXED | {"PATH": path}


def _description(kind: _Language, environment: Mapping[str, str]) -> str:
    """Return what the compiler prints about itself; empty if the toolchain is incomplete."""
    if not all(shutil.which(name, path=environment["PATH"]) for name in kind.programs):
        return ""
    return _output_of(kind.version, environment).strip()


def _version(description: str) -> tuple[int, int] | None:
    match = _VERSION.search(description)
    return (int(match[1]), int(match[2])) if match else None


def _output_of(command: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Return the output of a command that ends at once; empty if it fails."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            cwd="/",  # files in the working directory may select another toolchain
            timeout=_PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _read_candidates(packages: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    """Return the versions that apt would install, by package."""
    output = _output_of(("apt-cache", "policy", *packages), {**_FIXED, "PATH": "/usr/bin:/bin"})
    items = re.findall(r"^(\S+):\n(?:  .*\n)*?  Candidate: (?:\d+:)?(\d+)\.(\d+)", output, re.MULTILINE)
    return {name: (int(major), int(minor)) for name, major, minor in items}
