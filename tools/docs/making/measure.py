# SPDX-License-Identifier: MIT
"""Run the lab tests whose values pages quote as ``[measured: NAME]``.

A test calls ``note(NAME, VALUE)`` of tests/lab/bench.py, which appends to the file that an environment variable names.
The values are kept in tools/docs/measured.json.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tools.docs.making import stamps
from tools.docs.making.pages import ROOT

VARIABLE = "MPTCPLAB_MEASURED"
_CALL = re.compile(r"\bnote\(\s*f?\"([^\"]+)\"")


def tests() -> dict[Path, list[str]]:
    """Return the test files that measure for pages, with the names of their values; braces stand for parameters."""
    files = sorted((ROOT / "tests" / "lab").rglob("test_*.py"))
    calls = {file: _CALL.findall(file.read_text()) for file in files}
    return {file: names for file, names in calls.items() if names}


def run(say: Callable[[str], None]) -> list[str]:
    """Run the tests, write tools/docs/measured.json, and return a sentence for each file whose tests failed."""
    problems = []
    lines = ROOT / "results" / "docs" / "measured.jsonl"
    lines.parent.mkdir(parents=True, exist_ok=True)
    lines.unlink(missing_ok=True)
    for file in tests():
        say(f"values measured by {file.name}")
        command = [sys.executable, "-m", "pytest", "-q", "-n", "1", str(file)]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, VARIABLE: str(lines)}, stdout=subprocess.DEVNULL)
        if done.returncode:
            problems.append(f"{file.name}: its tests failed, so their values are not written")
        else:
            _keep(lines)
    return problems


def _keep(lines: Path) -> None:
    """Add the values that tests wrote to tools/docs/measured.json."""
    values = stamps.read_measured()
    for line in lines.read_text().splitlines():
        values |= json.loads(line)
    stamps.MEASURED.write_text(json.dumps(dict(sorted(values.items())), indent=1) + "\n")
