# SPDX-License-Identifier: MIT
"""The metric that a figure draws, by its name or by what the workloads are about."""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.errors import InputError
from mptcplab.metrics.metric import Metric
from mptcplab.metrics.named import metric_named, needs_of
from mptcplab.metrics.registry import METRICS, headline_metric
from mptcplab.metrics.rows import ResultRow


def metric_of_rows(rows: Sequence[ResultRow], name: str | None, every: Sequence[ResultRow]) -> Metric:
    """Return the metric with a name as JSON or tables have it; without one, that which the workloads are about.

    ``rows`` are drawn, ``every`` has all rows.
    :raises InputError: if the metric does not exist or the rows lack it.
    """
    there = [metric for metric in METRICS if any(_has_metric(row, metric) for row in rows)]
    if name is None:
        return headline_metric(there)
    found_metric = metric_named(name, there)
    if found_metric.name in there:
        return found_metric
    if any(found_metric.name in row.never for row in rows):
        raise InputError(
            f"no run has a value of {found_metric.name}: {found_metric.display.never} within any run",
            hint=f"these results have {', '.join(there)}",
        )
    having = dict.fromkeys(
        row.workload for row in every if _has_metric(row, found_metric.name) or found_metric.name in row.never
    )
    lacking = dict.fromkeys(row.workload for row in rows)
    if not having:
        hint = f"{needs_of(found_metric)}these results have {', '.join(there)}"
        raise InputError(f"no run has the metric {found_metric.name}", hint=hint)
    if having.keys() & lacking.keys():
        message = f"no run of these points has the metric {found_metric.name}"
        raise InputError(message, hint=f"others have it; these have {', '.join(there)}")
    raise InputError(
        f"no run of {', '.join(lacking)} has the metric {found_metric.name}, which has no meaning for such a workload",
        hint=f"{', '.join(having)} has it; {', '.join(lacking)} has {', '.join(there)}",
    )


def _has_metric(row: ResultRow, metric: str) -> bool:
    return metric in row.metrics or (METRICS[metric].by_path and bool(row.share_values))
