# SPDX-License-Identifier: MIT
"""Runs of the engine ``ssh`` on machines with sshd, and what they leave behind: nothing."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from .bed import Bed

TWO_CABLES = """
title = "two cables"

[hosts.client]
[hosts.server]

[links.one]
between = ["client", "server"]

[links.two]
between = ["client", "server"]

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "200 MB"
"""
INTERFACES = {"client": {"one": "eth1", "two": "eth2"}, "server": {"one": "eth1", "two": "eth2"}}


def scenario(folder: Path, text: str) -> Path:
    """Write a scenario and return its file."""
    file = folder / "scenario.toml"
    file.write_text(text)
    return file


def rows(out: Path) -> list[dict[str, Any]]:
    """Return the rows of a results folder."""
    found: list[dict[str, Any]] = json.loads((out / "results.json").read_text())["rows"]
    return found


def changes(before: dict[str, str], after: dict[str, str]) -> str:
    """Return the lines that differ between two states of machines."""
    found = []
    for name, text in before.items():
        lines = difflib.unified_diff(text.splitlines(), after[name].splitlines(), "before", "after", lineterm="", n=0)
        found += [f"{name}: {line}" for line in lines]
    return "\n".join(found)


def test_two_machines_and_two_cables(pair: Bed, tmp_path: Path) -> None:
    before = pair.settled()
    inventory = pair.inventory(INTERFACES)
    done = pair.mptcplab(
        "run", scenario(tmp_path, TWO_CABLES), "--engine", f"ssh:{inventory}", "--out", tmp_path / "out"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(tmp_path / "out")
    assert row["mptcp"] == "2 subflows", row
    assert row["time"] == "real"
    different = changes(before, pair.settled())
    assert not different, different
