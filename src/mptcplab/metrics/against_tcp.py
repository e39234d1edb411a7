# SPDX-License-Identifier: MIT
"""MPTCP against TCP on each of its paths, in other runs: what may be compared, and the aggregation benefit.

A metric of one run cannot know other runs, so this one is computed when the runs of an experiment become rows.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from mptcplab.metrics.catalog.paths import aggregation_benefit
from mptcplab.metrics.manifest import read_facts, read_links, read_paths, read_scenario
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.recording.record import Recording

#: Last parts of the swept keys that may differ between an MPTCP run and its TCP runs: the first says which it is, the
#: second chooses the path of TCP, and TCP has no scheduler.
_FREE_KEYS = ("protocol", "via", "scheduler")
#: What the names of a zip's positions are called among the settings: ``name``, ``name2``.
LABEL = re.compile(r"name\d*")


@dataclass(frozen=True)
class ComparedRun:
    """A run with its only workload. ``conditions`` are from :func:`hash_conditions`, empty if unknown."""

    settings: tuple[tuple[str, str], ...]
    seed: int
    measured: WorkloadMeasurement
    conditions: str = ""


def hash_conditions(recording: Recording) -> str:
    """Return the hash of what an MPTCP run and its TCP runs have in common; empty if the manifest does not say it."""
    scenario = read_scenario(recording)
    if scenario is None:
        return ""
    conditions = [read_facts(recording).kernel.release, _drop_free_keys(scenario)]
    return hashlib.sha256(json.dumps(conditions, sort_keys=True).encode()).hexdigest()


def _drop_free_keys(value: Any, table: str = "") -> Any:
    if isinstance(value, list):
        return [_drop_free_keys(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {key: _drop_free_keys(entry, key) for key, entry in value.items() if not _is_free(table, key, entry)}


def _is_free(table: str, key: str, value: Any) -> bool:
    # A table with such a name is a node, link or workload. Weights belong to the scheduler.
    return (key in _FREE_KEYS and not isinstance(value, dict)) or (table, key) == ("transport", "weights")


def path_rates(recording: Recording, workload: str) -> dict[str, float]:
    """Return the rates in bit/s of the paths of a workload, as configured: of each, the lowest of its links.

    Paths that nothing limits, or that follow a trace, are left out.
    """
    links = read_links(recording)
    rates = {}
    for path, steps in read_paths(recording, workload).items():
        directions = [links[link].in_direction(name) for link, name in steps]
        limits = [direction.rate_bps for direction in directions if direction.rate_bps is not None]
        if limits and not any(direction.has_trace for direction in directions):
            rates[path] = min(limits)
    return rates


def benefits_over_tcp(runs: Sequence[ComparedRun]) -> Iterator[float | None]:
    """Yield the aggregation benefit of each run; None unless TCP ran on all of its paths, and nothing else differed."""
    goodputs: dict[object, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        path = _path_of_tcp(run.measured)
        if path is not None:
            goodputs[_shared_conditions(run)][path].append(run.measured.goodput_bps)
    for run in runs:
        yield _benefit(run.measured, goodputs.get(_shared_conditions(run), {}))


def _shared_conditions(run: ComparedRun) -> object:
    settings = tuple(setting for setting in run.settings if setting[0].rpartition(".")[2] not in _FREE_KEYS)
    keys = tuple(setting for setting in settings if not LABEL.fullmatch(setting[0]))
    if run.conditions and len(keys) < len(settings):
        # A label hides the keys that it stands for, which need not be free ones: the whole scenario tells.
        return keys, run.conditions, run.seed, run.measured.workload
    return settings, "", run.seed, run.measured.workload


def _path_of_tcp(measured: WorkloadMeasurement) -> str | None:
    """Return the path of a workload all of whose connections were TCP from the beginning, and took the same path."""
    use, paths = measured.sockets.use, list(measured.sockets.shares)
    is_plain = use.connections > 0 and not use.with_mptcp and not use.fell_back
    return paths[0] if measured.is_bulk and is_plain and len(paths) == 1 else None


def _benefit(measured: WorkloadMeasurement, goodputs: Mapping[str, Sequence[float]]) -> float | None:
    paths = measured.sockets.shares
    if not measured.is_bulk or not measured.sockets.use.with_mptcp or not all(path in goodputs for path in paths):
        return None
    return aggregation_benefit(measured.goodput_bps, [fmean(goodputs[path]) for path in paths])
