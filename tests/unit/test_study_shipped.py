# SPDX-License-Identifier: MIT
"""What is shipped with the studies can be computed again from the value of every seed, without a kernel."""

from __future__ import annotations

import pytest

from mptcplab.stats import mean_interval
from mptcplab.study.claims import judge_claims
from mptcplab.study.classes import OPEN
from mptcplab.study.cloud import shipped_cloud
from mptcplab.study.full import shipped_values
from mptcplab.study.load import SelectedTable, select, study_names
from mptcplab.study.measured import combined, ratio
from mptcplab.study.source import Source
from mptcplab.study.verdict import judge_cells

#: Shipped numbers have seven digits.
_ROUNDING = 1e-5


def _with_seeds() -> list[SelectedTable]:
    return [one for one in select(None) if any(value.by_seed for value in shipped_values(one).values())]


@pytest.mark.parametrize("selected", _with_seeds(), ids=lambda one: one.name)
def test_intervals_follow_from_the_seeds(selected: SelectedTable) -> None:
    values = shipped_values(selected)
    for place, value in values.items():
        if not value.by_seed:
            assert selected.table.columns[place[1]].of_runs != "mean", f"{place} has no seeds"
            continue
        interval = mean_interval(list(value.by_seed.values()))
        assert interval.mean == pytest.approx(value.interval.mean, rel=_ROUNDING), place
        assert interval.n == value.interval.n, place
        if interval.half_width is not None:
            scale = _ROUNDING * abs(interval.mean)
            assert interval.half_width == pytest.approx(value.interval.half_width, rel=_ROUNDING, abs=scale), place


@pytest.mark.parametrize("selected", _with_seeds(), ids=lambda one: one.name)
def test_ratios_follow_from_the_seeds(selected: SelectedTable) -> None:
    values = shipped_values(selected)
    for (row, name), value in values.items():
        parts = selected.table.columns[name].ratio
        if parts is not None:
            of, to = (values[row, part] for part in parts)
            assert combined(of, [to], ratio).interval.mean == pytest.approx(value.interval.mean, rel=10 * _ROUNDING)


@pytest.mark.parametrize("selected", _with_seeds(), ids=lambda one: one.name)
def test_every_verdict_can_be_computed(selected: SelectedTable) -> None:
    """No verdict needs a recording: cells and claims of the shipped seeds are judged."""
    values = shipped_values(selected)
    sources = {one.name: Source(shipped_values(one)) for one in select(selected.folder.name)}
    rows = {row for row, _ in values}
    assert all(cell.row in rows for cell in judge_cells(selected, values, sources))
    judged = judge_claims(selected, values, sources)
    assert [one.claim.text for one in judged if one.verdict == OPEN] == []


@pytest.mark.parametrize("name", study_names())
def test_shipped_beds_are_those_of_the_tables(name: str) -> None:
    """Every bed has a value or None for each cell of the cloud, and claims are those of the study as it is now."""
    tables = select(name)
    cloud = shipped_cloud(tables)
    if cloud is None:
        pytest.skip("nothing is shipped")
    assert {len(one.measured) for one in cloud.values} <= {len(cloud.beds)}
    texts = {claim.text for claim in tables[0].study.claims}
    assert {one.text for one in cloud.claims} <= texts
    assert {one.table for one in cloud.values} <= {one.number for one in tables}
