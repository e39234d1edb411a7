# SPDX-License-Identifier: MIT
"""Loss is binomial, and a queue drops exactly what it cannot hold: counted by the kernel at both ends."""

from __future__ import annotations

import polars as pl
import pytest
from scipy.stats import binom
from tests.lab.bench import Bench, LabOutput, client, server

from mptcplab.metrics.links import direction_counters
from mptcplab.metrics.rows import result_rows
from mptcplab.plan.model import Plan
from mptcplab.steps import Program

LINE = """
[topology]
preset = "chain"
routers = 2

# The router's own multicast reports, at random instants, would count as drops of a short queue.
[routers.r1.sysctl]
"net.ipv6.conf.all.disable_ipv6" = 1
"""
TARGET = "10.0.3.2"
#: Without a socket the server would answer every datagram by ICMP. Its buffer is small: what it holds is not counted.
WAIT = """
import signal, socket
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 0)
s.bind(("", 9000))
signal.pause()
"""
SEND = """
import socket, sys, time
bursts, per_burst, size = map(int, sys.argv[2:])
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect((sys.argv[1], 9000))
data = bytes(size)
for _ in range(bursts):
    for _ in range(per_burst):
        s.send(data)
    time.sleep(0.001)
"""


def _udp(bursts: int, per_burst: int, size: int) -> tuple[Program, ...]:
    """Datagrams of ``size`` bytes, ``per_burst`` at one instant, a millisecond between bursts."""
    warm = client("warm", "ping", "-n", "-c", "1", TARGET)
    words = (TARGET, str(bursts), str(per_burst), str(size))
    send = client("send", "python3", "-IS", "-c", SEND, *words, start_ns=2 * 10**9)
    return (server("wait", "python3", "-IS", "-c", WAIT), warm, send, _quiet())


def _quiet() -> Program:
    """Keeps the lab alive until what is queued has arrived."""
    return client("quiet", "sleep", "8")


def _plan(bench: Bench, *overrides: str, programs: tuple[Program, ...]) -> Plan:
    return bench.plan(LINE, *overrides, programs=programs)


def _count_arrivals(lived: LabOutput) -> int:
    """Datagrams that reached the server's UDP: most do not fit into the socket that nobody reads."""
    counted: dict[str, int] = lived.counter("server", "nstat.json")["kernel"]
    return counted["UdpInDatagrams"] + counted["UdpInErrors"]


#: Packets of others (neighbour discovery) that netem dropped as well, less what the server's socket holds unread.
STRAY = 4


@pytest.mark.parametrize("percent", [1.0, 0.1])
def test_loss_is_binomial(bench: Bench, percent: float) -> None:
    sent = 100_000
    plan = _plan(bench, f"links.link1.forward.loss={percent} %", programs=_udp(1000, 100, 64))
    lived = bench.live(plan)
    netem = lived.qdisc("r1", "link1", "netem")
    dropped, missing = int(netem["drops"]), sent - _count_arrivals(lived)
    low, high = binom.interval(0.999, sent, percent / 100)
    print(f"loss {percent} %: {dropped} of {sent} dropped, 99.9 % interval {low:.0f} to {high:.0f}")
    assert low <= dropped <= high, f"{dropped} of {sent} lost, 99.9 % interval of {percent} %: {low:.0f} to {high:.0f}"
    assert abs(dropped - missing) <= STRAY, f"netem dropped {dropped}, but {missing} of {sent} did not arrive"


def test_losses_are_independent(bench: Bench) -> None:
    """Two directions with 10 % each: of 2,000 echoes 0.9 * 0.9 come back, within the 99.9 % interval."""
    ping = client("ping", "ping", "-n", "-q", "-c", "2000", "-i", "0.02", TARGET, start_ns=2 * 10**9)
    lived = bench.live(_plan(bench, "links.link1.loss=10 %", programs=(ping,)))
    answered = int(lived.text("ping").partition(" packets transmitted, ")[2].partition(" ")[0])
    low, high = binom.interval(0.999, 2000, 0.81)
    assert low <= answered <= high, f"{answered} of 2000 echoes came back, expected {low:.0f} to {high:.0f}"


# 50 datagrams at one instant, 1,042 bytes each with headers: one goes at once (the bucket holds one frame), the queue
# takes what fits, the rest is dropped. A delay before the queue must not count as queued; but netem hands all packets
# of one instant over before the shaper sends the first of them.
@pytest.mark.parametrize("delay", ["0 ms", "300 ms"])
@pytest.mark.parametrize(
    ("queue", "fits"), [("20 packets", 20), ("1 packet", 1), ("20840 B", 20), ("20839 B", 19), ("100 ms", 11)]
)
def test_queue_drops_exactly_the_rest(bench: Bench, queue: str, fits: int, delay: str) -> None:
    settings = [f"links.link1.forward.{key}" for key in ("rate=1 Mbit/s", f"queue={queue}", f"delay={delay}")]
    lived = bench.live(_plan(bench, *settings, programs=_udp(1, 50, 1000)))
    tbf = lived.qdisc("r1", "link1", "tbf")
    expected = 50 - fits - (1 if delay == "0 ms" else 0)
    assert tbf["drops"] == expected, f"a queue of {queue} dropped {tbf['drops']} of 50, expected {expected}"


FLOW = """
[topology]
preset = "direct"

[links.link1]
rate = "20 Mbit/s"
queue = "20 packets"
shape = "{shape}"

[transport]
protocol = "tcp"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "4 s"
"""


def test_sender_shaping_stands_on_the_sender(bench: Bench) -> None:
    """On the sender's own interface, and nowhere else; by default behind the wire, so that it cannot push back."""
    for shape, place in (("sender", ("client", "link1")), ("router", ("server", "ifb"))):
        (recording,) = bench.record(FLOW.format(shape=shape))
        disciplines = {
            (where, row["dev"].partition(".")[0]): row["bytes"]
            for where in ("client", "server")
            for row in recording.counter(where, "tc.json")
            if row["kind"] == "tbf" and row["bytes"] > 1_000_000
        }
        assert list(disciplines) == [place], f"shape = {shape}: shaped at {disciplines}"
        (row,) = result_rows([recording])
        # At most 1,448 of 1,514 bytes are payload (19.13, and what the full bucket gives); slow start costs some.
        assert 18 < row.goodput_mbps.mean < 19.2, f"shape = {shape}: {row.goodput_mbps.mean} Mbit/s"


@pytest.mark.parametrize("loss", ["0 %", "2 %"])
def test_sender_shaping_counts_and_loses_packets(bench: Bench, loss: str) -> None:
    """Single packets, not the aggregates that TCP makes for its own interface: a part of one escapes the counters."""
    settings = ("links.link1.delay=10 ms", f"links.link1.loss={loss}")
    (recording,) = bench.record(FLOW.format(shape="sender"), *settings)
    for counter in direction_counters(recording):
        print(f"{counter.direction}: {counter.lost} of {counter.offered} lost, expected {counter.expected}")
        assert counter.is_as_asked
        assert counter.bytes <= 1514 * counter.packets
    forward = recording.queues.filter(pl.col("direction") == "forward")
    assert max(forward["packets"]) > 1, "no queue formed"
    largest = max(size / packets for size, packets in forward["bytes", "packets"].iter_rows() if packets)
    assert largest <= 1514, f"packets of {largest:.0f} bytes on average in the queue"


def test_queue_is_sampled_as_the_kernel_has_it(bench: Bench) -> None:
    """A flow fills a queue of 20 packets: it is seen nearly full, never fuller, and ``tc`` counts the same drops."""
    line = LINE + '[workloads.bulk]\nkind = "flow"\nfrom = "client"\nto = "server"\nduration = "10 s"\n'
    settings = ("links.link1.rate=10 Mbit/s", "links.link1.delay=10 ms", "links.link1.queue=20 packets")
    (recording,) = bench.record(line, *settings, "transport.protocol=tcp", "record.interval=50 ms")
    forward = recording.queues.filter((pl.col("link") == "link1") & (pl.col("direction") == "forward"))
    fullest, largest = max(forward["packets"]), max(forward["bytes"])
    seen = int(forward["drops"][-1])
    (at_end,) = [row for row in recording.counter("r1", "tc.json") if (row["dev"], row["kind"]) == ("link1", "tbf")]
    print(f"{forward.height} samples, up to {fullest} packets of {largest} bytes, {seen} of {at_end['drops']} drops")
    # A sawtooth of Reno or Cubic is above 19 packets for a good part of each of its some ten periods.
    assert 19 <= fullest <= 20
    assert 19 * 1514 <= largest <= 20 * 1514
    # Samples every 50 ms to the end of a run that drops a few packets every half second.
    assert 0 < seen <= at_end["drops"]
    assert seen >= at_end["drops"] - 5
    backward = recording.queues.filter((pl.col("link") == "link1") & (pl.col("direction") == "backward"))
    assert max(backward["drops"]) == 0, "acknowledgements fit"


def test_queues_are_not_sampled_when_not_wanted(bench: Bench) -> None:
    line = LINE + '[workloads.bulk]\nkind = "flow"\nfrom = "client"\nto = "server"\nsize = "10 kB"\n'
    (recording,) = bench.record(line, "links.link1.rate=10 Mbit/s", "record.queues=false")
    assert recording.queues.is_empty()
