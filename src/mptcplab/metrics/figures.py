# SPDX-License-Identifier: MIT
"""Every figure beyond goodput, duration and retransmissions: its name, its unit, and where it is shown.

A figure belongs to a run only if it means something there: a MOS to a call, a recovery time to a run with a failure.
Definitions and sources are in docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """``title`` heads a column and has the unit; without ``in_table`` a figure is only in JSON and data frames."""

    title: str
    in_table: bool = True


#: By the name in JSON, which ends with the unit. The order is that of the columns.
FIGURES: dict[str, Figure] = {
    "sent_mbps": Figure("sent Mbit/s", in_table=False),
    "delay_mean_ms": Figure("delay ms"),
    "delay_p50_ms": Figure("delay p50 ms", in_table=False),
    "delay_p95_ms": Figure("delay p95 ms", in_table=False),
    "delay_p99_ms": Figure("delay p99 ms", in_table=False),
    "delay_max_ms": Figure("delay max ms", in_table=False),
    "jitter_ms": Figure("jitter ms"),
    "late_percent": Figure("late %"),
    "lost_percent": Figure("lost %"),
    "mos": Figure("MOS"),
    "r_factor": Figure("R", in_table=False),
    "latency_p50_ms": Figure("latency p50 ms"),
    "latency_p95_ms": Figure("latency p95 ms"),
    "latency_p99_ms": Figure("latency p99 ms"),
    "latency_max_ms": Figure("latency max ms", in_table=False),
    "requests": Figure("requests", in_table=False),
    "completion_mean_s": Figure("completion s", in_table=False),
    "completion_p50_s": Figure("completion p50 s"),
    "completion_p95_s": Figure("completion p95 s"),
    "completion_p99_s": Figure("completion p99 s"),
    "flows": Figure("flows", in_table=False),
    "files": Figure("files", in_table=False),
    "gap_s": Figure("gap s"),
    "recovery_after_failure_s": Figure("recovered s"),
    "recovery_after_restoration_s": Figure("restored s"),
    "aggregation_benefit": Figure("aggregation benefit", in_table=False),
    "reinjected_percent": Figure("reinjected %", in_table=False),
    "duplicate_percent": Figure("twice %", in_table=False),
    "out_of_order_mean_bytes": Figure("out of order B", in_table=False),
    "out_of_order_max_bytes": Figure("out of order max B", in_table=False),
    "head_of_line_delay_ms": Figure("head of line ms", in_table=False),
}

#: What counts most for kinds of workloads that do not send as much as they can; these have a diagram of their own.
MAIN = ("delay_mean_ms", "mos", "latency_p50_ms", "completion_p50_s")
#: Those that runs with failures have, whatever their workloads.
OF_FAILURES = ("gap_s", "recovery_after_failure_s", "recovery_after_restoration_s")


def columns(all_figures: Iterable[Mapping[str, object]], *, hidden: bool = False) -> list[str]:
    """The figures that some row has, in their order; ``hidden``: also those that tables leave out."""
    there = {name for figures in all_figures for name in figures}
    return [name for name, figure in FIGURES.items() if name in there and (figure.in_table or hidden)]
