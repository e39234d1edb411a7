# SPDX-License-Identifier: MIT
"""Durations of the tests: tools/docs/durations.json, and the tables of docs/tests.md that are made from it.

    make test
    python -m tools.docs.figures.durations build/tests.xml    # then: python -m tools.docs.refresh docs/tests.md

The first writes pytest's report, in which a test's time includes its set-up, call and tear-down.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tools.docs.making.pages import ROOT

FILE = ROOT / "tools" / "docs" / "durations.json"
SLOWEST = 30
FILES = 20


def summary(reports: Iterable[Path], cpus: int) -> dict[str, Any]:
    """Return the content of tools/docs/durations.json: seconds of each file, and of the slowest tests."""
    cases = [case for report in reports for case in _cases(report)]
    files: defaultdict[str, list[float]] = defaultdict(list)
    for file, _, seconds in cases:
        files[file].append(seconds)
    by_file = {file: {"tests": len(times), "seconds": round(sum(times), 1)} for file, times in sorted(files.items())}
    slowest = sorted(cases, key=lambda case: -case[2])[:SLOWEST]
    return {
        "cpus": cpus,
        "files": by_file,
        "slowest": [{"test": f"{file}::{name}", "seconds": round(seconds, 1)} for file, name, seconds in slowest],
    }


def _cases(report: Path) -> Iterator[tuple[str, str, float]]:
    """Yield file, name and seconds of every test that ran."""
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.attrib["classname"].replace(".", "/") + ".py"
        yield file, case.attrib["name"], float(case.attrib["time"])


def folders() -> str:
    """Return the table of all tests by kind."""
    durations = _load()
    lines = ["| tests | number | s, one after the other |", "| --- | --- | --- |"]
    for folder in dict.fromkeys(map(_kind_folder, durations["files"])):
        those = [entry for file, entry in durations["files"].items() if _kind_folder(file) == folder]
        seconds = sum(entry["seconds"] for entry in those)
        lines.append(f"| `{folder}` | {sum(entry['tests'] for entry in those)} | {seconds:.1f} |")
    return "\n".join(lines) + "\n"


def _kind_folder(file: str) -> str:
    """Return the folder of tests of one kind, such as ``tests/unit``, that a file of tests is in."""
    parts = Path(file).parts
    return "/".join(parts[: parts.index("tests") + 2])


def files() -> str:
    """Return the table of the files whose tests take longest together."""
    slowest = sorted(_load()["files"].items(), key=lambda item: -item[1]["seconds"])[:FILES]
    rows = [f"| `{file}` | {entry['tests']} | {entry['seconds']:.1f} |" for file, entry in slowest]
    return "\n".join(["| file | tests | s |", "| --- | --- | --- |", *rows]) + "\n"


def tests() -> str:
    """Return the table of the slowest tests."""
    rows = [f"| `{test['test'].replace('|', '/')}` | {test['seconds']:.1f} |" for test in _load()["slowest"]]
    return "\n".join(["| test | s |", "| --- | --- |", *rows]) + "\n"


def _load() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(FILE.read_text())
    return document


if __name__ == "__main__":
    FILE.write_text(json.dumps(summary(map(Path, sys.argv[1:]), len(os.sched_getaffinity(0))), indent=1) + "\n")
