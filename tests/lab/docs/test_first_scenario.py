# SPDX-License-Identifier: MIT
"""docs/first-scenario.md, followed to the letter: its commands run, and its tables are what comes of them.

The last two steps are made in a cheaper form: some of their points, and one seed. Words have to be the same.
Numbers may be a quarter off, or a little: on another machine, or kernel, they are as with another seed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import Bench
from tests.lab.page_commands import reuse_runs
from tools.docs.making.work import experiment_of

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "first-scenario.md").read_text()
#: Of the longest steps only the points with these values are made, by keys as the page's tables name them.
_ONLY = {
    "8-passengers": {
        "protocol": ("transport.protocol", "mptcp"),
        "via": ("workloads.*.via", "link1"),
        "scheduler": ("transport.scheduler", "minrtt"),
    },
    "9-repeats": {"link*.discipline": ("links.link*.discipline", "fq_codel")},
}
_NUMBER = re.compile(r"^[-+]?[0-9,]*[0-9.]+%?,?$")
#: An address with its port, or the token of a connection: random, so they differ where numbers do.
_RANDOM = re.compile(r"^(?:\d+(?:\.\d+){3}:\d+|[0-9a-f]{8})$")
_FIGURES = {
    "goodput Mbit/s": "goodput_mbps",
    "gap s": "gap_s",
    "restored s": "recovery_after_restoration_s",
    "head of line ms": "head_of_line_delay_ms",
    "response p50 ms": "response_p50_ms",
    "response p95 ms": "response_p95_ms",
    "completion p50 s": "completion_p50_s",
    "completion p95 s": "completion_p95_s",
    "late %": "late_percent",
    "MOS": "mos",
}


def _steps() -> dict[str, str]:
    """What stands below each numbered heading."""
    return dict(re.findall(r"^## (\d)\. .*?\n(.*?)(?=^## )", GUIDE, re.MULTILINE | re.DOTALL))


def _commands(step: str) -> list[tuple[str, str]]:
    """Commands of a step, with what stands below each up to the next."""
    pieces = re.split(r"^\$ (mptcplab (?:[^\n]*\\\n)*[^\n]*)\n", step, flags=re.MULTILINE)
    return list(zip(pieces[1::2], pieces[2::2], strict=True))


def _table(below: str) -> list[dict[str, str]]:
    """The first table of Markdown below a command, one dictionary per row."""
    match = re.search(r"\n\n<!-- table .*-->\n((?:\|.*\|\n)+)", below)
    lines = match[1].splitlines() if match else []
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if "---" not in line]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


def _alike(said: str, measured: str) -> bool:
    if _NUMBER.match(said) and _NUMBER.match(measured):
        first, other = (float(text.rstrip("%,").replace(",", "")) for text in (said, measured))
        return abs(first - other) <= max(0.25 * abs(first), 0.2)
    return said == measured or bool(_RANDOM.match(said) and _RANDOM.match(measured))


def _share(row: dict[str, Any], line: str) -> float:
    return 100 * sum(float(share) for path, share in row["shares"].items() if line in path)


def _cell(head: str, rows: list[dict[str, Any]]) -> str:
    """What one point's rows have: ``head`` is a figure, behind its workload where there are several."""
    workload, _, figure = head.rpartition(": ")
    (row,) = (row for row in rows if row["workload"] == (workload or row["workload"]))
    if figure == "MPTCP in use":
        return str(row["mptcp"])
    if figure.startswith("share of"):
        return str(round(_share(row, figure.split()[2])))
    name = _FIGURES[figure]
    value = row[name] if name in row else row["metrics"][name]
    return f"{value['mean']:.4g}"


def _short_name(key: str) -> str:
    """A swept key's name in tables: its last part; of a link, all that is behind `links.`."""
    return key.removeprefix("links.") if key.startswith("links.") else key.rpartition(".")[2]


def _check_table(table: list[dict[str, str]], results: Path) -> None:
    document = json.loads((results / "results.json").read_text())
    for said in table:
        of_point = [
            row
            for row in document["rows"]
            if all(said.get(_short_name(key), value) == value for key, value in row["settings"].items())
        ]
        keys = {_short_name(key) for key in of_point[0]["settings"]}
        for head, cell in said.items():
            if cell and head not in keys:
                measured = _cell(head, of_point)
                print(f"{list(said.values())}: {head} measured {measured}")
                assert _alike(cell.partition(" ± ")[0], measured)


def _words(line: str) -> list[str]:
    """The words of a line, with one word for the mark of any warning."""
    return ["[mark]" if re.fullmatch(r"\[\d+\]", word) else word for word in line.split()]


def _check_output(below: str, output: str) -> None:
    """Lines of the block that a command stands in, up to its end. ``...`` stands for what the page leaves out.

    The number of a warning depends on how many points the run has.
    """
    for line in below.partition("```")[0].splitlines():
        said = _words(line)
        if said and said != ["..."] and "──" not in line:
            candidates = [_words(other) for other in output.splitlines()]
            assert any(len(said) == len(words) and all(map(_alike, said, words)) for words in candidates), line


@pytest.mark.parametrize("number", list(_steps()))
def test_step(bench: Bench, number: str, tmp_path: Path) -> None:
    """As a reader would, from the project's folder."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = 0
    for command, below in _commands(_steps()[number]):
        file = re.search(r"run examples/ride/(\S*)\.toml", command)
        only = _ONLY.get(file[1], {}) if file else {}
        cheap = " ".join((command, *(f"--set '{key}={value}'" for key, value in only.values())))
        cheap += " --repeats 1" if only else ""
        experiment = experiment_of(cheap.replace("\\\n", " "))
        with reuse_runs(bench, [experiment] if experiment else [], tmp_path):
            done = subprocess.run(
                ["sh", "-c", cheap],
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                timeout=300,
            )
        assert done.returncode == 0, done.stderr
        assert not re.search(r"^failed\b", done.stdout + done.stderr, re.MULTILINE)
        if file:
            made = [row for row in _table(below) if all(row[head] == value for head, (_, value) in only.items())]
            assert made or "|" not in below
            out = re.search(r"--out results/(\S+)", command) or file
            _check_table(
                [{head: cell for head, cell in row.items() if head not in only} for row in made],
                tmp_path / "results" / out[1],
            )
            ran += 1
        if "compare" not in command:  # one seed is too few
            _check_output(below, done.stdout)
    assert ran
