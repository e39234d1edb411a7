# SPDX-License-Identifier: MIT
"""Signs of queues and proxies that a twin does not have, and gaps of captures."""

from __future__ import annotations

import random

import pytest
from tests.unit.fit.packets import RECEIVER, SENDER, ModelLine, capture

from mptcplab.capture.packet import ACK, SYN, Packet, VantagePoint
from mptcplab.explain.readers.facts import HostFacts
from mptcplab.explain.readers.text import TextReader
from mptcplab.fit.lines import estimate_line
from mptcplab.fit.packets import DeliveredSegment, PathReader, PathTrace
from mptcplab.fit.signs import signs_at_hosts, signs_in_packets


def _trace(second_delay_s: float) -> PathTrace:
    """Return packets of two connections in turn, of which the second ones take ``second_delay_s``, the first 50 ms."""
    trace = PathTrace("10.0.1.1", "10.0.2.2", at_sender=True)
    for order in range(400):
        sent = order / 1000
        delay = second_delay_s if order % 2 else 0.05
        trace.deliveries.append(DeliveredSegment(order, sent, sent + delay, 1514, 1448, True, False, order % 2))
    return trace


def test_connections_with_queues_of_their_own() -> None:
    """In one queue, the later packet arrives later; in two queues, the empty one is faster."""
    (sign,) = signs_in_packets(_trace(0.01), "line1", [], [])
    assert sign.startswith("50 % of the neighbouring packets of different connections on line1 overtook")
    assert signs_in_packets(_trace(0.05), "line1", [], []) == []
    few = _trace(0.01)
    few.deliveries = few.deliveries[:50]
    assert signs_in_packets(few, "line1", [], []) == []


@pytest.mark.parametrize("seed", range(20))
def test_random_loss_does_not_come_in_bursts(seed: int) -> None:
    """By chance, one of a million lines has such bursts."""
    draw = random.Random(seed)
    lost = {place for place in range(5000) if draw.random() < 0.01}
    assert signs_in_packets(_trace(0.05), "line1", set(range(5000)) - lost, lost) == []


def test_losses_in_bursts() -> None:
    lost = {place for place in range(5000) if place % 1000 < 10}
    (sign,) = signs_in_packets(_trace(0.05), "line1", set(range(5000)) - lost, lost)
    assert "active queue management" in sign


def test_a_queue_with_tail_drop_has_no_sign() -> None:
    for line in (ModelLine(20e6, 0.04, 0.1), ModelLine(10e6, 0.03, 0.1, 0.004)):
        (trace,) = PathReader().read(capture(line, 1.6, 4))
        assert estimate_line(trace, "line1").signs == ()


def _facts(text: str) -> HostFacts:
    facts = HostFacts("home")
    TextReader(facts).read("home.txt", text)
    return facts


def test_shapers_and_proxies_of_the_machine() -> None:
    text = """### 0 s: tc -s qdisc show
qdisc noqueue 0: dev lo root refcnt 2
qdisc fq_codel 0: dev eth0 root refcnt 2
 Sent 1 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)
qdisc cake 8001: dev eth1 root refcnt 2 bandwidth 40Mbit
 Sent 1 bytes 1 pkt (dropped 7, overlimits 0 requeues 0)
### 0 s: ss -tieanpm
ESTAB 0 0 192.0.2.1:4001 203.0.113.1:443 users:(("xray",pid=7,fd=5))
ESTAB 0 0 192.0.2.1:4002 203.0.113.1:443 users:(("firefox",pid=8,fd=5))
"""
    shaper, proxy = signs_at_hosts([_facts(text)])
    assert shaper.startswith("home has cake on eth1, which dropped 7 packets")
    assert proxy.startswith("xray of home has open connections")
    dropping = text.replace("dropped 0", "dropped 3")
    assert any("fq_codel on eth0, which dropped 3 packets" in sign for sign in signs_at_hosts([_facts(dropping)]))


def test_a_gap_of_a_capture_is_not_a_million_losses() -> None:
    """Found by fuzzing: at the receiver, a jump in the numbers by 2 GB became one loss for each byte of a segment."""

    def packet(number: int, sequence: int, flags: int, length: int) -> Packet:
        ends = (SENDER, RECEIVER) if flags != SYN | ACK else (RECEIVER, SENDER)
        # Direction 0 of the device `any`: the packet came in, so the capture is at the receiver.
        return Packet(number * 10**6, *ends, sequence, 1, flags, length, b"", VantagePoint(0, "", "", "0"))

    packets = [packet(0, 0, SYN, 0), packet(1, 0, SYN | ACK, 0), packet(2, 1, ACK, 1), packet(3, 2_000_000_000, ACK, 1)]
    (trace,) = PathReader().read(packets)
    assert not trace.at_sender
    assert trace.losses == []
    assert trace.sent == 2
