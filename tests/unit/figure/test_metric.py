# SPDX-License-Identifier: MIT
"""The metric of a figure, and why some rows lack a metric of other rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.comparisons import row_of

from mptcplab.errors import InputError
from mptcplab.figure.from_results import metric_of_rows
from mptcplab.metrics.rows import ResultRow
from mptcplab.stats import mean_interval


def _row(workload: str, **metrics: float) -> ResultRow:
    row = row_of({}, {1: 10.0, 2: 11.0}, workload=workload)
    return replace(
        row, metrics={**row.metrics, **{name: mean_interval([value] * 2) for name, value in metrics.items()}}
    )


def test_a_metric_of_another_workload_is_said_to_be_its_own() -> None:
    """It was "no run has the metric outage_s", though every upload had it."""
    sessions, upload = _row("sessions", longest_wait_s=0.5), _row("upload", outage_s=40.0)
    with pytest.raises(InputError, match="no run of sessions has the metric outage_s") as refused:
        metric_of_rows([sessions], "outage", [sessions, upload])
    hint = str(refused.value.hint)
    assert hint.startswith("upload has it; sessions has ")
    assert "longest_wait_s" in hint
    assert metric_of_rows([upload], "outage", [sessions, upload]).name == "outage_s"


def test_points_without_a_metric_are_not_taken_for_their_workload() -> None:
    calm, failing = _row("upload"), _row("upload", outage_s=40.0)
    with pytest.raises(InputError, match="no run of these points has the metric outage_s") as refused:
        metric_of_rows([calm], "outage", [calm, failing])
    assert "others have it" in str(refused.value.hint)
    with pytest.raises(InputError, match="no run has the metric mos"):
        metric_of_rows([calm], "mos", [calm, failing])
