# SPDX-License-Identifier: MIT
"""How long tests take: what is kept of pytest's report, and the tables of docs/tests.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.docs.figures import durations
from tools.docs.making.pages import ROOT

_REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" tests="3">
<testcase classname="tests.lab.network.test_rate" name="test_exact[1 | 2]" time="3.04" />
<testcase classname="tests.unit.coupled.test_start" name="test_round" time="0.26" />
<testcase classname="tests.lab.network.test_rate" name="test_low" time="1.5"><failure message="low" /></testcase>
</testsuite></testsuites>
"""


def test_tables_of_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests.xml").write_text(_REPORT)
    kept = durations.summary([tmp_path / "tests.xml"], cpus=2)
    (tmp_path / "durations.json").write_text(json.dumps(kept))
    monkeypatch.setattr(durations, "FILE", tmp_path / "durations.json")
    assert kept["cpus"] == 2
    assert durations.folders().splitlines()[2:] == ["| `tests/lab` | 2 | 4.5 |", "| `tests/unit` | 1 | 0.3 |"]
    assert durations.files().splitlines()[2] == "| `tests/lab/network/test_rate.py` | 2 | 4.5 |"
    assert durations.tests().splitlines()[2:] == [
        "| `tests/lab/network/test_rate.py::test_exact[1 / 2]` | 3.0 |",
        "| `tests/lab/network/test_rate.py::test_low` | 1.5 |",
        "| `tests/unit/coupled/test_start.py::test_round` | 0.3 |",
    ]


def test_the_kept_ones_are_of_tests_that_are_there() -> None:
    """Files that were renamed or removed since: measure again, as docs/tests.md says."""
    known = json.loads(durations.FILE.read_text())["files"]
    gone = [file for file in known if not (ROOT / file).is_file()]
    assert gone == []
