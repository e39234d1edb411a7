# SPDX-License-Identifier: MIT
"""Connections over the whole range that the arithmetic must serve: for hypothesis, and in bulk.

Windows are 1 to 2^20 segments, RTTs 10 us to 10 s, paths 1 to 8. All are drawn by their logarithm, since a uniform draw
would never try a small one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tests.unit.coupled.reference import Path

#: No limit of time for one example: on a busy machine that says nothing of the arithmetic.
PATIENT = settings(suppress_health_check=[HealthCheck.too_slow])
RTT_US = (10, 10_000_000)
BETWEEN_LOSSES = 1 << 40
U32 = (1 << 32) - 1


def log_integers(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers between these, both included, as many of each magnitude."""
    return st.floats(0, 1).map(lambda part: min(high, max(low, round(low * (high / low) ** part))))


def windows(bits: int = 20) -> st.SearchStrategy[int]:
    """In segments; with 32 bits, all that the kernel's type can hold."""
    return log_integers(1, min(1 << bits, U32))


def rtts() -> st.SearchStrategy[int]:
    """In microseconds."""
    return log_integers(*RTT_US)


@st.composite
def connections(draw: st.DrawFn, fewest: int = 1, bits: int = 20) -> tuple[list[Path], int]:
    """The paths of a connection and one of them; some share all values, so that ties happen.

    With windows of 32 bits, RTTs are of 32 bits too: far beyond the range, but bounds hold there as well.
    """
    rtt = rtts() if bits < 32 else log_integers(1, U32)
    path = st.builds(Path, windows(bits), rtt, log_integers(1, BETWEEN_LOSSES) | st.just(0))
    different = draw(st.lists(path, min_size=1, max_size=8))
    count = draw(st.integers(max(fewest, len(different)), 8))
    made = draw(st.permutations(different + different[:1] * (count - len(different))))
    return made, draw(st.integers(0, count - 1))


def draw_connections(count: int, bits: int, seed: int) -> Iterator[list[Path]]:
    """That many connections of 1 to 8 different paths; much faster than hypothesis, but they do not shrink."""
    rng = np.random.default_rng(seed)
    low, high = np.log(RTT_US)
    for _ in range(count):
        paths = int(rng.integers(1, 9))
        window = np.exp2(rng.uniform(0, bits, paths)).round().astype(int).tolist()
        rtt = np.exp(rng.uniform(low, high, paths)).round().astype(int).tolist()
        gap = np.exp2(rng.uniform(0, 40, paths)).round().astype(int).tolist()
        yield [Path(*values) for values in zip(window, rtt, gap, strict=True)]
