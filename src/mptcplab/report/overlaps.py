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

    ``parts`` are the parts of its time in which it was.
    """

    point: str
    workload: str
    runs: int
    during: Mapping[str, int]
    parts: Mapping[str, float]


def collect_beginnings(rows: Iterable[ResultRow]) -> list[Beginning]:
    """Return how the workloads of a result began."""
    return [_describe_beginning(row.settings, row.workload, row.seeds, row.overlaps, row.overlap_parts) for row in rows]


def compared_beginnings(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Beginning]:
    """Return how the workloads of rows in ``results.json`` began, each with its side: A, B, or nothing."""
    return [
        _describe_beginning(
            row["settings"],
            row["workload"],
            row.get("seeds", ()),
            row.get("overlaps", {}),
            row.get("overlap_parts", {}),
            side,
        )
        for side, row in rows
    ]


def _describe_beginning(
    settings: Mapping[str, str],
    workload: str,
    seeds: Sequence[int],
    overlaps: Mapping[str, Sequence[int]],
    parts: Mapping[str, float],
    side: str = "",
) -> Beginning:
    during = {
        earlier: len(overlap)
        for earlier, overlap in overlaps.items()
        # Who sweeps a start compares such overlaps on purpose.
        if not any(f"workloads.{name}.start" in settings for name in (workload, earlier, "*"))
    }
    return Beginning(f"{side} {', '.join(settings.values())}".strip(), workload, len(seeds), during, parts)


def overlap_notes(notes: Sequence[Beginning]) -> Iterator[str]:
    """Yield a note if a workload began while an earlier one was still running, in some of its runs but not in all.

    And one if it did so in all, but for different parts of its time.
    """
    yield from _unequal_overlap_notes(notes)
    alike: dict[tuple[str, str], list[str]] = {}
    for later, earlier in dict.fromkeys(
        (beginning.workload, earlier) for beginning in notes for earlier in beginning.during
    ):
        points = _points([beginning for beginning in notes if beginning.workload == later], earlier)
        if points:
            alike.setdefault((earlier, points), []).append(later)
    if not alike:
        return
    told = [
        f"{_abbreviate(later, ', ')} began while {earlier} was still running in {points}"
        for (earlier, points), later in list(alike.items())[:_TOLD]
    ]
    more = f"; and {len(alike) - _TOLD} more overlaps" if len(alike) > _TOLD else ""
    yield (f"Overlap in some runs only: {'; and '.join(told)}{more}. Results differ by that, too. {_CURE}")


def _unequal_overlap_notes(notes: Sequence[Beginning]) -> Iterator[str]:
    told = []
    for later, earlier in dict.fromkeys(
        (beginning.workload, earlier) for beginning in notes for earlier in beginning.during
    ):
        own_beginnings = [beginning for beginning in notes if beginning.workload == later]
        if not all(
            beginning.during.get(earlier) == beginning.runs and earlier in beginning.parts
            for beginning in own_beginnings
        ):
            continue
        ordered = sorted(own_beginnings, key=lambda beginning: beginning.parts[earlier])
        low, high = ordered[0], ordered[-1]
        if high.parts[earlier] - low.parts[earlier] > _ALIKE:
            told.append(
                f"{earlier} was still running during {100 * low.parts[earlier]:.0f} % of {later} in {low.point} and "
                f"{100 * high.parts[earlier]:.0f} % in {high.point}"
            )
    if told:
        more = f"; and {len(told) - _TOLD} more overlaps" if len(told) > _TOLD else ""
        yield f"Overlap of different lengths: {'; '.join(told[:_TOLD])}{more}. Results differ by that, too. {_CURE}"


def _points(own_beginnings: Sequence[Beginning], earlier: str) -> str:
    """Return in which points a workload began during an earlier one; empty if in all runs, or in none."""
    counts = [(beginning, beginning.during.get(earlier, 0)) for beginning in own_beginnings]
    if all(count == beginning.runs for beginning, count in counts):
        return ""
    texts = [
        beginning.point
        if beginning.point and count == beginning.runs
        else f"{beginning.point} ({count} of {beginning.runs} runs)".strip()
        for beginning, count in counts
        if count
    ]
    if [beginning.point for beginning in own_beginnings] == [""]:
        return texts[0].strip("()") if texts else ""
    return _abbreviate(texts, "; ")


def _abbreviate(names: Sequence[str], between: str) -> str:
    more = f"{between}and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{between.join(names[:_NAMED])}{more}"
