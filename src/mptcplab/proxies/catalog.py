# SPDX-License-Identifier: MIT
"""The programs that are built, and their places. Folders in ``tools/proxies`` pin versions and checksums."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mptcplab.cache import KEY_CHARS, cache_root
from mptcplab.errors import LabError
from mptcplab.prebuilt import find_shipped_folder

Language = Literal["go", "rust"]


@dataclass(frozen=True)
class Recipe:
    """The instructions to build one program.

    ``source`` is its module at the Go module proxy, or its crate at crates.io; ``package`` the Go package of its
    program. ``binaries`` are the files that a build gives. ``compiler`` is the oldest version that builds it.
    """

    name: str
    language: Language
    source: str
    version: str
    binaries: tuple[str, ...]
    compiler: tuple[int, int]
    licence: str
    package: str = ""

    @property
    def folder(self) -> Path:
        """The folder that pins the program. :raises LabError: if it is missing."""
        proof = "go.sum" if self.language == "go" else "Cargo.lock"
        path = find_shipped_folder(f"proxies/{self.name}", f"tools/proxies/{self.name}", proof=proof)
        if path is None:
            raise LabError(
                f"the files that pin {self.name} are missing", hint="install mptcplab again, or use a complete checkout"
            )
        return path


_GO_SHADOWSOCKS2 = Recipe(
    name="go-shadowsocks2",
    language="go",
    source="github.com/shadowsocks/go-shadowsocks2",
    version="0.1.5",
    binaries=("go-shadowsocks2",),
    compiler=(1, 24),
    licence="Apache-2.0",
    package="github.com/shadowsocks/go-shadowsocks2",
)
_OLD = "go-shadowsocks2-0.0.11"
_RECIPES = (
    _GO_SHADOWSOCKS2,
    replace(_GO_SHADOWSOCKS2, name=_OLD, version="0.0.11", binaries=(_OLD,)),
    Recipe(
        name="shadowsocks-rust",
        language="rust",
        source="shadowsocks-rust",
        version="1.23.5",
        binaries=("sslocal", "ssserver"),
        compiler=(1, 85),
        licence="MIT",
    ),
    Recipe(
        name="xray",
        language="go",
        source="github.com/xtls/xray-core",
        version="1.250516.0",
        binaries=("xray",),
        compiler=(1, 24),
        licence="MPL-2.0",
        package="github.com/xtls/xray-core/main",
    ),
)

#: The file beside a program that says which compiler built it.
COMPILER_FILE = "compiler"
#: Options of ``go build``. The bytes do not depend on this machine, and the program runs at any address: programs of Go
#: that are not position-independent all need the same addresses, so that only one of them could run in the lab kernel's
#: process.
GO_OPTIONS = ("-trimpath", "-buildvcs=false", "-buildmode=pie", "-ldflags", "-s -w -buildid=")
#: All programs that are built, by name.
RECIPES = {recipe.name: recipe for recipe in _RECIPES}


def recipe_of(program: str) -> Recipe | None:
    """Return the recipe that gives the binary ``program``; None if none does."""
    return next((recipe for recipe in _RECIPES if program in recipe.binaries), None)


def folder_of(recipe: Recipe) -> Path:
    """Return the folder in which a build of the recipe, as it is pinned now, is kept.

    The compiler is not part of its name: a program stays usable when its compiler is replaced or removed. The identity
    of a run contains the program's hash, so a build by another compiler does not pass for this one.
    """
    options = GO_OPTIONS if recipe.language == "go" else ()
    digest = hashlib.sha256(" ".join((recipe.source, recipe.version, *options)).encode())
    for file in sorted(file for file in recipe.folder.rglob("*") if file.is_file()):
        digest.update(f"{file.relative_to(recipe.folder)}\0".encode() + file.read_bytes())
    return cache_root() / "tools" / f"{recipe.name}-{digest.hexdigest()[:KEY_CHARS]}"


def is_built(recipe: Recipe) -> bool:
    """Return whether all binaries of a program are there."""
    folder = folder_of(recipe)
    return all((folder / binary).is_file() for binary in recipe.binaries)


def compiler_of(recipe: Recipe) -> str:
    """Return what the compiler of a built program printed about itself; empty if that was not kept."""
    file = folder_of(recipe) / COMPILER_FILE
    return file.read_text().strip() if file.is_file() else ""


def describe_recipe(recipe: Recipe) -> dict[str, object]:
    """Return a program as JSON data, with the folder and the compiler of its build; None for what is not there."""
    return {
        "name": recipe.name,
        "version": recipe.version,
        "licence": recipe.licence,
        "programs": list(recipe.binaries),
        "folder": str(folder_of(recipe)) if is_built(recipe) else None,
        "compiler": compiler_of(recipe) or None,
    }


def built_program(recipe: Recipe, binary: str) -> Path | None:
    """Return the path of one of a program's binaries; None if it is not built."""
    path = folder_of(recipe) / binary
    return path if path.is_file() else None
