# SPDX-License-Identifier: MIT
"""All metrics, by their names in JSON: those of :mod:`mptcplab.metrics.catalog`, and of :mod:`mptcplab.plugins`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from mptcplab.errors import InputError
from mptcplab.metrics import catalog
from mptcplab.metrics.metric import Metric, Subject
from mptcplab.plugins import modules_of, plugins


def _metrics_in(module: ModuleType) -> Iterator[Metric]:
    for value in vars(module).values():
        some = value if isinstance(value, (list, tuple)) else (value,)
        yield from (one for one in some if isinstance(one, Metric))


def _all_metrics() -> dict[str, Metric]:
    found: dict[str, Metric] = {}
    for module in (*modules_of(catalog), *plugins()):
        for metric in _metrics_in(module):
            if found.setdefault(metric.name, metric) is not metric:
                hint = f"give the one in {module.__name__} another name"
                raise InputError(f"two metrics are called {metric.name}", hint=hint)
    return dict(sorted(found.items(), key=lambda item: (not item[1].basic, item[1].place)))


#: In the order of columns.
METRICS = _all_metrics()
#: Those that every row has.
BASIC = [name for name, metric in METRICS.items() if metric.basic]
#: By what people call them: the basic ones by their nouns, the others by their names in JSON.
CALLED = {metric.noun if metric.basic else name: name for name, metric in METRICS.items()}


def columns(rows: Iterable[Mapping[str, object]], *, hidden: bool = False) -> list[str]:
    """The metrics beside the basic ones that some row has, in their order; ``hidden``: also those not in tables."""
    there = {name for row in rows for name in row}
    return [
        name for name, metric in METRICS.items() if name in there and not metric.basic and (metric.in_table or hidden)
    ]


def measured(subject: Subject) -> dict[str, float]:
    """Return all that ``subject`` has. :raises InputError: when its kind tells what is no metric."""
    strange = ", ".join(name for name in subject.reading.metrics if name not in METRICS)
    if strange:
        hint = "define a Metric of this name beside it"
        raise InputError(f"workloads of kind {subject.described['kind']} tell {strange}, which is no metric", hint=hint)
    values = ((name, metric.of(subject)) for name, metric in METRICS.items())
    return {name: value for name, value in values if value is not None}
