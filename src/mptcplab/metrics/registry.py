# SPDX-License-Identifier: MIT
"""All metrics by their names in JSON, from :mod:`mptcplab.metrics.catalog` and :mod:`mptcplab.plugins`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mptcplab.errors import InputError
from mptcplab.metrics import catalog
from mptcplab.metrics.column import Metric, Subject, columns_in
from mptcplab.plugins import modules_of, plugins

#: The sections of docs/metrics.md in the order in which tables have their columns; others come last.
_SECTIONS = (
    "basic",
    "messages",
    "requests",
    "connections",
    "failures",
    "paths",
    "cpu",
    "captures",
    "radio",
    "steering",
)


def _order(metric: Metric) -> tuple[bool, int, int]:
    section = _SECTIONS.index(metric.section) if metric.section in _SECTIONS else len(_SECTIONS)
    return not metric.in_every_row, section, metric.display.order


def _all_metrics() -> dict[str, Metric]:
    metrics: dict[str, Metric] = {}
    for module in (*modules_of(catalog), *plugins()):
        for metric in columns_in(module, Metric):
            if metrics.setdefault(metric.name, metric) is not metric:
                hint = f"give the one in {module.__name__} another name"
                raise InputError(f"two metrics are called {metric.name}", hint=hint)
    return dict(sorted(metrics.items(), key=lambda item: _order(item[1])))


#: All metrics, in the order of columns.
METRICS = _all_metrics()
#: The metrics that every row has.
IN_EVERY_ROW = [name for name, metric in METRICS.items() if metric.in_every_row]
#: Names in JSON by the names that users type: nouns for metrics in every row, names in JSON for the others.
CALLED = {metric.noun if metric.in_every_row else name: name for name, metric in METRICS.items()}


def headline_metric(names: Iterable[str]) -> Metric:
    """Return the metric by which figures show workloads with these metrics: goodput, unless one is a headline."""
    first = max(
        (METRICS[name] for name in names if name in METRICS), key=lambda metric: metric.display.headline, default=None
    )
    return first if first is not None and first.display.headline else METRICS["goodput_mbps"]


def list_metric_names(rows: Iterable[Mapping[str, object]], *, hidden: bool = False) -> list[str]:
    """Return the names of metrics that only some rows have, in order; with ``hidden``, also those not in tables."""
    there = {name for row in rows for name in row}
    return [
        name
        for name, metric in METRICS.items()
        if name in there and not metric.in_every_row and (metric.display.in_table or hidden)
    ]


def compute_metrics(subject: Subject) -> dict[str, float]:
    """Return the metrics of ``subject``: infinity if the measured event did not occur within the run.

    :raises InputError: if its workload kind reports an undefined metric.
    """
    unknown = ", ".join(name for name in subject.reading.metrics if name not in METRICS)
    if unknown:
        hint = "define a Metric of this name in the module of the kind"
        raise InputError(f"workloads of kind {subject.workload.kind} report undefined metrics: {unknown}", hint=hint)
    values = ((name, metric.compute(subject)) for name, metric in METRICS.items())
    return {name: value for name, value in values if value is not None}
