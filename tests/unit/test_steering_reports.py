# SPDX-License-Identifier: MIT
"""Reports of agents: what comes in is what went out; a damaged, foreign or impossible datagram is refused."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.steering.counters import Counters
from mptcplab.steering.reports import MAX_BYTES, Report, ReportError, Station, unsealed

KEY = b"k" * 32
ADDRESS = "10.0.5.1"
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
_STATION = st.fixed_dictionaries(
    {},
    optional={"addresses": _JSON | st.just([ADDRESS]), "rx_bytes": _JSON, "tx_bytes": _JSON, "rssi_dbm": _JSON},
)
_REPORT = st.fixed_dictionaries(
    {},
    optional={
        "access_point": _JSON | st.just("ap1"),
        "boot": _JSON | st.just(1),
        "number": _JSON | st.just(1),
        "stations": _JSON | st.dictionaries(st.text(max_size=8), _STATION | _JSON, max_size=3),
    },
)


def _report(
    number: int, rx: int = 0, tx: int = 0, rssi: int | None = -60, *, boot: int = 1, name: str = "ap1"
) -> Report:
    return Report(name, boot, number, {"02:00": Station([ADDRESS], rx, tx, rssi)})


def _sealed(document: Any) -> bytes:
    body = json.dumps(document).encode()
    return hmac.digest(KEY, body, hashlib.sha256) + body


@given(st.integers(0, 2**62), st.integers(0, 2**62), st.none() | st.integers(-150, 40))
def test_what_comes_in_is_what_went_out(rx: int, tx: int, rssi: int | None) -> None:
    sent = _report(7, rx, tx, rssi)
    got = unsealed(KEY, sent.sealed(KEY))
    assert (got.access_point, got.boot, got.number) == ("ap1", 1, 7)
    assert got.stations["02:00"].to_json() == sent.stations["02:00"].to_json()


@given(st.binary(max_size=200))
def test_what_anybody_may_send_is_refused(datagram: bytes) -> None:
    with pytest.raises(ReportError):
        unsealed(KEY, datagram)


@given(st.integers(0), st.integers(0, 7))
def test_a_changed_bit_is_noticed(place: int, bit: int) -> None:
    datagram = bytearray(_report(1).sealed(KEY))
    datagram[place % len(datagram)] ^= 1 << bit
    with pytest.raises(ReportError):
        unsealed(KEY, bytes(datagram))


@given(_JSON | _REPORT)
def test_an_agent_that_lies_within_its_type_is_a_report_or_refused(document: Any) -> None:
    """Also one with the key: what it says either has the types that a decision needs, or is refused."""
    try:
        report = unsealed(KEY, _sealed(document))
    except ReportError:
        return
    assert all(isinstance(one.rx_bytes, int) and one.rx_bytes >= 0 for one in report.stations.values())
    counters = Counters(3)
    counters.take(report, 0)
    counters.periods(0)


def test_bodies_that_are_no_report() -> None:
    deep = b"[" * 100_000
    for body in (b"", b"nan", b"[]", deep):
        with pytest.raises(ReportError):
            unsealed(KEY, hmac.digest(KEY, body, hashlib.sha256) + body)


def test_a_full_access_point_fits_one_datagram() -> None:
    stations = {f"02:00:00:00:01:{n:02x}": Station([f"10.0.{n}.1"] * 2, 2**40, 2**40, -90) for n in range(200)}
    assert len(Report("ap", 2**62, 2**40, stations).sealed(KEY)) < MAX_BYTES


def test_a_period_is_what_counters_have_grown_by() -> None:
    """A station that comes again counts from zero; an old report, or one that comes twice, changes nothing."""
    counters = Counters(patience_ns=30)
    assert counters.take(_report(1, rx=100), 0)
    assert counters.periods(0) == {}, "the first report only says where counters are"
    assert counters.take(_report(2, rx=150, tx=7), 10)
    assert not counters.take(_report(2, rx=999), 11)
    assert not counters.take(_report(1, rx=999), 12)
    period = counters.periods(12)["ap1"]
    assert (period.received, period.sent, period.sent_to, period.rssi_dbm) == (50, 7, {ADDRESS: 7}, {ADDRESS: -60})
    assert counters.periods(13) == {}, "no new report, no period"
    counters.take(_report(3, rx=20), 20)
    assert counters.periods(20)["ap1"].received == 20
    assert counters.take(_report(1, rx=30, boot=2), 30), "an agent that started again has a later boot"
    assert counters.periods(30)["ap1"].received == 10


def test_an_access_point_that_stops_is_left_out() -> None:
    """What it counted while it was silent is not that of one period."""
    counters = Counters(patience_ns=30)
    for number, name in ((1, "ap1"), (1, "ap2"), (2, "ap1"), (2, "ap2")):
        counters.take(_report(number, rx=100 * number, name=name), 10 * number)
        if name == "ap2":
            counters.periods(10 * number)
    counters.take(_report(3, rx=300), 40)
    assert not counters.is_complete(40)
    counters.periods(40)
    counters.take(_report(4, rx=400), 60)
    assert counters.silent(60) == ["ap2"]
    assert counters.is_complete(60)
    assert set(counters.periods(60)) == {"ap1"}
    counters.take(_report(3, rx=9999, name="ap2"), 90)
    assert "ap2" not in counters.periods(90)
    counters.take(_report(4, rx=10099, name="ap2"), 100)
    assert counters.periods(100)["ap2"].received == 100
