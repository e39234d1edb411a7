# SPDX-License-Identifier: MIT
"""The note below a table whose workloads began while an earlier one was still running, but only in some of the runs.

Where they do so in all runs, or in none, all rows are results of the same mix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.rows import ResultRow

#: Workloads and points that the note names of each overlap, and overlaps that it tells.
_NAMED = 6
_TOLD = 3


@dataclass(frozen=True)
class Beginning:
    """How a workload began in the runs of a point: in how many of them each earlier workload was still running."""

    point: str
    workload: str
    runs: int
    during: Mapping[str, int]


def beginnings(rows: Iterable[ResultRow]) -> list[Beginning]:
    """Return how the workloads of a result began."""
    return [_beginning(row.settings, row.workload, row.seeds, row.overlaps) for row in rows]


def compared_beginnings(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Beginning]:
    """Return how the workloads of rows in ``results.json`` began, each with its side: A, B, or nothing."""
    return [
        _beginning(row["settings"], row["workload"], row.get("seeds", ()), row.get("overlaps", {}), side)
        for side, row in rows
    ]


def _beginning(
    settings: Mapping[str, str],
    workload: str,
    seeds: Sequence[int],
    overlaps: Mapping[str, Sequence[int]],
    side: str = "",
) -> Beginning:
    during = {
        earlier: len(found)
        for earlier, found in overlaps.items()
        # Who sweeps a start compares such overlaps on purpose.
        if not any(f"workloads.{name}.start" in settings for name in (workload, earlier, "*"))
    }
    return Beginning(f"{side} {', '.join(settings.values())}".strip(), workload, len(seeds), during)


def overlap_notes(found: Sequence[Beginning]) -> Iterator[str]:
    """Yield a note if a workload began while an earlier one was still running, in some of its runs but not in all."""
    alike: dict[tuple[str, str], list[str]] = {}
    for later, earlier in dict.fromkeys((one.workload, earlier) for one in found for earlier in one.during):
        points = _points([one for one in found if one.workload == later], earlier)
        if points:
            alike.setdefault((earlier, points), []).append(later)
    if not alike:
        return
    told = [
        f"{_some(later, ', ')} began while {earlier} was still running in {points}"
        for (earlier, points), later in list(alike.items())[:_TOLD]
    ]
    more = f"; and {len(alike) - _TOLD} more overlaps" if len(alike) > _TOLD else ""
    yield (
        f"Overlap in some runs only: {'; and '.join(told)}{more}. Results differ by that, too. Let later workloads "
        "start later, or give each a scenario of its own."
    )


def _points(own: Sequence[Beginning], earlier: str) -> str:
    """Return in which points a workload began during an earlier one; empty if in all runs, or in none."""
    counts = [(one, one.during.get(earlier, 0)) for one in own]
    if all(count == one.runs for one, count in counts):
        return ""
    texts = [
        one.point if one.point and count == one.runs else f"{one.point} ({count} of {one.runs} runs)".strip()
        for one, count in counts
        if count
    ]
    if [one.point for one in own] == [""]:
        return texts[0].strip("()") if texts else ""
    return _some(texts, "; ")


def _some(names: Sequence[str], between: str) -> str:
    more = f"{between}and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{between.join(names[:_NAMED])}{more}"
