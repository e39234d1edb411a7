# SPDX-License-Identifier: MIT
"""The files of the comparison of engines (validation/fidelity/store.py): a small one for each scenario."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from validation.fidelity.lines import Table, wrap
from validation.fidelity.store import COMMON, FOLDER, Measurements, StoredScenario, read_measurements

from mptcplab.errors import LabError

_LAB, _STOCK = "virtual-7.2", "stock-7.2"


def _row(goodput: float, **more: Any) -> dict[str, Any]:
    """Return a row as the comparison yields it."""
    return {
        "metric": "goodput_mbps",
        "settings": {"transport.protocol": "mptcp"},
        "workload": "bulk",
        "a": 100.0,
        "b": goodput,
        "difference": round(goodput - 100, 4),
        "half_width": 1.5,
        "percent": round(goodput - 100, 4),
        "percent_half_width": 1.5,
        "verdict": "not shown",
        "n": [3, 3],
        "values": [[99.0, 100.0, 101.0], [goodput - 1, goodput, goodput + 1]],
        "more": 9,
        **more,
    }


def _side(*rows: dict[str, Any], kernels: tuple[str | None, str | None] = ("k", "s")) -> dict[str, Any]:
    facts = {"mptcp": {"bulk": "2 subflows"}, "load": 0.5, "seeds": 3, "ran": ["x", "y"]}
    return {"rows": list(rows), "kernels": list(kernels), "against": _LAB, **facts}


def _document(**scenarios: dict[str, Any]) -> dict[str, Any]:
    """Return measurements of scenarios with these sides, whose names have an underscore in place of a slash."""
    named = {name.replace("_", "/"): sides for name, sides in scenarios.items()}
    form = {"digest": "f", "points": ["protocol mptcp"], "changes": []}
    spread = {"settings": {}, "workload": "bulk", "mean": 100.0, "percent": 1.0, "n": 3, "needed": None}
    return {
        "kernels": {_LAB: {"name": "7.2", "digest": "k"}, _STOCK: {"name": "7.2", "digest": None}},
        "scenarios": {name: {"form": form, "sides": sides} for name, sides in named.items()},
        "spread": {name: {"ran": "x", "rows": [spread]} for name in named},
        "wire": {},
        "all": dict.fromkeys(named, ""),
        "drawn": list(named),
    }


def _files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return contents and modification times of all files by name."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return {str(file.relative_to(folder)): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def _write(document: dict[str, Any], folder: Path) -> Path:
    Measurements.from_document(document).write(folder)
    return folder


def test_a_row_of_a_table_is_one_line_however_short_or_long() -> None:
    rows = Table([["Mbit/s →", [[0.5] * 90, None]], ["x"]])
    text = wrap(document := {"scenarios": {"made": {"rows": rows, "refused": "x" * 600}}, "none": [], "empty": Table()})
    assert json.loads(text) == document
    assert [line.strip()[:4] for line in text.splitlines() if line.strip().startswith('["')] == ['["Mb', '["x"']


def test_what_was_measured_is_written_and_read_with_the_same_bytes(tmp_path: Path) -> None:
    read_measurements(FOLDER).write(tmp_path)
    written, present = _files(tmp_path), _files(FOLDER)
    assert len(present) > 200
    assert written.keys() == present.keys()
    assert [name for name in present if written[name][0] != present[name][0]] == []
    assert Measurements.from_document(read_measurements(FOLDER).to_document()) == read_measurements(FOLDER)


@pytest.mark.parametrize(
    "row",
    [_row(98.0), _row(98.0, beyond=[[0, 0, 0], [0, 7, 0]]), _row(98.0, more=None),
     _row(98.0, half_width=None, percent=None, percent_half_width=None, verdict="identical"),
     _row(98.0, n=[3, 3], values=[[99.0, 100.0, 101.0, 102.0], [97.0, 98.0, 99.0]]),
     _row(98.0, n=[3, 1], values=[[99.0, 100.0, 101.0], [98.0]], single=True),
     _row(98.0, n=[3, 1], values=[[99.0, 100.0, 101.0], [98.0]], half_width=None),
     _row(98.0, n=[2, 2], values=[[99.0, 100.0, 101.0], [97.0, 98.0, 99.0]]),
     {key: value for key, value in _row(98.0).items() if key not in ("values", "more")}],
    ids=["all", "beyond", "settled", "identical", "more of the lab", "single", "no interval", "other seeds", "old"],
)  # fmt: skip
def test_a_row_is_read_as_it_was(row: dict[str, Any], tmp_path: Path) -> None:
    document = _document(made={_STOCK: _side(row, _row(97.0)), "stock-6.12": {"refused": "the kernel lacks it"}})
    assert read_measurements(_write(document, tmp_path)).to_document() == document


def test_a_file_has_what_rows_and_sides_share_once(tmp_path: Path) -> None:
    sides = {_STOCK: _side(_row(98.0), _row(97.0)), "stock-6.12": _side(_row(96.0), kernels=(None, "k"))}
    text = (_write(_document(made=sides), tmp_path) / "made.json").read_text()
    assert text.count("transport.protocol") == 1
    stored = json.loads(text)
    assert stored["builds"] == ["k", "s"]
    assert [side["kernels"] for side in stored["sides"].values()] == [[0, 1], [None, 0]]
    values = [[[99.0, 100.0, 101.0], [goodput - 1, goodput, goodput + 1]] for goodput in (98.0, 97.0)]
    (table,) = stored["sides"][_STOCK]["rows"].values()
    assert table == [
        [0, "bulk", 100.0, goodput, goodput - 100, 1.5, goodput - 100, 1.5, "not shown", of_row, 9]
        for goodput, of_row in zip((98.0, 97.0), values, strict=True)
    ]


def test_a_scenario_that_changes_changes_its_own_file_only(tmp_path: Path) -> None:
    sides = {_STOCK: _side(_row(98.0))}
    before = _files(_write(_document(made=sides, ride_train=sides, ride_walk=sides), tmp_path))
    changed = _document(made=sides, ride_train={_STOCK: _side(_row(97.5))}, ride_walk=sides)
    after = _files(_write(changed, tmp_path))
    assert [name for name in before if before[name] != after[name]] == ["ride/train.json"]
    assert after.keys() == before.keys() == {COMMON, "made.json", "ride/train.json", "ride/walk.json"}


def test_a_change_of_a_row_is_a_change_of_a_line(tmp_path: Path) -> None:
    texts = []
    for goodput in (98.0, 97.5):
        folder = _write(_document(made={_STOCK: _side(_row(goodput), _row(99.0))}), tmp_path)
        texts.append((folder / "made.json").read_text().splitlines())
    assert sum(old != new for old, new in zip(*texts, strict=True)) == 1


def test_files_of_scenarios_that_are_gone_and_of_killed_writers_are_removed(tmp_path: Path) -> None:
    sides = {_STOCK: _side(_row(98.0))}
    _write(_document(made=sides, ride_train=sides), tmp_path)
    (tmp_path / ".made.json.17.18").write_text("{")
    (tmp_path / "README.md").touch()
    assert set(_files(_write(_document(made=sides), tmp_path))) == {COMMON, "made.json", "README.md"}
    assert not (tmp_path / "ride").exists()


def test_a_killed_writer_leaves_whole_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = _document(made={_STOCK: _side(_row(98.0))}, other={_STOCK: _side(_row(98.0))})
    _write(document, tmp_path)
    changed = _document(made={_STOCK: _side(_row(97.0))}, other={_STOCK: _side(_row(97.0))})

    def stop(*_: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", stop)
        with pytest.raises(KeyboardInterrupt):
            _write(changed, tmp_path)
    assert read_measurements(tmp_path).to_document() == document
    assert read_measurements(_write(changed, tmp_path)).to_document() == changed
    assert set(_files(tmp_path)) == {COMMON, "made.json", "other.json"}


def test_the_order_is_that_of_all_scenarios(tmp_path: Path) -> None:
    document = _document(two=dict[str, Any](), one=dict[str, Any](), three=dict[str, Any]())
    assert list(read_measurements(_write(document, tmp_path)).scenarios) == ["two", "one", "three"]


def test_a_scenario_that_ran_in_the_lab_alone_has_its_spread(tmp_path: Path) -> None:
    document = _document(made={_STOCK: _side(_row(98.0))}) | {"scenarios": {}}
    stored = read_measurements(_write(document, tmp_path))
    assert stored.to_document() == document
    assert stored.scenarios["made"] == replace(stored.scenarios["made"], form=None, sides={})


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [('"sides"', '"side"', "it lacks 'sides'"), ("{", "", "Extra data: "), ('[0,"bulk"', '[8,"bulk"', "list index"),
     (",9]", ",9,null,null,1]", "a row has 14 cells for 13 columns"), ('"load"', '"loud"', "unexpected keyword")],
)  # fmt: skip
def test_a_damaged_file_is_named_in_a_sentence(old: str, new: str, reason: str, tmp_path: Path) -> None:
    file = _write(_document(ride_train={_STOCK: _side(_row(98.0))}), tmp_path) / "ride" / "train.json"
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(LabError) as caught:
        read_measurements(tmp_path)
    assert caught.value.message.startswith(f"{file} is damaged: ")
    assert reason in caught.value.message
    assert "\n" not in caught.value.message


def test_a_missing_file_of_common_facts_is_named(tmp_path: Path) -> None:
    (_write(_document(made={_STOCK: _side(_row(98.0))}), tmp_path) / COMMON).unlink()
    with pytest.raises(LabError, match=f"{COMMON} is missing"):
        read_measurements(tmp_path)


def test_every_stored_scenario_is_in_the_list_of_all() -> None:
    stored = read_measurements(FOLDER)
    assert [name for name in stored.scenarios if name not in stored.common.limits] == []
    assert all(isinstance(scenario, StoredScenario) for scenario in stored.scenarios.values())
