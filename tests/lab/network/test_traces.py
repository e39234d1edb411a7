# SPDX-License-Identifier: MIT
"""Traces: a line that follows one carries what the trace says, window by window, and nothing in its pauses."""

from __future__ import annotations

import random
from itertools import pairwise

import polars as pl
import pytest
from tests.lab.bench import Bench

from mptcplab.recording.record import Recording

FRAME = 1514
PERIOD_MS = 12_000
#: Mbit/s in steps of 400 ms, with a pause of 0.8 s and slow stretches.
RATES = (6, 30, 30, 6, 12, 30, 24, 30, 2, 30, 0, 0, 12, 24, 2, 6, 30, 24, 12, 6, 1, 24, 30, 6, 2, 12, 30, 24, 6, 12)

#: Samples of a flow count from its start, and are compared with a trace, which counts from time zero.
FLOW = """
phases = "fixed"

[topology]
preset = "{preset}"

[links.link1]
delay = "10 ms"
queue = "3 MB"

[links.link1.{way}]
{trace}

[transport]
protocol = "tcp"
tcp_wmem = ["4 KiB", "4 MB", "16 MB"]
tcp_rmem = ["4 KiB", "4 MB", "16 MB"]

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
reverse = {reverse}
duration = "{seconds} s"

[record]
interval = "100 ms"
"""


def _opportunities() -> list[int]:
    """Milliseconds, evenly spread over every step, with a little of chance."""
    chance = random.Random(1)
    stamps = [PERIOD_MS]
    for number, rate in enumerate(RATES):
        count = round(rate * 1e6 * 0.4 / (8 * 1500))
        stamps += [number * 400 + min(399, int((k + chance.random()) * 400 / count)) for k in range(count)]
    return sorted(stamps)


def _write(bench: Bench, stamps: list[int]) -> None:
    (bench.folder / "line.down").write_text("\n".join(map(str, stamps)) + "\n")


def _frames(recording: Recording, node: str) -> list[tuple[int, int]]:
    """Milliseconds and frames that had come then."""
    rows = recording.subflows.filter((pl.col("node") == node) & ~pl.col("final")).sort("time_ns")
    return [(round(t / 1e6), n) for t, n in zip(rows["time_ns"], rows["data_segs_in"], strict=True)]


@pytest.mark.parametrize("window_ms", [50, 100])
@pytest.mark.parametrize(("preset", "direction"), [("direct", "upload"), ("disjoint-paths", "download")])
def test_mahimahi_window_by_window(bench: Bench, window_ms: int, preset: str, direction: str) -> None:
    """A busy line carries from its beginning to any instant as many frames as the trace has opportunities."""
    stamps = _opportunities()
    _write(bench, stamps)
    trace = f'trace = {{ file = "line.down", window = "{window_ms} ms" }}'
    way = "forward" if direction == "upload" else "backward"
    text = FLOW.format(
        preset=preset, trace=trace, reverse=str(direction == "download").lower(), way=way, seconds=2 * PERIOD_MS / 1000
    )
    (recording,) = bench.record(text)
    frames = _frames(recording, "server" if direction == "upload" else "client")
    # Slow start fills the queue in the first two seconds, and it never runs empty again.
    busy = [(ms, count) for ms, count in frames if 2000 <= ms <= 2 * PERIOD_MS]
    worst = 0.0
    for frame, (ms, count) in ((busy[0], later) for later in busy[1:]):
        # What has come left the bottleneck 10 ms before.
        due = _due(stamps, ms - 10) - _due(stamps, frame[0] - 10)
        worst = max(worst, abs(count - frame[1] - due))
    print(f"{preset} {direction} {window_ms} ms: off by at most {worst:.0f} of {busy[-1][1] - busy[0][1]} frames")
    # 60 steps in two rounds, at each of which the frame that is being sent counts with its old or its new rate.
    assert worst <= 60 / 2, f"off by {worst} frames"


def _due(stamps: list[int], ms: float) -> int:
    """Opportunities until an instant; the trace repeats."""
    rounds, rest = divmod(ms, PERIOD_MS)
    return int(rounds) * len(stamps) + sum(stamp <= rest for stamp in stamps)


def test_nothing_comes_in_a_pause_and_all_of_it_at_once_afterwards(bench: Bench) -> None:
    _write(bench, _opportunities())
    text = FLOW.format(preset="direct", trace='trace = "line.down"', reverse="false", way="forward", seconds=8)
    (recording,) = bench.record(text, "record.interval=10 ms")
    frames = dict(_frames(recording, "server"))
    # The pause is from 4.0 s to 4.8 s. The first frame of it and the one before are still on their way.
    inside = frames[4790] - frames[4020]
    later = frames[4910] - frames[4810]
    print(f"{inside} frames in the pause; {later} in the 100 ms after it")
    assert inside <= 1, f"{inside} frames came in the pause"
    assert abs(later - 12e6 * 0.1 / 8 / 1500) <= 2, f"{later} frames came in the 100 ms after the pause"


def test_series_of_rate_and_delay(bench: Bench) -> None:
    """CSV: every value holds from its instant on, and the last ones stay."""
    (bench.folder / "line.csv").write_text("time_s,rate_mbit_s,delay_ms\n0,10,10\n3,20,40\n6,5,20\n")
    text = FLOW.format(preset="direct", trace="", reverse="false", way="forward", seconds=12)
    text = text.replace('delay = "10 ms"\n', "").replace(
        "[links.link1.forward]\n", '[links.link1.forward]\ntrace = { file = "line.csv", end = "hold" }\n'
    )
    (recording,) = bench.record(text)
    frames = _frames(recording, "server")
    for start, end, rate in ((1, 3, 10), (3.3, 6, 20), (6.3, 12, 5)):
        (first, first_count), *_, (last, other) = [
            (ms, count) for ms, count in frames if start * 1e3 <= ms <= end * 1e3
        ]
        mbps = 8 * FRAME * (other - first_count) / (last - first) / 1e3
        print(f"{start} s to {end} s: {mbps:.3f} Mbit/s of {rate}")
        assert abs(mbps / rate - 1) < 0.01, f"{mbps} Mbit/s of {rate}"
    least = recording.subflows.filter(pl.col("node") == "client")["min_rtt_us"].min()
    # 10 ms forward, nothing backward; a frame takes 1.2 ms at 10 Mbit/s.
    assert least is not None
    assert 10_000 <= int(str(least)) <= 11_500, least


def test_steps_are_recorded_as_they_were_read(bench: Bench) -> None:
    (bench.folder / "line.csv").write_text("time_ms,rate_kbit_s\n0,5000\n400,2500\n")
    text = FLOW.format(preset="direct", trace='trace = "line.csv"', reverse="false", way="forward", seconds=2)
    (recording,) = bench.record(text)
    rows = recording.events.filter(pl.col("instant_ns") < 2 * 10**9).rows(named=True)
    assert [row["instant_ns"] / 1e6 for row in rows] == [0, 400, 800, 1200, 1600]
    assert {row["kind"] for row in rows} == {"trace"}
    assert {row["link"] for row in rows} == {"link1"}
    assert [row["value"] for row in rows[:2]] == ["rate 5 Mbit/s", "rate 2.5 Mbit/s"]
    assert all(later["value"] != row["value"] for row, later in pairwise(rows))
    facts = recording.manifest["scenario"]["links"]["link1"]["forward"]["trace"]
    assert len(facts["sha256"]) == 64, "the trace is missing from the run's identity"
