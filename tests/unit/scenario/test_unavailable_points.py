# SPDX-License-Identifier: MIT
"""Sweeps over both path managers: a point that needs what its path manager lacks is named and not run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.report.test_report import result_row

from mptcplab.report.result_table import counts_first, result_table
from mptcplab.scenario.document import ScenarioError
from mptcplab.scenario.load import load

_SCENARIO = """title = "Modes"
[topology]
preset = "disjoint-paths"

[links.link1]
rate = "10 Mbit/s"

[links.link2]
rate = "10 Mbit/s"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "2 s"
"""
_MODES = '"hosts.client.transport.modes.access2" = ["backup", "handover"]\n'


def _file(folder: Path, text: str) -> Path:
    file = folder / "modes.toml"
    file.write_text(_SCENARIO + text)
    return file


def test_sweep_over_both_names_what_the_kernel_lacks(tmp_path: Path) -> None:
    file = _file(tmp_path, f'[sweep]\n"transport.path_manager" = ["kernel", "userspace"]\n{_MODES}')
    experiment = load(file)
    assert [list(point.settings.values()) for point in experiment.points] == [
        ["kernel", "backup"],
        ["userspace", "backup"],
        ["userspace", "handover"],
    ]
    (lacking,) = experiment.unavailable
    assert list(lacking.settings.values()) == ["kernel", "handover"]
    assert "is not a mode of the kernel's path manager" in lacking.reason
    assert "modes.toml" not in lacking.reason  # it goes into tables, which others read elsewhere


def test_fixed_path_manager_makes_it_a_mistake(tmp_path: Path) -> None:
    file = _file(tmp_path, f"[sweep]\n{_MODES}")
    with pytest.raises(ScenarioError, match="is not a mode of the kernel's path manager"):
        load(file)


def test_sweep_without_any_point_left_is_a_mistake(tmp_path: Path) -> None:
    text = '[hosts.client.transport.modes]\naccess2 = "off"\n[sweep]\n"transport.path_manager" = ["kernel"]\n'
    with pytest.raises(ScenarioError, match="is not a mode of the kernel's path manager"):
        load(_file(tmp_path, text))


def test_other_mistakes_in_such_a_sweep_stay_mistakes(tmp_path: Path) -> None:
    sweep = '[sweep]\n"transport.path_manager" = ["kernel", "userspace"]\n'
    with pytest.raises(ScenarioError, match="access9"):
        load(_file(tmp_path, f'{sweep}"hosts.client.transport.modes.access9" = ["on", "backup"]\n'))


def test_table_gives_the_reason_below() -> None:
    lacking = [({"path manager": "kernel"}, "no such mode"), ({"path manager": "kernel"}, "no such mode")]
    table = result_table("Modes", [], unavailable=lacking)
    assert [row[-1] for row in table.rows] == ["not available [1]"] * 2
    assert [note for note in table.notes if "Not available" in note] == ["[1] Not available: no such mode."]


def test_a_page_shows_beside_the_settings_which_points_are_not_available() -> None:
    """The last columns of a wide table are behind a scroll bar, with them the marks of warnings."""
    table = counts_first(result_table("Modes", [result_row(warnings=("it was slow",))]))
    assert (table.headings[:2], table.rows[0][:2]) == (("protocol", "n"), ("mptcp", "3 [1]"))
    assert len(set(table.headings)) == len(table.headings) == len(result_table("Modes", [result_row()]).headings)
    swept = [result_row(settings={"path manager": "userspace"})]
    table = counts_first(result_table("Modes", swept, unavailable=[({"path manager": "kernel"}, "no such mode")]))
    assert table.headings[:2] == ("path manager", "n")
    assert [row[:2] for row in table.rows] == [("userspace", "3"), ("kernel", "not available [1]")]
