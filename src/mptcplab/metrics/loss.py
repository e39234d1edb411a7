# SPDX-License-Identifier: MIT
"""Random loss as asked for: how many of a direction's packets chance may have taken.

Independent losses are counted by a binomial distribution, whose interval is exact. Losses in bursts come from a chain
of two states (Gilbert 1960, Elliott 1963): their number has the chain's own mean and variance, and a normal
distribution once there are many bursts. Of simulated counts with 50 bursts or more, 0.12 % lie outside of it.

Both take the number of packets as given. A sender that slows down after a loss makes it depend on losses a little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CONFIDENCE = 0.999
#: Of the normal distribution, both tails together.
_Z = 3.2905
_LEAST_BURSTS = 50


@dataclass(frozen=True)
class Bursts:
    """The chain: how likely a packet takes it from one state to the other, and how likely one is lost in each."""

    to_bad: float
    to_good: float
    lost_in_bad: float
    lost_in_good: float

    @property
    def per_packet(self) -> float:
        """How many bursts begin with a packet, on average."""
        return self.to_bad * self.to_good / (self.to_bad + self.to_good)

    @property
    def variance(self) -> float:
        """Of the number lost, for each packet of very many: with neighbours' covariances, which fall geometrically."""
        bad = self.to_bad / (self.to_bad + self.to_good)
        mean = bad * self.lost_in_bad + (1 - bad) * self.lost_in_good
        stays = 1 - self.to_bad - self.to_good
        apart = bad * (1 - bad) * (self.lost_in_bad - self.lost_in_good) ** 2
        return mean * (1 - mean) + 2 * apart * stays / (1 - stays)


@dataclass(frozen=True)
class Chances:
    """The probability that a packet is lost: from ``low`` to ``high``, which differ if it changes during the run.

    They also differ if packets are doubled, since one of the two may be lost, or if the delay has room for a limited
    number: what it has none for is counted as lost.
    """

    low: float
    high: float
    bursts: Bursts | None = None

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Chances:
        """Return them as a manifest has them."""
        bursts = Bursts(*described["bursts"]) if described["bursts"] is not None else None
        return cls(described["low"], described["high"], bursts)

    def expected(self, packets: int) -> tuple[int, int] | None:
        """The numbers of lost ones of so many between which 99.9 % of all runs lie; None if that cannot be told."""
        if not self.high:
            return 0, 0
        if self.bursts is not None:
            return self._in_bursts(self.bursts, packets)
        from scipy.stats import binom  # late: slow to import

        tail = (1 - CONFIDENCE) / 2
        return int(binom.ppf(tail, packets, self.low)), int(binom.ppf(1 - tail, packets, self.high))

    def _in_bursts(self, bursts: Bursts, packets: int) -> tuple[int, int] | None:
        if packets * bursts.per_packet < _LEAST_BURSTS:
            return None
        width = _Z * math.sqrt(packets * bursts.variance)
        low, high = packets * self.low - width, packets * self.high + width
        return max(0, math.ceil(low)), min(packets, math.floor(high))
