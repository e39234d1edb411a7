# SPDX-License-Identifier: MIT
"""The kernel's own MPTCP tests for the pages, and the table of docs/kernel-developers.md about all of them.

Every outcome is kept below the folder of results by kernel, so that an interrupted command continues where it stopped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.docs.making.pages import table_of as markdown

from mptcplab.kernel import find_kernel


def outcome(work: Path, name: str, *arguments: str) -> dict[str, Any]:
    """Return the output of ``mptcplab selftest ARGUMENTS --json``, kept as ``name``. Tests may fail, labs may not.

    :raises ValueError: when a lab fails.
    """
    file = work / "selftests" / find_kernel().path.name / f"{name}.json"
    if not file.exists():
        command = [sys.executable, "-m", "mptcplab", "selftest", *arguments, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        document = json.loads(done.stdout)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document))
    results: dict[str, Any] = json.loads(file.read_text())
    if results["errors"]:
        file.unlink()
        raise ValueError(f"{results['errors'][0]['test']}: {results['errors'][0]['message']}")
    return results


def table_of(work: Path) -> str:
    """Return the number of tests that pass with the command's default seed, and the names of tests that fail."""
    document = outcome(work, "all")
    by_verdict: dict[str, list[str]] = {}
    for result in document["results"]:
        by_verdict.setdefault(result["verdict"], []).append(f"{result['test']}: {result['name']}")
    counts = [
        len(document["virtual_seconds"]),
        *(len(by_verdict.get(verdict, ())) for verdict in ("ok", "skip", "flaky")),
    ]
    failed = "; ".join(by_verdict.get("not ok", ())) or "none"
    head = ["labs", "passed", "skipped", "failed and known as flaky", "failed"]
    return markdown(head, [[*map(str, counts), failed]])
