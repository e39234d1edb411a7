# SPDX-License-Identifier: MIT
"""Notes below a table whose workloads began while an earlier one was still running: in some runs, or unequally long.

Where they do so in all runs and for the same part of their time, or in none, all rows are results of the same mix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.rows import ResultRow

#: Parts of a workload's time that differ by less are alike.
_ALIKE = 0.1
#: Workloads and points that the note names of each overlap, and overlaps that it tells.
_NAMED = 6
_TOLD = 3
_CURE = "Let later workloads start later, or give each a scenario of its own."


@dataclass(frozen=True)
class Beginning:
    """How a workload began in the runs of a point: in how many of them each earlier workload was still running.

    ``parts`` are those of its time in which it was.
    """

    point: str
    workload: str
    runs: int
    during: Mapping[str, int]
    parts: Mapping[str, float]


def beginnings(rows: Iterable[ResultRow]) -> list[Beginning]:
    """Return how the workloads of a result began."""
    return [_beginning(row.settings, row.workload, row.seeds, row.overlaps, row.overlap_parts) for row in rows]


def compared_beginnings(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Beginning]:
    """Return how the workloads of rows in ``results.json`` began, each with its side: A, B, or nothing."""
    return [
        _beginning(
            row["settings"],
            row["workload"],
            row.get("seeds", ()),
            row.get("overlaps", {}),
            row.get("overlap_parts", {}),
            side,
        )
        for side, row in rows
    ]


def _beginning(
    settings: Mapping[str, str],
    workload: str,
    seeds: Sequence[int],
    overlaps: Mapping[str, Sequence[int]],
    parts: Mapping[str, float],
    side: str = "",
) -> Beginning:
    during = {
        earlier: len(found)
        for earlier, found in overlaps.items()
        # Who sweeps a start compares such overlaps on purpose.
        if not any(f"workloads.{name}.start" in settings for name in (workload, earlier, "*"))
    }
    return Beginning(f"{side} {', '.join(settings.values())}".strip(), workload, len(seeds), during, parts)


def overlap_notes(found: Sequence[Beginning]) -> Iterator[str]:
    """Yield a note if a workload began while an earlier one was still running, in some of its runs but not in all.

    And one if it did so in all, but for different parts of its time.
    """
    yield from _unequal_notes(found)
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
    yield (f"Overlap in some runs only: {'; and '.join(told)}{more}. Results differ by that, too. {_CURE}")


def _unequal_notes(found: Sequence[Beginning]) -> Iterator[str]:
    told = []
    for later, earlier in dict.fromkeys((one.workload, earlier) for one in found for earlier in one.during):
        own = [one for one in found if one.workload == later]
        if not all(one.during.get(earlier) == one.runs and earlier in one.parts for one in own):
            continue
        ordered = sorted(own, key=lambda one: one.parts[earlier])
        low, high = ordered[0], ordered[-1]
        if high.parts[earlier] - low.parts[earlier] > _ALIKE:
            told.append(
                f"{earlier} was still running during {100 * low.parts[earlier]:.0f} % of {later} in {low.point} and "
                f"{100 * high.parts[earlier]:.0f} % in {high.point}"
            )
    if told:
        more = f"; and {len(told) - _TOLD} more overlaps" if len(told) > _TOLD else ""
        yield f"Overlap of different lengths: {'; '.join(told[:_TOLD])}{more}. Results differ by that, too. {_CURE}"


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
