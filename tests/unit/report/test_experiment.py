# SPDX-License-Identifier: MIT
"""The figures that ``mptcplab run`` draws by itself: of which workloads, and what they say that they leave out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.report.test_report import IN_EVERY_ROW, result_row

from mptcplab.metrics.rows import ResultRow
from mptcplab.report.experiment import experiment_figures
from mptcplab.scenario.load import Experiment, load
from mptcplab.stats import Interval

TEXT = """
title = "t"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
"""
CONGESTION_CONTROLS = ("cubic", "reno", "lia", "olia", "balia")
MORE = (*CONGESTION_CONTROLS, "bbr", "vegas")
SCHEDULERS = ("default", "minrtt", "roundrobin", "redundant", "blest", "ecf", "priority", "minrtt_v09")


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    file = tmp_path / "made.toml"
    file.write_text(TEXT)
    return load(file)


def _rows(workload: str, controls: tuple[str, ...] = CONGESTION_CONTROLS, **metrics: Interval) -> list[ResultRow]:
    return [
        result_row(
            settings={"transport.scheduler": scheduler, "transport.congestion_control": control},
            workload=workload,
            metrics={**IN_EVERY_ROW, **metrics},
        )
        for scheduler in SCHEDULERS
        for control in controls
    ]


def test_goodput_is_that_of_whole_workloads_that_are_about_it(experiment: Experiment) -> None:
    """Two workloads with some of their lines were drawn, and a call's goodput among them."""
    mos = Interval(4.0, None, 1)
    rows = [*_rows("call", MORE, mos=mos), *_rows("download", MORE), *_rows("upload", MORE)]
    figures = dict(experiment_figures(experiment, rows))
    assert list(figures) == ["figure", "figure-mos"]
    figure = figures["figure"]
    assert [series.name for series in figure.series] == list(MORE)
    hint = "for others: mptcplab figure with --workload upload"
    assert figure.note.endswith(f"\nshown: 7 of 14 lines, of workload download; {hint}"), figure.note
    assert [series.name for series in figures["figure-mos"].series] == list(MORE)
    assert "shown" not in figures["figure-mos"].note


def test_one_workload_of_many_lines_says_how_many_are_left_out(experiment: Experiment) -> None:
    """The first six lines were drawn: all of TCP."""
    rows = [
        replace(row, settings={"transport.protocol": protocol, **row.settings})
        for protocol in ("tcp", "mptcp")
        for row in _rows("download", MORE)
    ]
    figure = dict(experiment_figures(experiment, rows))["figure"]
    names = [series.name.split(", ") for series in figure.series]
    assert [protocol for protocol, _ in names] == ["tcp"] * 3 + ["mptcp"] * 3
    assert len({control for _, control in names}) == 6, "each has another congestion control"
    hint = "for others: mptcplab figure with --points protocol=tcp"
    assert figure.note.endswith(f"\nshown: 6 of 14 lines; {hint}"), figure.note


def test_a_call_alone_has_a_figure_of_its_goodput(experiment: Experiment) -> None:
    figures = dict(experiment_figures(experiment, _rows("call", mos=Interval(4.0, None, 1))))
    assert list(figures) == ["figure", "figure-mos"], "nothing else is there to be drawn"
