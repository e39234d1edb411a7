# SPDX-License-Identifier: MIT
"""Commands import few modules before they do something: this decides how long a user waits for them."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from mptcplab.cli.main import commands
from mptcplab.cli.options import defer_to
from mptcplab.lazy import lazy_names, load

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
#: Runs the command line, and writes the names of all modules that it has imported.
PROGRAM = """
import atexit, os, sys
atexit.register(lambda: print(*sys.modules, sep="\\n", file=open(os.environ["MODULES"], "w")))
from mptcplab.cli.main import main
sys.argv[0] = "mptcplab"
main()
"""
#: Each takes from 50 ms to a second.
LIBRARIES = ("numpy", "polars", "scipy", "matplotlib", "plotly", "pandas", "jinja2", "distributed", "flask")
#: Libraries, and our rooms, that only a scenario needs, or what follows from it.
OF_SCENARIOS = (
    "pydantic",
    "rich",
    "mptcplab.scenario.load",
    "mptcplab.plan",
    "mptcplab.metrics.registry",
    "importlib.metadata",
)
#: What a scenario does not need until its runs are executed.
OF_RUNS = (
    "mptcplab.metrics.registry",
    "mptcplab.campaign",
    "mptcplab.engine.stock.engine",
    "mptcplab.figure",
    "mptcplab.results",
    "mptcplab.packs.open",
    "mptcplab.serve",
)
#: Python and click are 96 modules, and one more takes 0.2 to 0.5 ms. `--help` reads the declarations of all
#: commands, and what they import; anything else that is reported without a scenario reads one of them.
FEW, ALL_DECLARATIONS = 155, 200
#: pydantic and rich import 190 modules, and the language of scenarios with what checks one 130 of ours.
SCENARIO = 500


def list_imports(tmp_path: Path, *words: str, status: int = 0, variables: Mapping[str, str] | None = None) -> set[str]:
    """Return the names of the modules that a command imports. It ends with ``status``."""
    place = tmp_path / "modules"
    environment = {key: value for key, value in os.environ.items() if key != "MPTCPLAB_PLUGINS"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=ROOT,
        env={**environment, "MODULES": str(place), **(variables or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return set(place.read_text().split())


def check(modules: set[str], most: int, *refused: str) -> None:
    """Assert that a command has imported at most ``most`` modules, and none of some."""
    assert modules & set(refused) == set()
    ours = sorted(name for name in modules if name.startswith("mptcplab"))
    assert len(modules) <= most, f"{len(modules)} modules, of which ours are {', '.join(ours)}"


def test_help_imports_declarations_only(tmp_path: Path) -> None:
    check(list_imports(tmp_path, "--help"), ALL_DECLARATIONS, *LIBRARIES, *OF_SCENARIOS)


@pytest.mark.parametrize(
    "words",
    [
        ("rnu",),
        ("run", "--nosuch"),
        ("run", "two.toml", "--jobs", "many"),
        ("run", "two.toml", "--repeats", "0"),
        ("show", "two.toml", "--seed", "x"),
        ("figure", "results", "--seed", "x"),
        ("compare", "a", "--margin", "x"),
        ("reproduce", "--quikc"),
        ("doctor", "--packages", "all"),
        ("selftest", "--jobs", "0"),
        ("kernel", "build", "--hz", "3"),
    ],
    ids=" ".join,
)
def test_a_mistake_on_the_command_line_imports_one_declaration(tmp_path: Path, words: tuple[str, ...]) -> None:
    check(list_imports(tmp_path, *words, status=2), FEW, *LIBRARIES, *OF_SCENARIOS)


@pytest.mark.parametrize(
    ("line", "most"),
    [
        ("mptcplab ", ALL_DECLARATIONS),
        ("mptcplab run --", FEW),
        ("mptcplab run examples/t", FEW),
        ("mptcplab completion ", FEW),
    ],
)
def test_completion_imports_declarations_only(tmp_path: Path, line: str, most: int) -> None:
    variables = {"_MPTCPLAB_COMPLETE": "zsh_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    check(list_imports(tmp_path, variables=variables), most, *LIBRARIES, *OF_SCENARIOS)


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_show_imports_the_language_of_scenarios_only(tmp_path: Path, file: Path) -> None:
    check(list_imports(tmp_path, "show", str(file)), SCENARIO, *LIBRARIES, *OF_RUNS)


def test_a_scenario_imports_the_kinds_that_it_uses(tmp_path: Path) -> None:
    modules = list_imports(tmp_path, "show", str(ROOT / "examples" / "web.toml"))
    check(modules, SCENARIO, *LIBRARIES, *OF_RUNS)
    assert "mptcplab.workload.web" in modules
    assert modules & {"mptcplab.workload.voip", "mptcplab.workload.ftp", "mptcplab.gateway.openvpn"} == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("no-such.toml",), ("examples/two-paths.toml", "--set", "links.link1.rat=5 Mbit/s")], ids=["file", "key"]
)
def test_a_mistake_in_a_scenario_imports_no_metrics_and_figures(tmp_path: Path, words: tuple[str, ...]) -> None:
    check(list_imports(tmp_path, "run", *words, status=2), SCENARIO, *LIBRARIES, *OF_RUNS)


def _find_deferred(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if hasattr(command.callback, "target"):
        yield name, command
    if isinstance(command, click.Group):
        for sub in command.list_commands(click.Context(command)):
            subcommand = command.get_command(click.Context(command), sub)
            assert subcommand is not None
            yield from _find_deferred(subcommand, f"{name} {sub}".strip())


DEFERRED = dict(_find_deferred(commands, ""))


@pytest.mark.parametrize("name", DEFERRED)
def test_the_body_of_a_command_takes_its_parameters(name: str) -> None:
    command = DEFERRED[name]
    assert command.callback is not None
    parameters = inspect.signature(load(vars(command.callback)["target"])).parameters
    variable = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    named = {parameter.name for parameter in parameters.values() if parameter.kind is not inspect.Parameter.VAR_KEYWORD}
    given = {param.name for param in command.params if param.expose_value}
    assert named - {"ctx", "context"} <= given
    assert variable or given <= named


def test_every_command_is_deferred_but_those_that_only_have_subcommands() -> None:
    others = set(commands.list_commands(click.Context(commands))) - set(DEFERRED)
    assert others == {"kernel", "gateways", "cc"}


def test_a_deferred_body_is_imported_when_it_is_called() -> None:
    @defer_to("mptcplab.no_such_module:body")
    def example_command() -> None:
        """Help."""

    assert (example_command.__name__, example_command.__doc__) == ("example_command", "Help.")
    with pytest.raises(ModuleNotFoundError):
        example_command()


def test_lazy_names_of_a_package_are_found_at_first_use() -> None:
    find = lazy_names("mptcplab.kernel")
    from mptcplab.kernel.cache import find_kernel, list_kernels

    assert (find("find_kernel"), find("list_kernels")) == (find_kernel, list_kernels)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        find("nothing")
