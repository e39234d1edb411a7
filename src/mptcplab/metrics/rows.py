# SPDX-License-Identifier: MIT
"""Rows of a result: the runs of one point and workload reduced to means with their intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mptcplab.metrics.counters import MptcpCounts
from mptcplab.metrics.measure import Measured, measure
from mptcplab.recording.record import Recording
from mptcplab.stats import Interval, mean_interval


@dataclass(frozen=True)
class ResultRow:
    """One point of the sweep, one workload, all its repeats. Rates in Mbit/s, times in seconds."""

    settings: dict[str, str]
    workload: str
    goodput_mbps: Interval
    duration_s: Interval
    retransmitted_percent: Interval
    mptcp: str
    counts: tuple[MptcpCounts, ...]
    shares: dict[str, float]
    congestion: str
    scheduler: str
    kernel: str
    seeds: tuple[int, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data with units in the names."""
        intervals = {
            name: {"mean": value.mean, "ci95_half_width": value.half_width, "n": value.n}
            for name, value in (
                ("goodput_mbps", self.goodput_mbps),
                ("duration_s", self.duration_s),
                ("retransmitted_percent", self.retransmitted_percent),
            )
        }
        return {
            "settings": self.settings,
            "workload": self.workload,
            **intervals,
            "mptcp": self.mptcp,
            "kernel_counts": [asdict(counts) for counts in self.counts],
            "shares": self.shares,
            "congestion_control": self.congestion,
            "scheduler": self.scheduler,
            "kernel": self.kernel,
            "seeds": list(self.seeds),
            "warnings": list(self.warnings),
        }


def result_rows(recordings: Iterable[Recording]) -> list[ResultRow]:
    """One row per point and workload, in the order in which the points first appear."""
    groups: dict[tuple[Any, ...], list[tuple[Recording, Measured]]] = {}
    for recording in recordings:
        point = tuple(map(tuple, recording.manifest["settings"]))
        for measured in measure(recording):
            groups.setdefault((point, measured.workload), []).append((recording, measured))
    return [_reduce(group) for group in groups.values()]


def _reduce(group: list[tuple[Recording, Measured]]) -> ResultRow:
    manifest, first = group[0][0].manifest, group[0][1]
    all_measured = [measured for _, measured in group]
    return ResultRow(
        settings=dict(manifest["settings"]),
        workload=first.workload,
        goodput_mbps=mean_interval([measured.goodput_bps / 1e6 for measured in all_measured]),
        duration_s=mean_interval([measured.duration_s for measured in all_measured]),
        retransmitted_percent=mean_interval([_retransmitted(measured) for measured in all_measured]),
        mptcp=_common(measured.sockets.use.text for measured in all_measured),
        counts=tuple(measured.counts for measured in all_measured),
        shares=_mean_shares(all_measured),
        congestion=_common(", ".join(measured.sockets.congestion) for measured in all_measured),
        scheduler=_common(measured.scheduler for measured in all_measured),
        kernel=manifest["facts"]["kernel"]["release"],
        seeds=tuple(recording.manifest["seed"] for recording, _ in group),
        warnings=tuple(dict.fromkeys(warning for measured in all_measured for warning in measured.warnings)),
    )


def _retransmitted(measured: Measured) -> float:
    sent = measured.sockets.sent_bytes
    return 100 * measured.sockets.retransmitted_bytes / sent if sent else 0.0


def _common(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(texts))


def _mean_shares(group: list[Measured]) -> dict[str, float]:
    names = sorted({name for measured in group for name in measured.sockets.shares})
    return {name: sum(m.sockets.shares.get(name, 0.0) for m in group) / len(group) for name in names}
