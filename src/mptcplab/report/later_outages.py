# SPDX-License-Identifier: MIT
"""The note below a table about outages that are not what a failure interrupts: they begin long after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mptcplab.metrics.later_outage import INTERRUPTION, OUTAGE, later_outages
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.rows import ResultRow
from mptcplab.report.table import Note

#: Rows that the note names.
_NAMED = 6


def later_outage_notes(rows: Sequence[ResultRow]) -> Iterator[Note]:
    """Yield a note if rows have runs whose outage begins later than a second after the failure."""
    texts = {_name(row, rows): later for row in rows if (later := _late_outage_text(row))}
    if not texts:
        return
    named = [f"{name} ({text})" for name, text in list(texts.items())[:_NAMED]]
    more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    yield Note(
        "Outage: in some runs the longest one begins only later than a second after the failure, so it is not what the "
        f"failure interrupts: {'; '.join(named)}{more}. `--metric {METRICS[INTERRUPTION].noun}` of `compare` and "
        "`figure` is what begins with the failure.",
        about=rf"\b{METRICS[OUTAGE].noun}\b",
    )


def _name(row: ResultRow, rows: Sequence[ResultRow]) -> str:
    several = len({result_row.workload for result_row in rows}) > 1
    return ", ".join([*row.settings.values(), *([row.workload] if several or not row.settings else [])])


def _late_outage_text(row: ResultRow) -> str:
    """Return in how many runs of a row the outage begins late, and when; empty if in none."""
    late = later_outages(row)
    if not late:
        return ""
    low, high = f"{min(late):.1f}", f"{max(late):.1f}"
    return f"{len(late)} of {row.n} runs, {low if low == high else f'{low} to {high}'} s after it"
