# SPDX-License-Identifier: MIT
"""``mptcplab reproduce`` over made studies: killed in the middle, it goes on; what fails costs nothing else.

The command runs as a process of its own, whose studies are replaced by two small ones.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import Bench

from mptcplab.scenario.load import load

_MAIN = """
import sys
from pathlib import Path
from mptcplab.study import library
library._STUDIES = Path(sys.argv.pop(1))
from mptcplab.cli.main import main
main()
"""
_SCENARIO = """
title = "made"
repeats = 2
topology = { preset = "disjoint-paths" }
links.link1 = { rate = "8 Mbit/s", loss = "1 %" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"links.link2.rate" = ["8 Mbit/s", "16 Mbit/s"]
"""
_HEAD = 'title = "t"\nauthors = "a"\nyear = 2020\nwhere = "w"\ntest_bed = "b"\n'
_TABLE = """
[tables.{number}]
title = "t"
kind = "Question"
scenario = "{scenario}.toml"
along = "{along}"
along_label = "l"
unit = "Mbit/s"
columns = {{ tcp = "TCP", mptcp = "MPTCP" }}
rows = {rows}
"""
_RATES = '["8 Mbit/s", "16 Mbit/s"]'


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    """Eight runs in the first study. In the second, of one table half of the runs fail, and one lacks its kernel."""
    swept = '"links.link2.rate" = ["8 Mbit/s", "16 Mbit/s"]'
    scenarios = {
        "s": _SCENARIO,
        "fails": _SCENARIO.replace(swept, '"transport.congestion_control" = ["reno", "nosuch"]'),
        "lacks": _SCENARIO.replace(swept, 'kernel = ["7.2", "6.99"]'),
    }
    tables = {
        "first": _TABLE.format(number=1, scenario="s", along="links.link2.rate", rows=_RATES),
        "second": _TABLE.format(
            number=1, scenario="fails", along="transport.congestion_control", rows='["reno", "nosuch"]'
        )
        + _TABLE.format(number=2, scenario="lacks", along="kernel", rows='["7.2", "6.99"]'),
    }
    for study, text in tables.items():
        folder = tmp_path / "studies" / study
        folder.mkdir(parents=True)
        for name, scenario in scenarios.items():
            (folder / f"{name}.toml").write_text(scenario)
        (folder / "study.toml").write_text(_HEAD + text)
    return tmp_path / "studies"


def _start(studies: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", _MAIN, str(studies), "reproduce", "--jobs", "1", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))


def _end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, said = process.communicate(timeout=120)
    assert "Traceback" not in said, said
    return process.returncode, out, said


def _wait_for_runs(folder: Path, count: int) -> None:
    end = time.monotonic() + 60
    while len(list(folder.glob("runs/*/manifest.json"))) < count:
        assert time.monotonic() < end, f"there are no {count} runs after 60 s"
        time.sleep(0.02)


def _measure(out: Path) -> Any:
    return json.loads((out / "first" / "table-1.json").read_text())["measured"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_it_goes_on_where_it_was_ended(
    bench: Bench, studies: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    out = tmp_path / "r"
    process = _start(studies, "first", "--out", out)
    _wait_for_runs(out / "first", 3)
    process.send_signal(number)
    ended, _, said = _end(process)
    assert ended == status, said
    before = {place.name: place.stat().st_mtime_ns for place in (out / "first" / "runs").iterdir()}
    assert 3 <= len(before) < 8, "it was ended in the middle"
    ended, _, said = _end(_start(studies, "first", "--out", out))
    assert ended == 0, said
    lines = [line.split()[0] for line in said.splitlines() if line.startswith(("recorded", "done"))]
    assert (lines.count("recorded"), lines.count("done")) == (len(before), 8 - len(before)), said
    after = {place.name: place.stat().st_mtime_ns for place in (out / "first" / "runs").iterdir()}
    assert len(after) == 8
    assert before.items() <= after.items(), "what was recorded was made again"
    if number == signal.SIGKILL:
        with bench.reuse(load(studies / "first" / "s.toml").runs, tmp_path / "whole" / "first"):
            ended, _, said = _end(_start(studies, "first", "--out", tmp_path / "whole"))
        assert (ended, _measure(out)) == (0, _measure(tmp_path / "whole")), said


def test_what_fails_and_what_lacks(bench: Bench, studies: Path, tmp_path: Path) -> None:
    """The other tables are measured; the scoreboard says which were not, the page has all, and the status is 1."""
    out = tmp_path / "r"
    with bench.reuse(load(studies / "first" / "s.toml").runs, out / "first"):
        status, said, errors = _end(_start(studies, "--all", "--out", out))
    assert status == 1, errors
    board = json.loads((out / "scoreboard.json").read_text())["tables"]
    assert [(entry["study"], entry["form"], entry["remark"]) for entry in board] == [
        ("first", "full", ""),
        ("second", "full", "4 of 8 runs failed"),
        ("second", None, "not measured"),
    ]
    why = "the lab kernel 6.99 is not built on this machine (mptcplab doctor --for second/2 --install)"
    assert board[2]["why"] == why
    assert "mptcplab: second/1: 4 of 8 runs failed" in errors
    assert "no congestion control 'nosuch'" in (out / "second" / "failed-1.sh").read_text()
    assert "Scoreboard, full form" in said
    text = (out / "report.html").read_text()
    assert 'href="#first-1"' in text
    assert 'href="#second-1"' in text
    assert 'href="#second-2"' not in text
    # Of all that is recorded, a table alone has its own status, and costs no run.
    for wanted, expected in (("first", 0), ("second/1", 1), ("second/2", 3)):
        status, _, errors = _end(_start(studies, wanted, "--out", out))
        assert status == expected, errors
        assert "\ndone" not in f"\n{errors}"
