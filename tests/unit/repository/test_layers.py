# SPDX-License-Identifier: MIT
"""Which rooms may import which others is a law; pyproject.toml has it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_rooms_import_only_what_is_below_them() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    # Packages need not be installed.
    paths = os.pathsep.join([str(ROOT / "src"), *map(str, ROOT.glob("packages/*/src"))])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_commands_name_no_engine_in_texts_either() -> None:
    """``load("module:name")`` imports what no contract sees."""
    texts = {file.name: file.read_text() for file in sorted((ROOT / "src/mptcplab/cli").rglob("*.py"))}
    named = {
        name: re.findall(r"[\"']mptcplab\.(?:engine|campaign|plan|guest)\b[^\"']*", text)
        for name, text in texts.items()
    }
    assert {name: targets for name, targets in named.items() if targets} == {}
    assert "mptcplab.api:engine_names" in texts["options.py"], "the pattern would find the name of a module in a text"
