# SPDX-License-Identifier: MIT
"""The reasons that apply to a workload of a run, and to a row of several runs.

A reason says why something is as it is; a warning says that a result may not be what it seems. Tables and reports
have both. Hints, which merely agree with the evidence, are only in JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mptcplab.explain.evidence import Evidence
from mptcplab.explain.reason import STRONG, Finding
from mptcplab.explain.registry import explain
from mptcplab.metrics.alike import merge_similar_warnings
from mptcplab.metrics.cpu import shares
from mptcplab.metrics.evidence import evidence_of
from mptcplab.metrics.network import NetworkCounters
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import RecordedWorkload


@dataclass(frozen=True)
class RowReason:
    """A reason that applies to runs of a row, whose ``seeds`` it has. ``evidence`` is from the first of them.

    It is in the notes of tables if it ``is_noted``.
    """

    reason: str
    kind: str
    text: str
    page: str
    evidence: tuple[str, ...]
    seeds: tuple[int, ...]
    is_noted: bool

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "reason": self.reason,
            "kind": self.kind,
            "text": self.text,
            "page": self.page,
            "evidence": list(self.evidence),
            "seeds": list(self.seeds),
        }


def reasons_of(
    recording: Recording,
    workload: RecordedWorkload,
    network: NetworkCounters,
    *,
    goodput_bps: float,
    with_mptcp: bool,
) -> tuple[Finding, ...]:
    """Return what applies to a workload. Without MPTCP, that is only what limits any connection: the CPUs."""
    if not with_mptcp:
        return tuple(explain(Evidence(cpus=shares(recording, workload.ends) or None)))
    return tuple(explain(evidence_of(recording, workload, network, goodput_bps=goodput_bps)))


def reasons_of_row(members: Iterable[tuple[int, Iterable[Finding]]]) -> tuple[RowReason, ...]:
    """Return the reasons of a row from its runs' reasons, by seed. Texts that differ only in numbers are one."""
    known = [(seed, finding) for seed, findings in members for finding in findings]
    texts = merge_similar_warnings(finding.text for _, finding in known)
    alike: dict[str, list[tuple[int, Finding]]] = {}
    for seed, finding in known:
        alike.setdefault(texts[finding.text], []).append((seed, finding))
    return tuple(_of_alike(text, some) for text, some in alike.items())


def _of_alike(text: str, some: list[tuple[int, Finding]]) -> RowReason:
    first = some[0][1]
    return RowReason(
        reason=first.reason,
        kind=first.kind,
        text=text,
        page=first.page,
        evidence=first.lines,
        seeds=tuple(dict.fromkeys(seed for seed, _ in some)),
        is_noted=any(finding.is_noted and finding.strength >= STRONG for _, finding in some),
    )
