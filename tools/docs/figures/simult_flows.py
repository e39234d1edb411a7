# SPDX-License-Identifier: MIT
"""The table of docs/congestion-controls.md about tests of the kernel's ``simult_flows.sh`` that take too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tools.docs.figures import selftests
from tools.docs.making.pages import table_of as markdown

CONTROLS = ("cubic", "reno", "lia", "olia", "balia", "wvegas")
SEEDS = range(1, 9)
_LATE = re.compile(r"runtime (\d+) ms, expected (\d+) ms")


def table_of(work: Path, controls: Sequence[str] = CONTROLS, seeds: Sequence[int] = SEEDS) -> str:
    """Return the number of seeds that fail a test with each congestion control, and the median excess.

    Tests that never fail are omitted.
    """
    outcomes = {control: [_results(work, control, seed) for seed in seeds] for control in controls}
    tests = [result["name"] for result in outcomes[controls[0]][0]]
    rows = [
        [f"{number}. {test}", *(_cell([run[number - 1] for run in outcomes[control]]) for control in controls)]
        for number, test in enumerate(tests, start=1)
    ]
    rows = [row for row in rows if any(row[1:])]
    return markdown(["test", *(f"`{control}`" for control in controls)], rows)


def _results(work: Path, control: str, seed: int) -> list[dict[str, Any]]:
    """Return the results of the script's tests, in its order."""
    arguments = ("simult_flows", "--congestion-control", control, "--seed", str(seed))
    results = selftests.outcome(work, f"simult-flows-{control}-{seed}", *arguments)["results"]
    # The last result is the kernel's own checks, if it complained.
    return [result for result in results if result["name"] != "the kernel's own checks"]


def _cell(results: Sequence[dict[str, Any]]) -> str:
    """Return the cell of one test, empty if all seeds pass. A test that the script calls flaky counts as well."""
    failed = [result["reason"] for result in results if result["verdict"] != "ok"]
    if not failed:
        return ""
    late = [_LATE.search(reason) for reason in failed]
    excess = [100 * (int(match[1]) / int(match[2]) - 1) for match in late if match]
    return f"{len(failed)} of {len(results)}" + (f", by {median(excess):.1f} %" if excess else "")
