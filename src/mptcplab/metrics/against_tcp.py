# SPDX-License-Identifier: MIT
"""Aggregation benefit against TCP: goodput of MPTCP beside that of TCP on each of its paths, in other runs.

A metric of one run cannot know other runs, so this one is computed when the runs of an experiment become rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from mptcplab.metrics.catalog.aggregation import aggregation_benefit
from mptcplab.metrics.measure import WorkloadMeasurement

#: Settings, seed and only workload of a run.
Run = tuple[tuple[tuple[str, str], ...], int, WorkloadMeasurement]
#: Last parts of the swept keys that may differ between an MPTCP run and its TCP runs: the first says which it is, the
#: second chooses the path of TCP, and TCP has no scheduler.
_FREE_KEYS = ("protocol", "via", "scheduler")


def benefits_over_tcp(runs: Sequence[Run]) -> Iterator[float | None]:
    """Yield the aggregation benefit of each run; None unless TCP ran on all of its paths, and nothing else differed."""
    goodputs: dict[object, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        path = _path_of_tcp(run[-1])
        if path is not None:
            goodputs[_what_is_shared(run)][path].append(run[-1].goodput_bps)
    for run in runs:
        yield _benefit(run[-1], goodputs.get(_what_is_shared(run), {}))


def _what_is_shared(run: Run) -> object:
    settings, seed, measured = run
    return tuple(one for one in settings if one[0].rpartition(".")[2] not in _FREE_KEYS), seed, measured.workload


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
