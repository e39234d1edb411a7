# SPDX-License-Identifier: MIT
"""Commands of docs/getting-started.md, run again: what the page shows is what comes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.lab.bench import Bench
from tests.lab.page_commands import reuse_runs
from tools.docs.making import console, stamps
from tools.docs.making.pages import ROOT, Page
from tools.docs.making.rows import document
from tools.docs.making.work import experiments_of

PAGE = Page(ROOT / "docs" / "getting-started.md")
#: Not the studies': tests of their own run these.
_NAMES = [block.name for block in PAGE.blocks if block.kind == "console" and "reproduce" not in block.name]


@pytest.mark.parametrize("name", _NAMES)
def test_output_of_a_page(bench: Bench, name: str, tmp_path: Path) -> None:
    """The output is the same to the last byte if the page was made from the same runs; else only numbers differ."""
    (block,) = (block for block in PAGE.blocks if block.name == name)
    console.prepare(PAGE, tmp_path)
    experiments = experiments_of(PAGE, block)
    with reuse_runs(bench, experiments, tmp_path):
        if name.endswith("(2)"):  # the same command again
            (before,) = (other for other in PAGE.blocks if f"{other.name} (2)" == name)
            console.refresh(before, tmp_path)
        now = console.refresh(block, tmp_path)
    runs = [
        run for experiment in experiments for row in document(tmp_path / experiment.out)["rows"] for run in row["runs"]
    ]
    same = not runs or stamps.digest_of(runs) == stamps.load()[block.key].runs
    print(f"{len(runs)} runs, {'the same' if same else 'others'}")
    if same:
        assert now == block.text
