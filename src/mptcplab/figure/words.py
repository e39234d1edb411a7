# SPDX-License-Identifier: MIT
"""The words of a figure: names of swept keys and of their values, and the events of a run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mptcplab.errors import InputError
from mptcplab.figure.sweep import PATH
from mptcplab.gateway.words import event_words, words_at_instant
from mptcplab.metrics.column import Metric
from mptcplab.metrics.instants import NetworkEvent, read_events
from mptcplab.metrics.manifest import read_links, read_nodes, read_scheduled_events
from mptcplab.metrics.named import find_key, named_metrics
from mptcplab.metrics.radios import Association, changes_of_stations
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.values import short_names
from mptcplab.node.words import path_manager_words
from mptcplab.recording.record import Recording
from mptcplab.results import RecordedRun, Results

# The words of a figure: names of swept keys and of their values, as the user or the results have them.


@dataclass(frozen=True)
class Words:
    """The name of each swept key, and the words for values; ``labelled`` are the keys that the user has named.

    ``workloads`` and ``metrics`` have the user's words for workloads, and for metrics by their names in JSON.
    """

    keys: Mapping[str, str]
    values: Mapping[str, str]
    labelled: frozenset[str] = frozenset()
    workloads: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)

    def row(self, row: ResultRow) -> ResultRow:
        """Return ``row`` with the words of its values."""
        return replace(row, settings={key: self.value(value) for key, value in row.settings.items()})

    def run(self, run: RecordedRun) -> RecordedRun:
        """Return ``run`` with the words of its values."""
        settings = tuple((key, self.value(value)) for key, value in run.result.settings)
        return replace(run, result=replace(run.result, settings=settings))

    def value(self, value: str) -> str:
        """Return the words for a value."""
        return self.values.get(value, value)

    def workload(self, name: str) -> str:
        """Return the words for a workload."""
        return self.workloads.get(name, name)

    def metric(self, metric: Metric) -> Metric:
        """Return ``metric`` with the title of its axis."""
        axis = self.metrics.get(metric.name, metric.display.axis)
        return replace(metric, display=replace(metric.display, axis=axis))

    def time(self, time: str) -> str:
        """Return the words for what a distribution shows, ``completion time``: the words of a metric of these times."""
        return next((text for name, text in self.metrics.items() if _is_about(name, time)), time)

    def describe_choice(self, wanted: Mapping[str, Sequence[str]]) -> str:
        """Return which part of the results the values by key select; "" for all."""
        texts = (
            f"{self.keys[key]} {' or '.join(dict.fromkeys(map(self.value, values)))}".strip()
            for key, values in wanted.items()
        )
        text = ", ".join(texts)
        return f"only {text}" if text else ""

    def reason(self, text: str, settings: Mapping[str, str]) -> str:
        """Return why the point with these ``settings`` has no value, in the words of the figure."""
        for key, value in settings.items():
            name = self.keys[key] if key in self.labelled else key
            # The value is what the sentence is about.
            text = text.replace(f'{key} = "{value}": ', f'"{self.value(value)}" ({name}) ').replace(key, name)
        return text


def words(results: Results, labels: Sequence[tuple[str, str]], paths: Sequence[str] = ()) -> Words:
    """Return the words of a figure of ``results``, with ``labels`` for keys, values, workloads or metrics.

    ``paths`` are drawn separately, as values of a key of their own. A name that several have means the first.
    :raises InputError: for a label that names nothing, or two values or workloads with the same words.
    """
    keys = list(dict.fromkeys(key for run in results.recorded for key in run.settings)) + ([PATH] if paths else [])
    points = [*(run.settings for run in results.recorded), *(settings for settings, _ in results.stored.unavailable)]
    values = dict.fromkeys([*(value for settings in points for value in settings.values()), *paths])
    of_values = {name: text for name, text in labels if name in values and find_key(name, keys) is None}
    workloads = dict.fromkeys(row.workload for row in results.rows)
    there = {metric for row in results.rows for metric in row.metrics}
    of_keys, of_workloads, of_metrics = {}, {}, {}
    for name, text in labels:
        key = find_key(name, keys)
        if key is not None:
            of_keys[key] = text
        elif name in workloads and name not in of_values:
            of_workloads[name] = text
        elif name not in of_values:
            of_metrics.update(
                dict.fromkeys(_metrics_named(name, there, [*short_names(keys).values(), *values, *workloads]), text)
            )
    texts = Words({**short_names(keys), **of_keys}, of_values, frozenset(of_keys), of_workloads, of_metrics)
    _check_distinct(texts, results, paths)
    return texts


def _is_about(metric: str, time: str) -> bool:
    """Return whether a metric is one of such times: ``completion_p95_s`` of the ``completion time``."""
    return metric.startswith(f"{time.casefold().removesuffix(' time')}_")


def _metrics_named(name: str, there: Collection[str], others: Sequence[str]) -> list[str]:
    """Return the metrics of the results with a name. :raises InputError: without any; ``others`` have names, too."""
    metrics = [named_metric for named_metric in named_metrics(name) if named_metric in there]
    if not metrics and name.endswith(" time"):
        metrics = [metric for metric in METRICS if metric in there and _is_about(metric, name)]
    if not metrics:
        nouns = dict.fromkeys(METRICS[metric].noun for metric in METRICS if metric in there)
        raise InputError(
            f"'{name}' is not a swept key or value, nor a workload or metric of these results",
            hint=f"use one of {', '.join(others)}; or a metric: {', '.join(nouns)}",
        )
    return metrics


def _check_distinct(texts: Words, results: Results, paths: Sequence[str]) -> None:
    for key in texts.keys:
        swept = (run.settings[key] for run in results.recorded if key in run.settings)
        values = dict.fromkeys(paths if key == PATH else swept)
        if len(set(map(texts.value, values))) < len(values):
            raise InputError(f"two values of {key} have the same words", hint="give each --label words of its own")
    workloads = dict.fromkeys(row.workload for row in results.rows)
    if len(set(map(texts.workload, workloads))) < len(workloads):
        raise InputError("two workloads have the same words", hint="give each --label words of its own")


# The events of a run in words, as marks in figures over time.

#: More marks than this hide the curves.
_MAX_MARKS = 24
_NS = 1e9
#: No loss as recordings have it, in the smallest unit, which nobody writes.
_NO_LOSS = re.compile(r"\b0 ppb\b")
_HOST = "host"
#: The words for failures at one end of a link, and the other kinds of events at one.
_FAILURES = {("down", "interface"): "interface down", ("down", "carrier"): "no carrier"}
_OF_ADDRESSES = ("address-removed", "address-added")


class EventMark(NamedTuple):
    """The events at one instant of a run, in words."""

    time_s: float
    text: str


def event_marks(recording: Recording) -> list[EventMark]:
    """Return the events of a run, except the steps of traces, by instant; only the first if there are many.

    What stations associate with and lose is among them.
    """
    ends = {(link, kind): iter(nodes) for (link, kind), nodes in _ends(recording).items()}
    texts = []
    for event in sorted(read_events(recording), key=lambda event: event.instant_ns):
        node = next(ends.get((event.link, event.kind), iter(())), "")
        if event.kind != "trace":
            texts.append((event.instant_ns, _event_words(event, node)))
    texts += [
        (changes_of_station.time_ns, _association_words(changes_of_station))
        for changes_of_station in changes_of_stations(recording)
    ]
    names: dict[float, list[str]] = {}
    for instant_ns, text in sorted(texts, key=lambda pair: pair[0]):
        names.setdefault(instant_ns / _NS, []).append(text)
    first = list(names.items())[:_MAX_MARKS]
    return [EventMark(time_s, "; ".join(words_at_instant(texts))) for time_s, texts in first]


def _ends(recording: Recording) -> dict[tuple[str, str], list[str]]:
    """Return the nodes of the events of each link and kind, in the order of time; "" for an event of both ends.

    Recordings of events have a link only.
    """
    ends: dict[tuple[str, str], list[str]] = {}
    for event in read_scheduled_events(recording):
        at_end = event.mode in ("interface", "carrier") or event.type in _OF_ADDRESSES
        node = event.node or next(_hosts(recording, event.link), "") if at_end else ""
        ends.setdefault((event.link, event.type), []).append(node)
    return ends


def _hosts(recording: Recording, name: str) -> Iterator[str]:
    """Yield the hosts at a link: an event that names no end is at the only one."""
    hosts = {node.name for node in read_nodes(recording).values() if node.kind == _HOST}
    link = read_links(recording).get(name)
    if link is not None:
        yield from (node for node in link.between if node in hosts)


def _event_words(event: NetworkEvent, node: str) -> str:
    """Return an event in words, with the ``node`` at whose end of the link it happens, if it is at one."""
    known = event_words(event.kind, event.link, event.value)
    known = known or path_manager_words(event.kind, event.link, event.value)
    if known is not None:
        return known
    at = f" at {node}" if node else ""
    if event.kind in _OF_ADDRESSES and node:
        return f"{event.link}: {event.kind.replace('-', ' ')}{at}"
    if (event.kind, event.value) in _FAILURES and node:
        return f"{event.link}: {_FAILURES[event.kind, event.value]}{at}"
    direction = f" {event.direction}" if event.direction != "both" else ""
    value = _NO_LOSS.sub("0 %", event.value)
    return f"{event.link}{direction}: {event.kind.replace('-', ' ')} {value}".rstrip()


def _association_words(change: Association) -> str:
    verb = {"associated": "associated with", "roamed": "roamed to"}.get(change.kind, f"{change.kind} from")
    return f"{change.link}: {verb} {change.peer}"
