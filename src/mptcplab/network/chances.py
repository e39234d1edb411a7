# SPDX-License-Identifier: MIT
"""Probabilities of effects on packets, and the interval in which the number of lost packets of a run lies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from operator import mul
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator

from mptcplab.fields import value_error
from mptcplab.units import Probability

# Random loss: its probability, and the interval in which the number of lost packets of a direction is expected.
#
# Behaviours of links compose the probability for the manifest; readers of recordings compute the interval.
#
# The number of independent losses has a binomial distribution, whose interval is exact. Losses in bursts come from a
# chain of two states (Gilbert 1960, Elliott 1963): their number has the chain's own mean and variance, and with many
# bursts a normal distribution. Of simulated counts with 50 bursts or more, 0.12 % are outside its interval.
#
# Both take the number of packets as given. It depends on losses a little, because a sender slows down after a loss.

CONFIDENCE = 0.999
#: The quantile of the normal distribution for ``CONFIDENCE``, with both tails.
_Z = 3.2905
_MIN_BURSTS = 50
#: A probability relative to the largest one.
_NEGLIGIBLE = 1e-20


class BurstChain(NamedTuple):
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
class LossChances:
    """The probability of random loss in a direction: from ``low`` to ``high``, which differ if it changes in a run.

    They also differ if packets are duplicated, since one of the two may be lost, or if the delay holds a limited number
    of packets: those beyond it count as lost. ``bursts`` is the chain of losses in bursts.
    """

    low: float = 0.0
    high: float = 0.0
    bursts: BurstChain | None = None

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> LossChances:
        """Return the probabilities in a manifest's entry."""
        bursts = BurstChain(*entry["bursts"]) if entry["bursts"] is not None else None
        return cls(entry["low"], entry["high"], bursts)

    def and_lost(self, low: float, high: float) -> LossChances:
        """Return the chances together with another, independent cause of loss."""
        return replace(self, low=self.low + (1 - self.low) * low, high=self.high + (1 - self.high) * high)

    def expected_losses(self, packets: int) -> tuple[int, int] | None:
        """Return the interval of the number lost, of ``packets``, that holds in 99.9 % of all runs; None if unknown."""
        if not self.high:
            return 0, 0
        if self.bursts is not None:
            return self._expected_in_bursts(self.bursts, packets)
        tail = (1 - CONFIDENCE) / 2
        return _binomial_quantile(tail, packets, self.low), _binomial_quantile(1 - tail, packets, self.high)

    def _expected_in_bursts(self, bursts: BurstChain, packets: int) -> tuple[int, int] | None:
        if packets * bursts.per_packet < _MIN_BURSTS:
            return None
        width = _Z * math.sqrt(packets * bursts.variance)
        low, high = packets * self.low - width, packets * self.high + width
        return max(0, math.ceil(low)), min(packets, math.floor(high))


def _binomial_quantile(quantile: float, packets: int, chance: float) -> int:
    """Return the smallest number of losses that a run has at most with at least the probability ``quantile``.

    ``scipy.stats.binom.ppf`` gives the same number, but SciPy takes longer to import than most commands run. Here the
    probabilities are those relative to the most likely number, down to where they no longer count.
    """
    if not 0 < chance < 1 or not packets:
        return packets if chance >= 1 else 0
    odds = chance / (1 - chance)
    mode = min(packets, math.floor((packets + 1) * chance))
    below = _weights((number / ((packets - number + 1) * odds)) for number in range(mode, 0, -1))
    above = _weights(((packets - number + 1) * odds / number) for number in range(mode + 1, packets + 1))
    weights = [*reversed(below), 1.0, *above]
    # Summed from the end that is nearer to the quantile, where the sum is small and thus exact.
    share = min(quantile, 1 - quantile) * math.fsum(weights)
    first = mode - len(below)
    if quantile < 0.5:
        return first + next(place for place, mass in enumerate(accumulate(weights)) if mass >= share)
    last = mode + len(above)
    return last - next(place for place, mass in enumerate(accumulate(reversed(weights))) if mass > share)


def _weights(ratios: Iterable[float]) -> list[float]:
    """Return the products of the first ratios, which decrease, up to the first that no longer counts."""
    weights: list[float] = []
    for weight in accumulate(ratios, mul):
        weights.append(weight)
        if weight < _NEGLIGIBLE:
            break
    return weights


# Probabilities of effects on packets.

CERTAIN = 10**9


def _check_not_certain(probability: Probability) -> Probability:
    if probability == CERTAIN:
        raise value_error("affects every packet", "use less than 100 %")
    return probability


Chance = Annotated[Probability, AfterValidator(_check_not_certain)]


def percent(share: Fraction | Probability) -> str:
    """Return a share for ``tc``, exact to one part in 10^9; ``tc`` itself keeps one part in 4 * 10^9."""
    parts = share if isinstance(share, Probability) else Probability(round(share * CERTAIN))
    return f"{parts.percent_text}%"
