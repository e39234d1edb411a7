# SPDX-License-Identifier: MIT
"""The table that compares policies of steering on held-out layouts."""

from __future__ import annotations

from validation.steering.layouts import HELD_OUT
from validation.steering.page import LayoutRow, rows, table


def test_differences_are_of_runs_with_the_same_seed() -> None:
    """Seeds move both policies alike here, so that the difference is certain where neither rate is."""
    measured = [
        LayoutRow(101, "none", [0.5, 0.5, 0.5], [0, 0, 0]),
        LayoutRow(101, "ratio", [0.5, 1.0, 1.5], [30, 40, 50]),
        LayoutRow(101, "fair", [0.7, 1.21, 1.69], [4, 4, 4]),
    ]
    *_, row = table(measured).splitlines()
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[5] == "0.20 ± 0.02"
    assert cells[8].startswith("-36.00 ±")
    assert cells[-1] == "3"


def test_every_layout_has_all_policies_with_the_same_seeds() -> None:
    counts = {(row.layout, row.policy): len(row.smallest_mbps) for row in rows()}
    for layout in HELD_OUT:
        seeds = {counts.get((layout, policy)) for policy in ("none", "ratio", "fair")}
        assert len(seeds) == 1, (layout, seeds)
        assert seeds != {None}, layout
