# SPDX-License-Identifier: MIT
"""Every part of the benchmark in its shortest form: it runs to its end and writes its table. Nothing is timed here."""

from __future__ import annotations

import csv
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from bench import curves, native
from bench.__main__ import PARTS

ROOT = Path(__file__).resolve().parents[3]
#: By part: the table, and how many rows it has with the positions of the short form.
_TABLES = {
    "real-time": ("ratios", 4),
    "ns3": ("ratios", 2),
    "native": ("ratios", 2),
    "overhead": ("overhead", 7),
    "algorithms": ("algorithms", 3),
    "sweep": ("ratios", 2),
    "rate": ("cost-rate", 2),
    "flows": ("cost-flows", 2),
    "hops": ("cost-hops", 2),
    "hosts": ("cost-hosts", 2),
    "subflows": ("cost-subflows", 2),
    "sampling": ("cost-sampling", 2),
}


def _rows(part: str, folder: Path) -> list[list[str]]:
    command = [sys.executable, "-m", "bench", "--smoke", "--repeats", "1", "--only", part, "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    name, rows = _TABLES[part]
    with (folder / f"{name}.csv").open() as file:
        lines = list(csv.reader(file))[1:]
    print(lines)
    assert len(lines) == rows
    assert not (folder / "machine.json").exists(), "numbers of a short form do not describe a machine"
    return lines


def test_every_part_has_a_short_form() -> None:
    assert set(_TABLES) == set(PARTS)


@pytest.mark.parametrize("part", ["real-time", "overhead", "algorithms", *curves.AXES])
def test_part(part: str, tmp_path: Path) -> None:
    rows = _rows(part, tmp_path)
    assert all(row[1] != "left out" for row in rows)
    if part == "real-time":  # a ratio is a positive number where something was measured
        assert all(float(row[1]) > 0 for row in rows)


def test_sweep(tmp_path: Path) -> None:
    use, estimates = _rows("sweep", tmp_path)
    assert 0 < float(use[1]) <= 1.05, "at most all CPUs; a tick of the clock more for rounding"
    assert estimates[1] != "left out" or "no estimate" in estimates[-1], "four short runs may end before the first"


def test_native_kernel(tmp_path: Path) -> None:
    rows, reason = _rows("native", tmp_path), native.find_obstacle()
    for row in rows:
        assert (row[1], row[-1]) == ("left out", reason) if reason else float(row[1]) > 0


def test_ns3(tmp_path: Path) -> None:
    rows = _rows("ns3", tmp_path)
    if importlib.util.find_spec("ns") is None:
        assert [row[1] for row in rows] == ["left out"] * 2
        assert all(row[-1] == "needs the package ns3: pip install -e '.[bench]'" for row in rows)
        command = [sys.executable, "-m", "bench.ns3_flow", "1000000", "1", "10"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr.strip() == "bench.ns3_flow: needs the package ns3: pip install -e '.[bench]'"
    else:
        assert all(float(row[1]) > 0 for row in rows)
