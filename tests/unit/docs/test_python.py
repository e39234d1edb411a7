# SPDX-License-Identifier: MIT
"""docs/python.md has every public name of ``mptcplab.api``, with its arguments, and examples that work.

Examples that run labs are in tests/lab/docs/test_docs_python.py.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest
from tests.unit.docs.python_page import PAGE, Example, copy_files, function_calls, list_examples, new_names
from tests.unit.results_folders import make_results

from mptcplab import api
from mptcplab.calibrate.measure import Costs, LoadSample
from mptcplab.kernel.stock import StockKernel

EXAMPLES = list_examples()
#: A sweep that shows the difference between protocols, as the page's figures of results/two-paths do.
TWO_PATHS = """
title = "Two equal paths"
repeats = 2
topology = { preset = "disjoint-paths" }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "10 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
sweep."transport.protocol" = ["tcp", "mptcp"]
"""
KERNEL = api.KernelBuild("7.2", "7.2.1-mptcplab", "0" * 64, Path("/cache/7.2"), "0" * 64)
SIDE = api.SideCalibration("client", Costs(3600.0, 0.05), (LoadSample("bulk", 1.2, 0.0003, 2.0),))
CALIBRATION = api.ProgramCalibration("shadowsocks-libev", "aes-256-gcm", (SIDE,))
#: Functions that build, download or measure for minutes, with what they return.
SLOW: dict[str, Any] = {
    "build_kernel": KERNEL,
    "build_proxies": {"go-shadowsocks2": Path("/cache/proxies/go-shadowsocks2")},
    "obtain_stock": create_autospec(StockKernel, instance=True, release="6.12.94"),
    "calibrate_program": [CALIBRATION],
}


def test_every_public_name_is_on_the_page() -> None:
    spans = " ".join(re.findall(r"`([^`\n]+)`", PAGE.read_text()))
    words = set(re.findall(r"\w+", spans))
    assert sorted(set(api.__all__) - words) == []


def test_every_function_has_a_row_with_arguments_that_it_takes() -> None:
    rows = dict(function_calls())
    functions = {name for name in api.__all__ if inspect.isfunction(getattr(api, name))}
    assert set(rows) == functions
    for name, arguments in rows.items():
        parameters = inspect.signature(getattr(api, name)).parameters
        assert arguments == [name for name in parameters if name in arguments], name


def test_what_runs_hours_is_not_executed_by_accident() -> None:
    assert {name for example in EXAMPLES for name in SLOW if f"api.{name}(" in example.text} == set(SLOW)
    assert sum(example.needs_lab for example in EXAMPLES) >= 8, "tests/lab/docs/test_docs_python.py has something to do"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the examples."""
    copy_files(tmp_path)
    make_results(tmp_path / "results/two-paths", TWO_PATHS)
    monkeypatch.chdir(tmp_path)
    for name, result in SLOW.items():
        monkeypatch.setattr(api, name, create_autospec(getattr(api, name), return_value=result))
    return tmp_path


def examples_of(*headings: str) -> list[Example]:
    chosen = [example for example in EXAMPLES if example.heading in headings and not example.needs_lab]
    assert chosen, headings
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize(
    "headings",
    [
        ("Experiments", "Import and share"),
        ("Results", "Figures"),
        ("This machine", "Kernels, selftests and programs"),
    ],
    ids=lambda headings: headings[0],
)
def test_examples_work(headings: tuple[str, ...], folder: Path) -> None:
    names = new_names()
    for example in examples_of(*headings):
        example.execute(names)
    assert any(folder.iterdir())


@pytest.mark.slow
def test_examples_about_real_machines_work(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They start tshark."""
    names = new_names()
    for example in examples_of("What happened on real machines"):
        example.execute(names)
    lines = capsys.readouterr().out.splitlines()
    assert any("accepts none (limits add_addr_accepted 0)" in line for line in lines), "why nothing joined"
    assert "1 (1374616, 0) 2 None" in lines, "the connection of the capture, see capture/test_files.py"
    assert (folder / "collect.sh").read_text().startswith("#!/bin/sh")
    assert (folder / "capture").is_dir()


def test_each_example_is_executed_by_a_test() -> None:
    headings = {example.heading for example in EXAMPLES if not example.needs_lab}
    assert headings == {
        "Experiments",
        "Import and share",
        "Results",
        "Figures",
        "This machine",
        "Kernels, selftests and programs",
        "What happened on real machines",
    }
