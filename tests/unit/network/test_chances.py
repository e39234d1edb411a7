# SPDX-License-Identifier: MIT
"""How many losses chance makes: against distributions that are computed packet by packet."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from random import Random

import numpy as np
import pytest
from scipy.stats import binom

from mptcplab.network.chances import BurstChain, LossChances


@pytest.mark.parametrize(("packets", "chance"), [(200, 0.01), (500, 0.1), (50, 0.5), (1200, 0.002)])
def test_independent_losses(packets: int, chance: float) -> None:
    """The interval holds 99.9 % of a binomial distribution, and neither end could be further in."""
    expected = LossChances(chance, chance).expected_losses(packets)
    assert expected is not None
    low, high = expected
    p = Fraction(chance).limit_denominator(1000)
    masses = [float(comb(packets, k) * p**k * (1 - p) ** (packets - k)) for k in range(packets + 1)]
    assert sum(masses[:low]) < 0.0005 <= sum(masses[: low + 1])
    assert sum(masses[high + 1 :]) <= 0.0005 < sum(masses[high:])


@pytest.mark.slow
def test_independent_losses_as_in_scipy() -> None:
    """From no packet to millions, and from losses that hardly ever happen to certain ones."""
    random = Random(1)
    for _ in range(1000):
        packets = random.choice([0, 1, 5, 100, random.randrange(10**4), random.randrange(3 * 10**6)])
        chance = random.choice([1e-5, 0.02, 0.5, 0.9999, 1, random.random(), random.random() / 100])
        theirs = tuple(int(binom.ppf(tail, packets, chance)) for tail in (0.0005, 0.9995))
        assert LossChances(chance, chance).expected_losses(packets) == theirs, f"{packets} packets, {chance}"


def test_a_loss_that_changes_is_between_its_ends() -> None:
    least, most = (LossChances(chance, chance).expected_losses(1000) for chance in (0.01, 0.05))
    both = LossChances(0.01, 0.05).expected_losses(1000)
    assert (least, most, both) is not None
    assert both == ((least or (0, 0))[0], (most or (0, 0))[1])


def test_nothing_is_lost_where_no_loss_is_asked_for() -> None:
    assert LossChances(0, 0).expected_losses(10**6) == (0, 0)


def _masses(chain: BurstChain, packets: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """How likely each number of losses is, by taking the chain from packet to packet; it begins in its good state."""
    good, bad = np.zeros(packets + 1), np.zeros(packets + 1)
    good[0] = 1.0
    for _ in range(packets):
        after = []
        for state, lost in ((good, chain.lost_in_good), (bad, chain.lost_in_bad)):
            after.append(state * (1 - lost) + np.concatenate(([0.0], state[:-1])) * lost)
        good = after[0] * (1 - chain.to_bad) + after[1] * chain.to_good
        bad = after[0] * chain.to_bad + after[1] * (1 - chain.to_good)
    return good + bad


@pytest.mark.slow
@pytest.mark.parametrize(
    "chain", [BurstChain(0.01, 0.2, 1.0, 0.0), BurstChain(0.02, 0.25, 0.8, 0.01), BurstChain(0.3, 0.5, 0.5, 0.1)]
)
def test_losses_in_bursts(chain: BurstChain) -> None:
    """Mean and variance are the chain's, and the interval leaves out about one run in a thousand."""
    packets = 8000
    masses, numbers = _masses(chain, packets), np.arange(packets + 1)
    mean = float(masses @ numbers)
    assert float(masses @ (numbers - mean) ** 2) == pytest.approx(packets * chain.variance, rel=0.01)
    chances = LossChances(mean / packets, mean / packets, chain)
    low, high = chances.expected_losses(packets) or (0, 0)
    outside = float(masses[:low].sum() + masses[high + 1 :].sum())
    print(f"{low} to {high} of {packets}: {100 * outside:.3f} % outside")
    assert 0.0005 < outside < 0.002
    assert LossChances(0.01, 0.01, chain).expected_losses(100) is None, "too few bursts for a normal distribution"
