# SPDX-License-Identifier: MIT
"""Counting what hosts dropped beyond the connection's window, in recordings and by scheduler."""

from __future__ import annotations

import json
from pathlib import Path

from tools.docs import beyond_window


def _record(folder: Path, name: str, *drops: int) -> None:
    for host, count in enumerate(drops):
        counters = folder / "runs" / name / "counters" / f"host{host}"
        counters.mkdir(parents=True)
        (counters / "nstat.json").write_text(json.dumps({"kernel": {beyond_window.COUNTER: count}}))


def test_drops_are_counted_by_scheduler(tmp_path: Path) -> None:
    folder = tmp_path / "bed"
    _record(folder, "a", 0, 3)
    _record(folder, "b", 2, 5)
    _record(folder, "c", 0, 0)
    _record(folder, "tcp", 9, 9)
    rows = [
        {"scheduler": "default", "runs": ["a", "b", "c"]},
        {"scheduler": "minrtt", "runs": ["c"]},
        {"scheduler": "", "runs": ["tcp"]},
    ]
    (folder / "results.json").write_text(json.dumps({"rows": rows}))
    assert beyond_window.table_of([folder]).splitlines()[2:] == [
        "| bed | `default` | 3 | 2 | 3 | 7 |",
        "| all others |  | 1 | 0 | 0 | 0 |",
    ]
