# SPDX-License-Identifier: MIT
"""Build the programs of :mod:`mptcplab.proxies.catalog` into the cache folder, and find those that are built.

A build gets only what the pinned versions name, from the registries that the machine's Go or Cargo is set up for; they
refuse a part with another checksum. A build that fails or is interrupted leaves nothing but a log.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mptcplab.cache import KEY_CHARS, cache_root, locked, work_dir
from mptcplab.errors import InputError, MissingError
from mptcplab.kernel.process import CommandError, run_logged
from mptcplab.proxies.catalog import RECIPES, Recipe

_TOOLS = {"go": "go", "rust": "cargo"}
_PACKAGES = {"go": "golang", "rust": "cargo"}
#: Where installers put compilers, if they are not in PATH.
_ELSEWHERE = (Path("/usr/local/go/bin"), Path.home() / ".cargo/bin", Path.home() / "go/bin")
_COMMIT_DATE = "0"


@dataclass(frozen=True)
class Toolchain:
    """A compiler of the machine: the path of its command, and its version."""

    path: Path
    version: tuple[int, int]


def toolchain_of(recipe: Recipe) -> Toolchain:
    """Return the machine's compiler for a program. :raises MissingError: if there is none, or it is too old."""
    tool = _TOOLS[recipe.language]
    wanted = ".".join(map(str, recipe.compiler))
    package = _PACKAGES[recipe.language]
    path = shutil.which(tool, path=os.pathsep.join((os.environ.get("PATH", ""), *map(str, _ELSEWHERE))))
    if path is None:
        message = f"this machine lacks {tool} {wanted} or later, which builds {recipe.name}"
        raise MissingError(message, hint=f"sudo apt-get install {package}")
    version = _version_of(Path(path))
    if version < recipe.compiler:
        message = f"this machine's {tool} is too old for {recipe.name}: {'.'.join(map(str, version))}, not {wanted}"
        hint = f"install a newer {tool}; Debian 13 has one: sudo apt-get install {package}"
        raise MissingError(message, hint=hint)
    return Toolchain(Path(path), version)


def folder_of(recipe: Recipe) -> Path:
    """Return the folder in which a build of the recipe, as it is pinned now, is kept."""
    digest = hashlib.sha256(f"{recipe.source} {recipe.version}".encode())
    for file in sorted(file for file in recipe.folder.rglob("*") if file.is_file()):
        digest.update(f"{file.relative_to(recipe.folder)}\0".encode() + file.read_bytes())
    return cache_root() / "tools" / f"{recipe.name}-{digest.hexdigest()[:KEY_CHARS]}"


def built() -> dict[str, Path]:
    """Return the binaries that are built, by name."""
    return {
        binary: path
        for recipe in RECIPES.values()
        if recipe.pinned is not None
        for binary in recipe.binaries
        if (path := folder_of(recipe) / binary).is_file()
    }


def is_built(recipe: Recipe) -> bool:
    """Return whether all binaries of a program are there."""
    return all((folder_of(recipe) / binary).is_file() for binary in recipe.binaries)


def chosen(names: tuple[str, ...]) -> list[Recipe]:
    """Return the programs called ``names``, or all. :raises InputError: for a name that is not one."""
    for name in names:
        if name not in RECIPES:
            raise InputError(f"'{name}' is not a program that is built", hint=f"use one of {', '.join(RECIPES)}")
    return [RECIPES[name] for name in names] if names else list(RECIPES.values())


def build(recipe: Recipe, report: Callable[[str], None]) -> Path:
    """Build a program unless it is built already, and return its folder. ``report`` receives lines of progress.

    :raises MissingError: without a compiler. :raises LabError: if the build fails; the log remains.
    """
    target, root = folder_of(recipe), cache_root()
    if is_built(recipe):
        return target
    toolchain = toolchain_of(recipe)
    with locked(recipe.name, root), work_dir(recipe.name, root) as work:
        if is_built(recipe):
            return target
        source, out = work / "source", work / "out"
        shutil.copytree(recipe.folder, source)
        out.mkdir()
        log = root / "logs" / f"{recipe.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        _run(recipe, toolchain, source, out, log, report)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(out, target)
        log.unlink()
    return target


def _run(
    recipe: Recipe, toolchain: Toolchain, source: Path, out: Path, log: Path, report: Callable[[str], None]
) -> None:
    command, environment = _go(recipe, toolchain, out) if recipe.language == "go" else _cargo(toolchain, source)
    try:
        with log.open("w") as opened:
            run_logged(command, log=opened, cwd=source, env=environment, on_line=lambda line: report(line.strip()))
    except CommandError as error:
        raise CommandError(f"{recipe.name} could not be built", hint=f"see {log}") from error
    if recipe.language == "rust":
        for binary in recipe.binaries:
            shutil.move(source / "target" / "release" / binary, out / binary)


def _go(recipe: Recipe, toolchain: Toolchain, out: Path) -> tuple[list[str], dict[str, str]]:
    environment = {
        **os.environ,
        "PATH": f"{toolchain.path.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        # The checksums of all modules are in go.sum, and the machine's own compiler is used.
        "GOFLAGS": "-mod=readonly",
        "GOTOOLCHAIN": "local",
        "CGO_ENABLED": "0",
    }
    words = ["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o"]
    return [str(toolchain.path), *words, str(out / recipe.binaries[0]), recipe.package], environment


def _cargo(toolchain: Toolchain, source: Path) -> tuple[list[str], dict[str, str]]:
    environment = {
        **os.environ,
        "PATH": f"{toolchain.path.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "CARGO_TARGET_DIR": str(source / "target"),
        "SOURCE_DATE_EPOCH": _COMMIT_DATE,
    }
    return [str(toolchain.path), "build", "--release", "--locked"], environment


def _version_of(path: Path) -> tuple[int, int]:
    """Return the version of ``go`` or ``cargo``: both print it first among numbers."""
    words = ("version",) if path.name == "go" else ("--version",)
    done = subprocess.run(
        [str(path), *words], capture_output=True, text=True, env={**os.environ, "GOTOOLCHAIN": "local"}
    )
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)
