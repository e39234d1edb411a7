# SPDX-License-Identifier: MIT
"""The tables of a twin: its lines, the twin beside the observation, and the changes that were tried."""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.fit.advise import Advice, ComparedQuantity
from mptcplab.fit.lines import Estimate, format_rate, format_share, format_time
from mptcplab.fit.observation import Observation
from mptcplab.report.table import Table, number_columns


def lines_table(observation: Observation) -> Table:
    """Return the estimates of each line, with notes on where they come from."""
    rows, notes = [], []
    for line in observation.lines:
        queue = f"{format_time(line.queue.value)}, {line.queue_packets:.3g} packets"
        rows.append(
            (
                line.name,
                f"{line.sender} to {line.receiver}",
                _cell(line.rate, format_rate(line.rate.value)),
                _cell(line.rtt, format_time(line.rtt.value)),
                _cell(line.queue, queue),
                _cell(line.loss, format_share(line.loss.value)),
            )
        )
        for noun, estimate, form in (
            ("rate", line.rate, format_rate),
            ("round trip", line.rtt, format_time),
            ("queue", line.queue, format_time),
            ("loss", line.loss, format_share),
        ):
            notes.append(f"{noun} of {line.name} {estimate.origin(form)}.")
    notes += [f"Warning: {sign}." for sign in observation.signs]
    columns = ("line", "payload", *number_columns("rate", "round trip", "queue", "random loss"))
    return Table.build(f"Lines of {observation.name}", columns, rows, notes)


def _cell(estimate: Estimate, text: str) -> str:
    if estimate.kind == "bound":
        return f"{'<=' if estimate.is_upper else '>='} {text}"
    return f"{text} (assumed)" if estimate.kind == "assumed" else text


def beside_table(comparisons: Sequence[ComparedQuantity], repeats: int) -> Table:
    """Return the observed quantities beside the twin's, which ran with ``repeats`` seeds."""
    rows = (
        (
            row.quantity,
            row.format(row.observed),
            f"{row.format(row.twin)} ({row.format(max(row.low, 0.0))} to {row.format(row.high)})",
            f"{100 * row.difference:+.1f} {'points' if row.is_share else '%'}",
        )
        for row in comparisons
    )
    columns = ("quantity", *number_columns("observed", "twin (95 % interval)", "difference"))
    note = f"The twin ran with {repeats} {'seed' if repeats == 1 else 'seeds'}. The observation is one transfer."
    return Table.build("The twin beside the observation", columns, rows, [note])


def advice_table(advice: Sequence[Advice]) -> Table:
    """Return the gains of changes, in the order of ``advice``."""
    rows = (
        (
            row.words,
            f"{100 * row.gain:+.1f} %",
            f"{100 * row.low:+.1f} to {100 * row.high:+.1f} %",
            "" if row.rtt_change_s is None else f"{1000 * row.rtt_change_s:+.1f} ms",
            row.verdict,
        )
        for row in advice
    )
    columns = ("change", *number_columns("goodput", "95 % interval", "round trip under load"), "verdict")
    note = "The intervals hold for all changes at the same time (Bonferroni). Runs are compared in pairs of one seed."
    return Table.build("Changes of the twin, the most useful first", columns, rows, [note])
