# SPDX-License-Identifier: MIT
"""Build the programs of :mod:`mptcplab.proxies.catalog` into the cache folder, with a toolchain that is new enough."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mptcplab.cache import cache_root, check_cache, hold_lock, make_work_folder
from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.kernel.process import CommandError, run_logged
from mptcplab.proxies.catalog import COMPILER_FILE, GO_OPTIONS, RECIPES, Language, Recipe, folder_of, is_built

# Finds a toolchain that is new enough: on the caller's PATH first, then where installers put it.

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
    state = f"is {newest[0]}.{newest[1]}" if newest else missing
    wanted = f"{kind.name} {recipe.compiler[0]}.{recipe.compiler[1]}"
    raise MissingError(
        f"{recipe.name} needs {wanted} or later, and this machine's {kind.name} {state}",
        subject=f"{wanted} or later",
        hint=f"`make gateways` installs Debian's if that is new enough; or put a newer {kind.programs[0]} on PATH",
    )


def missing_toolchain_packages(recipes: Iterable[Recipe]) -> list[str]:
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


# Build the programs of :mod:`mptcplab.proxies.catalog` into the cache folder.
#
# A build gets only what the pinned versions name, from the registries that the machine's Go or Cargo is set up for;
# they refuse a part with another checksum. A build that fails or is interrupted leaves nothing but a log.

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
    :raises MissingError: if the cache folder cannot be written.
    :raises LabError: after all others are built, if one failed; a MissingError, if the first lacked a compiler.
    """
    check_cache()
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
        # The program needs no library, and its bytes do not depend on this machine's.
        "CGO_ENABLED": "0",
        "GOOS": "linux",
        "GOARCH": "amd64",
        "GOAMD64": "v1",
    }
    return ["build", "-v", *GO_OPTIONS, "-o", str(out / recipe.binaries[0]), recipe.package], variables


def _cargo(source: Path) -> tuple[list[str], dict[str, str]]:
    variables = {"CARGO_TARGET_DIR": str(source / "target"), "SOURCE_DATE_EPOCH": _COMMIT_DATE}
    return ["build", "--release", "--locked"], variables
