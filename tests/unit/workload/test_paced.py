# SPDX-License-Identifier: MIT
"""Delays, jitter, late packets and the E-model, on messages whose figures are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.manifests import manifest, workload

from mptcplab.errors import LabError
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import Arrivals
from mptcplab.workload.paced import (
    Message,
    call_metrics,
    delay_metrics,
    mean_opinion_score,
    messages,
    r_factor,
    stream_metrics,
)

TEN = [Message(number, delay) for number, delay in enumerate([20, 22, 20, 30, 80, 20, 20, 20, 40, 20])]


def test_delay_jitter_and_loss() -> None:
    figures = delay_metrics(TEN, sent=16)
    assert figures["lost_percent"] == pytest.approx(37.5)
    assert figures["delay_mean_ms"] == pytest.approx(29.2)
    assert (figures["delay_p50_ms"], figures["delay_p95_ms"], figures["delay_max_ms"]) == (20, 80, 80)
    assert figures["jitter_ms"] == pytest.approx((2 + 2 + 10 + 50 + 60 + 0 + 0 + 20 + 20) / 9)
    assert delay_metrics([], sent=3) == {"lost_percent": 100}
    assert delay_metrics([], sent=0) == {}


def test_late_is_later_than_the_deadline() -> None:
    assert stream_metrics(TEN, 10, 30)["late_percent"] == pytest.approx(20), "80 and 40 ms, but not 30"


def test_a_call_is_played_from_its_first_packet_on() -> None:
    """20 ms and a buffer of 15 ms: what takes more than 35 ms is late. From mouth to ear 35 + 20 ms."""
    figures = call_metrics(TEN, 10, playout_ms=15, interval_ms=20)
    assert figures["late_percent"] == pytest.approx(20)
    assert figures["r_factor"] == pytest.approx(r_factor(55, 20))
    assert figures["mos"] == pytest.approx(mean_opinion_score(r_factor(55, 20)))
    assert "mos" not in call_metrics([], 10, 15, 20), "nobody has heard anything"


def test_copies_count_once() -> None:
    arrivals = [Arrivals([0, 1, 1], [10**7, 2 * 10**7, 9 * 10**7]), Arrivals([0], [10**9])]
    assert messages(arrivals) == [Message(0, 10.0), Message(1, 20.0)]


@pytest.mark.parametrize(
    ("delay_ms", "lost", "rating", "score"),
    [
        # G.107 with all defaults: R = 93.2, MOS = 4.41 (its Annex B).
        (0, 0, 93.2, 4.41),
        # 0.024 x 177.3 = 4.26, the knee of Cole and Rosenbluth's curve.
        (177.3, 0, 88.94, 4.31),
        # 0.024 x 300 + 0.11 x 122.7 = 20.70.
        (300, 0, 72.50, 3.71),
        # 95 x 5 / (5 + 25.1) = 15.78: concealed loss of 5 %.
        (0, 5, 77.42, 3.92),
        (0, 100, 17.26, 1.18),
    ],
)
def test_the_e_model(delay_ms: float, lost: float, rating: float, score: float) -> None:
    factor = r_factor(delay_ms, lost)
    print(f"d {delay_ms} ms, {lost} %: R {factor:.2f}, MOS {mean_opinion_score(factor):.3f}")
    assert factor == pytest.approx(rating, abs=0.01)
    assert mean_opinion_score(factor) == pytest.approx(score, abs=0.005)


@given(st.floats(0, 2000), st.floats(0, 2000), st.floats(0, 100), st.floats(0, 100))
def test_worse_networks_make_worse_calls(shorter: float, other: float, few: float, many: float) -> None:
    (fast, slow), (few, many) = sorted((shorter, other)), sorted((few, many))
    assert 0 <= r_factor(slow, many) <= r_factor(fast, few) <= 93.2
    assert 1 <= mean_opinion_score(r_factor(slow, many)) <= mean_opinion_score(r_factor(fast, few)) <= 4.5


def _make_recording(
    folder: Path, described: dict[str, Any], client: list[dict[str, Any]], server: list[Any]
) -> Recording:
    (folder / "out").mkdir()
    for side, events in (("client", client), ("server", server)):
        (folder / "out" / f"it.{side}.out").write_text("".join(json.dumps(event) + "\n" for event in events))
    (folder / "manifest.json").write_text(json.dumps(manifest({"it": described})))
    return Recording(folder)


def test_reading_a_stream(tmp_path: Path) -> None:
    """Ten messages of 100 B in 1 s, of which eight arrived, the last one late."""
    described = {"kind": "stream", "duration": "1 s", "deadline": "50 ms", "reverse": False}
    client = [{"event": "end", "conn": 0, "t_ns": 1000, "bytes": 0, "first_ns": 1000, "messages": 10}]
    packets = {"event": "packets", "seq": [*range(8)], "delay_ns": [20_000_000] * 7 + [60_000_000]}
    server = [packets, {"event": "end", "conn": 0, "t_ns": 1000, "bytes": 800, "messages": 8, "last_ns": 900_001_000}]
    reading = workload(described).read(_make_recording(tmp_path, described, client, server), "it")
    assert reading.duration_s == 1, "the last message's turn belongs to it"
    assert reading.goodput_bps == 6400
    assert reading.metrics["late_percent"] == pytest.approx(10)
    assert reading.metrics["lost_percent"] == pytest.approx(20)


def test_reading_cross_traffic_of_which_nothing_arrived(tmp_path: Path) -> None:
    described = {"kind": "udp", "duration": "1 s", "reverse": False, "from": "client", "to": "server"}
    client = [{"event": "end", "conn": 0, "t_ns": 1000, "bytes": 0, "first_ns": 1000, "messages": 10}]
    server = [{"event": "end", "conn": 0, "t_ns": 1000, "bytes": 0, "messages": 0, "last_ns": None, "delay_sum_ns": 0}]
    reading = workload(described).read(_make_recording(tmp_path, described, client, server), "it")
    assert (reading.goodput_bps, dict(reading.metrics)) == (0, {"lost_percent": 100})


def test_reading_flows(tmp_path: Path) -> None:
    described = {"kind": "web", "from": "client", "to": "server"}
    answers = [
        {"event": "request", "asked_ns": start * 10**9, "t_ns": start * 10**9 + took * 10**6, "response": 1000}
        for start, took in ((0, 80), (1, 100), (2, 500))
    ]
    reading = workload(described).read(_make_recording(tmp_path, described, answers, []), "it")
    assert reading.duration_s == pytest.approx(2.5)
    assert reading.goodput_bps == pytest.approx(8 * 3000 / 2.5)
    assert reading.metrics["flows"] == 3
    assert (reading.metrics["completion_p50_s"], reading.metrics["completion_p99_s"]) == (0.1, 0.5)


def test_nothing_answered_is_an_error(tmp_path: Path) -> None:
    described = {"kind": "requests", "from": "client", "to": "server"}
    with pytest.raises(LabError, match="no connection delivered anything"):
        workload(described).read(_make_recording(tmp_path, described, [], []), "it")


def test_a_damaged_download_is_an_error(tmp_path: Path) -> None:
    described = {"kind": "http", "from": "client", "to": "server", "files": 2}
    recording = _make_recording(tmp_path, described, [], [])
    line = '{"event":"stream","bytes":10,"checksum":"aa"}\n'
    (tmp_path / "out" / "it.server.err").write_text(line)
    (tmp_path / "out" / "it.client.err").write_text(line + "curl: (56) Recv failure\n")
    with pytest.raises(LabError) as error:
        workload(described).read(recording, "it")
    assert error.value.message == "it: a downloaded file differs from the served one"
    assert "Recv failure" in str(error.value.hint)
