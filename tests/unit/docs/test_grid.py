# SPDX-License-Identifier: MIT
"""Tables of the documentation that are made of settings and values alone, and the tables of the kernel's selftests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from tools.docs.figures import grid, selftests, simult_flows
from tools.docs.figures.grids import GRIDS
from tools.docs.making.sources import SOURCES

from mptcplab.metrics.rows import ResultRow
from mptcplab.scenario.load import load
from mptcplab.stats import Interval

_CONTROL, _SYSCTL = "transport.congestion_control", "transport.sysctl"


def _row(control: str, sysctl: str, goodput: float, workload: str = "bulk") -> ResultRow:
    return ResultRow(
        {_CONTROL: control, _SYSCTL: sysctl},
        workload,
        metrics={"goodput_mbps": Interval(goodput, 0.5, 3), "duration_s": Interval(10.0, 0.0, 3)},
        mptcp="2 subflows",
        counts=(),
        shares={"access1>link1": 0.25, "access2>line10": 0.75},
        congestion=control,
        scheduler="default",
        kernel="7.2",
        seeds=(1, 2, 3),
        warnings=(),
    )


def _table(monkeypatch: pytest.MonkeyPatch, made: grid.Grid, *rows: ResultRow) -> list[str]:
    monkeypatch.setattr(grid, "open_results", lambda _: SimpleNamespace(rows=rows))
    return made.table_of(Path()).splitlines()


def test_rows_and_columns_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    made = grid.Grid(
        ["congestion control"], [grid.code(_CONTROL)], grid.option(_SYSCTL, {0: "off", 1: "on"}), {"": grid.value()}
    )
    rows = (_row("lia", "{}", 1.0), _row("lia", '{ "a.b2c" = 1 }', 2.0), _row("olia", '{ "a.b2c" = 1 }', 3.0))
    assert _table(monkeypatch, made, *rows) == [
        "| congestion control | off | on |",
        "| --- | --- | --- |",
        "| `lia` | 1.00 ± 0.50 | 2.00 ± 0.50 |",
        "| `olia` |  | 3.00 ± 0.50 |",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_grids_name_what_their_scenarios_sweep(name: str) -> None:
    scenario = SOURCES[name].scenario
    assert scenario is not None
    for point in load(scenario).points:
        rows = [_row("lia", "{}", 1.0, workload) for workload in point.scenario.workloads]
        rows = [replace(row, settings=dict(point.settings)) for row in rows]
        shown = [row for row in rows if GRIDS[name].columns(row)]
        assert shown, "no workload has a column"
        assert all(part(row) for row in shown for part in GRIDS[name].rows)


def test_workloads_that_are_not_named_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made = grid.Grid(
        ["congestion control"],
        [grid.setting(_CONTROL, {"lia": "LIA"})],
        grid.workload({"bulk": "one"}),
        {", Mbit/s": grid.value(), ", %": grid.share("link1"), ", lost": grid.value("lost_percent")},
    )
    rows = (_row("lia", "{}", 1.0), _row("lia", "{}", 2.0, "other"))
    assert _table(monkeypatch, made, *rows) == [
        "| congestion control | one, Mbit/s | one, % | one, lost |",
        "| --- | --- | --- | --- |",
        "| LIA | 1.00 ± 0.50 | 25 |  |",
    ]


def _outcome_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where outcomes of selftests are kept."""
    monkeypatch.setattr(selftests, "find_kernel", lambda: SimpleNamespace(path=Path("7.2-abc")))
    folder = tmp_path / "selftests" / "7.2-abc"
    folder.mkdir(parents=True)
    return folder


def test_selftests_that_fail_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = ("ok", "ok", "skip", "flaky", "not ok")
    results = [{"test": "diag", "name": f"n{at}", "verdict": verdict} for at, verdict in enumerate(verdicts)]
    document = {"results": results, "errors": [], "virtual_seconds": {"diag": 6.0, "pm_netlink": 1.0}}
    (_outcome_folder(tmp_path, monkeypatch) / "all.json").write_text(json.dumps(document))
    assert selftests.table_of(tmp_path).splitlines()[2:] == ["| 2 | 2 | 1 | 1 | diag: n4 |"]


def test_selftests_that_were_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _outcome_folder(tmp_path, monkeypatch)
    for seed, late in ((1, 1010), (2, 1030), (3, None)):
        reason = f"transfer slower than expected! runtime {late} ms, expected 1000 ms client exit code 0"
        second = {"name": "two", "verdict": "not ok" if late else "ok", "reason": reason if late else ""}
        results = [{"name": "one", "verdict": "ok", "reason": ""}, second]
        (folder / f"simult-flows-lia-{seed}.json").write_text(json.dumps({"results": results, "errors": []}))
    table = simult_flows.table_of(tmp_path, ("lia",), (1, 2, 3))
    assert table.splitlines()[2:] == ["| 2. two | 2 of 3, by 2.0 % |"]


def test_lab_that_failed_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _outcome_folder(tmp_path, monkeypatch)
    errors = [{"test": "simult_flows", "message": "no time"}]
    (folder / "simult-flows-lia-1.json").write_text(json.dumps({"results": [], "errors": errors}))
    with pytest.raises(ValueError, match="no time"):
        simult_flows.table_of(tmp_path, ("lia",), (1,))
