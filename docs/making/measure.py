# SPDX-License-Identifier: MIT
"""Values that tests of the lab measure, and that pages quote as ``[measured: NAME]``.

A test calls ``note(NAME, VALUE)`` of tests/lab/bench.py. Where the variable names a file, that appends to it; this runs
those tests, and keeps what they wrote in docs/measured.json.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from docs.making import stamps
from docs.making.pages import ROOT

VARIABLE = "MPTCPLAB_MEASURED"
_CALL = re.compile(r"\bnote\(\s*f?\"([^\"]+)\"")


def tests() -> dict[Path, list[str]]:
    """Test files that measure for pages, with the names in them; braces stand for parameters."""
    files = sorted((ROOT / "tests" / "lab").glob("test_*.py"))
    found = {file: _CALL.findall(file.read_text()) for file in files}
    return {file: names for file, names in found.items() if names}


def run(say: Callable[[str], None]) -> list[str]:
    """Run the tests and write docs/measured.json; a sentence for each file whose tests failed."""
    problems = []
    lines = ROOT / "results" / "docs" / "measured.jsonl"
    lines.parent.mkdir(parents=True, exist_ok=True)
    lines.unlink(missing_ok=True)
    for file in tests():
        say(f"values measured by {file.name}")
        command = [sys.executable, "-m", "pytest", "-q", "-n", "1", str(file)]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, VARIABLE: str(lines)}, stdout=subprocess.DEVNULL)
        if done.returncode:
            problems.append(f"{file.name}: its tests failed, so what they measure is not written")
        else:
            _keep(lines)
    return problems


def _keep(lines: Path) -> None:
    """Add what tests wrote to docs/measured.json."""
    values = stamps.measured()
    for line in lines.read_text().splitlines():
        values |= json.loads(line)
    stamps.MEASURED.write_text(json.dumps(dict(sorted(values.items())), indent=1) + "\n")
