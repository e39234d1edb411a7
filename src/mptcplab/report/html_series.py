# SPDX-License-Identifier: MIT
"""What one run did over time, thinned so that a page can hold many: goodput by path, RTT and window by subflow, queues.

Rates are differences of the receiver's byte counters between samples, so that they add up to what was received however
few instants are left. RTT, window and queues keep the least and the largest sample of every stretch that is thinned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from mptcplab.metrics import subflows as sockets
from mptcplab.metrics.ends import Ends, ends_of
from mptcplab.metrics.subflows import Row
from mptcplab.recording.record import Recording
from mptcplab.results import way_name

#: More subflows or queues than this cannot be told apart in a figure.
MOST_LINES = 8
#: More marks than this hide the curves.
_MOST_MARKS = 24
_NS = 1e9

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """One curve: times in s and values."""

    name: str
    times: tuple[float, ...]
    values: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """For the page's script."""
        return {"name": self.name, "t": self.times, "v": self.values}


@dataclass(frozen=True)
class Timeline:
    """One workload of one run. ``edges`` (s) bound the stretches of ``goodput`` (Mbit/s by path).

    ``rtt`` in ms, ``cwnd`` in segments, ``queues`` in kB. ``left_out`` counts subflows that are not drawn, ``samples``
    the samples of the longest curve before thinning.
    """

    workload: str
    edges: tuple[float, ...]
    goodput: dict[str, tuple[float, ...]]
    rtt: tuple[Line, ...]
    cwnd: tuple[Line, ...]
    queues: tuple[Line, ...]
    left_out: int
    samples: int

    def to_json(self) -> dict[str, Any]:
        """For the page's script."""
        return {
            "name": self.workload,
            "edges": self.edges,
            "goodput": [{"name": name, "v": rates} for name, rates in self.goodput.items()],
            "rtt": [line.to_json() for line in self.rtt],
            "cwnd": [line.to_json() for line in self.cwnd],
            "queue": [line.to_json() for line in self.queues],
        }


def timelines(recording: Recording, *, most: int) -> list[Timeline]:
    """Every workload of a run with at most ``most`` values per curve."""
    queues = _queues(recording, most)
    return [_timeline(recording, ends, queues, most) for ends in ends_of(recording)]


def marks(recording: Recording) -> list[dict[str, Any]]:
    """The events of a run but the steps of traces, those of one instant together; the first of many."""
    found: dict[float, list[str]] = {}
    for row in recording.events.iter_rows(named=True):
        if row["kind"] != "trace":
            one_way = f" {row['direction']}" if row["direction"] != "both" else ""
            said = f"{row['link']}{one_way}: {row['kind'].replace('-', ' ')} {row['value']}".rstrip()
            found.setdefault(row["instant_ns"] / _NS, []).append(said)
    return [{"t": time, "text": "; ".join(texts)} for time, texts in list(found.items())[:_MOST_MARKS]]


def _timeline(recording: Recording, ends: Ends, queues: tuple[Line, ...], most: int) -> Timeline:
    addresses = recording.manifest["addresses"]
    received = _samples(recording.subflows, ends.receiver, ends.receiving, "bytes_received")
    sent = _samples(recording.subflows, ends.sender, ends.sending, "bytes_acked")
    start = _start_ns(recording, ends.workload)
    by_path: dict[str, list[list[Row]]] = {}
    for rows in received:
        by_path.setdefault(way_name(rows[0], addresses, sends=False), []).append(rows)
    edges = _edges([row["time_ns"] for rows in received for row in rows], start, most)
    names = _unique_names(way_name(rows[0], addresses, sends=True) for rows in sent)
    shown = sorted(zip(names, sent, strict=True), key=lambda pair: pair[0])[:MOST_LINES]
    return Timeline(
        workload=ends.workload,
        edges=_rounded(edges / _NS, 5),
        goodput={path: _rates(by_path[path], edges) for path in sorted(by_path)},
        rtt=tuple(_line(name, rows, "rtt_us", 1e3, most) for name, rows in shown),
        cwnd=tuple(_line(name, rows, "snd_cwnd", 1, most) for name, rows in shown),
        queues=queues,
        left_out=max(0, len(sent) - MOST_LINES),
        samples=max((len(rows) for rows in (*received, *sent)), default=0),
    )


def _samples(table: pl.DataFrame, node: str, program: str | None, column: str) -> list[list[Row]]:
    """The samples of every subflow of the connections that carried data, in time."""
    carried = sockets.data_connections(sockets.last_rows(table, node=node, program=program), column)
    wanted = {(row.get("conn"), row["local"], row["remote"]) for rows in carried for row in rows}
    found: dict[Any, list[Row]] = {}
    if not wanted:
        return []
    rows = table.filter(pl.col("node") == node).sort("time_ns", maintain_order=True)
    if program is not None:
        rows = rows.filter(pl.col("program") == program)
    for row in rows.iter_rows(named=True):
        key = (row.get("conn"), row["local"], row["remote"])
        if key in wanted:
            found.setdefault(key, []).append(row)
    return list(found.values())


def _start_ns(recording: Recording, workload: str) -> int:
    programs = recording.manifest["programs"]
    return next(int(one["start_ns"]) for one in programs if one["name"] == f"{workload}.client")


def _edges(instants: Sequence[int], start: int, most: int) -> Numbers:
    """Bounds of the stretches: the start and sampled instants, evenly thinned; stretches of odd length are joined."""
    times = np.unique(np.array([start, *(instant for instant in instants if instant > start)], dtype=np.float64))
    if len(times) < 3:
        return times
    least = max((times[-1] - times[0]) / most, 0.5 * float(np.median(np.diff(times))))
    kept = [times[0]]
    for instant in times[1:]:
        if instant - kept[-1] >= least:
            kept.append(instant)
    if kept[-1] < times[-1]:
        kept[-1] = times[-1]
    return np.array(kept)


def _rates(group: Iterable[Sequence[Row]], edges: Numbers) -> tuple[float, ...]:
    """Mbit/s in every stretch, summed over the subflows of a path."""
    total = np.zeros(max(0, len(edges) - 1))
    for rows in group:
        known = [row for row in rows if row["bytes_received"] is not None]
        if not known:
            continue
        times = np.array([row["time_ns"] for row in known], dtype=np.float64)
        counts = np.array([row["bytes_received"] for row in known], dtype=np.float64)
        # The subflow began at most one interval before it was first seen.
        interval = float(np.median(np.diff(times))) if len(times) > 1 else times[0]
        began = max(edges[0], times[0] - interval)
        times, counts = np.insert(times, 0, began), np.insert(counts, 0, 0.0)
        total += np.diff(np.interp(edges, times, counts, left=0.0))
    return _rounded(8e3 * total / np.diff(edges), 3)


def _line(name: str, rows: Sequence[Row], column: str, divisor: float, most: int) -> Line:
    # The kernel says 0 as long as it has measured nothing.
    known = [(row["time_ns"], row[column]) for row in rows if row.get(column)]
    times = np.array([time for time, _ in known], dtype=np.float64) / _NS
    values = np.array([value for _, value in known], dtype=np.float64) / divisor
    return Line(name, *_thinned(times, values, most))


def _thinned(times: Numbers, values: Numbers, most: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """At most ``most`` values: the least and the largest of every stretch, where they were."""
    if len(values) > most:
        stretches = np.array_split(np.arange(len(values)), max(1, most // 2))
        kept = sorted({int(s[pick(values[s])]) for s in stretches for pick in (np.argmin, np.argmax)})
        times, values = times[kept], values[kept]
    return _rounded(times, 5), _rounded(values, 3)


def _rounded(values: Numbers, digits: int) -> tuple[float, ...]:
    """Whole numbers without a point, which makes the page a good deal smaller."""
    rounded = (round(float(value), digits) for value in values)
    return tuple(int(value) if value.is_integer() else value for value in rounded)


def _unique_names(names: Iterable[str]) -> list[str]:
    """Subflows on one path are numbered."""
    names = list(names)
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(f"{name} #{seen[name]}" if names.count(name) > 1 else name)
    return unique


def _queues(recording: Recording, most: int) -> tuple[Line, ...]:
    """Bytes in the queues over time, the fullest ones, when the run recorded them."""
    if recording.queues.is_empty():
        return ()
    table = recording.queues.sort("time_ns", maintain_order=True)
    lines = []
    for (link, direction), of_one in table.group_by("link", "direction", maintain_order=True):
        held = of_one["bytes"].to_numpy().astype(np.float64) / 1e3
        if held.size and held.max() > 0:
            times = of_one["time_ns"].to_numpy().astype(np.float64) / _NS
            lines.append((float(held.max()), Line(f"{link} {direction}", *_thinned(times, held, most))))
    fullest = sorted(lines, key=lambda pair: -pair[0])[:MOST_LINES]
    return tuple(sorted((line for _, line in fullest), key=lambda line: line.name))
