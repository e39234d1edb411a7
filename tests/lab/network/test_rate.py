# SPDX-License-Identifier: MIT
"""Rates of the virtual network: what a saturating flow gets in steady state, both ways, for every kind of queue."""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl
import pytest
from tests.lab.bench import Bench

from mptcplab.recording.record import Recording

#: Payload and size of a full frame: 1,500 bytes less 40 of headers less 12 of timestamps; 14 more of Ethernet.
PAYLOAD, FRAME = 1448, 1514

#: Exactly as written: at 1 Gbit/s with a round trip of some microseconds, the phase of a start against the receiver's
#: reading every millisecond decides whether its window is the limit (744 to 955 Mbit/s, measured), and not the rate.
FLOW = """
phases = "fixed"

[topology]
preset = "{preset}"

[links.link1]
{line}

[transport]
protocol = "tcp"

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "{seconds} s"
reverse = {reverse}
read_quantum = "1 ms"

[record]
interval = "{interval} ms"
"""


def _scenario(
    line: str, *, seconds: float, direction: str = "upload", preset: str = "direct", interval_ms: int = 250
) -> str:
    reverse = str(direction == "download").lower()
    return FLOW.format(line=line, seconds=seconds, reverse=reverse, preset=preset, interval=interval_ms)


def _samples(table: pl.DataFrame, column: str, *, after_s: float, direction: str) -> float:
    """Growth of ``column`` per second at the receiver, from ``after_s`` to the last regular sample."""
    side = "server" if direction == "upload" else "client"
    rows = table.filter(
        (pl.col("program") == f"bulk.{side}") & (pl.col("time_ns") >= after_s * 1e9) & ~pl.col("final")
    ).sort("time_ns")
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    seconds = (last["time_ns"] - first["time_ns"]) / 1e9
    assert seconds > 0.4, f"only {seconds} s of samples"
    return float((last[column] - first[column]) / seconds)


def _line_rate(recording: Recording, *, after_s: float, direction: str = "upload") -> float:
    """Frames that arrived, in bit/s: payload would come in bunches, whenever a lost segment arrives at last."""
    return 8 * FRAME * _samples(recording.subflows, "data_segs_in", after_s=after_s, direction=direction)


# Long enough that one frame more or less in the window is less than 0.1 % of it.
@pytest.mark.parametrize(
    ("rate_mbps", "seconds", "after"), [(1, 20.0, 4.0), (10, 8.0, 2.0), (100, 4.0, 1.0), (1000, 1.6, 0.8)]
)
@pytest.mark.parametrize("direction", ["upload", "download"])
@pytest.mark.parametrize("preset", ["direct", "chain"])
def test_rate_is_right(bench: Bench, rate_mbps: int, seconds: float, after: float, direction: str, preset: str) -> None:
    text = _scenario(f'rate = "{rate_mbps} Mbit/s"', seconds=seconds, direction=direction, preset=preset)
    (recording,) = bench.record(text)
    rate = _line_rate(recording, after_s=after, direction=direction) / 1e6
    error = 100 * (rate / rate_mbps - 1)
    print(f"{preset} {direction} {rate_mbps} Mbit/s: {error:+.3f} %")
    assert abs(error) < 1, f"{rate:.4f} Mbit/s on a line of {rate_mbps} Mbit/s: {error:+.2f} %"


@pytest.mark.parametrize("queue", ["50 packets", "75700 B", "60 ms"])
def test_every_kind_of_queue_keeps_the_rate(bench: Bench, queue: str) -> None:
    (recording,) = bench.record(_scenario(f'rate = "10 Mbit/s"\nqueue = "{queue}"\ndelay = "5 ms"', seconds=8))
    rate = _line_rate(recording, after_s=2) / 1e6
    assert abs(rate - 10) < 0.1, f"{rate:.4f} Mbit/s with a queue of {queue}, on a line of 10 Mbit/s"


def test_directions_have_rates_of_their_own(bench: Bench) -> None:
    line = '[links.link1.forward]\nrate = "4 Mbit/s"\n[links.link1.backward]\nrate = "16 Mbit/s"'
    for direction, expected in (("upload", 4), ("download", 16)):
        (recording,) = bench.record(_scenario(line, seconds=6, direction=direction))
        rate = _line_rate(recording, after_s=2, direction=direction) / 1e6
        assert abs(rate / expected - 1) < 0.01, f"{direction} at {rate:.4f} Mbit/s, expected {expected}"


def _captured_sizes(file: Path) -> list[int]:
    """Return the sizes of a capture's packets on the link, with their Ethernet headers."""
    data, sizes, at = file.read_bytes(), [], 24
    while at < len(data):
        kept, size = struct.unpack_from("<II", data, at + 8)
        sizes.append(size)
        at += 16 + kept
    return sizes


def test_overhead_of_fast_ethernet(bench: Bench) -> None:
    """1448 of 1538 bytes are payload: 94.15 Mbit/s, what everyone measures on a cable of 100 Mbit/s."""
    (recording,) = bench.record(_scenario('rate = "100 Mbit/s"\noverhead = "24 B"', seconds=4))
    goodput = 8 * _samples(recording.connections, "total", after_s=1, direction="upload") / 1e6
    print(f"overhead 24 B: {goodput:.3f} Mbit/s")
    assert abs(goodput / 94.1 - 1) < 0.005, f"goodput {goodput:.3f} Mbit/s, expected 94.1 +- 0.5 %"


def test_offload_keeps_the_rate(bench: Bench) -> None:
    """Aggregates take the time of the frames that they stand for, headers included: 1448 of 1514 B are payload."""
    capture = '\ncaptures = [{ node = "server", link = "link1", filter = "greater 1000" }]\n'
    text = _scenario('rate = "100 Mbit/s"\noffload = "64 kB"', seconds=4)
    (recording,) = bench.record(f"{text}{capture}")
    goodput = 8 * _samples(recording.connections, "total", after_s=1, direction="upload") / 1e6
    sizes = _captured_sizes(next(iter(recording.captures.values())))
    mean = sum(sizes) / len(sizes)
    print(f"goodput {goodput:.3f} Mbit/s, packets of {mean:.0f} B on average, at most {max(sizes)} B")
    assert mean > 5 * FRAME, f"packets of {mean:.0f} B on average: there were no aggregates"
    assert max(sizes) <= 64_000 + 14, f"an aggregate of {max(sizes)} B"
    # One aggregate is 0.15 % of the time between the samples, and its beginning may be in it or not.
    assert abs(goodput / 95.64 - 1) < 0.003, f"goodput {goodput:.3f} Mbit/s, expected 95.64 +- 0.3 %"


def test_shaper_counts_what_the_receiver_got(bench: Bench) -> None:
    """Bytes through the shaper by ``tc -s``, against payload and headers of what arrived: an independent count."""
    (recording,) = bench.record(_scenario('rate = "20 Mbit/s"', seconds=5, preset="chain"))
    disciplines = recording.counter("r1", "tc.json")
    (shaper,) = [row for row in disciplines if row["kind"] == "tbf" and row["dev"] == "link1"]
    payload = max(recording.connections.filter(pl.col("program") == "bulk.server")["total"].to_list())
    expected = payload * FRAME / PAYLOAD
    error = 100 * (shaper["bytes"] / expected - 1)
    # Handshake, retransmissions of slow start's one overshoot, and the end: not more than a per cent.
    assert abs(error) < 1, f"{shaper['bytes']} bytes through the shaper, {expected:.0f} expected: {error:+.2f} %"
