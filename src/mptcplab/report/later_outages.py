# SPDX-License-Identifier: MIT
"""The note below a table about outages that are not what a failure interrupts: they begin long after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mptcplab.metrics.delivery import WINDOW_S
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.report.table import Note

_OUTAGE, _AFTER, _INTERRUPTION = "outage_s", "outage_after_s", "interruption_s"
#: Such an outage is told if it is longer than this, and so many times longer than what the failure interrupts.
_WORTH_TELLING_S, _TIMES = 0.1, 1.5
#: Rows that the note names.
_NAMED = 6


def later_outage_notes(rows: Sequence[ResultRow]) -> Iterator[Note]:
    """Yield a note if rows have runs whose outage begins later than a second after the failure."""
    found = {_name(row, rows): later for row in rows if (later := _later(row))}
    if not found:
        return
    named = [f"{name} ({text})" for name, text in list(found.items())[:_NAMED]]
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    yield Note(
        "Outage: in some runs the longest one begins only later than a second after the failure, so it is not what the "
        f"failure interrupts: {'; '.join(named)}{more}. `--metric {METRICS[_INTERRUPTION].noun}` of `compare` and "
        "`figure` is what begins with the failure.",
        about=rf"\b{METRICS[_OUTAGE].noun}\b",
    )


def _name(row: ResultRow, rows: Sequence[ResultRow]) -> str:
    several = len({one.workload for one in rows}) > 1
    return ", ".join([*row.settings.values(), *([row.workload] if several or not row.settings else [])])


def _later(row: ResultRow) -> str:
    """Return in how many runs of a row the outage begins late, and when; empty if in none."""
    # Runs without an end of the outage have no such values: nothing later is known of them.
    after, outage, interruption = (
        dict(zip(row.seeds_of(name), row.samples.get(name, ()), strict=True))
        for name in (_AFTER, _OUTAGE, _INTERRUPTION)
    )
    late = [
        after[seed]
        for seed in after.keys() & outage.keys() & interruption.keys()
        if after[seed] > WINDOW_S and outage[seed] > max(_WORTH_TELLING_S, _TIMES * interruption[seed])
    ]
    if not late:
        return ""
    low, high = f"{min(late):.1f}", f"{max(late):.1f}"
    return f"{len(late)} of {row.n} runs, {low if low == high else f'{low} to {high}'} s after it"
