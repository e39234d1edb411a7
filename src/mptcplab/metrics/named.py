# SPDX-License-Identifier: MIT
"""Metrics and swept keys by the names that users type, and the units of their columns."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence

from mptcplab.errors import InputError
from mptcplab.metrics.column import Metric
from mptcplab.metrics.compare import AskedMetric
from mptcplab.metrics.registry import CALLED, METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.stored import StoredResults
from mptcplab.metrics.values import Unit, choose_unit, short_names, units

# Metrics and swept keys by the names that users type: from JSON and scenario files, or as tables print them.

_DELAYS = ("delay_mean_ms", "response_p50_ms", "completion_p50_s")
#: The metrics, by their names in JSON, for which other tools have these words.
OTHER_WORDS = {
    "loss": ("lost_percent", "retransmitted_percent"),
    "losses": ("lost_percent", "retransmitted_percent"),
    "throughput": ("goodput_mbps",),
    "bandwidth": ("goodput_mbps",),
    "rate": ("goodput_mbps",),
    "speed": ("goodput_mbps",),
    "latency": _DELAYS,
    "rtt": _DELAYS,
    "fct": ("completion_p50_s", "duration_s"),
    "time": ("duration_s", "completion_p50_s"),
    "duration": ("duration_s",),
    "downtime": ("outage_s", "gap_s"),
}

#: The unit at the end of a name in JSON: users add it to the heads of columns, too.
_UNIT = re.compile(r"_(?:ms|s|mbps|percent|bytes)$")
#: The part of a name that says which percentile.
_PERCENTILE = re.compile(r"_p\d+(?=_)")

#: Words for what belongs to a point and not to one of its workloads.
OF_POINTS = dict.fromkeys(
    ("fairness", "jain", "jain_index", "jain's index"),
    "Jain's index is of all workloads of a point: `fairness` in results.json",
)


def find_key(name: str, keys: Sequence[str]) -> str | None:
    """Return the swept key with a full or a short name; None for none. :raises InputError: if the name is ambiguous."""
    short = short_names(list(keys))
    exact = [key for key in keys if name in (key, short[key])]
    texts = exact or [key for key in keys if name == key.rpartition(".")[2]]
    if len(texts) > 1:
        raise InputError(f"'{name}' is the end of several swept keys", hint=f"use one of {', '.join(texts)}")
    return texts[0] if texts else None


def swept_key(name: str, keys: Sequence[str]) -> str:
    """Return the swept key with a full or a short name. :raises InputError: if no key has it, or it is ambiguous."""
    key = find_key(name, keys)
    if key is not None:
        return key
    there = ", ".join(short_names(list(keys)).values())
    raise InputError(f"'{name}' is not a swept key", hint=f"use one of {there}" if there else "nothing is swept here")


def named_metrics(name: str) -> list[str]:
    """Return the names in JSON of the metrics that JSON or tables call so."""
    return [metric for metric in METRICS if name.casefold() in map(str.casefold, names_of(METRICS[metric]))]


def metric_named(name: str, there: Collection[str]) -> Metric:
    """Return the metric with a name as JSON or tables have it, preferably from those ``there``.

    :raises InputError: if the metric does not exist, or the name is ambiguous.
    """
    wanted = name.casefold()
    texts = named_metrics(name)
    texts = [text for text in texts if text in there] or texts
    if len(texts) > 1 and name not in texts:
        raise InputError(f"'{name}' is the name of several metrics", hint=f"use one of {', '.join(texts)}")
    if texts:
        return METRICS[name if name in texts else texts[0]]
    raise InputError(f"there is no metric '{name}'", hint=_metric_hint(wanted, there))


def needs_of(metric: Metric) -> str:
    """Return the beginning of the hint for results without ``metric``: the runs it needs; empty for most metrics."""
    return f"it needs {metric.needs}; " if metric.needs else ""


def _metric_hint(wanted: str, there: Collection[str]) -> str:
    """Return what an unknown name may mean: metrics of these results that other tools call so, or one spelled alike."""
    if wanted in OF_POINTS:
        return OF_POINTS[wanted]
    heads = [head for text in there for head in names_of(METRICS[text]) if head.casefold() == _UNIT.sub("", wanted)]
    if heads:
        return f"did you mean `{heads[0]}`?"
    others = {word: [text for text in names if text in there] for word, names in OTHER_WORDS.items()}
    others = {word: names for word, names in others.items() if names}
    known = [*(word for word, name in CALLED.items() if not there or name in there), *others]
    alike = difflib.get_close_matches(wanted, known, n=1)
    near = [wanted] if wanted in known else with_part(wanted, there) or _with_other_percentiles(alike, there)
    if not near:
        return f"these results have {', '.join(there)}"
    if near[0] not in others:
        return f"did you mean {' or '.join(f'`{text}`' for text in near)}?"
    told = (f"`{text}` ({_first_sentence(METRICS[text])})" for text in others[near[0]])
    return f"did you mean {', or '.join(told)}?"


def with_part(word: str, names: Iterable[str]) -> list[str]:
    """Return the names in JSON that have a word between their underscores: of ``p95``, all 95th percentiles."""
    return [name for name in names if word.casefold() in name.split("_")]


def _with_other_percentiles(names: Sequence[str], there: Iterable[str]) -> list[str]:
    """Return the names that are ``there`` and equal the first one but for the percentile; if there are none, ``names``.

    Nothing says which of these was meant.
    """
    family = [text for text in there if names and _PERCENTILE.sub("", text) == _PERCENTILE.sub("", names[0])]
    return family or list(names)


def _first_sentence(metric: Metric) -> str:
    """Return the beginning of a metric's definition for a terminal, where links of Markdown are only their words."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", metric.definition).partition(". ")[0]


def names_of(metric: Metric) -> tuple[str, ...]:
    """Return the names that users may type: in JSON, the noun, and the heads of columns in a unit that suits."""
    heads = [metric.heading_in(unit.name) for unit in units(metric.unit)] if metric.display.in_table else []
    return tuple(dict.fromkeys([metric.noun, metric.name, metric.noun.replace(" ", "_"), *heads]))


def metric_of(text: str, results: Sequence[StoredResults]) -> AskedMetric:
    """Return the metric that ``[WORKLOAD:]NAME`` asks for, and the workload, None for all.

    :raises InputError: if ``results`` have no such workload, or the workload has no such metric.
    """
    workload, colon, name = text.rpartition(":")
    rows = [row for stored in results for row in stored.rows]
    workloads = list(dict.fromkeys(row.workload for row in rows))
    if colon and workload not in workloads:
        raise InputError(f"--metric: there is no workload '{workload}'", hint=f"use one of {', '.join(workloads)}")
    of_workload = [row for row in rows if not colon or row.workload == workload]
    there = [metric_name for metric_name in METRICS if any(row.values_of(metric_name) for row in of_workload)]
    metric = metric_named(name, there)
    if metric.name not in there:
        of = f"of the workload {workload} " if colon else ""
        having = dict.fromkeys(row.workload for row in rows if row.values_of(metric.name))
        hint = f"{needs_of(metric)}there are {', '.join(there)}"
        hint = f"the workloads that have it: {', '.join(having)}" if having else hint
        raise InputError(f"--metric: no row {of}has {metric.name}", hint=hint)
    return metric.name, workload if colon else None


# The unit of a metric's column, which the columns of other statistics of the same quantity share.

#: The part of a metric's name in JSON that names the statistic.
_STATISTIC = re.compile(r"_(mean|p\d+|max)(?=_)")


def unit_of(metric: Metric, rows: Iterable[ResultRow]) -> Unit:
    """Return the unit in which the table and the figures of ``rows`` have a metric.

    A quantity's mean, percentiles and maximum have one unit, which suits the values in tables. So a column has the
    same unit whatever other columns are chosen.
    """
    statistics = [
        other for other in METRICS.values() if _quantity(other) == _quantity(metric) and other.display.in_table
    ]
    every = [row.metrics for row in rows]
    shown = [metrics[other.name].mean for metrics in every for other in statistics if other.name in metrics]
    means = [metrics[metric.name].mean for metrics in every if metric.name in metrics]
    return choose_unit(metric.unit, shown or means, digits=metric.display.digits)


def _quantity(metric: Metric) -> str:
    """Return the name without the statistic. It ends with the unit: only values in one unit have one name."""
    return _STATISTIC.sub("", metric.name)
