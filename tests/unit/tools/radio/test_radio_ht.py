# SPDX-License-Identifier: MIT
"""802.11n in tools/radio against references in Python: durations, the code of rate 5/6, the window of block acks."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
from fractions import Fraction

import pytest
from tests.unit.tools.radio.parts import Parts, spectrum, union_bound

pytestmark = pytest.mark.slow

#: Bits of data of a symbol (table 19-27), bits of a carrier, the code's rate, and the rate whose responses it gets.
MCS = {
    0: (26, 1, Fraction(1, 2), 6000),
    1: (52, 2, Fraction(1, 2), 12000),
    2: (78, 2, Fraction(3, 4), 18000),
    3: (104, 4, Fraction(1, 2), 24000),
    4: (156, 4, Fraction(3, 4), 36000),
    5: (208, 6, Fraction(2, 3), 48000),
    6: (234, 6, Fraction(3, 4), 54000),
    7: (260, 6, Fraction(5, 6), 54000),
}
NUMBERS = 4096
WINDOW = 64


def number(mcs: int, *, short: bool = False) -> int:
    return 12 + mcs + (8 if short else 0)


def test_bits_of_a_symbol_are_those_of_its_carriers() -> None:
    """The table of this test is the standard's: 52 carriers of data, coded."""
    for data_bits, carrier, code, _ in MCS.values():
        assert data_bits == 52 * carrier * code


@pytest.mark.parametrize("mcs", MCS)
@pytest.mark.parametrize("size", [14, 1538, 30876, 65535])
def test_frames_take_as_long_as_the_standard_says(parts: Parts, mcs: int, size: int) -> None:
    """Preamble of 36 us, SERVICE and tail of 22 bits, symbols of 4 or 3.6 us up to a whole symbol of 4 us (19-90)."""
    symbols = -(-(22 + 8 * size) // MCS[mcs][0])
    long_us, short_us = 4 * symbols, 4 * math.ceil(Fraction(36, 10) * symbols / 4)
    assert parts.frame_ns(5180, number(mcs), size) == 1000 * (36 + long_us)
    assert parts.frame_ns(2412, number(mcs), size) == 1000 * (36 + long_us + 6)
    assert parts.frame_ns(5180, number(mcs, short=True), size) == 1000 * (36 + short_us)


@pytest.mark.parametrize("mcs", MCS)
def test_frames_of_an_aggregate_divide_its_time(parts: Parts, mcs: int) -> None:
    """The last ends in the last symbol, which the tail and the padding fill."""
    for short in (False, True):
        symbol_ns = 3600 if short else 4000
        for size in (3000, 20000):
            end_ns = parts.bytes_ns(number(mcs, short=short), size)
            data_ns = parts.frame_ns(5180, number(mcs, short=short), size) - 36_000
            assert end_ns == (16 + 8 * size) * symbol_ns // MCS[mcs][0]
            assert data_ns - 4000 - symbol_ns < end_ns <= data_ns


def test_rates_have_the_numbers_of_their_mcs(parts: Parts) -> None:
    assert [parts.mcs_number(mcs, short=False) for mcs in range(-1, 9)] == [-1, *range(12, 20), -1]
    assert [parts.mcs_number(mcs, short=True) for mcs in range(-1, 9)] == [-1, *range(20, 28), -1]
    for mhz in (2412, 5180):
        assert [parts.mcs_index(mhz, index) for index in range(12, 28)] == [*range(8), *range(8)]


def test_responses_are_those_of_the_rate_of_the_same_modulation(parts: Parts) -> None:
    """Without basic rates of OFDM the mandatory ones (table 10-8, 10.7.6.5.2)."""
    for mcs, (*_, reference) in MCS.items():
        for short in (False, True):
            mandatory = max(rate for rate in (6000, 12000, 24000) if rate <= reference)
            assert parts.response_kbps(number(mcs, short=short), 0b11) == mandatory
            assert parts.response_kbps(number(mcs, short=short), 0b1111_1111_0000) == reference


@pytest.mark.parametrize("mcs", MCS)
def test_errors_are_the_union_bound_over_the_code(parts: Parts, mcs: int) -> None:
    """The first weights come from walking the trellis of the punctured code (19.3.11.6); the others vanish."""
    _, carrier, code, _ = MCS[mcs]
    weights = spectrum(code.numerator, 4)
    checked = 0
    for sinr_db in range(4, 31):
        snr = 10 ** (sinr_db / 10) * 64 / 56
        d, expected = union_bound(carrier, snr, code.numerator, weights)
        if d > 0.02 or d < 1e-9:
            continue
        checked += 1
        rate = parts.bit_error_rate(number(mcs), 10 ** (sinr_db / 10))
        # What is left out are weights of at least 4 more, each about 10 times the one before: 2 % at the bound of d.
        assert rate == pytest.approx(expected, rel=0.03)
        assert parts.bit_error_rate(number(mcs, short=True), 10 ** (sinr_db / 10)) == rate
    assert checked >= 2


def test_a_faster_mcs_needs_a_better_signal(parts: Parts) -> None:
    """The ratios at which a frame of 1538 bytes is lost one time in ten rise by 1 to 5 dB a step, as for receivers.

    The standard's minimum sensitivities (table 19-23) are 3, 2, 3, 4, 4, 1 and 1 dB apart.
    """
    needed = []
    for mcs in MCS:
        db = next(
            tenth / 10 for tenth in range(-50, 400) if parts.bits_success(number(mcs), 10 ** (tenth / 100), 12304) > 0.9
        )
        needed.append(db)
    steps = [later - earlier for earlier, later in itertools.pairwise(needed)]
    print(needed, steps)
    for step, standard in zip(steps, (3, 2, 3, 4, 4, 1, 1), strict=True):
        assert step == pytest.approx(standard, abs=1.2)


class Model:
    """A receiver's window by the text of 10.24.7.3, with a set instead of bits."""

    def __init__(self, first: int) -> None:
        self.start = (first - WINDOW + 1) % NUMBERS
        self.received: set[int] = set()

    def ahead(self, number: int) -> int:
        return (number - self.start) % NUMBERS

    def move(self, start: int) -> None:
        if self.ahead(start) < NUMBERS // 2:
            self.start = start % NUMBERS
            self.received = {number for number in self.received if self.ahead(number) < WINDOW}

    def receive(self, number: int) -> None:
        if self.ahead(number) >= NUMBERS // 2:
            return
        if self.ahead(number) >= WINDOW:
            self.move((number - WINDOW + 1) % NUMBERS)
        self.received.add(number)


@pytest.mark.parametrize("seed", range(200))
def test_the_window_is_the_standards(parts: Parts, seed: int) -> None:
    """Random frames near the window, now and then far away, around the end of the numbers, and requests to move."""
    draw = random.Random(seed)
    first = draw.randrange(NUMBERS)
    events, model, at = [first], Model(first), first
    model.receive(first)
    for _ in range(draw.randrange(1, 300)):
        at = (at + draw.choice((0, 1, 1, 2, 5, 64, 65))) % NUMBERS
        number = (at + draw.randrange(-80, 80)) % NUMBERS if draw.random() < 0.95 else draw.randrange(NUMBERS)
        if draw.random() < 0.1:
            events.append(-1 - number)
            model.move(number)
        else:
            events.append(number)
            model.receive(number)
    for begin in (model.start, (model.start - 70) % NUMBERS, (model.start + 33) % NUMBERS):
        state = parts.scoreboard(events, begin)
        expected = {i for i in range(WINDOW) if (begin + i) % NUMBERS in model.received}
        assert {i for i in range(WINDOW) if state >> i & 1} == expected


@pytest.mark.parametrize("seed", range(50))
def test_what_a_sender_may_send_is_never_taken_for_old(parts: Parts, seed: int) -> None:
    """Frames up to 63 after the oldest that is missing, in any order: each is acknowledged once it was received."""
    draw = random.Random(seed)
    oldest, missing, events = draw.randrange(NUMBERS), set(range(WINDOW)), list[int]()
    base = 0
    while len(events) < 400:
        number = draw.choice(sorted(number for number in missing if number < base + WINDOW))
        events.append((oldest + number) % NUMBERS)
        acked = parts.scoreboard(events, events[-1])
        assert acked & 1
        missing.discard(number)
        base = min(missing)
        missing |= set(range(max(missing) + 1, base + WINDOW))


def test_ctypes_passes_whole_windows(parts: Parts) -> None:
    """All 64 bits come back, not the lower 32."""
    assert parts.scoreboard(list(range(100, 164)), 100) == ctypes.c_uint64(-1).value
