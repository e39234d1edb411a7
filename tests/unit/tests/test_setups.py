# SPDX-License-Identifier: MIT
"""The comparison of unlike installations: what counts as a difference, and in what order they are chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.setups.differences import compare
from tests.setups.roots import setups


@pytest.fixture
def results(tmp_path: Path) -> tuple[Path, Path]:
    """The results of two set-ups with the same measurement, by other versions of one program."""
    folders = (tmp_path / "first", tmp_path / "second")
    for number, folder in enumerate(folders):
        run = folder / "runs" / f"identity-{number}"
        run.mkdir(parents=True)
        facts = {"programs": {"ip": f"version {number}", "flow": "same"}}
        manifest = {"identity": run.name, "facts": facts, "settings": [["rate", "1"]], "seed": 3, "zero_ns": 5}
        (run / "manifest.json").write_text(json.dumps(manifest))
        (run / "samples").write_bytes(b"measured")
        (folder / "diag.log").write_text("ok 1\n")
    return folders


def test_other_versions_are_named_and_make_no_difference(results: tuple[Path, Path]) -> None:
    differences = compare(*results)
    assert (differences.compared, differences.files, differences.programs) == (3, (), ("ip",))
    assert str(differences) == "all 3 files equal; other versions of ip"


@pytest.mark.parametrize("name", ["runs/identity-1/samples", "diag.log"])
def test_a_byte_makes_a_difference(results: tuple[Path, Path], name: str) -> None:
    (results[1] / name).write_bytes(b"x")
    differences = compare(*results)
    assert [Path(file).name for file in differences.files] == [Path(name).name]
    assert str(differences).startswith("1 of 3 files differ")


def test_a_fact_that_was_measured_makes_a_difference(results: tuple[Path, Path]) -> None:
    file = results[1] / "runs/identity-1/manifest.json"
    file.write_text(file.read_text().replace('"zero_ns": 5', '"zero_ns": 6'))
    assert compare(*results).files == ("rate 1, seed 3/manifest.json",)


def test_a_run_that_is_missing_makes_a_difference(results: tuple[Path, Path], tmp_path: Path) -> None:
    assert len(compare(results[0], tmp_path / "nothing").files) == 3


def test_the_first_two_have_the_same_versions() -> None:
    first, second, third = setups([])
    assert first.suite == second.suite != third.suite
    assert set(first.packages) < set(second.packages)
    assert [setup.name for setup in setups(["newer", "minimal"])] == ["minimal", "newer"]
