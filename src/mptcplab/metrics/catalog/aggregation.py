# SPDX-License-Identifier: MIT
"""Aggregation benefit: goodput over several paths against the best of them (0) and all of them together (1).

The definition is by Kaspar (thesis, University of Oslo, 2012), in the form of Paasch, Khalili and Bonaventure, On
the Benefits of Applying Experimental Design to Improve Multipath TCP, CoNEXT 2013, section 3. What a path gives alone
is its capacity, or what TCP got on it in other runs: these are two metrics with two names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mptcplab.metrics.column import HIDDEN
from mptcplab.metrics.instants import changes_rates
from mptcplab.metrics.manifest import Step, read_links, read_paths
from mptcplab.metrics.metric import Metric, Subject
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workloads


def aggregation_benefit(goodput_bps: float, alone_bps: Sequence[float]) -> float | None:
    """Return the benefit: -1 (nothing arrived), 0 (as much as the best path alone), up to 1 (the sum of all paths).

    ``alone_bps`` is what each path gives alone. None for fewer than two paths, or if the other paths add nothing.
    """
    best, whole = max(alone_bps, default=0.0), sum(alone_bps)
    if len(alone_bps) < 2 or best <= 0 or whole <= best:
        return None
    beyond = goodput_bps - best
    return beyond / (whole - best) if beyond >= 0 else beyond / best


def path_capacities(recording: Recording, workload: str, paths: Iterable[str]) -> list[float] | None:
    """Return the capacity of each bottleneck of ``paths`` (``access1>link1``, named from the sender's side), in bit/s.

    None if that is unknown: a path has no rate or is behind a NAT, or two paths share a link that is the bottleneck of
    only one of them.
    """
    known = read_paths(recording, workload)
    if not all(path in known for path in paths):
        return None  # behind a NAT, the receiver sees the link of the router
    links = read_links(recording)
    capacities: dict[Step, float] = {}
    used: dict[Step, int] = {}
    for path in paths:
        limits = {step: links[step[0]].side(step[1]).payload_bps for step in known[path]}
        rates = {step: rate for step, rate in limits.items() if rate is not None}
        if not rates:
            return None
        narrowest = min(rates, key=lambda step: rates[step])
        capacities[narrowest] = rates[narrowest]
        for step in rates:
            used[step] = used.get(step, 0) + 1
    shared = {step for step, count in used.items() if count > 1}
    return list(capacities.values()) if shared <= set(capacities) and (not shared or len(capacities) == 1) else None


def _benefit_of_capacity(subject: Subject) -> float | None:
    """Return the benefit of a bulk transfer that was alone in a network with constant rates."""
    recording, ends, sockets = subject.recording, subject.ends, subject.sockets
    if len(read_workloads(recording)) > 1 or not ends.is_bulk or changes_rates(recording):
        return None
    if not sockets.use.with_mptcp or len(sockets.shares) < 2:
        return None
    capacities = path_capacities(recording, ends.workload, sockets.shares)
    return aggregation_benefit(subject.reading.goodput_bps, capacities) if capacities is not None else None


#: Computed by metrics/against_tcp.py.
OVER_TCP = Metric(
    name="aggregation_benefit_over_tcp",
    higher_is_better=True,
    noun="aggregation benefit over TCP",
    unit="",
    signed=True,
    definition="from -1. 0: as much as TCP on the best path; 1: the sum of TCP on each path; below 0: less than TCP on "
    "the best path. Only where TCP ran on each path, too",
    source="Paasch et al. 2013, with goodputs of TCP",
    section="paths",
    of_rows=True,
    needs="runs of TCP over each path that MPTCP used, with the same seed and the same other settings, of one bulk "
    "workload alone",
    display=HIDDEN,
)
OF_CAPACITY = Metric(
    name="aggregation_benefit_of_capacity",
    higher_is_better=True,
    noun="aggregation benefit of capacity",
    unit="",
    signed=True,
    definition="-1 to 1. 0: as much as the best path can carry; 1: as much as all can; below 0: less than the best",
    source="Paasch et al. 2013, with capacities",
    value=_benefit_of_capacity,
    section="paths",
    display=HIDDEN,
)
