# SPDX-License-Identifier: MIT
"""Every metric: its name, its unit, and where it is shown.

One that is not basic belongs to a run only if it means something there: a MOS to a call, a recovery time to a run with
a failure.
Definitions and sources are in docs/metrics.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """What a metric is called and its unit; without ``in_table`` it is only in JSON and data frames.

    ``axis`` is what a diagram of it alone says, if that is more than ``noun``.
    """

    noun: str
    unit: str
    in_table: bool = True
    axis: str = ""

    @property
    def title(self) -> str:
        """What heads a column."""
        return f"{self.noun} {self.unit}".rstrip()


#: Those that every row has; the others belong to rows in which they mean something.
BASIC: dict[str, Metric] = {
    "goodput_mbps": Metric("goodput", "Mbit/s"),
    "duration_s": Metric("duration", "s"),
    "retransmitted_percent": Metric("retransmitted", "%"),
}

#: By the name in JSON, which ends with the unit. The order is that of the columns.
FIGURES: dict[str, Metric] = {
    "sent_mbps": Metric("sent", "Mbit/s", in_table=False),
    "delay_mean_ms": Metric("delay", "ms"),
    "delay_p50_ms": Metric("delay p50", "ms", in_table=False),
    "delay_p95_ms": Metric("delay p95", "ms", in_table=False),
    "delay_p99_ms": Metric("delay p99", "ms", in_table=False),
    "delay_max_ms": Metric("delay max", "ms", in_table=False),
    "jitter_ms": Metric("jitter", "ms"),
    "late_percent": Metric("late", "%"),
    "lost_percent": Metric("lost", "%"),
    "mos": Metric("MOS", ""),
    "r_factor": Metric("R", "", in_table=False),
    "latency_p50_ms": Metric("latency p50", "ms"),
    "latency_p95_ms": Metric("latency p95", "ms"),
    "latency_p99_ms": Metric("latency p99", "ms"),
    "latency_max_ms": Metric("latency max", "ms", in_table=False),
    "requests": Metric("requests", "", in_table=False),
    "completion_mean_s": Metric("completion", "s", in_table=False),
    "completion_p50_s": Metric("completion p50", "s"),
    "completion_p95_s": Metric("completion p95", "s"),
    "completion_p99_s": Metric("completion p99", "s"),
    "flows": Metric("flows", "", in_table=False),
    "files": Metric("files", "", in_table=False),
    "gap_s": Metric("gap", "s", axis="longest gap without data"),
    "recovery_after_failure_s": Metric("recovered", "s", axis="recovery after the failure"),
    "recovery_after_restoration_s": Metric("restored", "s", axis="recovery after the restoration"),
    "aggregation_benefit": Metric("aggregation benefit", "", in_table=False),
    "reinjected_percent": Metric("reinjected", "%", in_table=False),
    "duplicate_percent": Metric("twice", "%", in_table=False),
    "out_of_order_mean_bytes": Metric("out of order", "B", in_table=False),
    "out_of_order_max_bytes": Metric("out of order max", "B", in_table=False),
    "head_of_line_delay_ms": Metric("head of line", "ms", in_table=False),
}

METRICS = {**BASIC, **FIGURES}

#: What counts most for kinds of workloads that do not send as much as they can; these have a diagram of their own.
MAIN = ("delay_mean_ms", "mos", "latency_p50_ms", "completion_p50_s")
#: Those that runs with failures have, whatever their workloads.
OF_FAILURES = ("gap_s", "recovery_after_failure_s", "recovery_after_restoration_s")


def columns(all_figures: Iterable[Mapping[str, object]], *, hidden: bool = False) -> list[str]:
    """The figures that some row has, in their order; ``hidden``: also those that tables leave out."""
    there = {name for figures in all_figures for name in figures}
    return [name for name, figure in FIGURES.items() if name in there and (figure.in_table or hidden)]
