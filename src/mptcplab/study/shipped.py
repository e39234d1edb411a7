# SPDX-License-Identifier: MIT
"""The verdicts on what is shipped with a study: computed from ``full.json`` and ``cloud.json``, without a recording.

A claim about a ratio or a trend needs the values of single seeds. Where the shipped values of its tables lack them, it
is not judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mptcplab.study.claims import ClaimVerdict
from mptcplab.study.classes import OPEN
from mptcplab.study.cloud_files import values_over_beds
from mptcplab.study.forms import digest
from mptcplab.study.full import read_reference, shipped_values
from mptcplab.study.judged import JudgedTable, judge
from mptcplab.study.load import SelectedTable, select
from mptcplab.study.measured import TableValues
from mptcplab.study.source import Sources, TableSource


def judge_shipped(study: str) -> list[JudgedTable]:
    """Return every table of a study, judged by the shipped values of its present form."""
    tables = select(study)
    known = {selected.name: _current_values(selected) for selected in tables}
    sources: Sources = {name: TableSource(values) for name, values in known.items() if values}
    return [
        _without_unknown_claims(
            judge(selected, known[selected.name], (), sources, over_beds=values_over_beds(selected))
        )
        for selected in tables
    ]


def prints_values(study: str) -> bool:
    """Return whether a study prints values, and not only figures."""
    return any(selected.table.published for selected in select(study))


def counted_tables(judged: Iterable[JudgedTable]) -> list[JudgedTable]:
    """Return the tables whose values and claims count, and not another test bed's."""
    return [judged_table for judged_table in judged if judged_table.selected.study.counts(judged_table.selected.number)]


def _current_values(selected: SelectedTable) -> TableValues:
    entry = read_reference(selected).get("tables", {}).get(selected.number, {})
    return shipped_values(selected) if entry.get("form") == digest(selected) else {}


def _without_unknown_claims(judged: JudgedTable) -> JudgedTable:
    claims = [claim if _can_be_judged(claim) else ClaimVerdict(claim.claim, (), OPEN) for claim in judged.claims]
    return replace(judged, claims=tuple(claims))


def _can_be_judged(verdict: ClaimVerdict) -> bool:
    """Return whether the values of a claim, and the values of its evidence, have the seeds that its verdict needs."""
    if verdict.fitted:
        return True
    needs_seeds = bool(verdict.claim.to) or verdict.claim.trend is not None
    known = all(quantity.value.by_seed for quantity in verdict.quantities) or not needs_seeds
    return known and (verdict.evidence is None or _can_be_judged(verdict.evidence))
