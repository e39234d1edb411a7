# SPDX-License-Identifier: MIT
"""The algebra of verdicts: where an interval lies against a published value with its tolerance, and what moved.

The *band* of a published value p with a tolerance of T percent is p ± p T / 100. A measured 95 % interval

- lies *within* if all of it is in the band;
- is *uncertain* if it crosses an end of the band, so that it could lie on either side;
- lies *outside* if it does not overlap the band.

A single run has no interval, and may lie anywhere: it is uncertain. The same holds for the bounds of claims.
"""

from __future__ import annotations

import math

from mptcplab.stats import Interval

WITHIN, UNSURE, OUTSIDE = "within", "uncertain", "outside"
#: What an evidence run proves of a reason.
SHOWS, SHOWS_PART, SHOWS_NOTHING = "shown", "partly shown", "not shown"
#: The setting of the evidence was chosen by the value that it would show.
CHOSEN = "not shown, since the setting was chosen by this value"
#: Of the way from the measured to the published value: what evidence leaves of it at most.
_MOST_LEFT = 0.5
_ROUNDING = 1e-9


def half_width_of(value: Interval) -> float:
    """Return the half width of an interval, infinite for a single run."""
    return math.inf if value.half_width is None else value.half_width


def position(value: Interval, published: float, tolerance: float) -> str:
    """Return where ``value`` lies against ``published`` with a tolerance in percent."""
    half, band = half_width_of(value), abs(published) * tolerance / 100
    if abs(value.mean - published) > half + band:
        return OUTSIDE
    # Rounding must not move a value of equal runs off the end of its band.
    return WITHIN if abs(value.mean - published) + half <= band * (1 + _ROUNDING) else UNSURE


def explained_fraction(measured: float, evidence: float, published: float) -> float:
    """Return the share of the way from ``measured`` to ``published`` that ``evidence`` goes; above 1 beyond it."""
    way = published - measured
    return (evidence - measured) / way if way else math.nan


def proof_of(measured: Interval, evidence: Interval, published: float, tolerance: float) -> str:
    """Return what an evidence run proves: a reason, a part of it, or nothing.

    It shows the reason if its mean lies in the band. It shows a part if it leaves at most half of the distance, on
    either side. Where both values have an interval, these must not overlap: a move that the intervals do not confirm
    shows nothing.
    """
    if None not in (measured.half_width, evidence.half_width) and _overlap(measured, evidence):
        return SHOWS_NOTHING
    left = abs(evidence.mean - published)
    if left <= abs(published) * tolerance / 100:
        return SHOWS
    return SHOWS_PART if left <= _MOST_LEFT * abs(measured.mean - published) else SHOWS_NOTHING


def _overlap(interval: Interval, other: Interval) -> bool:
    return interval.low <= other.high and other.low <= interval.high
