# SPDX-License-Identifier: MIT
"""Delays that vary have the distribution that the scenario names, and packets keep their order unless it says not.

Distances between distributions are Kolmogorov's: of n draws from the right one, 99.9 % lie below kstwo(n).ppf(0.999).
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, ks_1samp, kstwo, norm, uniform
from tests.lab.bench import Bench, note
from tests.lab.probe import HEADERS, probe

DATAGRAMS = 10_000
#: What the two hops without delay and the programs take, and the resolution of the clock.
RESOLUTION_MS = 0.02
FORWARD = "links.link1.forward."
#: Kolmogorov distance of a small part of a table's resolution, or of a normal distribution cut at four deviations.
TABLE = 0.003


def _settings(*keys: str) -> list[str]:
    return [FORWARD + key for key in keys]


def _distance(delays: list[float], distribution: Callable[..., Any]) -> float:
    return float(ks_1samp(delays, distribution).statistic)


def _ks_limit(count: int = DATAGRAMS) -> float:
    return float(kstwo(count).ppf(0.999))


def _read_table(name: str) -> np.ndarray:
    """One of netem's tables, in deviations."""
    (file, *_) = [*Path("/usr/lib").glob(f"tc/{name}.dist"), *Path("/usr/lib").glob(f"*/tc/{name}.dist")]
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    return np.array([int(word) for line in lines for word in line.split()]) / 8192


def test_uniform(bench: Bench) -> None:
    probed = probe(bench, *_settings("delay=20 ms", "jitter=5 ms", "overtake=true"), bursts=DATAGRAMS)
    distance = _distance(probed.delays_ms, uniform(15, 10).cdf)
    print(f"uniform: {min(probed.delays_ms):.3f} to {max(probed.delays_ms):.3f} ms, distance {distance:.4f}")
    note("jitter uniform distance", distance)
    assert distance < _ks_limit() + TABLE
    assert min(probed.delays_ms) >= 15
    assert max(probed.delays_ms) <= 25 + RESOLUTION_MS


def test_normal(bench: Bench) -> None:
    settings = _settings("delay=20 ms", "jitter=3 ms", "distribution=normal", "overtake=true")
    delays = probe(bench, *settings, bursts=DATAGRAMS).delays_ms
    distance = _distance(delays, norm(20, 3).cdf)
    mean, deviation = statistics.fmean(delays), statistics.pstdev(delays)
    print(f"normal: mean {mean:.3f} ms, deviation {deviation:.3f} ms, distance {distance:.4f}")
    note("jitter normal distance", distance)
    assert distance < _ks_limit() + TABLE
    # The mean's own deviation is 0.03 ms. The table is cut at 4 deviations and has one of 0.99.
    assert abs(mean - 20) < 0.1
    assert abs(deviation - 3) < 0.1


@pytest.mark.parametrize("name", ["pareto", "paretonormal"])
def test_tables_of_netem(bench: Bench, name: str) -> None:
    """No formula is exact for these: the delays have the distribution of the table that iproute2 brings."""
    settings = _settings("delay=20 ms", "jitter=3 ms", f"distribution={name}", "overtake=true")
    delays = probe(bench, *settings, bursts=DATAGRAMS).delays_ms
    table = np.sort(_read_table(name) * 3 + 20)
    distance = _distance(
        [delay - RESOLUTION_MS / 10 for delay in delays], lambda x: np.searchsorted(table, x) / len(table)
    )
    print(
        f"{name}: from {table[0]:.2f} to {table[-1]:.2f} ms, mean {table.mean():.3f}, deviation {table.std():.3f}; "
        f"measured {min(delays):.2f} to {max(delays):.2f}, {statistics.fmean(delays):.3f}, "
        f"{statistics.pstdev(delays):.3f}; distance {distance:.4f}"
    )
    note(f"jitter {name} distance", distance)
    assert distance < _ks_limit() + TABLE


def test_own_table(bench: Bench) -> None:
    """Quantiles 0, 25, 50, 75, 100 %: a quarter of the packets falls evenly between each pair."""
    added = [0.0, 1.0, 2.0, 5.0, 40.0]
    quantiles = ", ".join(f'"{value} ms"' for value in added)
    settings = _settings("delay=20 ms", f"extra_delay=[{quantiles}]", "overtake=true")
    delays = probe(bench, *settings, bursts=DATAGRAMS).delays_ms
    places = [20 + value for value in added]
    distance = _distance(delays, lambda x: np.interp(x, places, [0, 0.25, 0.5, 0.75, 1]))
    print(f"own table: {min(delays):.3f} to {max(delays):.3f} ms, distance {distance:.4f}")
    note("own quantiles distance", distance)
    assert distance < _ks_limit() + TABLE
    assert min(delays) >= 20 - RESOLUTION_MS
    assert max(delays) <= 60 + RESOLUTION_MS


@pytest.mark.parametrize(
    "keys",
    [
        ("jitter=5 ms",),
        ("jitter=3 ms", "distribution=pareto"),
        ('extra_delay=["0 ms", "1 ms", "20 ms"]',),
    ],
    ids=["uniform", "pareto", "own"],
)
def test_order_is_kept_unless_said(bench: Bench, keys: tuple[str, ...]) -> None:
    """A datagram each millisecond, delays that differ by more: nobody overtakes, or many do."""
    kept = probe(bench, *_settings("delay=20 ms", *keys), bursts=2000)
    free = probe(bench, *_settings("delay=20 ms", *keys, "overtake=true"), bursts=2000)
    print(f"{keys}: {kept.overtaken} of 2000 overtaken in order, {free.overtaken} with overtake")
    assert kept.overtaken == 0
    assert free.overtaken > 200
    # Waiting for those before only makes delays longer.
    assert statistics.fmean(kept.delays_ms) > statistics.fmean(free.delays_ms)
    assert len(kept.arrivals) == len(free.arrivals) == 2000


@pytest.mark.parametrize("percent", [1.0, 25.0])
def test_reordered_packets_have_no_delay(bench: Bench, percent: float) -> None:
    probed = probe(bench, *_settings("delay=20 ms", f"reorder={percent} %"), bursts=DATAGRAMS)
    early = sum(1 for delay in probed.delays_ms if delay < RESOLUTION_MS)
    late = sum(1 for delay in probed.delays_ms if abs(delay - 20) < RESOLUTION_MS)
    low, high = binom.interval(0.999, DATAGRAMS, percent / 100)
    print(f"reorder {percent} %: {early} early, {late} late, 99.9 % interval {low:.0f} to {high:.0f}")
    note(f"reorder {percent:g} % early", early)
    assert low <= early <= high
    assert early + late == DATAGRAMS


def test_reordered_packets_use_the_bottleneck(bench: Bench) -> None:
    """netem's own reordering lets them pass its child; ours must not: no two come closer than one takes to send."""
    size = 1000
    serial_ms = (size + HEADERS) * 8 / 1000  # at 1 Mbit/s
    settings = _settings("delay=50 ms", "reorder=20 %", "rate=1 Mbit/s", "queue=1000 packets")
    probed = probe(bench, *settings, bursts=500, size=size, gap_us=serial_ms * 1000 / 0.9)
    gaps = [(after.received_ns - before.received_ns) / 1e6 for before, after in itertools.pairwise(probed.arrivals)]
    close = sum(1 for gap in gaps if gap < serial_ms - RESOLUTION_MS)
    print(f"{probed.overtaken} overtaken; least gap {min(gaps):.3f} ms, one takes {serial_ms:.3f} ms, {close} closer")
    assert probed.overtaken > 50
    # tbf's bucket gives what one frame has spared after an idle time, so that the next may come up to that early.
    spared_ms = (1600 - size - HEADERS) * 8 / 1000
    assert min(gaps) > serial_ms - spared_ms - RESOLUTION_MS
    assert statistics.fmean(gaps) >= serial_ms


def test_delay_limit_drops_what_the_delay_cannot_hold(bench: Bench) -> None:
    """A datagram each 0.5 ms through 100 ms of delay needs room for 200; with room for 50, three of four are lost."""
    free = probe(bench, *_settings("delay=100 ms"), bursts=2000, gap_us=500)
    full = probe(bench, *_settings("delay=100 ms", "delay_limit=50 packets"), bursts=2000, gap_us=500)
    print(f"{len(free.arrivals)} arrive without a limit, {len(full.arrivals)} with one of 50 packets")
    assert len(free.arrivals) == 2000
    # 50 per 100 ms for the second that the probe lasts; the last fill may be begun and not complete.
    assert 500 - 50 <= len(full.arrivals) <= 500 + 50
    assert all(abs(delay - 100) < RESOLUTION_MS for delay in full.delays_ms)


def test_batches(bench: Bench) -> None:
    """While a datagram comes each 0.7 ms, they leave 5 ms apart; a lone datagram waits for 5 ms."""
    probed = probe(bench, *_settings("delay=20 ms", "batch=5 ms"), bursts=2000, gap_us=700)
    waits = [delay - 20 for delay in probed.delays_ms]
    received_ms = [arrival.received_ns / 1e6 for arrival in probed.arrivals]
    steps = [after - before for before, after in itertools.pairwise(received_ms) if after - before > RESOLUTION_MS]
    print(f"waits of {min(waits):.3f} to {max(waits):.3f} ms, batches {min(steps):.3f} to {max(steps):.3f} ms apart")
    assert len(waits) == probed.sent
    assert probed.overtaken == 0
    assert all(abs(step - 5) < RESOLUTION_MS for step in steps)
    assert -RESOLUTION_MS < min(waits) < max(waits) < 5 + RESOLUTION_MS
    assert len(steps) == pytest.approx(2000 * 0.7 / 5, abs=1)
    alone = probe(bench, *_settings("delay=20 ms", "batch=5 ms"), bursts=20, gap_us=100_000).delays_ms
    assert all(abs(delay - 25) < RESOLUTION_MS for delay in alone)
