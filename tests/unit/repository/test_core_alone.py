# SPDX-License-Identifier: MIT
"""The core installs, imports and explains itself without the packages beside it; what needs one names it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from mptcplab.lazy import install_command

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = sorted((ROOT / "packages").glob("*/pyproject.toml"))
NAMES = [file.parent.name for file in PACKAGES]
MODULES = {name.replace("-", "_") for name in NAMES}
#: Hides the packages as if they were not installed: neither their modules nor their entry points are found.
HIDE = f"""
import sys
from importlib import metadata

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(MODULES)!r}:
            raise ModuleNotFoundError(f"{{name}} is hidden", name=name)

installed = metadata.distributions
metadata.distributions = lambda: (one for one in installed() if one.metadata["Name"] not in {NAMES!r})
sys.meta_path.insert(0, Hide())
"""
#: Executes several commands, and prints the status, output and errors of each as JSON.
COMMANDS = f"""{HIDE}
import contextlib, io, json
from mptcplab.cli.main import main

ends = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["mptcplab", *words]
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as status:
        ends.append((status.code or 0, out.getvalue(), err.getvalue()))
print(json.dumps(ends))
"""
HELP = ("--help",)
SHOW = ("show", "examples/two-paths.toml")
UNKNOWN = ("run", "examples/two-paths.toml", "--engine", "shh")
#: Commands that need a package, what of them needs it, and the package.
NEEDS = [
    (("run", "examples/two-paths.toml", "--engine", "ssh:lab.toml"), "engine 'ssh'", "mptcplab-ssh"),
    (("plan", "examples/two-paths.toml", "--node", "client"), "format 'sh'", "mptcplab-export"),
    (("plan", "examples/two-paths.toml", "--node", "client", "--format", "uci"), "format 'uci'", "mptcplab-export"),
]
#: Imports every module of the core, except modules that start something or need an extra.
IMPORTS = f"""{HIDE}
import pkgutil, mptcplab
for module in pkgutil.walk_packages(mptcplab.__path__, "mptcplab."):
    if not module.name.endswith(".__main__") and not module.name.startswith("mptcplab.serve"):
        __import__(module.name)
print(*sorted(name for name in sys.modules if name.partition(".")[0] in {sorted(MODULES)!r}))
"""


class CommandEnd(NamedTuple):
    """What a command left."""

    status: int
    out: str
    err: str


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Python with the packages hidden, and without plugins."""
    environment = {key: value for key, value in os.environ.items() if key != "MPTCPLAB_PLUGINS"}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


@cache
def command_ends() -> dict[tuple[str, ...], CommandEnd]:
    """Return what all commands of this module left: one process executes them, since its start takes longest."""
    commands = [HELP, SHOW, UNKNOWN, *(words for words, _, _ in NEEDS)]
    done = run(COMMANDS, json.dumps(commands))
    assert (done.returncode, done.stderr) == (0, "")
    return {words: CommandEnd(*left) for words, left in zip(commands, json.loads(done.stdout), strict=True)}


def test_there_are_packages() -> None:
    assert NAMES, "otherwise nothing is hidden below"


@pytest.mark.slow
def test_all_of_the_core_imports() -> None:
    done = run(IMPORTS)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.slow
def test_help_of_all_commands() -> None:
    done = command_ends()[HELP]
    assert (done.status, done.err) == (0, "")
    assert "\n  run " in done.out


def test_a_scenario_is_resolved() -> None:
    done = command_ends()[SHOW]
    assert (done.status, done.err) == (0, "")


@pytest.mark.parametrize(("words", "part", "package"), NEEDS)
def test_what_needs_a_package_names_it(words: tuple[str, ...], part: str, package: str) -> None:
    done = command_ends()[words]
    assert (done.status, done.out) == (3, "")
    assert done.err == (
        f"mptcplab: the {part} is in the package {package}, which is not installed\n"
        f"  hint: {install_command(['--editable', str(ROOT / 'packages' / package)])}\n"
    )


def test_an_unknown_engine_is_still_a_mistake() -> None:
    done = command_ends()[UNKNOWN]
    assert done.status == 2
    assert "'ssh'" in done.err


@pytest.mark.parametrize("file", PACKAGES, ids=lambda file: file.parent.name)
def test_a_package_is_an_extra_of_the_core_and_has_its_version(file: Path) -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    name = file.parent.name
    extra = name.removeprefix("mptcplab-")
    assert extras[extra] == [name]
    assert extra in extras["all"][0].partition("[")[2].rstrip("]").split(",")
    package = tomllib.loads(file.read_text())
    assert package["project"]["name"] == name
    assert package["project"]["dynamic"] == ["version"]
    assert (file.parent / package["tool"]["hatch"]["version"]["path"]).samefile(ROOT / "src/mptcplab/__init__.py")
    assert package["project"]["requires-python"] == PROJECT["project"]["requires-python"]
    for group, points in package["project"]["entry-points"].items():
        assert group.startswith("mptcplab.")
        assert all(target.startswith(f"{name.replace('-', '_')}.") for target in points.values())


def test_tests_of_the_core_import_no_package() -> None:
    """So they can be run without them. Tests that need one belong to it."""
    wrong = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        text = file.read_text()
        # Parsing all of them takes seconds, and hardly any has the name of a package.
        for node in ast.walk(ast.parse(text)) if any(module in text for module in MODULES) else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [str(file.relative_to(ROOT)) for name in names if name.partition(".")[0] in MODULES]
    assert wrong == []
