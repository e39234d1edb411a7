# SPDX-License-Identifier: MIT
"""Reports of agents: what comes in is what went out; a damaged, foreign or impossible datagram is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.steering.reports import MAX_BYTES, ReportError, Station, StationReport, sender_of, sign, verify

KEY = b"k" * 32
ADDRESS = "10.0.5.1"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_STATION = st.fixed_dictionaries(
    {
        "addresses": st.just([ADDRESS]) | JSON,
        "rx_bytes": st.just(1) | JSON,
        "tx_bytes": st.just(1) | JSON,
        "rssi_dbm": st.just(-60) | JSON,
        "heard_ms": st.just(0) | JSON,
    }
)
_REPORT = st.fixed_dictionaries(
    {"time_ns": st.just(1) | JSON, "stations": JSON | st.dictionaries(st.text(max_size=8), _STATION | JSON, max_size=3)}
)


def _report(rx: int = 0, tx: int = 0, rssi: int | None = -60) -> StationReport:
    return StationReport("ap1", 7, {"02:00": Station([ADDRESS], rx, tx, rssi, 3)})


def _seal(document: Any) -> bytes:
    return sign("ap1", KEY, json.dumps(document).encode())


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.none() | st.integers(-150, 40))
def test_what_comes_in_is_what_went_out(rx: int, tx: int, rssi: int | None) -> None:
    sent = _report(rx, tx, rssi)
    datagram = sent.to_datagram(KEY)
    assert sender_of(datagram) == "ap1"
    got = verify(KEY, datagram)
    assert (got.access_point, got.time_ns) == ("ap1", 7)
    assert got.stations["02:00"].to_json() == sent.stations["02:00"].to_json()


@given(st.binary(max_size=200))
def test_what_anybody_may_send_is_refused(datagram: bytes) -> None:
    for whole in (datagram, b"MPST\1" + datagram):
        with pytest.raises(ReportError):
            verify(KEY, whole)


@given(st.integers(0), st.integers(0, 7))
def test_a_changed_bit_is_noticed(place: int, bit: int) -> None:
    """Also in the name and in the head, which the seal covers."""
    datagram = bytearray(_report().to_datagram(KEY))
    datagram[place % len(datagram)] ^= 1 << bit
    with pytest.raises(ReportError):
        verify(KEY, bytes(datagram))


def test_another_key_is_refused() -> None:
    with pytest.raises(ReportError, match="not sealed"):
        verify(b"x" * 32, _report().to_datagram(KEY))


@pytest.mark.slow
@given(JSON | _REPORT)
def test_an_agent_that_lies_within_its_type_is_a_report_or_refused(document: Any) -> None:
    """Also one with the key: what it says either has the types that a decision needs, or is refused."""
    try:
        report = verify(KEY, _seal(document))
    except ReportError:
        return
    for station in report.stations.values():
        assert type(station.rx_bytes) is type(station.tx_bytes) is type(station.heard_ms) is int
        assert min(station.rx_bytes, station.tx_bytes, station.heard_ms) >= 0
        assert station.rssi_dbm is None or -150 <= station.rssi_dbm <= 40


def test_bodies_that_are_no_report() -> None:
    station = {"addresses": [], "rx_bytes": True, "tx_bytes": 0, "rssi_dbm": None, "heard_ms": 0}
    bodies: tuple[bytes, ...] = (b"", b"nan", b"[]", b"[" * 50_000, b'{"time_ns":' + b"9" * 5000 + b"}", b"\xff")
    bodies += (json.dumps({"time_ns": 1, "stations": {"a": station}}).encode(),)
    for body in bodies:
        with pytest.raises(ReportError):
            verify(KEY, sign("ap1", KEY, body))


def test_a_full_access_point_fits_one_datagram() -> None:
    stations = {f"02:00:00:00:01:{n:02x}": Station([f"10.0.{n}.1"] * 2, 2**40, 2**40, -90, 10**6) for n in range(200)}
    assert len(StationReport("ap", 2**62, stations).to_datagram(KEY)) < MAX_BYTES
