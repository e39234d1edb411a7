# SPDX-License-Identifier: MIT
"""The table of what commands take to start, from measured times. Nothing is timed here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench import start


def test_the_table_has_medians_and_the_median_of_ratios() -> None:
    rows = [
        {"command": "a", "now": [0.1, 0.2, 0.6], "before": [1.0, 1.0, 2.0], "nothing": [0.02, 0.02, 0.05]},
        {"command": start.RUN, "now": [0.05], "before": [0.1], "nothing": []},
    ]
    lines = start.table({"rows": rows}).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells == [["a", "0.200", "1.000", "0.20", "10.0"], [start.RUN, "0.050", "0.100", "0.50", ""]]


def test_what_is_recorded_has_all_commands() -> None:
    text = start.table()
    assert all(name in text for name in (*start.COMMANDS, start.RUN))


def test_a_folder_that_is_not_a_checkout_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench.start", "--before", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert ended.value.code == 2
    assert "is not a checkout of mptcplab" in capsys.readouterr().err
