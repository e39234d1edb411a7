# SPDX-License-Identifier: MIT
"""Build the programs of :mod:`mptcplab.proxies.catalog` into the cache folder.

A build gets only what the pinned versions name, from the registries that the machine's Go or Cargo is set up for; they
refuse a part with another checksum. A build that fails or is interrupted leaves nothing but a log.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from mptcplab.cache import cache_root, hold_lock, make_work_folder
from mptcplab.errors import InputError, LabError
from mptcplab.kernel.process import CommandError, run_logged
from mptcplab.proxies.catalog import COMPILER_FILE, RECIPES, Recipe, folder_of, is_built
from mptcplab.proxies.toolchain import Toolchain, toolchain_of

#: The longest that a build may take. The longest measured took 21 minutes, on a busy machine.
LIMIT_SECONDS = 3600.0
_COMMIT_DATE = "0"
_SHOWN_LINES = 4


def select_recipes(names: tuple[str, ...]) -> list[Recipe]:
    """Return the programs called ``names``, or all. :raises InputError: for a name that is not one."""
    for name in names:
        if name not in RECIPES:
            raise InputError(f"'{name}' is not a program that is built", hint=f"use one of {', '.join(RECIPES)}")
    return [RECIPES[name] for name in names] if names else list(RECIPES.values())


def build_proxies(
    names: Iterable[str] = (),
    *,
    fresh: bool = False,
    begin: Callable[[Recipe], None] = lambda _: None,
    line: Callable[[str], None] = lambda _: None,
    built: Callable[[Recipe, Path], None] = lambda _recipe, _folder: None,
) -> dict[str, Path]:
    """Build the programs of gateways called ``names``, or all, and return the folder of each by its name.

    Programs that are built already are not built again, unless ``fresh``. ``begin`` is called before each build,
    ``line`` with lines of the compiler's output, and ``built`` after each program that is there.

    :raises InputError: for a name that is not one.
    :raises LabError: after all others are built, if one failed; a MissingError, if the first lacked a compiler.
    """
    folders: dict[str, Path] = {}
    failed: list[LabError] = []
    for recipe in select_recipes(tuple(names)):
        if fresh or not is_built(recipe):
            begin(recipe)
        try:
            folders[recipe.name] = build(recipe, line, fresh=fresh)
        except LabError as error:
            failed.append(error)
        else:
            built(recipe, folders[recipe.name])
    if failed:
        first, *others = failed
        hints = [first.hint or "", *(f"also: {error.message}\n    {error.hint}" for error in others)]
        raise type(first)(first.message, hint="\n  ".join(hints))
    return folders


def build(recipe: Recipe, report: Callable[[str], None], *, fresh: bool = False) -> Path:
    """Build a program unless it is built already, and return its folder. ``report`` receives lines of progress.

    With ``fresh``, a program that is built already is replaced.
    :raises MissingError: without a compiler. :raises LabError: if the build fails; the log remains.
    """
    target, root = folder_of(recipe), cache_root()
    if is_built(recipe) and not fresh:
        return target
    toolchain = toolchain_of(recipe)
    with hold_lock(recipe.name, root), make_work_folder(recipe.name, root) as work:
        if is_built(recipe) and not fresh:
            return target
        source, out = work / "source", work / "out"
        shutil.copytree(recipe.folder, source)
        out.mkdir()
        log = root / "logs" / f"{recipe.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        _run(recipe, toolchain, source, out, log, report)
        (out / COMPILER_FILE).write_text(f"{toolchain.description}\n")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(out, target)
        log.unlink()
    return target


def _run(
    recipe: Recipe, toolchain: Toolchain, source: Path, out: Path, log: Path, report: Callable[[str], None]
) -> None:
    command, variables = _go(recipe, out) if recipe.language == "go" else _cargo(source)
    environment = {**toolchain.environment, **variables}
    try:
        with log.open("w") as opened:
            run_logged(
                [str(toolchain.path), *command],
                log=opened,
                cwd=source,
                env=environment,
                on_line=lambda line: report(line.strip()),
                limit_s=LIMIT_SECONDS,
            )
    except CommandError as error:
        raise CommandError(f"{recipe.name} could not be built: {error.message}", hint=_last_lines(log)) from error
    if recipe.language == "rust":
        for binary in recipe.binaries:
            shutil.move(source / "target" / "release" / binary, out / binary)


def _last_lines(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return "\n  ".join([f"see {log}, which ends with:", *lines[-_SHOWN_LINES:]])


def _go(recipe: Recipe, out: Path) -> tuple[list[str], dict[str, str]]:
    variables = {
        # The checksums of all modules are in go.sum: none is asked for elsewhere, and none is added.
        "GOFLAGS": "-mod=readonly",
        "GOSUMDB": "off",
        "GOWORK": "off",
        # A static program whose bytes do not depend on this machine.
        "CGO_ENABLED": "0",
        "GOOS": "linux",
        "GOARCH": "amd64",
        "GOAMD64": "v1",
    }
    words = ["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o"]
    return [*words, str(out / recipe.binaries[0]), recipe.package], variables


def _cargo(source: Path) -> tuple[list[str], dict[str, str]]:
    variables = {"CARGO_TARGET_DIR": str(source / "target"), "SOURCE_DATE_EPOCH": _COMMIT_DATE}
    return ["build", "--release", "--locked"], variables
