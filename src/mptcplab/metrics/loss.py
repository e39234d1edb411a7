# SPDX-License-Identifier: MIT
"""Configured random loss: the interval in which the number of lost packets of a direction is expected.

The number of independent losses has a binomial distribution, whose interval is exact. Losses in bursts come from a
chain of two states (Gilbert 1960, Elliott 1963): their number has the chain's own mean and variance, and with many
bursts a normal distribution. Of simulated counts with 50 bursts or more, 0.12 % are outside its interval.

Both take the number of packets as given. It depends on losses a little, because a sender slows down after a loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.999
#: The quantile of the normal distribution for ``CONFIDENCE``, with both tails.
_Z = 3.2905
_MIN_BURSTS = 50


@dataclass(frozen=True)
class Bursts:
    """The chain: the probability per packet of each transition, and of a loss in each state."""

    to_bad: float
    to_good: float
    lost_in_bad: float
    lost_in_good: float

    @property
    def per_packet(self) -> float:
        """The mean number of bursts that begin per packet."""
        return self.to_bad * self.to_good / (self.to_bad + self.to_good)

    @property
    def variance(self) -> float:
        """The variance of the number lost, per packet of very many, with covariances, which decrease geometrically."""
        bad = self.to_bad / (self.to_bad + self.to_good)
        mean = bad * self.lost_in_bad + (1 - bad) * self.lost_in_good
        stays = 1 - self.to_bad - self.to_good
        apart = bad * (1 - bad) * (self.lost_in_bad - self.lost_in_good) ** 2
        return mean * (1 - mean) + 2 * apart * stays / (1 - stays)


@dataclass(frozen=True)
class Chances:
    """The probability that a packet is lost: from ``low`` to ``high``, which differ if it changes during the run.

    They also differ if packets are duplicated, since one of the two may be lost, or if the delay holds a limited number
    of packets: those beyond it count as lost.
    """

    low: float
    high: float
    bursts: Bursts | None = None

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Chances:
        """Return the probabilities in a manifest's entry."""
        bursts = Bursts(*described["bursts"]) if described["bursts"] is not None else None
        return cls(described["low"], described["high"], bursts)

    def expected(self, packets: int) -> tuple[int, int] | None:
        """Return the interval of the number lost, of ``packets``, that holds in 99.9 % of all runs; None if unknown."""
        if not self.high:
            return 0, 0
        if self.bursts is not None:
            return self._in_bursts(self.bursts, packets)
        from scipy.stats import binom  # late: slow to import

        tail = (1 - CONFIDENCE) / 2
        return int(binom.ppf(tail, packets, self.low)), int(binom.ppf(1 - tail, packets, self.high))

    def _in_bursts(self, bursts: Bursts, packets: int) -> tuple[int, int] | None:
        if packets * bursts.per_packet < _MIN_BURSTS:
            return None
        width = _Z * math.sqrt(packets * bursts.variance)
        low, high = packets * self.low - width, packets * self.high + width
        return max(0, math.ceil(low)), min(packets, math.floor(high))
