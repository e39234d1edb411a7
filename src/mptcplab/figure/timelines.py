# SPDX-License-Identifier: MIT
"""Time series of one run, thinned so that a page can hold many: goodput by path, RTT and window by subflow, queues,
signals of radios.

Rates are differences of the receiver's byte counters between samples, so they add up to the bytes received whatever the
thinning. They belong to subflows: where data arrived on two of them, the rate of what is in order for the
application is beside them. RTT, window, queues and RSSI keep the minimum and the maximum sample of every thinned
interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mptcplab.figure.delays import Delays, delays_of
from mptcplab.lazy import Numbers, np, pl
from mptcplab.metrics import subflows as sockets
from mptcplab.metrics.capacity import capacity_of
from mptcplab.metrics.catalog.paths import Reassembly, compute_reassemblies
from mptcplab.metrics.manifest import read_addresses
from mptcplab.metrics.measure import timed_messages_of
from mptcplab.metrics.radios import radio_samples
from mptcplab.metrics.subflows import (
    ByteCount,
    Ends,
    SocketSample,
    ends_of,
    gateways_of,
    inner_of,
    read_samples,
    workload_samples,
)
from mptcplab.metrics.values import natural_order
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import client_program, read_start_ns, read_workload

#: More subflows or queues than this cannot be distinguished in a figure.
MAX_LINES = 8
_NS = 1e9
#: A curve is interrupted where this number of samples is missing; an RTT after this time without an acknowledgement.
_GAP, _SILENT_S = 2.5, 1.0
#: Data is said to have arrived twice from this part on, in percent. The goodput has at most this number of intervals:
#: data that waited for other data is in order all at once.
_COPIES_PERCENT, _GOODPUT_VALUES = 1.0, 80
#: Of this number of pieces of time, the subflows that are drawn leave as few as possible without a curve of a path.
_PIECES = 40


@dataclass(frozen=True)
class TimelineCurve:
    """One curve: times in s and values; None where it is interrupted."""

    name: str
    times: tuple[float, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class WorkloadTimeline:
    """The curves of one workload of one run. ``edges`` (s) bound the intervals of ``received`` (Mbit/s by path).

    ``goodput`` (Mbit/s, from each time to the next) is there if ``twice_percent`` of the data arrived on two subflows,
    so that the sum of ``received`` is more.
    ``delays`` has the delays of the messages of a call or stream.
    ``capacity`` (Mbit/s, from each time to the next) is what the paths could carry, if that changes and is known.
    ``rtt`` is in ms, ``cwnd`` in segments, ``queues`` in kB, ``rssi`` in dBm. ``left_out`` counts subflows that are not
    drawn, ``samples`` the samples of the longest curve before thinning.
    """

    workload: str
    edges: tuple[float, ...]
    received: dict[str, tuple[float, ...]]
    rtt: tuple[TimelineCurve, ...]
    cwnd: tuple[TimelineCurve, ...]
    queues: tuple[TimelineCurve, ...]
    left_out: int
    samples: int
    rssi: tuple[TimelineCurve, ...] = ()
    goodput: TimelineCurve | None = None
    twice_percent: float = 0.0
    delays: Delays | None = None
    capacity: TimelineCurve | None = None

    @property
    def span(self) -> tuple[float, float]:
        """The time in which the workload ran, in s."""
        lines = (*self.rtt, *self.cwnd, *self.queues, *self.rssi)
        times: Sequence[float] = [time for line in lines for time in line.times]
        if len(self.edges) > 1:
            times = self.edges
        elif self.delays is not None:  # over UDP, which has no subflows
            times = self.delays.edges
        return min(times, default=0.0), max(times, default=0.0)


def timelines(recording: Recording, *, max_values: int) -> list[WorkloadTimeline]:
    """Return the curves of every workload of a run, with at most ``max_values`` values per curve."""
    queues = _queues(recording, max_values)
    return [_timeline(recording, ends, queues, max_values) for ends in ends_of(recording)]


def _timeline(recording: Recording, ends: Ends, queues: tuple[TimelineCurve, ...], max_values: int) -> WorkloadTimeline:
    addresses = read_addresses(recording)
    sent, received = _sent_and_received(recording, ends)
    start = read_start_ns(recording, client_program(ends.workload))
    by_path: dict[str, list[list[SocketSample]]] = {}
    for samples in received:
        path = samples[0].path(addresses, is_sender=False)
        by_path.setdefault(path, []).append(samples)
    edges = _edges([sample.time_ns for samples in received for sample in samples], start, max_values)
    names = _unique_names(samples[0].path(addresses, is_sender=True) for samples in sent)
    shown = _sort_subflows(*_select_subflows(names, sent))
    timed_message = timed_messages_of(recording, ends.workload)
    goodput, twice_percent = _goodput(compute_reassemblies(recording, ends), edges)
    return WorkloadTimeline(
        workload=ends.workload,
        edges=round_values(edges / _NS, 5),
        received={path: _rates(by_path[path], edges) for path in sorted(by_path, key=natural_order)},
        rtt=tuple(_rtt(name, samples, max_values) for name, samples in shown),
        cwnd=tuple(_line(name, samples, "snd_cwnd", 1, max_values) for name, samples in shown),
        queues=queues,
        left_out=max(0, len(sent) - MAX_LINES),
        samples=max(map(len, (*received, *sent)), default=0),
        rssi=_rssi(recording, ends, max_values),
        goodput=goodput,
        twice_percent=twice_percent,
        delays=delays_of(timed_message.due_s, timed_message.delay_ms, timed_message.lost_s, timed_message.latest_ms)
        if timed_message is not None
        else None,
        capacity=_capacity(recording, ends, by_path, edges),
    )


def _capacity(
    recording: Recording, ends: Ends, by_path: Mapping[str, Sequence[Sequence[SocketSample]]], edges: Numbers
) -> TimelineCurve | None:
    """Return what the paths could carry over time; None if that did not change while the workload ran."""
    received = [samples[-1] for group in by_path.values() for samples in group]
    capacity = capacity_of(recording, ends, tuple(by_path), received) if len(edges) > 1 else None
    if capacity is None:
        return None
    shown = capacity.clip(edges[0] / _NS, edges[-1] / _NS)
    return (
        TimelineCurve("capacity", round_values(shown.times_s, 5), round_values(shown.bps / 1e6, 3))
        if len(shown.bps) > 1
        else None
    )


def _goodput(received: Sequence[Reassembly], edges: Numbers) -> tuple[TimelineCurve | None, float]:
    """Return the rate in Mbit/s of what was in order for the application, and how much arrived on two subflows, in %.

    None and 0 if no data did, or if the programs do not report it.
    """
    arrived = sum(float(reassembly.in_order[-1]) for reassembly in received)
    percent = 100 * sum(reassembly.duplicate for reassembly in received) / arrived if arrived > 0 else 0.0
    if percent < _COPIES_PERCENT or len(edges) < 2:
        return None, 0.0
    fewer = fewer_edges(edges)
    total = np.zeros(len(fewer) - 1)
    for reassembly in received:
        total += np.diff(np.interp(fewer / _NS, reassembly.times_s, reassembly.in_order, left=0.0))
    rates = 8e3 * total / np.diff(fewer)
    return TimelineCurve("goodput", round_values(fewer / _NS, 5), round_values(np.append(rates, rates[-1]), 3)), percent


def fewer_edges(edges: Numbers) -> Numbers:
    """Return the bounds of the intervals in which the goodput is shown."""
    return np.append(edges[: -1 : math.ceil((len(edges) - 1) / _GOODPUT_VALUES)], edges[-1])


def _sent_and_received(recording: Recording, ends: Ends) -> tuple[list[list[SocketSample]], list[list[SocketSample]]]:
    """Return the samples of every subflow with data of the sending and of the receiving side, in time order.

    With a gateway, they are between its two sides, where the paths are.
    """
    table = recording.subflows
    gateway = next(gateways_of(recording, ends.workload), None)
    inner = inner_of(gateway, ends, read_workload(recording, ends.workload).client) if gateway is not None else None

    def side(node: str, program: str | None, column: ByteCount) -> list[list[SocketSample]]:
        last = sockets.last_samples(table, node=node, program=program)
        of_workload = workload_samples(last, recording, ends, node, program, inner)
        return _samples(table, node, program, sockets.data_connections(of_workload, column))

    if inner is not None:
        return side(inner.sender, None, "bytes_acked"), side(inner.receiver, None, "bytes_received")
    return side(ends.sender, ends.sending, "bytes_acked"), side(ends.receiver, ends.receiving, "bytes_received")


def _samples(
    table: pl.DataFrame, node: str, program: str | None, carried: list[list[SocketSample]]
) -> list[list[SocketSample]]:
    """Return all samples of every subflow in ``carried``, in time order."""
    wanted = {sample.socket for connection in carried for sample in connection}
    samples: dict[tuple[int | None, str, str], list[SocketSample]] = {}
    if not wanted:
        return []
    rows = table.filter(pl.col("node") == node).sort("time_ns", maintain_order=True)
    if "program" in rows.columns:
        rows = rows.filter(pl.col("program").is_null() if program is None else pl.col("program") == program)
    for sample in read_samples(rows):
        if sample.socket in wanted:
            samples.setdefault(sample.socket, []).append(sample)
    return list(samples.values())


def _edges(instants: Sequence[int], start: int, max_values: int) -> Numbers:
    """Return the bounds of the intervals: the start and the sampled instants, evenly thinned; short ones are merged."""
    times = np.unique(np.array([start, *(instant for instant in instants if instant > start)], dtype=np.float64))
    if len(times) < 3:
        return times
    min_length = max((times[-1] - times[0]) / max_values, 0.5 * float(np.median(np.diff(times))))
    kept = [times[0]]
    for instant in times[1:]:
        if instant - kept[-1] >= min_length:
            kept.append(instant)
    if kept[-1] < times[-1]:
        kept[-1] = times[-1]
    return np.array(kept)


def _rates(group: Iterable[Sequence[SocketSample]], edges: Numbers) -> tuple[float, ...]:
    """Return the rate in Mbit/s of every interval, summed over the subflows of a path."""
    total = np.zeros(max(0, len(edges) - 1))
    for samples in group:
        known = [sample for sample in samples if sample.bytes_received is not None]
        if not known:
            continue
        times = np.array([sample.time_ns for sample in known], dtype=np.float64)
        counts = np.array([sample.bytes_received for sample in known], dtype=np.float64)
        # The subflow began at most one sampling interval before its first sample.
        interval = float(np.median(np.diff(times))) if len(times) > 1 else times[0]
        began = max(edges[0], times[0] - interval)
        times, counts = np.insert(times, 0, began), np.insert(counts, 0, 0.0)
        total += np.diff(np.interp(edges, times, counts, left=0.0))
    return round_values(8e3 * total / np.diff(edges), 3)


def _rtt(name: str, samples: Sequence[SocketSample], max_values: int) -> TimelineCurve:
    """Return the RTT of a subflow, interrupted where nothing was acknowledged: the kernel's value stays as it was."""
    fresh = _samples_with_progress(samples)
    line = _line(name, fresh, "rtt_us", 1e3, max_values)
    times = np.array([sample.time_ns for sample in fresh if sample.rtt_us], dtype=np.float64) / _NS
    return _break_at_gaps(line, times, shortest_s=_SILENT_S)


def _samples_with_progress(samples: Sequence[SocketSample]) -> list[SocketSample]:
    """Return the samples before which something was acknowledged."""
    acked = [sample.bytes_acked for sample in samples]
    pairs = zip(samples, [None, *acked], acked, strict=False)
    return [sample for sample, before, now in pairs if now is None or now != before]


def _line(
    name: str,
    samples: Sequence[SocketSample],
    column: Literal["rtt_us", "snd_cwnd"],
    divisor: float,
    max_values: int,
) -> TimelineCurve:
    # The kernel reports 0 until it has measured a value.
    known = [(sample.time_ns, value) for sample in samples if (value := getattr(sample, column))]
    times = np.array([time for time, _ in known], dtype=np.float64) / _NS
    values = np.array([value for _, value in known], dtype=np.float64) / divisor
    return TimelineCurve(name, *_thin_out(times, values, max_values))


def _thin_out(times: Numbers, values: Numbers, max_values: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return at most ``max_values`` values: the minimum and the maximum of every interval, at their times."""
    if len(values) > max_values:
        intervals = np.array_split(np.arange(len(values)), max(1, max_values // 2))
        kept = sorted({int(s[pick(values[s])]) for s in intervals for pick in (np.argmin, np.argmax)})
        times, values = times[kept], values[kept]
    return round_values(times, 5), round_values(values, 3)


def round_values(values: Numbers, digits: int) -> tuple[float, ...]:
    """Return rounded values, whole numbers as integers, which makes the page a good deal smaller."""
    rounded = (round(float(value), digits) for value in values)
    return tuple(int(value) if value.is_integer() else value for value in rounded)


def _unique_names(names: Iterable[str]) -> list[str]:
    """Number the names of subflows that share a path."""
    names = list(names)
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(f"{name} #{seen[name]}" if names.count(name) > 1 else name)
    return unique


def _select_subflows(
    names: Sequence[str], sent: Sequence[list[SocketSample]]
) -> tuple[list[str], list[list[SocketSample]]]:
    """Return the subflows that are drawn, up to :data:`MAX_LINES`, so that they leave the fewest holes in any path.

    Of subflows that show as much of a path's time for the first time, the one with most data is first.
    """
    if len(names) <= MAX_LINES:
        return list(names), list(sent)
    begin, end = min(samples[0].time_ns for samples in sent), max(samples[-1].time_ns for samples in sent)
    left = {
        name: (
            samples,
            {
                (path_of(name), _PIECES * (sample.time_ns - begin) // (end - begin + 1))
                for sample in _samples_with_progress(samples)
            },
        )
        for name, samples in zip(names, sent, strict=True)
    }
    chosen: dict[str, list[SocketSample]] = {}
    covered: set[tuple[str, int]] = set()
    while len(chosen) < MAX_LINES:
        best = max(left, key=lambda name: (len(left[name][1] - covered), left[name][0][-1].bytes_acked or 0))
        chosen[best], pieces = left.pop(best)
        covered |= pieces
    return list(chosen), list(chosen.values())


def path_of(name: str) -> str:
    """Return the path of a subflow with this name."""
    return name.partition(" #")[0]


def _sort_subflows(names: Sequence[str], sent: Sequence[list[SocketSample]]) -> list[tuple[str, list[SocketSample]]]:
    """Return the subflows by their names, ``#2`` before ``#10``."""
    return sorted(zip(names, sent, strict=True), key=lambda pair: natural_order(pair[0]))


def _queues(recording: Recording, max_values: int) -> tuple[TimelineCurve, ...]:
    """Return the bytes in the fullest queues over time, if the run recorded them."""
    if recording.queues.is_empty():
        return ()
    table = recording.queues.sort("time_ns", maintain_order=True)
    lines = []
    for (link, direction), of_one in table.group_by("link", "direction", maintain_order=True):
        sizes = of_one["bytes"].to_numpy().astype(np.float64) / 1e3
        if sizes.size and sizes.max() > 0:
            times = of_one["time_ns"].to_numpy().astype(np.float64) / _NS
            lines.append(
                (float(sizes.max()), TimelineCurve(f"{link} {direction}", *_thin_out(times, sizes, max_values)))
            )
    fullest = sorted(lines, key=lambda pair: -pair[0])[:MAX_LINES]
    return tuple(sorted((line for _, line in fullest), key=lambda line: line.name))


def _rssi(recording: Recording, ends: Ends, max_values: int) -> tuple[TimelineCurve, ...]:
    """Return what both ends of the radio links of the workload's hosts heard of each other, as ``LINK at NODE``."""
    hosts = (ends.sender, ends.receiver)
    heard: dict[str, list[tuple[int, int]]] = {}
    for sample in radio_samples(recording):
        if sample.time_ns >= 0 and sample.rssi_dbm is not None and (sample.node in hosts or sample.peer in hosts):
            heard.setdefault(f"{sample.link} at {sample.node}", []).append((sample.time_ns, sample.rssi_dbm))
    lines = []
    for name in sorted(heard)[:MAX_LINES]:
        times, values = np.array(heard[name], dtype=np.float64).T
        line = TimelineCurve(name, *_thin_out(times / _NS, values, max_values))
        lines.append(_break_at_gaps(line, times / _NS))
    return tuple(lines)


def _break_at_gaps(line: TimelineCurve, samples: Numbers, *, shortest_s: float = 0.0) -> TimelineCurve:
    """Return ``line`` without the pieces that lead over a time without ``samples``, whose times in s these are.

    Times up to ``shortest_s`` interrupt nothing.
    """
    steps = np.diff(samples)
    ends = samples[1:][steps > max(shortest_s, _GAP * float(np.median(steps)))] if steps.size else samples[:0]
    times, values = list(line.times), list(line.values)
    for end in reversed(round_values(ends, 5)):
        after = next((index for index, time in enumerate(times) if time >= end), 0)
        if after:
            times.insert(after, times[after - 1])
            values.insert(after, None)
    return TimelineCurve(line.name, tuple(times), tuple(values))
