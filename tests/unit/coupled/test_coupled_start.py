# SPDX-License-Identifier: MIT
"""HyStart++ of the coupled controls against its rules, and in the situations that it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.coupled.connections import PATIENT
from tests.unit.coupled.library import CStart, Library

pytestmark = pytest.mark.slow

_MS = 1000
_SAMPLES = 8
_ROUNDS = 5


@dataclass
class _Rules:
    """The rules as coupled_start.h states them, from RFC 9406; False while slow start goes on."""

    seen: list[int]
    baseline: int = 0
    rounds: int = 0
    conservative: bool = False

    @staticmethod
    def rises(start: int, end: int) -> bool:
        return end >= start + min(max(start // 8, 4 * _MS), 16 * _MS)

    def next_round(self) -> bool:
        self.seen = []
        if not self.conservative:
            return False
        self.rounds += 1
        return self.rounds > _ROUNDS

    def sample(self, rtt_us: int, min_us: int) -> bool:
        self.seen.append(max(rtt_us, 1))
        least = min(self.seen)
        if len(self.seen) < _SAMPLES:
            return False
        if not self.conservative:
            if self.rises(min_us, least):
                self.conservative, self.baseline, self.rounds = True, least, 1
            return False
        if least < self.baseline:
            self.conservative = False
            return False
        return self.rises(self.baseline, least)


def _rounds_until_end(library: Library, rounds: Sequence[Sequence[int]]) -> tuple[int | None, CStart]:
    """The round, from 0, in which slow start ends, and the state; None if it does not."""
    start, smallest = CStart(), 1 << 32
    for number, samples in enumerate(rounds):
        if library("start_round", start):
            return number, start
        for rtt_us in samples:
            smallest = min(smallest, rtt_us)
            if library("start_sample", start, rtt_us, smallest):
                return number, start
    return None, start


_RTT = st.integers(0, (1 << 32) - 1) | st.integers(20 * _MS, 40 * _MS)


@PATIENT
@given(st.lists(st.lists(_RTT, max_size=20), max_size=30), st.integers(1, (1 << 31)))
def test_rules(library: Library, rounds: list[list[int]], min_us: int) -> None:
    """Whatever comes, C and the rules say the same after every sample."""
    start, rules = CStart(), _Rules([])
    for samples in rounds:
        ended = library("start_round", start)
        assert ended == rules.next_round()
        if ended:
            return
        for rtt_us in samples:
            ended = library("start_sample", start, rtt_us, min_us)
            assert ended == rules.sample(rtt_us, min_us)
            assert (start.rounds > 0) == rules.conservative
            if ended:
                return


@pytest.mark.parametrize("rtt_ms", [1, 10, 100, 1000])
def test_a_path_without_a_queue_is_left_alone(library: Library, rtt_ms: int) -> None:
    """Noise of less than 4 ms and less than an eighth of the round-trip time ends nothing."""
    noise = 3 * _MS
    rounds = [[rtt_ms * _MS + (7 * k * _MS) % noise for k in range(20)] for _ in range(50)]
    assert _rounds_until_end(library, rounds)[0] is None


def test_few_samples_say_nothing(library: Library) -> None:
    """Seven samples of a round do not count, however large."""
    rounds = [[10 * _MS] * 8, *([[500 * _MS] * 7] * 20)]
    assert _rounds_until_end(library, rounds)[0] is None


def test_a_queue_that_grows_ends_slow_start(library: Library) -> None:
    """50 ms; the third round waits 8 ms (seen), the fourth 24 ms (seen again): the end, without a loss."""
    rounds = [[(50 + wait) * _MS] * 10 for wait in (0, 0, 8, 24, 60)]
    assert _rounds_until_end(library, rounds)[0] == 3


def test_a_false_alarm_is_taken_back(library: Library) -> None:
    """One slow round leads to conservative slow start; the next one, faster, leads out of it."""
    ended, state = _rounds_until_end(library, [[50 * _MS] * 8, [60 * _MS] * 8, [51 * _MS] * 8])
    assert ended is None
    assert state.rounds == 0


def test_five_conservative_rounds_are_the_end(library: Library) -> None:
    """A delay that rose once and stays: rounds 1 to 5 are conservative, and the sixth does not begin."""
    rounds = [[50 * _MS] * 8, *([[60 * _MS] * 8] * 10)]
    assert _rounds_until_end(library, rounds)[0] == 6
