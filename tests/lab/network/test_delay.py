# SPDX-License-Identifier: MIT
"""One-way delays of the virtual network, seen by ``ping``: right to 0.1 ms, in order, both families, both places."""

from __future__ import annotations

import itertools

import pytest
from tests.lab.bench import Bench, client, ping_extremes, ping_ms, ping_sequence

from mptcplab.steps import Program

#: Virtual time moves in steps of some microseconds per wake-up, and ping rounds to 1 us; 0.1 ms is ten times that.
TOLERANCE_MS = 0.1

DIRECT = """
[topology]
preset = "direct"
"""
LINE = """
[topology]
preset = "chain"
routers = 2
"""


def _rtts(bench: Bench, text: str, *overrides: str, target: str) -> tuple[float, float]:
    """The least and the largest of five."""
    ping = client("ping", "ping", "-n", "-c", "5", "-i", "0.5", target, start_ns=2 * 10**9)
    said = bench.live(bench.plan(text, *overrides, programs=[_warm(target), ping])).text("ping")
    assert len(ping_ms(said)) == 5, said
    return ping_extremes(said)


def _warm(target: str) -> Program:
    """One ping, so that everyone knows everyone's address afterwards."""
    return client("warm", "ping", "-n", "-c", "1", target)


def _worst(rtts: tuple[float, float], expected: float) -> float:
    return max(abs(rtt - expected) for rtt in rtts)


# Two hosts on one wire: both directions are shaped in IFBs. Two routers: "link1" is shaped on routers' egress.
@pytest.mark.parametrize("delay", ["0.5 ms", "10 ms", "100 ms", "333.333 us"])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("place", ["ifb", "egress"])
def test_round_trip_is_twice_the_delay(bench: Bench, delay: str, family: str, place: str) -> None:
    text = DIRECT if place == "ifb" else LINE
    number = 1 if place == "ifb" else 3
    target = f"10.0.{number}.2" if family == "ipv4" else f"fd00:6d70:7463:{number}::2"
    head = f'family = "{family}"\n'
    rtts = _rtts(bench, head + text, f"links.link1.delay={delay}", target=target)
    value, unit = delay.split()
    expected = 2 * float(value) * {"ms": 1.0, "us": 0.001}[unit]
    worst = _worst(rtts, expected)
    print(f"{place} {family} {delay}: worst error {worst:.3f} ms")
    assert worst <= TOLERANCE_MS, f"RTTs {rtts} ms, expected {expected} ms: {worst:.3f} ms off"


@pytest.mark.parametrize(("text", "target"), [(DIRECT, "10.0.1.2"), (LINE, "10.0.3.2")])
def test_directions_are_apart(bench: Bench, text: str, target: str) -> None:
    settings = ("links.link1.forward.delay=30 ms", "links.link1.backward.delay=5 ms")
    rtts = _rtts(bench, text, *settings, target=target)
    worst = _worst(rtts, 35.0)
    assert worst <= TOLERANCE_MS, f"RTTs {rtts} ms, expected 30 + 5 ms: {worst:.3f} ms off"


def test_delays_add_up_over_hops(bench: Bench) -> None:
    settings = ("links.client-r1.delay=3 ms", "links.link1.delay=20 ms", "links.r2-server.delay=0.25 ms")
    rtts = _rtts(bench, LINE, *settings, target="10.0.3.2")
    worst = _worst(rtts, 2 * 23.25)
    assert worst <= TOLERANCE_MS, f"RTTs {rtts} ms, expected 46.5 ms: {worst:.3f} ms off"


def test_no_delay_is_none(bench: Bench) -> None:
    rtts = _rtts(bench, LINE, target="10.0.3.2")
    assert max(rtts) <= TOLERANCE_MS, f"RTTs {rtts} ms over three wires without delay"


def test_serialisation_is_part_of_the_delay(bench: Bench) -> None:
    """Five frames of 1,484 bytes sent at once at 1 Mbit/s: each waits for the one before to be sent."""
    ping = client("ping", "ping", "-n", "-c", "5", "-l", "5", "-s", "1442", "10.0.1.2", start_ns=10**9)
    settings = ("links.link1.forward.rate=1 Mbit/s", "links.link1.forward.queue=5 s")
    plan = bench.plan(DIRECT, *settings, programs=[_warm("10.0.1.2"), ping])
    rtts = ping_ms(bench.live(plan).text("ping"))
    # Of tbf's bucket of 1,600 B there are 116 B left after the first frame, which went at once.
    expected = [max(0, (number * 1484 - 1600) * 8 / 1000) for number in range(1, 6)]
    worst = max(abs(rtt - wait) for rtt, wait in zip(rtts, expected, strict=True))
    assert worst <= TOLERANCE_MS, f"RTTs {rtts} ms, expected {expected} ms"


def test_jitter_stays_in_bounds_and_in_order(bench: Bench) -> None:
    """20 ms +- 5 ms, a packet every 1 ms: without order-keeping netem would swap most neighbours."""
    ping = client("ping", "ping", "-n", "-c", "2000", "-i", "0.001", "10.0.3.2", start_ns=10**9)
    settings = ("links.link1.forward.delay=20 ms", "links.link1.forward.jitter=5 ms")
    text = bench.live(bench.plan(LINE, *settings, programs=[_warm("10.0.3.2"), ping])).text("ping")
    sequence, rtts = ping_sequence(text), ping_ms(text)
    swapped = sum(1 for before, after in itertools.pairwise(sequence) if after < before)
    assert len(rtts) == 2000, f"{len(rtts)} of 2000 answers"
    assert swapped == 0, f"{swapped} of 2000 answers overtook another"
    low, high, mean = min(rtts), max(rtts), sum(rtts) / len(rtts)
    assert low >= 15 - TOLERANCE_MS, f"RTTs from {low} to {high} ms, expected 15 to 25 ms"
    assert high <= 25 + TOLERANCE_MS, f"RTTs from {low} to {high} ms, expected 15 to 25 ms"
    # 2,000 draws from 10 ms reach far into both ends.
    assert high - low > 9, f"RTTs from {low} to {high} ms, mean {mean:.2f} ms: there is no jitter"
