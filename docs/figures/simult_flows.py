# SPDX-License-Identifier: MIT
"""The table of docs/congestion-controls.md about the kernel's ``simult_flows.sh``: which of its tests take too long.

Every outcome is kept below the folder of results by kernel, so that an interrupted command goes on where it ended.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from docs.making.pages import table_of as markdown

from mptcplab.kernel import find_kernel

CONTROLS = ("cubic", "reno", "lia", "olia", "balia", "wvegas")
SEEDS = range(1, 9)
_LATE = re.compile(r"runtime (\d+) ms, expected (\d+) ms")


def table_of(work: Path, controls: Sequence[str] = CONTROLS, seeds: Sequence[int] = SEEDS) -> str:
    """Return how many seeds fail a test with each congestion control, and by how much (median).

    Tests that never fail are left out. Raises ValueError when a lab fails.
    """
    folder = work / "simult-flows" / find_kernel().path.name
    outcomes = {control: [_outcome(folder, control, seed) for seed in seeds] for control in controls}
    tests = [one["name"] for one in outcomes[controls[0]][0]]
    rows = [
        [f"{number}. {test}", *(_cell([run[number - 1] for run in outcomes[control]]) for control in controls)]
        for number, test in enumerate(tests, start=1)
    ]
    rows = [row for row in rows if any(row[1:])]
    return markdown(["test", *(f"`{control}`" for control in controls)], rows)


def _outcome(folder: Path, control: str, seed: int) -> list[dict[str, Any]]:
    """The results of the script's tests, in its order."""
    file = folder / f"{control}-{seed}.json"
    if not file.exists():
        command = [sys.executable, "-m", "mptcplab", "selftest", "simult_flows", "--congestion-control", control]
        command += ["--seed", str(seed), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(done.stdout)
    try:
        document = json.loads(file.read_text())
    except ValueError:
        file.unlink()
        raise
    if document["errors"]:
        raise ValueError(f"simult_flows with {control}, seed {seed}: {document['errors'][0]['message']}")
    # The last result is the kernel's own checks, if it complained.
    return [one for one in document["results"] if one["name"] != "the kernel's own checks"]


def _cell(results: Sequence[dict[str, Any]]) -> str:
    """Empty if all pass. A test that the script calls flaky counts as well."""
    failed = [one["reason"] for one in results if one["verdict"] != "ok"]
    if not failed:
        return ""
    late = [_LATE.search(reason) for reason in failed]
    excess = [100 * (int(found[1]) / int(found[2]) - 1) for found in late if found]
    return f"{len(failed)} of {len(results)}" + (f", by {median(excess):.1f} %" if excess else "")
