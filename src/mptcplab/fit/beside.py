# SPDX-License-Identifier: MIT
"""The twin beside the observation: what each run of the twin did, and a table of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mptcplab.fit.advise import Outcome
from mptcplab.fit.estimate import format_rate, format_share, format_time
from mptcplab.fit.observation import Observation
from mptcplab.lazy import pl
from mptcplab.metrics.ends import ends_of
from mptcplab.metrics.manifest import read_addresses
from mptcplab.metrics.rows import RunResult
from mptcplab.metrics.subflows import path_name
from mptcplab.recording.record import Recording
from mptcplab.stats.intervals import mean_interval

_LINK = re.compile(r"\blink(\d+)\b")


@dataclass(frozen=True)
class ComparedQuantity:
    """One quantity: observed, and the mean of the twin's runs with the ends of its 95 % interval.

    ``difference`` is the twin's less the observed value: a share of it, or as it is if the quantity is a share.
    """

    quantity: str
    observed: float
    twin: float
    low: float
    high: float
    difference: float
    is_share: bool
    format: Callable[[float], str]

    def to_json(self) -> dict[str, object]:
        """Return the values in the unit of the quantity: bit/s, s, or a share."""
        return {
            "quantity": self.quantity,
            "observed": float(self.observed),
            "twin": self.twin,
            "low": self.low,
            "high": self.high,
            "difference": float(self.difference),
        }


def outcome_of(result: RunResult, recording: Recording) -> Outcome:
    """Return what one run of the twin did: its only workload is the transfer."""
    measured = result.measured[0]
    ends = ends_of(recording)[0]
    sockets = measured.sockets
    shares: dict[str, float] = {}
    for path, share in sockets.shares.items():
        shares[_line_name(path)] = shares.get(_line_name(path), 0.0) + share
    return Outcome(
        goodput_bps=measured.goodput_bps,
        retransmitted=(sockets.retransmitted_bytes or 0) / max(sockets.sent_bytes or 0, 1),
        shares=shares,
        rtt_s=_round_trips(recording, ends.sender),
    )


def _round_trips(recording: Recording, sender: str) -> dict[str, float]:
    """Return the median smoothed round trip of each line, of the sender's samples while it sent."""
    frame = recording.subflows
    if not frame.height or "rtt_us" not in frame.columns:
        return {}
    frame = frame.filter((pl.col("node") == sender) & (pl.col("bytes_acked") > 0) & (pl.col("rtt_us") > 0))
    addresses = read_addresses(recording)
    times: dict[str, list[float]] = {}
    for row in frame.select("local", "remote", "rtt_us").iter_rows(named=True):
        times.setdefault(_line_name(path_name(row, addresses)), []).append(row["rtt_us"] / 1e6)
    return {name: sorted(values)[len(values) // 2] for name, values in times.items()}


def _line_name(path: str) -> str:
    """Return the name of a twin's line by the name of a path, such as ``access1>link1``."""
    match = _LINK.search(path)
    return f"line{match[1]}" if match else path


def compare(observation: Observation, outcomes: Sequence[Outcome]) -> list[ComparedQuantity]:
    """Return what was observed beside the runs of the twin; empty if no transfer was observed."""
    transfer = observation.transfer
    if transfer is None or not outcomes:
        return []
    # The twin's lines are numbered in the order of the observation, whatever their names are.
    names = {line.name: f"line{number}" for number, line in enumerate(observation.lines, start=1)}

    def row(
        quantity: str,
        observed: float,
        values: Sequence[float],
        format_value: Callable[[float], str],
        *,
        is_share: bool = False,
    ) -> ComparedQuantity:
        interval = mean_interval(values)
        difference = interval.mean - observed
        if not is_share:
            difference /= observed
        return ComparedQuantity(
            quantity, observed, interval.mean, interval.low, interval.high, difference, is_share, format_value
        )

    rows = [row("goodput", transfer.goodput_bps, [outcome.goodput_bps for outcome in outcomes], format_rate)]
    for name, observed in transfer.rtt_s.items():
        values = [outcome.rtt_s[names[name]] for outcome in outcomes if names[name] in outcome.rtt_s]
        rows += [row(f"round trip under load, {name}", observed, values, format_time)] if values else []
    for name, observed in transfer.shares.items():
        values = [outcome.shares.get(names[name], 0.0) for outcome in outcomes]
        rows.append(row(f"share of {name}", observed, values, format_share, is_share=True))
    values = [outcome.retransmitted for outcome in outcomes]
    rows.append(row("retransmitted", transfer.retransmitted, values, format_share, is_share=True))
    return rows
