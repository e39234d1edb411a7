# SPDX-License-Identifier: MIT
"""The delay of the messages of a call or stream over time: median and 95th percentile of short intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mptcplab.figure.canvas import label_powers_plainly
from mptcplab.lazy import np
from mptcplab.stats import nearest_rank_quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The maximum number of intervals, and the minimum number of messages in each.
_INTERVALS, _LEAST = 120, 10
#: Beyond this factor between the largest and the smallest delay, the axis is logarithmic, as in a distribution; of
#: round-trip times, between the largest and the median.
_LOGARITHMIC = 20.0
#: Up to so large a factor, an axis of one number per power of ten would have too few.
_FEW_POWERS = 100.0
#: The name of the line of ``latest_ms``.
LIMIT = "limit"


@dataclass(frozen=True)
class Delays:
    """Delays in ms of the messages due in each interval; ``edges`` in s bound these.

    ``median`` and ``high``, the 95th percentile, are NaN where nothing arrived. ``bad`` are the middles of intervals
    with messages that arrived later than ``latest_ms`` or not at all.
    """

    edges: tuple[float, ...]
    median: tuple[float, ...]
    high: tuple[float, ...]
    bad: tuple[float, ...]
    latest_ms: float

    @property
    def spans(self) -> tuple[float, float]:
        """The smallest and the largest delay drawn, in ms, with the limit."""
        known = [value for value in (*self.median, *self.high, self.latest_ms) if value > 0]
        return min(known, default=1.0), max(known, default=1.0)

    @property
    def logarithmic_range(self) -> tuple[float, float] | None:
        """The ends of a logarithmic axis, if the delays differ so much that they need one."""
        low, high = self.spans
        return _logarithmic_range(low, high) if high > _LOGARITHMIC * low else None

    @property
    def note(self) -> str:
        """A sentence about the lines and marks."""
        length = self.edges[1] - self.edges[0]
        marks = f"; marks: some were beyond the {LIMIT}, or lost" if self.bad else ""
        return f"delay: of the messages that were due in each {length:.2g} s{marks}"


def delays_of(
    due_s: Sequence[float], delay_ms: Sequence[float], lost_s: Sequence[float], latest_ms: float
) -> Delays | None:
    """Return the delays of the messages of one run; None if none was sent.

    Messages that arrived were due at ``due_s``, lost ones at ``lost_s``; beyond ``latest_ms`` a message is late.
    """
    due = np.array([*due_s, *lost_s], dtype=np.float64)
    if not due.size:
        return None
    took = np.array([*delay_ms, *[math.inf] * len(lost_s)], dtype=np.float64)
    count = max(1, min(_INTERVALS, due.size // _LEAST))
    edges = np.linspace(due.min(), max(due.max(), due.min() + 1e-9), count + 1)
    places = np.clip(np.searchsorted(edges, due, side="right") - 1, 0, count - 1)
    median: list[float] = []
    high: list[float] = []
    bad: list[float] = []
    for number in range(count):
        here = took[places == number]
        arrived = np.sort(here[np.isfinite(here)]).tolist()
        for percent, values in ((50, median), (95, high)):
            values.append(round(nearest_rank_quantile(arrived, percent), 3) if arrived else math.nan)
        if (here > latest_ms).any():
            bad.append(round(float(edges[number] + edges[number + 1]) / 2, 5))
    return Delays(tuple(round(float(edge), 5) for edge in edges), tuple(median), tuple(high), tuple(bad), latest_ms)


def scale_delays(axes: Axes, drawn: Sequence[Delays]) -> None:
    """Give the axis of all ``drawn`` delays its range: logarithmic, and said to be so, if they differ much."""
    low, high = min(delays.spans[0] for delays in drawn), max(panel.spans[1] for panel in drawn)
    if high <= _LOGARITHMIC * low:
        axes.set_ylim(0, 1.15 * high)
    else:
        _make_logarithmic(axes, low, high)


def scale_round_trips(axes: Axes, values: Sequence[float]) -> None:
    """Give the axis of round-trip times its range: logarithmic if a few of them would press the usual ones flat.

    Such are the samples after a failure, in which TCP waited for its timer.
    """
    high = max(values)
    if high <= _LOGARITHMIC * statistics.median(values):
        axes.set_ylim(bottom=0)
    else:
        _make_logarithmic(axes, min(values), high)


def _logarithmic_range(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, with room above for marks."""
    return low / 1.5, high * (high / low) ** 0.12


def _make_logarithmic(axes: Axes, low: float, high: float) -> None:
    from matplotlib.ticker import NullLocator  # late, like all of matplotlib

    axes.set_yscale("log")
    axes.set_ylim(_logarithmic_range(low, high))
    label_powers_plainly(axes.yaxis, (1, 2, 5) if high <= _FEW_POWERS * low else (1,))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_ylabel(f"{axes.get_ylabel()} (log.)")
