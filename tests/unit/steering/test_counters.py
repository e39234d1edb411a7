# SPDX-License-Identifier: MIT
"""Counters of access points: periods, and the limits within which an agent is believed."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.steering.configuration import AccessPointConfig
from mptcplab.steering.counters import Counters, Period, contradicts, drop_conflicts
from mptcplab.steering.reports import ReportError, Station, StationReport

ADDRESS = "10.0.5.1"
S = 10**9
MAX_BPS = 8e6


def _config(name: str) -> AccessPointConfig:
    return AccessPointConfig(name, b"k" * 32, [ipaddress.ip_network("10.0.0.0/16")], is_wired=False, max_bps=MAX_BPS)


def _counters(*names: str) -> Counters:
    points = [_config(name) for name in names or ("ap1",)]
    return Counters(points, patience_ns=30 * S, tolerance_ns=5 * S, max_signal_age_ms=2000)


def _take(counters: Counters, at_s: float, rx: int = 0, tx: int = 0, *, name: str = "ap1", clock_s: float = 0) -> None:
    report = StationReport(name, round(at_s * S), {"02:00": Station([ADDRESS], rx, tx, -60)})
    counters.take(report, round(at_s * S), round((at_s + clock_s) * S))


def test_a_period_is_what_counters_have_grown_by() -> None:
    """A station that comes again counts from zero. Without a new report there is no period."""
    counters = _counters()
    _take(counters, 1, rx=100)
    assert counters.periods(1 * S) == {}, "the first report only says where counters are"
    _take(counters, 2, rx=150, tx=7)
    period = counters.periods(2 * S)["ap1"]
    assert (period.received, period.sent, period.rssi_dbm) == (50, 7, {ADDRESS: -60})
    assert counters.periods(3 * S) == {}, "no new report, no period"
    _take(counters, 4, rx=20)
    assert counters.periods(4 * S)["ap1"].received == 20


def test_a_station_that_was_not_reported_before_has_no_growth_yet() -> None:
    """It may have been there for hours, and only its agent is new."""
    counters = _counters()
    for second in (1, 2):
        counters.take(StationReport("ap1", second * S, {}), second * S, second * S)
        counters.periods(second * S)
    _take(counters, 3, rx=10**6)
    assert counters.periods(3 * S)["ap1"].received == 0
    _take(counters, 4, rx=10**6 + 5)
    assert counters.periods(4 * S)["ap1"].received == 5


@pytest.mark.parametrize("clock_s", [-6, 6])
def test_a_report_of_another_time_is_refused(clock_s: float) -> None:
    """So a recorded one cannot be sent again after the daemon has started again."""
    with pytest.raises(ReportError, match="another time"):
        _take(_counters(), 100, clock_s=clock_s)


def test_a_report_counts_once() -> None:
    counters = _counters()
    _take(counters, 2, rx=10)
    for at_s in (2.0, 1.9):
        with pytest.raises(ReportError, match="not later"):
            _take(counters, at_s, rx=99)


def test_more_bytes_than_the_access_point_can_carry_are_refused() -> None:
    """8 Mbit/s are 1 MB/s. The base stays, so that a later credible report counts."""
    counters = _counters()
    _take(counters, 1)
    _take(counters, 2, rx=1_000_000)
    with pytest.raises(ReportError, match="can carry"):
        _take(counters, 3, rx=2_000_001)
    with pytest.raises(ReportError, match="can carry"):
        _take(counters, 3, tx=1_000_001, rx=1_000_000)
    counters.periods(3 * S)
    _take(counters, 4, rx=1_500_000)
    assert counters.periods(4 * S)["ap1"].received == 500_000


def test_addresses_must_be_of_the_access_point_and_of_one_station() -> None:
    counters = _counters()
    for stations in (
        {"a": Station(["10.1.0.1"], 0, 0, -60)},
        {"a": Station([ADDRESS], 0, 0, -60), "b": Station([ADDRESS], 0, 0, -61)},
    ):
        with pytest.raises(ReportError, match="address"):
            counters.take(StationReport("ap1", S, stations), S, S)


def test_an_address_that_two_access_points_claim_is_nobodys() -> None:
    periods = {name: Period(is_wired=False) for name in ("ap1", "ap2", "ap3")}
    periods["ap1"].rssi_dbm = {"a": -60, "b": -60}
    periods["ap2"].rssi_dbm = {"a": -61, "c": -60}
    periods["ap3"].rssi_dbm = {"a": -62}
    assert drop_conflicts(periods) == {"a"}
    assert [sorted(period.rssi_dbm) for period in periods.values()] == [["b"], ["c"], []]


def test_an_old_signal_is_not_known() -> None:
    counters = _counters()
    for second, heard_ms in ((1, 0), (2, 2001), (3, 2000)):
        station = Station([ADDRESS], 0, 0, -60, heard_ms)
        counters.take(StationReport("ap1", second * S, {"a": station}), second * S, second * S)
        period = counters.periods(second * S).get("ap1")
        if second == 2:
            assert period is not None
            assert period.rssi_dbm == {ADDRESS: None}
    assert period is not None
    assert period.rssi_dbm == {ADDRESS: -60}


def test_an_access_point_that_stops_is_left_out() -> None:
    """The bytes that an access point counted while it was silent do not belong to one period."""
    counters = _counters("ap1", "ap2")
    assert counters.silent_access_points(0) == ["ap1", "ap2"], "not heard yet"
    for second in (10, 20):
        for name in ("ap1", "ap2"):
            _take(counters, second, rx=100 * second, name=name)
        counters.periods(second * S)
    _take(counters, 45, rx=5000)
    assert not counters.is_complete(45 * S, 40 * S)
    counters.periods(45 * S)
    _take(counters, 60, rx=6000)
    assert counters.silent_access_points(60 * S) == ["ap2"]
    assert counters.is_complete(60 * S, 55 * S)
    assert set(counters.periods(60 * S)) == {"ap1"}
    _take(counters, 90, rx=10**6, name="ap2")
    assert "ap2" not in counters.periods(90 * S)
    _take(counters, 100, rx=10**6 + 100, name="ap2")
    assert counters.periods(100 * S)["ap2"].received == 100


def test_a_round_is_complete_only_with_reports_of_this_round() -> None:
    """A report that came just after a decision belongs to the round before."""
    counters = _counters("ap1", "ap2")
    _take(counters, 1.0, name="ap1")
    _take(counters, 1.1, name="ap2")
    assert not counters.is_complete(2 * S, round(1.05 * S))
    _take(counters, 2.0, name="ap1")
    assert not counters.is_complete(2 * S, round(1.5 * S))
    _take(counters, 2.1, name="ap2")
    assert counters.is_complete(round(2.1 * S), round(1.5 * S))


@given(st.integers(0, 10**6), st.integers(20, 10**6))
def test_a_counter_that_stands_still_is_no_empty_access_point(received: int, packets: int) -> None:
    """Each packet that came through it has at least 40 B. Half of that is believed, since the clocks differ."""
    period = Period(is_wired=False)
    period.received = received
    assert contradicts(period, packets) == (received < 20 * packets)
    period.received = 0
    assert contradicts(period, packets)


def test_an_idle_access_point_may_have_received_nothing() -> None:
    assert not any(contradicts(Period(is_wired=False), packets) for packets in range(20))
