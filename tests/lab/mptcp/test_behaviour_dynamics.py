# SPDX-License-Identifier: MIT
"""How BALIA moves between paths, and what wVegas keeps queued: shortened forms of examples/behaviour/.

docs/behaviour-dynamics.md has the derivations, and the figures of the full forms. Bounds here leave room for two seeds.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import mean

import pytest
from tests.lab.bench import Bench
from tools.docs.figures.dynamics import QueueingSummary, path_rates, path_waiting

from mptcplab.recording.record import Recording
from mptcplab.scenario.load import load

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "behaviour"
#: Of a full frame of 1514 bytes, 1424 are payload when MPTCP's options are in it.
LINE_BPS = 10e6 * 1424 / 1514


def _record(bench: Bench, name: str, *overrides: str, repeats: int) -> dict[tuple[str, ...], list[Recording]]:
    """All runs of an example, by the settings of their point."""
    experiment = load(EXAMPLES / f"{name}.toml", overrides=overrides, repeats=repeats)
    recordings: dict[tuple[str, ...], list[Recording]] = {}
    for run, recording in zip(experiment.runs, bench.recordings(experiment.runs), strict=True):
        recordings.setdefault(tuple(run.point.settings.values()), []).append(recording)
    return recordings


def _back_s(recording: Recording) -> float:
    """From the end of the TCP flows, at 40 s, until link2 carries 90 % of what it can; infinity if never in the run."""
    back = path_rates(recording, "multipath").time_until("access2>exit", 40, 0.9 * LINE_BPS)
    return math.inf if back is None else back


def test_responsiveness(bench: Bench) -> None:
    """OLIA stays away longest; BALIA and LIA come back alike; nobody is as fast as an uncoupled subflow."""
    shorter = ("workloads.tcp.start=15 s", "workloads.tcp.duration=25 s", "workloads.multipath.duration=85 s")
    recordings = _record(bench, "balia-responsiveness", *shorter, repeats=2)
    back = {control: mean(map(_back_s, runs)) for (control,), runs in recordings.items()}
    beside = {
        control: mean(path_rates(run, "multipath").mean("access2>exit", 28, 40) for run in runs) / 1e6
        for (control,), runs in recordings.items()
    }
    print("back after (s):", back, "beside TCP (Mbit/s):", beside)
    assert back["reno"] < back["balia"], "an uncoupled window grows by one segment per RTT, BALIA's by 0.1 to 0.25"
    # From a window of one segment OLIA may take longer than the 45 s that are left.
    assert back["balia"] < back["olia"]
    assert back["balia"] < 1.5 * back["lia"]
    for control in ("lia", "olia", "balia"):
        # Fluid: reno has a fifth of the line, the others 5 % at most, and no window is smaller than two segments.
        assert beside[control] < 0.6 * beside["reno"]


def test_friendliness(bench: Bench) -> None:
    """All three leave more of the more congested line to TCP than uncoupled subflows do; none takes more than TCP."""
    shorter = (f"workloads.{name}.duration=60 s" for name in ("tcp1", "tcp2", "multipath"))
    recordings = _record(bench, "balia-friendliness", *shorter, repeats=2)
    on_line2, tcp_on_line2 = {}, {}
    for (control,), runs in recordings.items():
        on_line2[control] = mean(path_rates(run, "multipath").mean("access2>exit2", 20, 60) for run in runs) / 1e6
        tcp_on_line2[control] = mean(path_rates(run, "tcp2").mean("access4>exit4", 20, 60) for run in runs) / 2e6
    print("MPTCP on link2 (Mbit/s):", on_line2, "each TCP flow there:", tcp_on_line2)
    for control in ("lia", "olia", "balia"):
        # Fluid, of the line: reno 33 %, LIA 19 %, BALIA 15 %, OLIA 2 %.
        assert on_line2[control] < 0.8 * on_line2["reno"]
        assert tcp_on_line2[control] > tcp_on_line2["reno"]


def _measure_queues(bench: Bench, control: str, subflows: int) -> dict[str, QueueingSummary]:
    overrides = (f"transport.congestion_control={control}", f"transport.limits.subflows={subflows}")
    recordings = _record(bench, "wvegas-queue", *overrides, "workloads.multipath.duration=20 s", repeats=1)
    waiting = path_waiting(recordings[()][0], "multipath", 8, 20)
    print(control, {path: f"{1e3 * wait.delay_s:.2f} ms, {wait.packets:.2f} packets" for path, wait in waiting.items()})
    return waiting


@pytest.mark.parametrize("subflows", [0, 1, 3])
def test_wvegas_keeps_ten_packets_queued(bench: Bench, subflows: int) -> None:
    """Ten in all; and a smoothed RTT counts up to one packet's time per path, because ACKs are delayed."""
    waiting = _measure_queues(bench, "wvegas", subflows)
    assert len(waiting) == subflows + 1
    assert 9 < sum(path.packets for path in waiting.values()) < 11 + len(waiting)


def test_lia_fills_queues(bench: Bench) -> None:
    """Its windows grow until the queue of 100 packets overflows: between that and a half of what is on the way."""
    waiting = _measure_queues(bench, "lia", 1)
    assert sum(path.packets for path in waiting.values()) > 40


def test_wvegas_makes_congestion_equal(bench: Bench) -> None:
    """Alone: 10 packets at 24 Mbit/s take 5.0 ms, on both lines. Beside TCP: all of it is one pool, shared equally."""
    shorter = ("workloads.tcp.start=20 s", "workloads.tcp.duration=40 s", "workloads.multipath.duration=60 s")
    control = "transport.congestion_control=wvegas"
    ((run,),) = _record(bench, "wvegas-equal-congestion", control, *shorter, repeats=1).values()
    alone, beside = (path_waiting(run, "multipath", *stretch) for stretch in ((8, 20), (35, 60)))
    delays_ms = {
        name: [1e3 * waiting[path].delay_s for path in ("access1>link1", "access2>exit")]
        for name, waiting in (("alone", alone), ("beside", beside))
    }
    coupled, tcp = path_rates(run, "multipath"), path_rates(run, "tcp")
    rates = [coupled.mean(path, 35, 60) / 1e6 for path in coupled.by_path] + [tcp.mean("access3>exit2", 35, 60) / 1e6]
    print("queueing delay (ms):", delays_ms, "rates (Mbit/s):", rates)
    # A packet takes 1.5 and 0.8 ms. Five seeds: 4.7 to 5.7 ms.
    assert delays_ms["alone"] == pytest.approx([6.1] * 2, abs=2)
    # The TCP flow comes last, takes the queue that it finds for delay, and keeps more than its ten packets
    # (docs/behaviour-dynamics.md, wvegas-latecomer), up to the 5 ms that it found. Five seeds: 11.3 to 14.5 ms.
    assert all(10 < delay < 16.1 for delay in delays_ms["beside"]), delays_ms
    # For the same reason it takes more: five seeds have 0.62 to 0.79 of its rate.
    assert 0.5 < (rates[0] + rates[1]) / rates[2] < 1.1
    assert rates[0] > 7, "link1 is full"
