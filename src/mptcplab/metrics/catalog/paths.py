# SPDX-License-Identifier: MIT
"""The gains and costs of several paths: aggregation benefit, shares of the paths, and data that arrived early."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.lazy import Numbers, np, pl
from mptcplab.metrics.column import HIDDEN, Display, Metric, Subject
from mptcplab.metrics.instants import changes_rates
from mptcplab.metrics.manifest import Step, read_links, read_paths
from mptcplab.metrics.subflows import Ends
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workloads

# Aggregation benefit: goodput over several paths against the best of them (0) and all of them together (1).
#
# The definition is by Kaspar (thesis, University of Oslo, 2012), in the form of Paasch, Khalili and Bonaventure, On
# the Benefits of Applying Experimental Design to Improve Multipath TCP, CoNEXT 2013, section 3. What a path gives
# alone is its capacity, or what TCP got on it in other runs: these are two metrics with two names.


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
    """Return the capacity of each bottleneck of ``paths`` (``access1>link1``, named from the sender on), in bit/s.

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
        limits = {step: links[step[0]].in_direction(step[1]).payload_bps for step in known[path]}
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
    definition="0 is as much as TCP on the best path, 1 the sum of TCP on each path; below 0, at least -1, is less "
    "than TCP on the best path. Only where TCP ran on each path, too",
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
    definition="0 is as much as the best path can carry, 1 as much as all can; below 0, at least -1, is less than the "
    "best",
    source="Paasch et al. 2013, with capacities",
    value=_benefit_of_capacity,
    section="paths",
    display=HIDDEN,
)


# The cost of several paths at the receiver: data that arrived early, waited for other data, or arrived twice.
#
# Samples of ``flow`` have the bytes that each subflow has received in order, and the part of them that is in order for
# the application. The difference either waits in MPTCP's out-of-order queue, or is duplicate data.


@dataclass(frozen=True)
class Reassembly:
    """One connection at the receiver: bytes received on subflows, and bytes in order, at ``times_s``."""

    times_s: Numbers
    on_subflows: Numbers
    in_order: Numbers

    @property
    def duplicate(self) -> float:
        """Bytes that arrived on two subflows: the difference at the end, when nothing waits any more."""
        return max(0.0, float(self.on_subflows[-1] - self.in_order[-1]))

    @property
    def waiting(self) -> Numbers:
        """A lower bound of the bytes in the out-of-order queue at each sample.

        The count of duplicate bytes never decreases, and never exceeds the difference at any later time. Bytes beyond
        that bound are waiting.
        """
        difference = self.on_subflows - self.in_order
        bound = np.minimum.accumulate(difference[::-1])[::-1]
        return np.maximum(0.0, difference - bound)


def reassembly_metrics(reassemblies: list[Reassembly], *, reinjected: int | None) -> dict[str, float]:
    """Return the metrics summed over connections. ``reinjected`` counts the bytes that the sender reinjected."""
    arrived = sum(float(reassembly.in_order[-1]) for reassembly in reassemblies)
    if not reassemblies or arrived <= 0:
        return {}
    span = max(float(reassembly.times_s[-1] - reassembly.times_s[0]) for reassembly in reassemblies)
    values = {"duplicate_percent": 100 * sum(reassembly.duplicate for reassembly in reassemblies) / arrived}
    if reinjected is not None:
        values["reinjected_percent"] = 100 * reinjected / arrived
    if span <= 0:
        return values
    mean = sum(float(np.trapezoid(reassembly.waiting, reassembly.times_s)) for reassembly in reassemblies) / span
    values["out_of_order_mean_bytes"] = mean
    values["out_of_order_max_bytes"] = max(float(reassembly.waiting.max()) for reassembly in reassemblies)
    # Little's law: the mean number of waiting bytes is their arrival rate times their mean wait.
    sampled = sum(float(reassembly.in_order[-1] - reassembly.in_order[0]) for reassembly in reassemblies)
    return values | ({"head_of_line_delay_ms": 1e3 * mean * span / sampled} if sampled > 0 else {})


def compute_reassemblies(recording: Recording, ends: Ends) -> list[Reassembly]:
    """Return the MPTCP connections of a workload; none if its programs do not report them."""
    return list(_find_reassemblies(recording, ends)) if ends.receiving is not None else []


def reinjected_bytes(recording: Recording, ends: Ends) -> int | None:
    """Return the bytes that the sender's connections reinjected on another subflow; None if that is unknown.

    These are the bytes that subflows sent, without their own retransmissions, beyond the data of the connection. The
    kernel's counter of retransmissions by MPTCP (mptcpi_bytes_retrans) does not include data that is sent again after a
    subflow is considered dead.
    """
    if ends.sending is None or "bytes_sent" not in recording.connections.columns:
        return None
    ended = recording.connections.filter((pl.col("program") == ends.sending) & pl.col("bytes_sent").is_not_null())
    # A connection that fell back does not report its data, and cannot reinject.
    conns = list(set(ended["conn"]))
    subflows = recording.subflows.lazy().filter((pl.col("program") == ends.sending) & pl.col("conn").is_in(conns))
    totals = subflows.group_by("conn", "local", "remote").agg(pl.col("bytes_sent", "bytes_retrans").max()).collect()
    if not totals.height or totals["bytes_sent"].has_nulls() or totals["bytes_retrans"].has_nulls():
        return None
    carried = int((totals["bytes_sent"] - totals["bytes_retrans"]).sum())
    needed = int(ended.group_by("conn").agg(pl.col("bytes_sent").max())["bytes_sent"].sum())
    return max(0, carried - needed)


def _find_reassemblies(recording: Recording, ends: Ends) -> Iterator[Reassembly]:
    connections, subflows = recording.connections, recording.subflows
    if "bytes_received" not in connections.columns or not subflows.height:
        return
    of_connections, of_subflows = (
        table.lazy().filter(pl.col("program") == ends.receiving) for table in (connections, subflows)
    )
    counted: dict[int, list[tuple[Numbers, Numbers]]] = {}
    for (conn, _, _), times, received in _counts(of_subflows, "conn", "local", "remote"):
        counted.setdefault(conn, []).append((times, received))
    for (conn,), times, in_order in _counts(of_connections, "conn"):
        total = np.zeros(len(times))
        for at, received in counted.get(conn, ()):
            # A subflow that is gone keeps its count: each instant takes the last value before it.
            total += np.concatenate(([0.0], received))[np.searchsorted(at, times, side="right")]
        yield Reassembly(times / 1e9, total, in_order)


def _counts(samples: pl.LazyFrame, *by: str) -> Iterator[tuple[tuple[Any, ...], Numbers, Numbers]]:
    """Yield each group with its times in ns and its received bytes.

    One query for all, since a run can have hundreds of connections.
    """
    known = samples.drop_nulls("bytes_received").sort("time_ns", maintain_order=True)
    groups = known.group_by(*by, maintain_order=True).agg("time_ns", "bytes_received").collect()
    for *names, times, received in zip(*(groups[column] for column in groups.columns), strict=True):
        yield tuple(names), times.to_numpy().astype(float), received.to_numpy().astype(float)


def _compute_metrics(subject: Subject) -> dict[str, float]:
    if not subject.sockets.use.with_mptcp:
        return {}
    parts = compute_reassemblies(subject.recording, subject.ends)
    return reassembly_metrics(parts, reinjected=reinjected_bytes(subject.recording, subject.ends))


def _entry(name: str, noun: str, unit: str, definition: str, source: str) -> Metric:
    return Metric(
        name=name,
        noun=noun,
        unit=unit,
        definition=definition,
        source=source,
        value=lambda subject: subject.compute_once(_compute_metrics).get(name),
        section="paths",
        display=HIDDEN,
    )


METRICS = (
    _entry(
        "reinjected_percent",
        "reinjected",
        "%",
        "bytes sent on another subflow again, of all delivered",
        "the sender's subflows against its connection",
    ),
    _entry(
        "duplicate_percent",
        "duplicate",
        "%",
        "bytes received on two subflows, of all delivered",
        "the receiver's subflows against its connection",
    ),
    _entry(
        "out_of_order_mean_bytes",
        "out of order",
        "B",
        "bytes in MPTCP's out-of-order queue at the receiver, mean over the samples",
        "as above",
    ),
    _entry("out_of_order_max_bytes", "out of order max", "B", "the maximum of the samples", "as above"),
    _entry(
        "head_of_line_delay_ms",
        "head of line",
        "ms",
        "mean time that a byte waits in that queue; bytes that do not wait count as 0",
        "Little's law",
    ),
)


# Shares of a connection's paths, which every row has and comparisons can test.

#: A row has its values by path as ``share_values``, see :class:`mptcplab.metrics.rows.ResultRow`.
SHARE = Metric(
    name="share_percent",
    noun="share",
    unit="%",
    definition="part of the payload that arrived over a path; in `rows[].share_values` as fractions, by path and seed",
    source="bytes received by each subflow",
    section="paths",
    highest=100,
    by_path=True,
    display=Display(order=1, in_table=False),
)
