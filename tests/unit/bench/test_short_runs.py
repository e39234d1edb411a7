# SPDX-License-Identifier: MIT
"""The table of short runs and sweeps, from measured times. Nothing is timed here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench import short_runs

ROWS = [
    {
        "name": short_runs.FIRST,
        "mode": "on",
        "now": [[0.2, 0.1], [0.1, 0.15], [0.6, 0.2]],
        "before": [[1, 0.5], [3, 1]],
    },
    {"name": short_runs.SWEEP.format(500), "mode": "off", "now": [[40, 75.4]], "before": [[50, 90]]},
]


def test_the_table_has_medians_the_smallest_and_targets() -> None:
    lines = short_runs.table({"rows": ROWS}).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    first = ["0.20", "2.00", "0.10", "1.00", "0.15", "0.15", "0.75"]
    sweep = ["40", "50", "40", "50", "45", "75", "90"]
    assert cells == [
        [short_runs.FIRST, "in the kernel's process", *first],
        ["`mptcplab run`, 500 runs", "in stubs", *sweep],
    ]


def test_sides_take_turns_and_first_runs_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[tuple[str, Path]] = []

    def runs(source: Path, mode: str) -> list[short_runs.Times]:
        turns.append((mode, source))
        return [(1.0, 2.0), (0.1, 0.2), (0.3, 0.4)] if source == Path("old") else [(0.5, 1.0), (0.2, 0.1), (0.2, 0.1)]

    monkeypatch.setattr(short_runs, "_time_single_runs", runs)
    monkeypatch.setattr(short_runs, "_sweep", lambda source, mode, runs: (runs, len(str(source)) + len(mode)))
    first, further, sweep = short_runs.measure(Path("old"), 2, 10, ["on"], lambda _: None)
    new = short_runs.ROOT / "src"
    assert turns == [("on", new), ("on", Path("old"))] * 2
    assert (first.now, first.before) == ([(0.5, 1.0)] * 2, [(1.0, 2.0)] * 2)
    assert further.before == [(0.1, 0.2), (0.3, 0.4)] * 2
    assert (sweep.name, sweep.before) == ("`mptcplab run`, 10 runs", [(10, 5)] * 2)
    assert len(short_runs.measure(Path("old"), 1, 0, ["on", "off"], lambda _: None)) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--before", "."], "is not a checkout of mptcplab"),
        (["--before", str(short_runs.ROOT), "--repeats", "0"], "at least 1"),
    ],
    ids=["folder", "repeats"],
)
def test_invalid_words_are_refused(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["bench.short_runs", *words])
    with pytest.raises(SystemExit) as ended:
        short_runs.main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
