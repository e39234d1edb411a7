# SPDX-License-Identifier: MIT
"""The rows of `validation.shares`: measured in parts, and shown together."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from validation.shares import ShareRow, join_rows, read, table


def _row(control: str, seed: int, mptcp: float, engine: str = "stock:7.2") -> ShareRow:
    return ShareRow(engine, "7.2.13", control, seed, mptcp, 4.0)


def test_new_rows_replace_only_those_of_the_same_runs() -> None:
    old = [_row("reno", 1, 8.0), _row("lia", 1, 4.0), _row("lia", 2, 4.0)]
    new = [_row("lia", 1, 5.0), _row("lia", 1, 6.0, engine="virtual")]
    pairs = join_rows(old, new)
    assert sorted(row.mptcp_mbps for row in pairs) == [4.0, 5.0, 6.0, 8.0]


def test_a_control_that_was_not_measured_has_an_empty_cell(tmp_path: Path) -> None:
    file = tmp_path / "shares.json"
    assert read(file) == []
    rows = [*(_row("reno", seed, 7.0 + seed) for seed in (1, 2)), *(_row("lia", seed, 4.0) for seed in (1, 2, 3))]
    file.write_text(json.dumps({"rows": [asdict(row) for row in rows]}))
    *_, line = table(file).splitlines()
    kernel, reno, lia, olia, balia, count = (cell.strip() for cell in line.strip("|").split("|"))
    print(line)
    assert (kernel, olia, balia, count) == ("Debian's 7.2.13", "", "", "2 to 3")
    assert reno.startswith("2.1")
    assert lia.startswith("1")
