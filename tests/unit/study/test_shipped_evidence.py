# SPDX-License-Identifier: MIT
"""What is shipped with the studies can be computed again from the value of every seed, without a kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from mptcplab.stats import mean_interval
from mptcplab.study.cloud import shipped_cloud
from mptcplab.study.judgement import DEPENDS, IN_BEDS, OPEN, ClaimVerdict, judge_by_ratio_column, judge_claims
from mptcplab.study.library import SelectedTable, select, study_names
from mptcplab.study.measurement import TableSource, combine_values, find_shipped, ratio, shipped_values
from mptcplab.study.schema import PublishedTable
from mptcplab.study.sensitivity import MIN_BEDS_FOR_CAUSES
from mptcplab.study.stored_cloud import read_shipped_tables
from mptcplab.study.verdict import counted_tables, judge_cells, judge_shipped

#: Shipped numbers have seven digits.
_ROUNDING = 1e-5


def _with_seeds() -> list[SelectedTable]:
    return [table for table in select(None) if any(value.by_seed for value in shipped_values(table).values())]


def test_all_values_are_of_one_build_of_each_kernel() -> None:
    """Studies can be compared with one another: no table is of a kernel that was built from other sources."""
    builds_of: dict[str, Mapping[str, str]] = {}
    for selected in select(None):
        shipped = find_shipped(selected)
        assert shipped is not None, f"{selected.name} is not shipped"
        builds_of[selected.name] = shipped.latest_kernels
    for name in study_names():
        over_beds = read_shipped_tables(select(name)[0].folder)
        builds_of |= {f"{name}/{number} over beds": table.latest_kernels for number, table in over_beds.items()}
    tables: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, builds in builds_of.items():
        assert builds, f"{name} names no kernel"
        for release, key in builds.items():
            series = re.sub(r"^(\d+\.\d+)\.\d+", r"\1", release)
            tables.setdefault(series, {}).setdefault((release, key), []).append(name)
    mixed = {series: builds for series, builds in tables.items() if len(builds) > 1}
    assert not mixed, f"measure tables of one build anew, or repeat them with `study.reference --repeat`: {mixed}"


@pytest.mark.parametrize("selected", _with_seeds(), ids=lambda table: table.name)
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


@pytest.mark.parametrize("selected", _with_seeds(), ids=lambda table: table.name)
def test_ratios_follow_from_the_seeds(selected: SelectedTable) -> None:
    values = shipped_values(selected)
    for (row, name), value in values.items():
        parts = selected.table.columns[name].ratio
        if parts is not None:
            of, to = (values[row, part] for part in parts)
            quotient = combine_values(of, [to], ratio)
            assert quotient is not None
            assert quotient.interval.mean == pytest.approx(value.interval.mean, rel=10 * _ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("selected", _with_seeds(), ids=lambda table: table.name)
def test_every_verdict_can_be_computed(selected: SelectedTable) -> None:
    """No verdict needs a recording: cells and claims of the shipped seeds are judged."""
    values = shipped_values(selected)
    sources = {table.name: TableSource(shipped_values(table)) for table in select(selected.folder.name)}
    rows = {row for row, _ in values}
    assert all(cell.row in rows for cell in judge_cells(selected, values, sources))
    judged = judge_claims(selected, values, sources)
    assert [claim.claim.text for claim in judged if claim.verdict == OPEN] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_every_published_value_and_claim_counts_once(name: str) -> None:
    """In the table that repeats nothing, and in one test bed only, whichever of them is the headline."""
    study = select(name)[0].study
    judged = counted_tables(judge_shipped(name))
    firsts = [table for table in study.tables.values() if not table.again]
    places = [(table, *place) for table in firsts for place in _places(table)]
    repeated = sum(table.first_of(row, column) is not None for table, row, column in places)
    assert sum(len(table.counted_once) for table in judged) == len(places) - repeated
    again = {table.again: number for number, table in study.tables.items() if table.again}
    claims = [claim for claim in study.claims if not study.tables[claim.table].again]
    assert sum(len(table.claims) for table in judged) == len(claims)
    if study.headline == "again":
        assert {table.selected.number for table in judged}.isdisjoint(again)
        assert set(again.values()) <= {table.selected.number for table in judged}


def _places(table: PublishedTable) -> list[tuple[str, str]]:
    return [(row, column) for row, values in table.published.items() for column in values]


def test_the_bed_of_the_routers_counts() -> None:
    """The assignment of subramani2018 is the pair of OpenWrt routers; its other tables are evidence."""
    study = select("subramani2018")[0].study
    assert study.counts("gateway-4.1")
    assert not study.counts("4.1")
    assert study.counts("modes"), "only one test bed has it"
    assert study.fitted_parameters("gateway-4.9", "2000 MiB", "tcp"), "it has the sizes of Table 4.9"


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_a_claim_without_seeds_is_not_judged(name: str) -> None:
    """A trend needs them, and a ratio without a column in its table. All else is judged as in a results folder."""
    for judged in judge_shipped(name):
        seeds = any(value.by_seed for value in shipped_values(judged.selected).values())
        ratios = {column.ratio for column in judged.selected.table.columns.values() if column.ratio}
        for claim in judged.claims:
            has_column = (claim.claim.of, *claim.claim.to) in ratios
            needs = (bool(claim.claim.to) and not has_column) or claim.claim.trend is not None
            assert seeds or not needs or claim.fitted or claim.verdict == OPEN, (judged.selected.name, claim.claim.text)


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_the_class_over_beds_follows_from_the_shipped_beds(name: str) -> None:
    """Computed here from the numbers alone: enough beds in full form, a share of agreement, a named parameter."""
    cloud = shipped_cloud(select(name))
    values = {(value.table, value.row, value.column): value for value in cloud.values} if cloud is not None else {}
    for judged in judge_shipped(name):
        for cell in judged.cells:
            over = values.get((judged.selected.number, cell.row, cell.column))
            if cell.verdict not in (IN_BEDS, DEPENDS):
                continue
            assert over is not None
            assert cloud is not None
            assert not cloud.is_quick
            share = sum(over.within) / len(over.within)
            assert len(over.within) >= MIN_BEDS_FOR_CAUSES
            assert share >= 0.95 if cell.verdict == IN_BEDS else (0 < share < 0.95 and over.moved_by)


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_shipped_beds_are_those_of_the_tables(name: str) -> None:
    """Every bed has a value or None for each cell of the cloud, and claims are the study's as it is now."""
    tables = select(name)
    cloud = shipped_cloud(tables)
    if cloud is None:
        pytest.skip("nothing is shipped")
    assert {len(value.measured) for value in cloud.values} <= {len(cloud.beds)}
    texts = {claim.text for claim in tables[0].study.claims}
    assert {claim.text for claim in cloud.claims} <= texts
    assert {value.table for value in cloud.values} <= {table.number for table in tables}


def test_a_ratio_that_is_a_column_needs_no_seeds() -> None:
    """The column has the interval over the seeds. A trend compares rows seed by seed, and so needs them."""
    selected = next(table for table in select("nguyen2014") if table.number == "rtt")
    values = {place: replace(value, by_seed={}) for place, value in shipped_values(selected).items()}
    claims = [claim for claim in selected.study.claims if claim.table == "rtt" and claim.to == ("tcp",)]
    verdicts = [judge_by_ratio_column(ClaimVerdict(claim, (), OPEN), selected, values) for claim in claims]
    assert [verdict is None for verdict in verdicts] == [claim.trend is not None for claim in claims]
    judged = [verdict for verdict in verdicts if verdict is not None]
    assert judged
    for verdict in judged:
        ratios = [values[row, "ratio"].interval for row in verdict.claim.rows]
        assert [quantity.interval for quantity in verdict.quantities] == ratios
