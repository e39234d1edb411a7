# SPDX-License-Identifier: MIT
"""Paired differences as notes of a table."""

from __future__ import annotations

from collections.abc import Sequence

from mptcplab.metrics.paired import PairedDifference
from mptcplab.metrics.points import point_text
from mptcplab.report.table import number, spread_text

_PROTOCOL = "transport.protocol"
_MAX_LINES = 6


def paired_notes(pairs: Sequence[PairedDifference]) -> list[str]:
    """Return the differences of MPTCP and TCP, one line per point; those of other keys are in results.json only."""
    lines = [_line(pair, pairs) for pair in pairs if pair.key == _PROTOCOL]
    if len(lines) > _MAX_LINES:
        left_out = len(lines) - _MAX_LINES
        lines[_MAX_LINES:] = [f"MPTCP - TCP: {left_out} more in results.json (paired)."]
    return lines


def _line(pair: PairedDifference, pairs: Sequence[PairedDifference]) -> str:
    where = point_text(pair.settings)
    if len({one.workload for one in pairs}) > 1:
        where = f"{where}, {pair.workload}" if where else pair.workload
    difference = pair.difference
    percent = f" ({pair.percent:+.1f} %)" if pair.percent is not None else ""
    width = spread_text(difference.half_width)
    sign = "+" if difference.mean >= 0 else ""
    text = f"{pair.second.upper()} - {pair.first.upper()}{f', {where}' if where else ''}:"
    return f"{text} {sign}{number(difference.mean)}{width} Mbit/s{percent}, paired over {difference.n[0]} seeds."
