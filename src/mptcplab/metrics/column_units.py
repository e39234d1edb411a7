# SPDX-License-Identifier: MIT
"""The unit of a metric's column, which the columns of other statistics of the same quantity share."""

from __future__ import annotations

import re
from collections.abc import Iterable

from mptcplab.metrics.metric import Metric
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import Unit, choose_unit

#: The part of a metric's name in JSON that names the statistic.
_STATISTIC = re.compile(r"_(mean|p\d+|max)(?=_)")


def unit_of(metric: Metric, rows: Iterable[ResultRow]) -> Unit:
    """Return the unit in which the table and the figures of ``rows`` have a metric.

    A quantity's mean, percentiles and maximum have one unit, which suits the values in tables. So a column has the
    same unit whatever other columns are chosen.
    """
    statistics = [
        this_metric
        for this_metric in METRICS.values()
        if _quantity(this_metric) == _quantity(metric) and this_metric.display.in_table
    ]
    every = [row.metrics for row in rows]
    shown = [
        metrics[this_metric.name].mean for metrics in every for this_metric in statistics if this_metric.name in metrics
    ]
    own_means = [metrics[metric.name].mean for metrics in every if metric.name in metrics]
    return choose_unit(metric.unit, shown or own_means, digits=metric.display.digits)


def _quantity(metric: Metric) -> str:
    """Return the name without the statistic. It ends with the unit: only values in one unit have one name."""
    return _STATISTIC.sub("", metric.name)
