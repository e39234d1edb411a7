# SPDX-License-Identifier: MIT
"""All reasons, and the findings of some evidence in the order of their rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache

from mptcplab.explain.catalog import captured, failover, fallback, low_sum, machines, no_subflow, observed, waiting
from mptcplab.explain.evidence import Evidence
from mptcplab.explain.reason import KINDS, Finding, Reason


@cache
def reasons() -> dict[str, Reason]:
    """Return all reasons by their keys, in the order of the documentation."""
    modules = (fallback, no_subflow, failover, waiting, low_sum, observed, machines, captured)
    return {reason.key: reason for module in modules for reason in module.REASONS}


def explain(evidence: Evidence) -> list[Finding]:
    """Return what applies, the best proven and most costly first, without what another finding explains.

    What applies several times at one place is one finding, the most costly.
    """
    candidates = reasons().values()
    findings = _once_a_place(finding for reason in candidates for finding in reason.findings(evidence))
    named = {finding.reason for finding in findings}
    explained = {reason.key for reason in candidates if named & set(reason.after)}
    kept = [finding for finding in findings if finding.reason not in explained]
    return sorted(kept, key=lambda finding: (-finding.strength, KINDS.index(finding.kind), -finding.cost))


def _once_a_place(findings: Iterable[Finding]) -> list[Finding]:
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.reason, finding.where), []).append(finding)
    worst = {place: max(some, key=lambda finding: finding.cost) for place, some in alike.items()}
    return [replace(finding, times=len(alike[place])) for place, finding in worst.items()]


def list_undecided(evidence: Evidence) -> dict[str, list[str]]:
    """Return the reasons that the evidence is not enough to judge, each with what is missing, in words."""
    return dict(_undecided_without(evidence.lacking))


@lru_cache(maxsize=64)
def _undecided_without(lacking: frozenset[str]) -> Mapping[str, list[str]]:
    missing = {reason.key: reason.list_missing(lacking) for reason in reasons().values()}
    return {key: words for key, words in missing.items() if words}
