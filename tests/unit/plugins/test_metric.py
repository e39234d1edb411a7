# SPDX-License-Identifier: MIT
"""A plugin's metric, one file outside of the package, appears everywhere that shows or uses metrics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PLUGIN = ROOT / "tests" / "plugins" / "per_subflow.py"
NAME = "per_subflow_mbps"


def run(*arguments: str, plugins: str = str(PLUGIN)) -> subprocess.CompletedProcess[str]:
    """Run Python with these plugins."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "MPTCPLAB_PLUGINS": plugins, "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def plugin_results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Return a folder with results, and the other process's output about them."""
    folder = tmp_path_factory.mktemp("made")
    done = run("-m", "tests.unit.plugins.metric_of_a_plugin", str(folder))
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout)


def test_table_json_and_frame(plugin_results: tuple[Path, dict[str, Any]]) -> None:
    """MPTCP with two subflows has half of its goodput, with one decimal digit, as the metric specifies."""
    _, output = plugin_results
    for row, document in zip(output["table"], output["json"], strict=True):
        goodput, each = (float(row[name].split()[0]) for name in ("goodput Mbit/s", "per subflow Mbit/s"))
        subflows = {"mptcp": 2, "tcp": 0}[row["protocol"]] or 1
        assert each == pytest.approx(goodput / subflows, abs=0.06)
        assert row["per subflow Mbit/s"].split()[0] == f"{document['mean']:.1f}"
        assert (document["n"], document["seeds"]) == (3, [1, 2, 3])
    assert "per subflow Mbit/s" in output["numeric"]
    assert len(output["frame"]) == 18
    assert None not in output["frame"]


def test_page(plugin_results: tuple[Path, dict[str, Any]]) -> None:
    page = (plugin_results[0] / "r.html").read_text()
    assert '{"name":"per subflow","unit":"Mbit/s","limits":[0.0,null]}' in page, "a value that the reader can choose"
    assert "per subflow Mbit/s" in page, "a column of the table"


def test_compare(plugin_results: tuple[Path, dict[str, Any]]) -> None:
    folder = str(plugin_results[0] / "r")
    done = run("-m", "mptcplab", "compare", folder, "--by", "transport.protocol", "--metric", NAME)
    assert done.returncode == 0, done.stderr
    assert "per subflow: A = tcp, B = mptcp" in done.stdout
    assert "B - A Mbit/s" in done.stdout
    assert run("-m", "mptcplab", "compare", folder, folder, "--metric", NAME, plugins="").returncode == 2


def test_until_and_study(plugin_results: tuple[Path, dict[str, Any]]) -> None:
    _, output = plugin_results
    assert all(count > 3 for count in output["until"]), "the metric varies from seed to seed"
    assert output["until duration"] == [3, 3], "the duration does not"
    assert output["study"] == pytest.approx(sum(value["mean"] for value in output["json"][3:]) / 3, rel=0.01)


def test_two_of_one_name_are_refused(plugin_results: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    copy = tmp_path / "copy.py"
    copy.write_text(PLUGIN.read_text().replace(NAME, "gap_s"))
    folder = str(plugin_results[0] / "r")
    done = run("-m", "mptcplab", "compare", folder, "--by", "transport.protocol", plugins=str(copy))
    assert done.returncode == 2, done.stderr
    assert "two metrics are called gap_s" in done.stderr
    assert "Traceback" not in done.stderr
