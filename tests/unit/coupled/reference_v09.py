# SPDX-License-Identifier: MIT
"""What the out-of-tree kernel 0.9x computes in place of the rules of `reference`, in exact whole numbers.

Written from what is known of its arithmetic (scales, order of divisions, what is truncated), for the figures that show
each deviation. One acknowledgement counts there as one segment, whatever it acknowledges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class IntegerPath:
    """One subflow: window in segments, RTT in whole units of any size, and OLIA's amount between losses in bytes."""

    window: int
    rtt: int
    between_losses: int = 0


def lia_acks_per_segment(paths: Sequence[IntegerPath], r: int) -> int:
    """How many acknowledgements LIA waits before it adds a segment: 4096 over a truncated 4096 alpha / total window."""
    best = max(paths, key=lambda path: (path.window << 32) // path.rtt**2)
    total = sum((path.window << 10) * best.rtt // path.rtt for path in paths)
    alpha = (best.window << 32) // total**2 or 1
    return max(4096 // alpha, paths[r].window)


def olia_per_ack(paths: Sequence[IntegerPath], r: int, epsilon: tuple[int, int] = (0, 1)) -> int:
    """What one acknowledgement adds to OLIA's counter, in 1/1024 segment; epsilon is a fraction (-1, 0 or 1 over n)."""
    sign, n = epsilon
    rate = (1 + sum((path.window << 10) * paths[r].rtt // path.rtt for path in paths)) ** 2
    coupled = n * (paths[r].window << 10) ** 2
    num = sign * rate + coupled
    step = (abs(num) << 10) // (n * paths[r].window * rate)
    return step if num >= 0 else -step


def balia_decrease(paths: Sequence[IntegerPath], r: int) -> int:
    """Half of the window times min(alpha, 1.5), with alpha a whole number."""
    rates = [path.window * 1_000_000 // path.rtt for path in paths]
    alpha = max(rates) // rates[r]
    return ((paths[r].window >> 1) * min(alpha << 10, 3 << 9)) >> 10


def wvegas_target(rates: Sequence[int], r: int) -> int:
    """Whole segments of 10, and never under 2."""
    return max(2, 10 * ((rates[r] << 16) // sum(rates)) >> 16)
