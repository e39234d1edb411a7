# SPDX-License-Identifier: MIT
"""The models that the radio medium is compared with, and that the committed calibration keeps its bounds."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from validation.wifi import aggregates, page
from validation.wifi.aggregates import DATA_BITS, DOT11N, MAX_US
from validation.wifi.bianchi import DOT11B, DOT11G, saturation, with_a_slow_station
from validation.wifi.experiments import (
    COLLAPSE_BOUND,
    COLLAPSE_M,
    COLLISION_BOUND,
    GOODPUT_BOUND,
    KNEE_BOUND,
    KNEE_M,
    MPDU,
    PAYLOAD,
    RSSI_BOUND_DB,
    STATIONS,
)
from validation.wifi.ht import (
    ATTEMPTS_N,
    DISTANCES_N_M,
    FULL_BOUND,
    MPDU_N,
    NEAR_BOUND,
    PLAIN_ATTEMPTS,
    RISE_BOUND,
    STATIONS_N,
    model_of_aggregates,
)
from validation.wifi.slots import collision_probability

MEASURED: dict[str, list[dict[str, Any]]] = json.loads(page.FILE.read_text())


@pytest.mark.parametrize("stations", STATIONS)
def test_bianchis_fixed_point_is_his_equation(stations: int) -> None:
    """Equation 7 of the paper, of stations that never give up: 802.11b's windows double five times."""
    model = saturation(DOT11B, stations, mpdu=MPDU, payload=PAYLOAD, attempts=400)
    p, window, doublings = model.collision, 32, 5
    tau = 2 * (1 - 2 * p) / ((1 - 2 * p) * (window + 1) + p * window * (1 - (2 * p) ** doublings))
    assert model.tau == pytest.approx(tau, rel=1e-9)
    assert p == pytest.approx(1 - (1 - tau) ** (stations - 1), rel=1e-9)


def test_equal_stations_have_no_slow_one() -> None:
    for stations in (2, 10):
        each = with_a_slow_station(DOT11B, DOT11B, stations, mpdu=MPDU, payload=PAYLOAD, attempts=10)
        model = saturation(DOT11B, stations, mpdu=MPDU, payload=PAYLOAD, attempts=10)
        assert each * stations == pytest.approx(model.goodput_mbps, rel=1e-12)


def test_durations_are_those_of_the_standard() -> None:
    """192 us, 1536 bytes at 11 Mbit/s, SIFS, ACK at 11 Mbit/s, AIFS; and at 54 Mbit/s 57 symbols of 4 us."""
    assert DOT11B.success_us(MPDU) == (192 + 1118) + 10 + (192 + 11) + (10 + 3 * 20)
    assert DOT11G.success_us(MPDU) == (20 + 57 * 4 + 6) + 10 + (20 + 4 + 6) + (10 + 3 * 9)


def test_slot_by_slot_is_near_the_fixed_point() -> None:
    probability = collision_probability(DOT11B, 10, attempts=10)
    model = saturation(DOT11B, 10, mpdu=MPDU, payload=PAYLOAD, attempts=10)
    print(probability, model.collision)
    assert probability == pytest.approx(model.collision, rel=0.03)


@pytest.mark.parametrize("row", MEASURED["saturation"], ids=lambda row: f"{row['phy']}-{row['stations']}")
def test_saturation_is_within_its_bounds(row: dict[str, Any]) -> None:
    assert row["goodput_mbps"] == pytest.approx(row["model_mbps"], rel=GOODPUT_BOUND)
    assert row["collision"] == pytest.approx(row["model_collision"], rel=COLLISION_BOUND, abs=0.001)


def test_all_numbers_of_stations_are_calibrated_in_both_modes() -> None:
    cases = {(row["phy"], row["stations"]) for row in MEASURED["saturation"]}
    assert cases == {(phy.name, stations) for phy in (DOT11B, DOT11G) for stations in STATIONS}


def test_durations_of_aggregates_are_those_of_the_standard() -> None:
    """Twenty subframes of 1544 bytes, the last without its 2 of padding, in 951 symbols; a block ack at 24 Mbit/s."""
    assert DOT11N.mpdus(MPDU_N) == 20
    size = DOT11N.psdu(20, MPDU_N)
    assert size == 19 * 1544 + 1542
    assert DOT11N.frame_us(size) == 36 + 4 * 951 + 6 <= MAX_US
    assert DOT11N.frame_us(DOT11N.psdu(21, MPDU_N)) > MAX_US
    assert DOT11N.success_us(MPDU_N, announced=False) == (36 + 4 * 951 + 6) + 10 + (20 + 4 * 3 + 6) + (10 + 3 * 9)
    longer = (20 + 4 * 2 + 6) + 10 + (20 + 4 * 2 + 6) + 10
    assert DOT11N.success_us(MPDU_N, announced=True) == DOT11N.success_us(MPDU_N, announced=False) + longer
    assert DOT11N.collision_us(MPDU_N, announced=True) == 34 + 10 + (20 + 4 * 6 + 6) + (10 + 3 * 9)


@pytest.mark.parametrize(
    ("mcs", "mbps", "short_mbps"), [(0, 6.5, 7.2), (4, 39, 43.3), (5, 52, 57.8), (6, 58.5, 65), (7, 65, 72.2)]
)
def test_rates_of_ht_are_those_of_the_table(mcs: int, mbps: float, short_mbps: float) -> None:
    """Table 19-27, which rounds."""
    ht = replace(DOT11N, mcs=mcs)
    assert ht.mbps == pytest.approx(mbps, abs=0.05)
    short = replace(ht, short_guard=True)
    assert short.mbps == pytest.approx(short_mbps, abs=0.05)
    # In long frames, the guard interval is a tenth of each symbol.
    long_us, short_us = (mode.frame_us(50_000) - 42 for mode in (ht, short))
    assert short_us / long_us == pytest.approx(0.9, abs=4 / long_us)
    assert short_us % 4 == 0, "a PPDU ends with a whole symbol of 4 us"


def test_aggregates_are_limited_by_window_bytes_and_time() -> None:
    assert DOT11N.mpdus(100) == aggregates.MAX_MPDUS
    assert replace(DOT11N, short_guard=True).mpdus(MPDU_N) == 23
    assert replace(DOT11N, mcs=0).mpdus(MPDU_N) == 2
    fast = replace(DOT11N, mcs=7)
    assert fast.psdu(fast.mpdus(MPDU_N), MPDU_N) <= aggregates.MAX_BYTES
    assert len(DATA_BITS) == 8


def test_the_model_of_aggregates_of_one_frame_is_bianchis() -> None:
    """With aggregates of one MPDU, and without RTS, only the durations differ from 802.11g."""
    model = model_of_aggregates(10)
    alone = aggregates.saturation(DOT11N, 10, mpdu=MPDU_N, payload=PAYLOAD, plain=ATTEMPTS_N, attempts=ATTEMPTS_N)
    legacy = saturation(DOT11G, 10, mpdu=MPDU, payload=PAYLOAD, attempts=ATTEMPTS_N)
    assert alone.collision == model.collision == pytest.approx(legacy.collision, rel=1e-9)
    cycle_us = DOT11N.success_us(MPDU_N, announced=False) + DOT11G.cw_min / 2 * DOT11G.slot_us
    assert model_of_aggregates(1).goodput_mbps == pytest.approx(20 * 8 * PAYLOAD / cycle_us, rel=1e-9)
    # A lost aggregate costs a hundred times as much as a lost RTS, and a success with it 2 % more.
    assert 0.97 < model.goodput_mbps / alone.goodput_mbps < 1.03
    every = aggregates.saturation(DOT11N, 10, mpdu=MPDU_N, payload=PAYLOAD, plain=0, attempts=ATTEMPTS_N)
    assert every.goodput_mbps > 1.1 * model.goodput_mbps


@pytest.mark.parametrize("row", MEASURED["aggregation"], ids=lambda row: str(row["stations"]))
def test_aggregates_are_within_the_bounds(row: dict[str, Any]) -> None:
    assert row["goodput_mbps"] == pytest.approx(row["model_mbps"], rel=GOODPUT_BOUND)
    assert row["collision"] == pytest.approx(row["model_collision"], rel=COLLISION_BOUND, abs=0.001)
    assert FULL_BOUND * row["model_mpdus"] <= row["mpdus"] <= row["model_mpdus"]


def test_all_numbers_of_stations_of_802_11n_are_calibrated() -> None:
    assert [row["stations"] for row in MEASURED["aggregation"]] == list(STATIONS_N)
    for row in MEASURED["aggregation"]:
        model = model_of_aggregates(row["stations"])
        assert (row["model_mbps"], row["model_collision"]) == pytest.approx((model.goodput_mbps, model.collision))
    assert PLAIN_ATTEMPTS < ATTEMPTS_N


def test_goodput_of_802_11n_falls_with_the_distance() -> None:
    rows = MEASURED["distance-n"]
    assert [row["metres"] for row in rows] == list(DISTANCES_N_M)
    for row in rows:
        if row["rssi_dbm"] is not None:
            assert row["rssi_dbm"] == pytest.approx(row["model_rssi_dbm"], abs=RSSI_BOUND_DB)
    assert rows[0]["goodput_mbps"] >= NEAR_BOUND * model_of_aggregates(1).goodput_mbps
    for near, far in pairwise(rows):
        assert far["goodput_mbps"] <= (1 + RISE_BOUND) * near["goodput_mbps"]


@pytest.mark.parametrize("row", MEASURED["anomaly"], ids=lambda row: f"{row['phy']}-{row['stations']}")
def test_a_slow_station_slows_all(row: dict[str, Any]) -> None:
    """The model's bound holds where the slow station's frames survive no collisions, which the model supposes."""
    fast, slow = row["fast_mbps"], row["slow_mbps"]
    assert fast < 0.65 * row["alone_mbps"]
    if row["survived"] == 0:
        assert fast == pytest.approx(row["model_mbps"], rel=GOODPUT_BOUND)
    else:
        assert fast < row["model_mbps"] < slow


def test_the_knee_is_where_the_study_has_it() -> None:
    rows = {row["metres"]: row for row in MEASURED["distance"]}
    for row in rows.values():
        if row["rssi_dbm"] is not None:
            assert row["rssi_dbm"] == pytest.approx(row["model_rssi_dbm"], abs=RSSI_BOUND_DB)
    near, knee = rows[min(rows)]["goodput_mbps"], rows[KNEE_M]["goodput_mbps"]
    assert KNEE_BOUND * near < knee < near
    assert rows[COLLAPSE_M]["goodput_mbps"] <= COLLAPSE_BOUND * knee


@pytest.mark.parametrize("row", MEASURED["cost"] + MEASURED["scenarios"], ids=lambda row: row["network"])
def test_a_minute_takes_less_than_half_a_minute_of_wall_time(row: dict[str, Any]) -> None:
    """Required is a minute, for nine stations at two access points. Half of it is room for a slower machine."""
    assert row["virtual_s"] == 60
    assert row["wall_s"] < 30


@pytest.mark.parametrize("row", MEASURED["cost-n"], ids=lambda row: row["network"])
def test_a_minute_of_802_11n_takes_less_than_a_minute_of_cpu_time(row: dict[str, Any]) -> None:
    assert row["virtual_s"] == 60
    assert row["cpu_s"] < 60
