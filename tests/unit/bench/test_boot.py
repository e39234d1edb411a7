# SPDX-License-Identifier: MIT
"""The table of a stock machine's start, from marks."""

from __future__ import annotations

from bench import boot


def test_the_table_has_the_time_of_each_stage_and_the_sum() -> None:
    """Two runs in which stage n takes n and 3n seconds: the median is 2n. The machine's clock is known inside of it."""
    runs = []
    for factor in (1, 3):
        at, run = 0, []
        for number, name in enumerate(boot.STAGES, start=1):
            at += factor * number
            clock = None if name in ("start", "firmware", "end") else at / 10
            run.append({"name": name, "wall": at, "cpu": at, "clock": clock})
        runs.append(run)
    lines = boot.table({"runs": runs}).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")][1:] for line in lines]
    assert cells[0] == ["2.00", "2.00", "2.00", "2.00", "", ""]
    assert cells[1] == ["4.00", "6.00", "4.00", "6.00", "", ""]
    # Kernel and start of Python: the clock began with the machine.
    assert cells[2] == ["6.00", "12.00", "6.00", "12.00", "1.20", "1.20"]
    assert cells[3] == ["8.00", "20.00", "8.00", "20.00", "0.80", "2.00"]


def test_a_process_that_has_ended_has_used_no_time() -> None:
    assert boot.cpu_seconds(2**30) == 0.0
