# SPDX-License-Identifier: MIT
"""Calls and streams after a failure: what comes too late is silence, however many bytes arrive at once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.unit.manifests import manifest

from mptcplab.metrics.catalog.outages import (
    FailureInterval,
    compute_interruption_s,
    compute_outage_after_s,
    compute_outage_s,
    compute_usable_s,
)
from mptcplab.metrics.catalog.recovery import compute_recovery_metrics, find_recoveries
from mptcplab.metrics.column import Subject
from mptcplab.metrics.delivery import Delivery, build_timely_delivery
from mptcplab.metrics.instants import Instant
from mptcplab.metrics.registry import METRICS
from mptcplab.metrics.subflows import ends_of
from mptcplab.metrics.warnings import outage_warnings
from mptcplab.recording import samples
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import TimedMessages
from mptcplab.workload.recorded import RecordedWorkload

_NS = 10**9
FAILURE = Instant(4.0, True, "link1")
DOWN, UP = 4.0, 6.0
#: Packets of 20 ms take 10 ms, and may take 70 ms.
INTERVAL, FAST, LATEST = 0.02, 10.0, 70.0
NAMES = ("gap_s", "outage_s", "usable_after_failure_s", "recovery_after_restoration_s")
RATE = 8 * 172 / INTERVAL


def _call(delay_ms: Callable[[float], float], *, seconds: float = 10) -> Delivery:
    """A call whose packets take so long by the time at which they are due; infinity: lost."""
    due = [round(INTERVAL * number, 6) for number in range(round(seconds / INTERVAL))]
    there = [message for message in due if delay_ms(message) < math.inf]
    lost = [message for message in due if delay_ms(message) == math.inf]
    delays = tuple(delay_ms(message) for message in there)
    curve = build_timely_delivery(TimedMessages(tuple(there), delays, tuple(lost), LATEST, INTERVAL, 172))
    assert curve is not None
    return curve


def _held_up(until_s: float) -> Callable[[float], float]:
    """Packets due from the failure on arrive all at once, then the network is as before."""
    return lambda due: 1000 * (until_s - due) + FAST if DOWN <= due < until_s else FAST


def _interval(curve: Delivery) -> FailureInterval:
    return FailureInterval(FAILURE, curve.end_s, RATE, UP)


def test_a_burst_is_nothing_that_can_be_played() -> None:
    """Held up for 0.85 s: those due in the last 60 ms are in time."""
    curve = _call(_held_up(4.85))
    assert compute_outage_s(curve, _interval(curve)) == pytest.approx(0.80, abs=0.001), (
        "0.85 s less the buffer, in steps of 20 ms"
    )
    usable = compute_usable_s(curve, _interval(curve))
    assert usable == pytest.approx(0.80, abs=0.001), "the first packet in time, not the window that it makes half full"
    figures = compute_recovery_metrics(find_recoveries(curve, [FAILURE]))
    assert figures["recovery_after_failure_s"] == pytest.approx(0.80, abs=0.001)


@pytest.mark.parametrize("latest_s", [0.07, 1.0, 2.5])
def test_a_large_buffer_does_not_hide_what_a_failure_interrupts(latest_s: float) -> None:
    """A video with a deadline of 1 s was dead for a minute, and had an interruption of 0 and recovered at once."""
    due = [round(INTERVAL * number, 6) for number in range(1500)]
    there = [instant for instant in due if not DOWN <= instant < 24]
    lost = [instant for instant in due if DOWN <= instant < 24]
    curve = build_timely_delivery(
        TimedMessages(tuple(there), (FAST,) * len(there), tuple(lost), 1000 * latest_s, INTERVAL, 172)
    )
    assert curve is not None
    interval = FailureInterval(FAILURE, curve.end_s, RATE, 24.0)
    assert compute_interruption_s(curve, interval) == pytest.approx(20.0)
    assert compute_outage_after_s(curve, interval) == pytest.approx(0.0)
    assert compute_recovery_metrics(find_recoveries(curve, [FAILURE]))["recovery_after_failure_s"] == pytest.approx(
        20.0
    )


def test_what_the_buffer_bridges_is_no_outage() -> None:
    curve = _call(_held_up(4.05))
    assert (compute_outage_s(curve, _interval(curve)), compute_usable_s(curve, _interval(curve))) == (0, 0)


def test_a_call_that_stays_late_never_returns() -> None:
    """Bytes keep their rate: by these, it was usable at once."""
    curve = _call(lambda due: FAST if due < DOWN else 500)
    assert compute_outage_s(curve, _interval(curve)) == math.inf
    assert compute_usable_s(curve, _interval(curve)) is None
    assert compute_recovery_metrics(find_recoveries(curve, [FAILURE]))["recovery_after_failure_s"] == math.inf


def test_lost_packets_are_silence() -> None:
    curve = _call(lambda due: math.inf if DOWN <= due < 5 else FAST)
    assert curve.pauses == pytest.approx(np.array([[4.0, 5.0]]))
    assert compute_outage_s(curve, _interval(curve)) == pytest.approx(1.0)


def test_without_messages_there_is_nothing() -> None:
    assert build_timely_delivery(TimedMessages((), (), (), LATEST, INTERVAL, 172)) is None


def _subject(folder: Path, kind: str, late_before: float) -> Subject:
    """A call or stream of 10 s; packets of the failure arrive at 4.85 s, and some before are late."""
    described = {"duration": "10 s", "interval": "20 ms", "playout": "60 ms", "deadline": "70 ms", "packet": "172 B"}
    delays = []
    for number in range(500):
        due = number * INTERVAL
        late = 1 < due < DOWN and number % 10 < 10 * late_before
        delays.append(round(500 if late else _held_up(4.85)(due), 3))
    (folder / "out").mkdir(parents=True)
    head = {"event": "packets", "seq": list(range(500)), "delay_ns": [round(1e6 * delay) for delay in delays]}
    end = {
        "event": "end",
        "conn": 0,
        "t_ns": 10 * _NS,
        "bytes": 86000,
        "messages": 500,
        "first_ns": 0,
        "last_ns": 10 * _NS,
    }
    lines: dict[str, list[dict[str, Any]]] = {
        "talk.client": [end],
        "talk.server": [{"event": "start", "conn": 0, "t_ns": 0}, head, end],
    }
    for name, some in lines.items():
        text = "".join(json.dumps(message, separators=(",", ":")) + "\n" for message in some)
        (folder / "out" / f"{name}.out").write_text(text)
    arrived = sorted(number * INTERVAL + delay / 1000 for number, delay in enumerate(delays))
    rows: list[samples.Row] = [
        {
            "time_ns": step * _NS // 50,
            "node": "server",
            "program": "talk.server",
            "conn": 0,
            "total": 172 * sum(arrival <= step / 50 for arrival in arrived),
        }
        for step in range(502)
    ]
    samples.write(rows, folder / "connections.parquet")
    made = manifest({"talk": {"kind": kind, **described}}, zero_ns=0)
    (folder / "manifest.json").write_text(json.dumps(made))
    events = {"instant_ns": [4 * _NS, 6 * _NS], "kind": ["down", "up"], "link": ["link1"] * 2}
    pl.DataFrame(events).write_parquet(folder / "events.parquet")
    recording = Recording(folder)
    (ends,) = ends_of(recording)
    unused: Any = SimpleNamespace(use=SimpleNamespace(with_mptcp=1))
    return Subject(recording, RecordedWorkload.from_json(made["workloads"][0]), ends, unused, unused, unused)


@pytest.mark.parametrize("kind", ["voip", "stream"])
def test_metrics_of_a_recording(tmp_path: Path, kind: str) -> None:
    subject = _subject(tmp_path, kind, 0.0)
    gap, outage, usable, restored = (METRICS[name].compute(subject) for name in NAMES)
    print(gap, outage, usable, restored)
    assert gap == pytest.approx(0.88, abs=0.03), "reads of the receiver, in samples of 20 ms"
    assert outage == pytest.approx(0.80, abs=0.001)
    assert usable == pytest.approx(0.80, abs=0.001)
    assert restored == 0
    assert list(outage_warnings(subject)) == []


def test_what_was_late_before_is_told(tmp_path: Path) -> None:
    for share in (0.5, 1.0):
        subject = _subject(tmp_path / str(share), "voip", share)
        (text,) = outage_warnings(subject)
        assert "of the messages were late or lost in the 5 s before " in text
        assert METRICS["gap_s"].compute(subject) is not None, "however late, data arrived"
