# SPDX-License-Identifier: MIT
"""The progress of a sweep: a bar that stays in place on a terminal, a line per run elsewhere."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from tests.unit.campaign.test_sweep import experiment_of

from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.sweep import _Tracker
from mptcplab.cli import progress
from mptcplab.errors import LabError


def _print_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    """All that a sweep of six runs writes: five are made, and the last one fails."""
    written = io.StringIO()
    monkeypatch.setattr(progress, "console", lambda **_: Console(file=written, force_terminal=terminal, width=120))
    rounds = Rounds(experiment_of(tmp_path))
    runs = rounds.first()
    with progress.ProgressPrinter() as printer:
        tracker = _Tracker(rounds, runs, jobs=1, recorded=(), report=printer.show)
        for run in runs[:-1]:
            tracker.count(CompletedRun(run, wall_seconds=2.0, virtual_ns=10**9))
        tracker.count(CompletedRun(runs[-1], error=LabError("it broke", hint="look"), wall_seconds=1.0))
    return written.getvalue()


def test_lines_where_there_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    *made, last = _print_progress(tmp_path, monkeypatch, terminal=False).splitlines()
    assert made[0] == "done      delay 1 ms, seed 1: 1.0 s of virtual time in 2.0 s (1 of 6, about 10 s left)"
    assert [re.sub(r".*\((\d) of 6.*", r"\1", line) for line in made] == ["1", "2", "3", "4", "5"]
    assert last == "failed    delay 2 ms, seed 3: it broke (6 of 6)"


def test_a_bar_in_place_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one line that is written again and again, and is gone in the end."""
    written = _print_progress(tmp_path, monkeypatch, terminal=True)
    assert "━" in written
    assert "6/6" in written
    assert "done      " not in written
    erase = "\r\x1b[2K"
    assert all(erase in line for line in written.split("\n")[1:-1])
    assert re.search(r"\x1b\[1A\x1b\[2K$", written), "transient: the line of the bar is erased"
