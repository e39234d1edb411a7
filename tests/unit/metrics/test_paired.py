# SPDX-License-Identifier: MIT
"""Paired differences inside one sweep, and the notes below its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.comparisons import SLOWER, A, output, row_of, write

from mptcplab.metrics.paired import paired_rows
from mptcplab.metrics.rows import ResultRow
from mptcplab.report.notes import paired_notes
from mptcplab.stats import mean_interval

FOLDER = Path("results/sweep")


def _rows(*rows: tuple[str, str, dict[int, float]]) -> list[ResultRow]:
    return [
        row_of({"transport.protocol": protocol, "links.link1.delay": delay}, values) for protocol, delay, values in rows
    ]


def _with_metric(row: ResultRow, workload: str, metric: str, values: Sequence[float]) -> ResultRow:
    """Return ``row`` of a workload that is about another metric than goodput."""
    metrics = {**row.metrics, metric: mean_interval(values)}
    samples = {**row.samples, metric: tuple(values)}
    seeds = {**row.metric_seeds, metric: row.seeds}
    return replace(row, workload=workload, metrics=metrics, samples=samples, metric_seeds=seeds)


def test_paired_differences_of_a_sweep() -> None:
    """MPTCP against TCP whatever comes first in the file; other keys against their first value."""
    faster = {seed: 2 * value for seed, value in A.items()}
    rows = _rows(("mptcp", "1 ms", faster), ("mptcp", "9 ms", faster), ("tcp", "1 ms", A), ("tcp", "9 ms", SLOWER))
    pairs = paired_rows(rows)
    differences = [
        (pair.key.rpartition(".")[2], pair.first, pair.second, tuple(pair.settings.values())) for pair in pairs
    ]
    assert differences == [
        ("protocol", "tcp", "mptcp", ("1 ms",)), ("protocol", "tcp", "mptcp", ("9 ms",)),
        ("delay", "1 ms", "9 ms", ("mptcp",)), ("delay", "1 ms", "9 ms", ("tcp",)),
    ]  # fmt: skip
    assert pairs[0].percent == pytest.approx(100)
    assert pairs[3].difference.mean == pytest.approx(-0.51)
    assert "goodput_mbps" in pairs[0].to_json()
    notes = paired_notes(rows, FOLDER)
    assert notes[0] == "MPTCP - TCP, link1.delay 1 ms: +103.5 ± 1.96 Mbit/s (+100.0 %), paired over 6 seeds."
    assert len(notes) == 2


def _path_row(path: str, row: ResultRow, *, rates: dict[str, float], conditions: str = "same") -> ResultRow:
    """Return ``row`` of TCP on ``path``; of MPTCP on all, if it has no name."""
    shares = {path: 1.0} if path else dict.fromkeys(rates, 1 / len(rates))
    return replace(
        row, shares=shares, path_rates=rates, conditions=conditions, mptcp="no" if path else f"{len(rates)} subflows"
    )


@pytest.mark.parametrize(("rate_of_dsl", "notes"), [(50e6, 0), (20e6, 0), (10e6, 1)])
def test_a_note_says_that_tcp_had_the_slower_path(rate_of_dsl: float, notes: int) -> None:
    """TCP's path follows from the order in the file, so a bad order makes MPTCP look better than it is."""
    rates = {"dsl": rate_of_dsl, "lte": 20e6}
    before = _rows(("tcp", "1 ms", SLOWER), ("mptcp", "1 ms", A), ("tcp", "9 ms", SLOWER), ("mptcp", "9 ms", A))
    rows = [_path_row("dsl" if row.settings["transport.protocol"] == "tcp" else "", row, rates=rates) for row in before]
    lines = [line for line in paired_notes(rows, FOLDER) if not line.startswith("MPTCP - TCP")]
    assert len(lines) == notes, "both points have the same note"
    assert all(line.startswith("TCP was on dsl (10 Mbit/s), and lte has a higher rate (20 Mbit/s)") for line in lines)


def test_no_note_about_a_path_that_mptcp_did_not_use() -> None:
    rates = {"dsl": 10e6, "lte": 20e6}
    tcp, mptcp = _rows(("tcp", "1 ms", SLOWER), ("mptcp", "1 ms", A))
    rows = [_path_row("dsl", tcp, rates=rates), replace(_path_row("", mptcp, rates=rates), shares={"dsl": 1.0})]
    assert len(paired_notes(rows, FOLDER)) == 1


def _zip(*rows: tuple[str, str, dict[int, float]], conditions: str = "same") -> list[ResultRow]:
    rates = {"dsl": 50e6, "lte": 20e6}
    return [
        _path_row(path, row_of({"name": name}, values), rates=rates, conditions=conditions)
        for name, path, values in rows
    ]


def test_mptcp_is_compared_with_the_best_single_path() -> None:
    """As `mptcplab init` writes it: the best path need not be the first."""
    half = {seed: value / 2 for seed, value in A.items()}
    rows = _zip(("link1", "dsl", half), ("link2", "lte", SLOWER), ("all", "", A))
    first, second = paired_notes(rows, FOLDER)
    assert first.startswith("MPTCP - TCP on the best path (all - link2): +0.51"), first
    assert first.endswith("paired over 6 seeds.")
    assert second == "Each path: `mptcplab compare results/sweep --by name --reference link2`."


@pytest.mark.parametrize("conditions", ["", "same"])
def test_a_label_alone_is_no_comparison_of_paths(conditions: str) -> None:
    """Without known conditions a label may hide anything, and TCP on one path may not be the best."""
    rows = _zip(("link1", "dsl", SLOWER), ("link2", "lte" if not conditions else "dsl", A), ("all", "", A))
    assert paired_notes([replace(row, conditions=conditions) for row in rows], FOLDER) == []


def test_rows_of_other_conditions_are_not_compared() -> None:
    tcp = _zip(("link1", "dsl", SLOWER), ("link2", "lte", A))
    assert paired_notes([*tcp, *_zip(("all", "", A), conditions="larger queue")], FOLDER) == []


def test_no_pairs_without_two_shared_seeds() -> None:
    assert paired_rows(_rows(("tcp", "1 ms", {1: 5.0}), ("mptcp", "1 ms", {1: 6.0}))) == []
    assert paired_rows(_rows(("tcp", "1 ms", {1: 5.0, 2: 5.0}), ("mptcp", "1 ms", {2: 6.0, 3: 6.0}))) == []
    assert paired_rows([]) == []
    assert paired_notes([], FOLDER) == []


def test_the_notes_are_about_what_each_workload_is_about() -> None:
    """Of a call and of short objects, nobody asks for the goodput."""
    slow, fast = ([0.2, 0.21, 0.19], [0.1, 0.12, 0.09])
    rows = []
    for protocol, completion, mos in (("tcp", slow, [3.0, 3.1, 3.2]), ("mptcp", fast, [4.0, 4.1, 4.3])):
        row = row_of({"transport.protocol": protocol}, {1: 5.0, 2: 5.1, 3: 5.2})
        rows += [_with_metric(row, "pages", "completion_p95_s", completion), _with_metric(row, "call", "mos", mos), row]
    notes = paired_notes(rows, FOLDER)
    assert notes[0].startswith("MPTCP - TCP, completion p95, pages: -96.7 ± 14.3 ms (-48.3 %)"), notes
    # A MOS begins at 1, so that a percentage of it would mean nothing.
    assert notes[1].startswith("MPTCP - TCP, MOS, call: +1.03"), notes
    assert "%" not in notes[1]
    assert notes[2].startswith("MPTCP - TCP, bulk: +0.00"), notes


def test_many_pairs_are_shown_by_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight lines fit; of a large sweep, the note names the command that prints the rest."""
    rows = _rows(*((name, f"{delay} ms", A) for delay in range(15) for name in ("tcp", "mptcp")))
    assert len(paired_notes(rows[:16], FOLDER)) == 8
    notes = paired_notes(rows, write(tmp_path / "sweep", rows))
    assert len(notes) == 13
    before, command, _ = notes[-1].split("`")
    assert before == "MPTCP - TCP: 3 more; all with "
    status, out, _ = output(capsys, monkeypatch, *command.split()[2:])
    assert status == 0
    assert all(f" {delay} ms " in out for delay in range(15)), out


def test_the_command_names_the_metrics() -> None:
    rows = _rows(*((name, f"{delay} ms", A) for delay in range(15) for name in ("tcp", "mptcp")))
    calls = [_with_metric(row, "call", "mos", [4.0] * 6) for row in rows]
    assert "--metric call:mos`" in paired_notes(calls, FOLDER)[-1]
