# SPDX-License-Identifier: MIT
"""Metrics of captured packets: throughput, and times between packets, as Sriaimsard (2019) computes them.

They exist where a capture has ``statistics = true``. docs/captures.md has the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mptcplab.capture.files import NodeStatistics, links_of, node_statistics
from mptcplab.capture.statistics import Statistics
from mptcplab.fields import LOOPBACK
from mptcplab.metrics.column import Display, Metric, Subject
from mptcplab.metrics.manifest import read_label, read_requested_captures
from mptcplab.recording.record import Recording

_SOURCE = "tshark"
_NANO = 1e9


def _files(recording: Recording) -> list[Path]:
    """Return the captures that the scenario wants statistics of, in the order of its links; loopback comes last."""
    captures = recording.captures
    if not captures:
        return []
    wanted: dict[str, set[str | None]] = {}
    for capture in read_requested_captures(recording):
        if capture.statistics:
            wanted.setdefault(capture.node, set()).add(capture.link)
    names = [
        f"{node}-{name}"
        for node, links in wanted.items()
        for name in (*links_of(recording, node), LOOPBACK)
        if name in links or (None in links and name != LOOPBACK)
    ]
    return [captures[name] for name in names if name in captures]


def _statistics(subject: Subject) -> NodeStatistics | None:
    recording = subject.recording
    files = _files(recording)
    return node_statistics(files, read_label(recording).identity) if files else None


def _entry(
    name: str,
    noun: str,
    unit: str,
    definition: str,
    value: Callable[[NodeStatistics], float | None],
    *,
    in_table: bool = False,
    digits: int | None = None,
) -> Metric:
    def compute(subject: Subject) -> float | None:
        statistics = subject.compute_once(_statistics)
        return None if statistics is None else value(statistics)

    return Metric(
        name=name,
        noun=noun,
        unit=unit,
        definition=definition,
        source=_SOURCE,
        value=compute,
        section="captures",
        display=Display(in_table=in_table, digits=digits),
    )


def _deltas(prefix: str, noun: str, of: Callable[[NodeStatistics], Statistics], what: str) -> tuple[Metric, ...]:
    """Return the metrics of one kind of times between packets."""

    def variance(statistics: NodeStatistics) -> float | None:
        value = of(statistics).delta_variance_s2
        return None if value is None else value * _NANO

    return (
        _entry(
            f"{prefix}_mean_us",
            f"{noun} mean",
            "us",
            f"mean of {what}",
            lambda statistics: of(statistics).mean_delta_us,
        ),
        _entry(
            f"{prefix}_max_us",
            f"{noun} max",
            "us",
            "the longest of them",
            lambda statistics: of(statistics).max_delta_us,
        ),
        _entry(
            f"{prefix}_min_us",
            f"{noun} min",
            "us",
            "the shortest of them",
            lambda statistics: of(statistics).min_delta_us,
            digits=3,
        ),
        _entry(f"{prefix}_variance_ns_s", f"{noun} variance", "ns s", "their sample variance, in 1e-9 s²", variance),
    )


METRICS = (
    _entry(
        "captured_mibps",
        "captured",
        "Mibit/s",
        "8 times the length of captured frames by the time from the first to the last, in 2^20 bit/s; retransmissions "
        "are left out, here and below",
        lambda statistics: statistics.as_one.throughput_mibps,
        in_table=True,
    ),
    _entry(
        "captured_s",
        "captured",
        "s",
        "time from the first captured packet to the last one",
        lambda statistics: statistics.as_one.duration_s,
    ),
    _entry(
        "captured_bytes",
        "captured",
        "B",
        "length of all captured frames",
        lambda statistics: float(statistics.as_one.length),
    ),
    _entry(
        "captured_packets",
        "captured packets",
        "",
        "their number",
        lambda statistics: float(statistics.as_one.packets),
    ),
    _entry(
        "left_out_packets",
        "left out",
        "",
        "retransmissions, as tshark recognises them",
        lambda statistics: float(statistics.as_one.left_out),
        in_table=True,
    ),
    *_deltas(
        "tcp_delta",
        "TCP delta",
        lambda statistics: statistics.connections,
        "times between packets of the same connection or subflow, over those with 1 % of the bytes of the largest",
    ),
    *_deltas(
        "spacing",
        "spacing",
        lambda statistics: statistics.as_one,
        "times between any two packets that follow each other at the node",
    ),
)
