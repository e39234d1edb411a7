# SPDX-License-Identifier: MIT
"""Scenarios that come with mptcplab, by their names."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.command_output import output_of

from mptcplab.cli import shell_completion
from mptcplab.errors import Exit, InputError
from mptcplab.scenario.examples import find_example, list_examples
from mptcplab.scenario.extends import read

ROOT = Path(__file__).resolve().parents[3]


def test_every_example_has_one_name_and_a_title() -> None:
    listed = list_examples()
    names = [example.name for example in listed]
    assert len(set(names)) == len(names)
    assert {"handover", "behaviour/backlog", "subramani2018/table-4.1"} <= set(names)
    assert not {name for name in names if name.rpartition("/")[2] in ("study", "source", "beds")}, (
        "descriptions are not scenarios"
    )
    assert [example.name for example in listed if not example.title] == []


def test_every_scenario_of_the_folder_is_listed() -> None:
    """Other TOML files of the examples are data: inventories and configurations of daemons.

    An installed package has copies of the files.
    """
    listed = {example.file.read_text() for example in list_examples()}
    others = [text for file in (ROOT / "examples").rglob("*.toml") if (text := file.read_text()) not in listed]
    assert others, "no inventory was read"
    assert [text for text in others if "[workloads" in text and "title" in text] == []


@pytest.mark.slow
def test_a_name_stands_for_its_file() -> None:
    assert find_example("handover").read_text() == (ROOT / "examples" / "handover.toml").read_text()
    with pytest.raises(InputError) as caught:
        find_example("handovr")
    assert caught.value.hint == "did you mean @handover?"
    with pytest.raises(InputError) as caught:
        find_example("zzzz")
    assert caught.value.hint == "`mptcplab examples` lists them"


def test_commands_take_a_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = output_of(monkeypatch, capsys, "show", "@two-paths")
    assert status == Exit.DONE
    assert "Two equal paths" in out
    status, out, error = output_of(monkeypatch, capsys, "show", "@two-path")
    assert (status, out) == (Exit.BAD_INPUT, "")
    assert "did you mean @two-paths" in error
    (tmp_path / "@mine.toml").write_text((ROOT / "examples" / "two-paths.toml").read_text())
    assert output_of(monkeypatch, capsys, "show", "@mine.toml").status == Exit.DONE, (
        "a file of the user's with this name"
    )


@pytest.mark.slow
def test_the_list_and_a_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = output_of(monkeypatch, capsys, "examples")
    assert status == Exit.DONE
    assert "@handover" in out
    _, out, _ = output_of(monkeypatch, capsys, "examples", "wifi")
    assert "@wifi/roaming" in out
    assert "@handover" not in out
    _, out, _ = output_of(monkeypatch, capsys, "examples", "handover")
    assert out == (ROOT / "examples" / "handover.toml").read_text()
    _, out, _ = output_of(monkeypatch, capsys, "examples", "@handover", "--json")
    assert json.loads(out)["file"].endswith("examples/handover.toml")
    _, out, _ = output_of(monkeypatch, capsys, "examples", "--json")
    assert {"name", "title", "file"} == set(json.loads(out)["examples"][0])
    status, _, error = output_of(monkeypatch, capsys, "examples", "nothing-like-it")
    assert status == Exit.BAD_INPUT
    assert "no example 'nothing-like-it'" in error


def test_names_are_completed() -> None:
    import click

    def complete(incomplete: str) -> Sequence[str]:
        param = click.Argument(["file"])
        return [
            item.value
            for item in shell_completion.scenario_files(click.Context(click.Command("run")), param, incomplete)
        ]

    assert "@handover" in complete("@hand")


def test_the_wheel_has_all_that_its_examples_extend(tmp_path: Path) -> None:
    """In a checkout, an example can extend any file; in an installed package, only what is beside it there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for source, target in included.items():
        if source == "examples":
            shutil.copytree(ROOT / source, tmp_path / target)
        elif source.endswith(".toml"):
            (tmp_path / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, tmp_path / target)
    files = sorted((tmp_path / included["examples"]).rglob("*.toml"))
    assert len(files) > 100
    for file in files:
        read(file)
