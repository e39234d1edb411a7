# SPDX-License-Identifier: MIT
"""A kind of workload from outside of the package runs in the lab, and stands in table, JSON and HTML."""

from __future__ import annotations

import json
from pathlib import Path

from .bench import mptcplab

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"


def test_run_of_a_kind_from_elsewhere(tmp_path: Path) -> None:
    plugins = {"MPTCPLAB_PLUGINS": str(PLUGINS / "echo.py")}
    done = mptcplab("run", PLUGINS / "echo.toml", "--out", tmp_path / "out", "--json", env=plugins)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    # 80 bytes in two round trips of 20 ms, to connect and to ask, and the programs' starts.
    rate = row["goodput_mbps"]["mean"]
    assert 0.5 * 8 * 80 / 0.04 < rate * 1e6 <= 8 * 80 / 0.04, rate
    report = mptcplab("report", tmp_path / "out", env=plugins)
    assert report.returncode == 0, report.stderr
    assert "bulk: echo, client" in (tmp_path / "out" / "report.html").read_text()
