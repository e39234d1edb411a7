# SPDX-License-Identifier: MIT
"""A plugin's kind of workload, one file outside of the package, appears everywhere that uses workloads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"


def run(*arguments: str, plugins: str = str(PLUGINS / "echo.py")) -> subprocess.CompletedProcess[str]:
    """Run Python with these plugins."""
    environment = {**os.environ, "MPTCPLAB_PLUGINS": plugins}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=60, check=False
    )


def run_command(*arguments: str) -> str:
    """Return the output of a command that must succeed."""
    done = run("-m", "mptcplab", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_schema() -> None:
    assert '"letters"' in json.dumps(json.loads(run_command("schema")))


def test_reference() -> None:
    done = run("-c", "from mptcplab.scenario.reference import reference; print(reference())")
    assert "| `letters` | whole number, 1 to 1000 | required | length of the line |" in done.stdout, done.stderr


def test_doctor_checks_its_programs() -> None:
    done = run("-c", "from mptcplab.doctor.programs import program_uses; print(program_uses()['socat'])")
    assert done.stdout == "workloads of kind echo and transfer\n", done.stderr


def test_show_and_plan() -> None:
    scenario = str(PLUGINS / "echo.toml")
    assert "1 run" in run_command("show", scenario)
    assert "socat TCP4-LISTEN:5001,fork" in run_command("plan", scenario)


def test_a_mistake_in_it_is_one_of_the_scenario(tmp_path: Path) -> None:
    file = tmp_path / "echo.toml"
    file.write_text((PLUGINS / "echo.toml").read_text().replace("../../", f"{PLUGINS.parents[1]}/").replace("80", "-1"))
    done = run("-m", "mptcplab", "show", str(file))
    assert done.returncode == 2
    assert "workloads.bulk.letters" in done.stderr


@pytest.mark.parametrize("content", ["raise RuntimeError('broken')", None])
def test_a_plugin_that_cannot_be_imported_is_an_error(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content)
    done = run("-m", "mptcplab", "show", str(PLUGINS / "echo.toml"), plugins=str(file))
    assert done.returncode == 2, done.stderr
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("links.link1.discipline=cake",), "does not support what the scenario does to packets: cake"),
        (("routers.r1.nat=['link1']",), "does not support what the scenario does to packets: nft"),
    ],
)
def test_an_engine_without_a_capability_is_refused(tmp_path: Path, settings: tuple[str, ...], message: str) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    two_lines = str(PLUGINS.parents[1] / "examples" / "two-paths.toml")
    arguments = ("-m", "mptcplab", "run", two_lines, *options, "--engine", "loud", "--out", str(tmp_path / "out"))
    done = run(*arguments, plugins=str(PLUGINS / "loud.py"))
    assert done.returncode == 2, done.stderr
    assert f"the engine 'loud' {message}" in done.stderr
    assert "hint: " in done.stderr
    assert not (tmp_path / "out").exists()
