# SPDX-License-Identifier: MIT
"""The algebra of verdicts: where an interval lies against a published value with its tolerance, and what moved.

The *band* of a published value p with a tolerance of T percent is p ± p T / 100. A measured 95 % interval

- lies *within* if it overlaps the band and is narrower: its full width is less than the band's;
- is *uncertain* if it overlaps the band and is not narrower, so that it could lie on either side;
- lies *outside* if it does not overlap.

A single run has no interval, and may lie anywhere: it is uncertain.
"""

from __future__ import annotations

import math

from mptcplab.stats import Interval

WITHIN, UNSURE, OUTSIDE = "within", "uncertain", "outside"
#: Of the way from the measured to the published value: what evidence leaves of it at most.
_MOST_LEFT = 0.5


def half_width_of(value: Interval) -> float:
    """Return the half width of an interval, infinite for a single run."""
    return math.inf if value.half_width is None else value.half_width


def position(value: Interval, published: float, tolerance: float) -> str:
    """Return where ``value`` lies against ``published`` with a tolerance in percent."""
    half, band = half_width_of(value), abs(published) * tolerance / 100
    if abs(value.mean - published) > half + band:
        return OUTSIDE
    return WITHIN if half < band else UNSURE


def moved(measured: float, evidence: float, published: float) -> float:
    """Return the share of the way from ``measured`` to ``published`` that ``evidence`` goes; above 1 beyond it."""
    way = published - measured
    return (evidence - measured) / way if way else math.nan


def isolates(measured: Interval, evidence: Interval, published: float, tolerance: float) -> bool:
    """Return whether the evidence run moves the measured value to the published one, by a half of the way or more.

    Its mean lies within the tolerance, or leaves at most half of the distance, on either side. Where both values have
    an interval, these must not overlap: a move that the intervals do not confirm shows nothing.
    """
    if None not in (measured.half_width, evidence.half_width) and _overlap(measured, evidence):
        return False
    left = abs(evidence.mean - published)
    return left <= abs(published) * tolerance / 100 or left <= _MOST_LEFT * abs(measured.mean - published)


def _overlap(one: Interval, other: Interval) -> bool:
    return one.low <= other.high and other.low <= one.high
