# SPDX-License-Identifier: MIT
"""A number that is declared once is in every output, and in the documentation: no output has a list of columns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.results_folders import make_results

from mptcplab.metrics.column import Column
from mptcplab.metrics.network import SCOPES
from mptcplab.metrics.registry import METRICS

TESTS = Path(__file__).resolve().parents[2]
#: What a process that has the plugin prints of a results folder.
SCRIPT = """
import json, sys
from pathlib import Path
from mptcplab.metrics.rows import network_document
from mptcplab.metrics.reference import table as reference
from mptcplab.metrics.registry import METRICS
from mptcplab.pages import write_report
from mptcplab.report.network import network_tables, words_of
from mptcplab.report.result_table import result_table
from mptcplab.report.result_table import long_csv, wide_csv
from mptcplab.results import open_results
results = open_results(sys.argv[1])
page = Path(sys.argv[1]) / "page.html"
write_report(Path(sys.argv[1]), page)
runs = [run.result for run in results.recorded]
links = network_tables(runs, words_of((run.result, run.recording) for run in results.recorded))[0]
table = result_table("t", results.rows)
print(json.dumps({
    "links": {
        "JSON": network_document(runs)["links"], "table": links.to_markdown(), "CSV": links.to_csv(),
        "frame": results.links.columns, "page": page.read_text(), "docs": reference("links"),
    },
    "workloads": {
        "JSON": [row.to_json() for row in results.rows], "table": table.to_markdown(), "CSV": table.to_csv(),
        "long CSV": long_csv(results.rows), "wide CSV": wide_csv(results.rows),
        "frame": results.runs.columns, "page": page.read_text(),
    },
}))
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The outputs about one run with the plugin ``numbers.py``."""
    folder = tmp_path_factory.mktemp("columns") / "r"
    make_results(folder, keep=lambda run: run.seed == 1 and run.point.settings["transport.protocol"] == "mptcp")
    environment = {**os.environ, "MPTCPLAB_PLUGINS": str(TESTS / "plugins" / "numbers.py")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "name", "head"),
    [
        ("links", "mean_size_bytes", "mean B"),
        ("workloads", "goodput_mibps", "goodput Mibit/s"),
    ],
)
def test_a_number_is_in_every_output(outputs: dict[str, Any], scope: str, name: str, head: str) -> None:
    for output, content in outputs[scope].items():
        text = json.dumps(content, ensure_ascii=False)
        wanted = name if output in ("JSON", "long CSV", "wide CSV", "frame", "docs") else head
        assert wanted in text, output


@pytest.mark.slow
def test_its_value_is_the_one_that_its_function_returns(outputs: dict[str, Any]) -> None:
    rows = outputs["links"]["JSON"]
    means = [
        (row["mean_size_bytes"]["mean"], row["bytes"]["mean"], row["packets"]["mean"])
        for row in rows
        if "mean_size_bytes" in row
    ]
    assert means
    assert all(mean == pytest.approx(size / packets) for mean, size, packets in means)


def test_names_are_unique_and_end_with_the_unit() -> None:
    """Two columns with one name would hide each other in JSON and in frames."""
    ends = {"%": "percent", "B": "bytes", "dBm": "dbm", "kbit/s": "kbps", "ms": "ms", "s": "s"}
    scopes: list[list[Column[Any]]] = [[*METRICS.values()]]
    scopes += [[*scope.keys, *scope.facts, *scope.numbers, *scope.checks] for scope in SCOPES]
    for columns in scopes:
        names = [column.name for column in columns]
        assert len(names) == len(set(names))
        for column in columns:
            assert column.name.split("_")[-1] == ends.get(column.unit, column.name.split("_")[-1]), column.name
            assert column.definition, column.name
