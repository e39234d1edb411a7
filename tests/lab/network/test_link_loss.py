# SPDX-License-Identifier: MIT
"""Losses come in the bursts that the scenario asks for; copies and damage are as frequent as it says.

Intervals are of 99.9 %: of a binomial distribution where packets are independent, of a normal one with the variance of
the chain of two states where they are not. 100,000 datagrams leave them narrow.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from scipy.stats import binom, chisquare, norm
from tests.lab.bench import Bench, note
from tests.lab.probe import HEADERS, LINE, ProbeResult, probe

from mptcplab.network.behaviours.loss import BurstLoss

BURSTS, PER_BURST = 1000, 100
SENT = BURSTS * PER_BURST
FORWARD = "links.link1.forward."
#: Two-sided 99.9 % of a normal distribution, in deviations.
WIDTH = float(norm.ppf(0.9995))


def _probe(bench: Bench, *keys: str, size: int = 64) -> ProbeResult:
    return probe(bench, *(FORWARD + key for key in keys), bursts=BURSTS, per_burst=PER_BURST, size=size)


def _loss_bounds(chain: BurstLoss) -> tuple[float, float, float]:
    """Mean and 99.9 % interval of the share that is lost of ``SENT`` packets."""
    p, r = float(chain.to_bad), float(chain.to_good)
    bad, good = int(chain.lost_in_bad) / 1e9, int(chain.lost_in_good) / 1e9
    mean = float(chain.mean_loss)
    memory = 1 - p - r
    in_bad = p / (p + r)
    # Variance of a sum of losses that depend on a chain: each packet's own, and twice all its covariances.
    variance = mean * (1 - mean) + 2 * in_bad * (1 - in_bad) * (bad - good) ** 2 * memory / (1 - memory)
    half = WIDTH * math.sqrt(variance / SENT)
    return mean, mean - half, mean + half


@pytest.mark.parametrize(
    ("table", "mean_length"),
    [
        ('{ mean = "2 %", length = "5 packets" }', 5.0),
        ('{ mean = "10 %", length = "20 packets" }', 20.0),
        ('{ p = "1 %", r = "40 %" }', 2.5),
        ('{ mean = "1 %", length = "1 packet" }', 1.0),
    ],
)
def test_gilbert_bursts(bench: Bench, table: str, mean_length: float) -> None:
    """All is lost in the bad state: bursts are as long as it lasts, 1/r packets on average, geometrically spread."""
    probed = _probe(bench, f"burst_loss={table}")
    chain = BurstLoss.model_validate(_parse(table))
    mean, low, high = _loss_bounds(chain)
    share, bursts = sum(probed.lost) / SENT, probed.bursts
    length = sum(bursts) / len(bursts)
    spread = WIDTH * math.sqrt(mean_length * (mean_length - 1) / len(bursts))
    print(
        f"{table}: {share:.4f} lost, expected {mean:.4f} ({low:.4f} to {high:.4f}); {len(bursts)} bursts of "
        f"{length:.3f}, expected {mean_length} +- {spread:.3f}"
    )
    keys = table.strip("{ }").replace('"', "")
    note(f"burst {keys} lost %", 100 * share)
    note(f"burst {keys} length", length)
    assert low <= share <= high
    # Two bursts that touch would be one: the chain needs a packet in the good state between them, and has it.
    assert abs(length - mean_length) <= spread + 1e-9
    if mean_length > 1:
        assert _geometric(bursts, 1 / mean_length) > 0.001


def _parse(table: str) -> dict[str, str]:
    pairs = (pair.split("=") for pair in table.strip("{} ").split(","))
    return {key.strip().strip('"'): value.strip().strip('"') for key, value in pairs}


def _geometric(lengths: list[int], leave: float) -> float:
    """How probable lengths like these are, if each packet ends its burst with probability ``leave``."""
    counts = Counter(lengths)
    edges = [k for k in range(1, 60) if len(lengths) * leave * (1 - leave) ** (k - 1) >= 10]
    observed = [counts[k] for k in edges] + [sum(count for k, count in counts.items() if k > edges[-1])]
    expected = [len(lengths) * leave * (1 - leave) ** (k - 1) for k in edges]
    expected.append(len(lengths) - sum(expected))
    return float(chisquare(observed, expected).pvalue)


def test_gilbert_elliott(bench: Bench) -> None:
    """With 1-h below 100 % and 1-k above 0 %: the mean is as computed, and losses come together."""
    table = '{ p = "1 %", r = "10 %", "1-h" = "50 %", "1-k" = "0.5 %" }'
    probed = _probe(bench, f"burst_loss={table}")
    mean, low, high = _loss_bounds(BurstLoss.model_validate(_parse(table)))
    lost = probed.lost
    share = sum(lost) / SENT
    after_loss = sum(1 for before, now in itertools.pairwise(lost) if before and now) / sum(lost)
    # Given a loss, the chain was in the bad state with this probability, and stays there with 1 - r.
    in_bad = (0.01 / 0.11) * 0.5 / mean
    again_bad = in_bad * 0.9 + (1 - in_bad) * 0.01
    expected = again_bad * 0.5 + (1 - again_bad) * 0.005
    half = WIDTH * math.sqrt(expected * (1 - expected) / sum(lost))
    print(
        f"{share:.4f} lost, expected {mean:.4f} ({low:.4f} to {high:.4f}); after a loss {after_loss:.3f}, "
        f"expected {expected:.3f} +- {half:.3f}"
    )
    note("gilbert-elliott lost %", 100 * share)
    note("gilbert-elliott after a loss", after_loss)
    assert low <= share <= high
    assert abs(after_loss - expected) <= half


def test_duplicates(bench: Bench) -> None:
    probed = _probe(bench, "duplicate=1 %", "delay=10 ms")
    copies = Counter(arrival.number for arrival in probed.arrivals)
    twice = sum(1 for count in copies.values() if count == 2)
    low, high = binom.interval(0.999, SENT, 0.01)
    print(f"{twice} of {SENT} came twice, 99.9 % interval {low:.0f} to {high:.0f}")
    note("duplicates", twice)
    assert len(copies) == SENT
    assert max(copies.values()) == 2
    assert low <= twice <= high
    # A copy has a delay of its own, here the same.
    assert all(abs(delay - 10) < 0.2 for delay in probed.delays_ms)


def test_a_packet_to_be_copied_and_lost_passes_alone(bench: Bench) -> None:
    """netem draws the loss before it makes the copy (netem_enqueue): only packets without a copy can be missing."""
    probed = _probe(bench, "duplicate=50 %", "loss=20 %")
    copies = Counter(arrival.number for arrival in probed.arrivals)
    missing, twice = SENT - len(copies), sum(1 for count in copies.values() if count == 2)
    for name, count, chance in (("missing", missing, 0.5 * 0.2), ("twice", twice, 0.5 * 0.8 * 0.8)):
        low, high = binom.interval(0.999, SENT, chance)
        print(f"{count} of {SENT} {name}, 99.9 % interval {low:.0f} to {high:.0f}")
        assert low <= count <= high


def test_corruption_is_found_by_checksums(bench: Bench) -> None:
    """One bit of the frame. The sender's address in the Ethernet header is what nobody looks at: 6 bytes."""
    size = 64
    probed = _probe(bench, "corrupt=2 %", size=size)
    harmless = 6 / (size + HEADERS)
    low, high = binom.interval(0.999, SENT, 0.02 * (1 - harmless))
    lost = sum(probed.lost)
    udp = probed.lived.counter("server", "nstat.json")["kernel"]["UdpInCsumErrors"]
    print(f"{lost} of {SENT} did not come, 99.9 % interval {low:.0f} to {high:.0f}; UDP found {udp}")
    note("corrupted", lost)
    assert low <= lost <= high
    # Of the frame's bytes, payload and UDP header are found by UDP's checksum.
    low, high = binom.interval(0.999, SENT, 0.02 * (size + 8) / (size + HEADERS))
    assert low <= udp <= high


def test_corrupted_packets_use_the_bottleneck(bench: Bench) -> None:
    """Unlike lost ones: all frames are counted at the rate, however many are useless behind it."""
    probed = _probe(bench, "corrupt=20 %", "rate=1 Gbit/s", "queue=200 packets")
    sent = probed.lived.qdisc("r1", "link1", "tbf")["packets"]
    lossy = _probe(bench, "loss=20 %", "rate=1 Gbit/s", "queue=200 packets")
    left = lossy.lived.qdisc("r1", "link1", "tbf")["packets"]
    print(f"the bottleneck sent {sent} frames with corruption, {left} with loss, of {SENT}")
    assert SENT <= sent <= SENT + 30
    assert abs(left - 0.8 * SENT) < 1000


def test_no_damaged_byte_reaches_a_program(bench: Bench) -> None:
    """TCP finds what is corrupted and sends it again: the payload's checksums at both ends are the same."""
    line = LINE + '[workloads.bulk]\nkind = "flow"\nfrom = "client"\nto = "server"\nsize = "4 MB"\nchecksum = true\n'
    (recording,) = bench.record(line, "links.link1.corrupt=1 %", "links.link1.rate=20 Mbit/s", "transport.protocol=tcp")
    errors = recording.counter("server", "nstat.json")["kernel"]["TcpInCsumErrors"]
    print(f"TCP found {errors} damaged segments of some 2763")
    # 1 % of 2,763 segments, most of whose bytes are payload: 27, and a few of those sent again.
    low, high = binom.interval(0.999, 2763, 0.0097)
    assert low <= errors <= high + 2
