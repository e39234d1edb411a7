# SPDX-License-Identifier: MIT
"""The models that the radio medium is compared with, and that the committed calibration keeps its bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench.wifi import page
from bench.wifi.bianchi import DOT11B, DOT11G, saturation, with_a_slow_station
from bench.wifi.experiments import (
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
from bench.wifi.slots import collision_probability

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
    found = collision_probability(DOT11B, 10, attempts=10)
    model = saturation(DOT11B, 10, mpdu=MPDU, payload=PAYLOAD, attempts=10)
    print(found, model.collision)
    assert found == pytest.approx(model.collision, rel=0.03)


@pytest.mark.parametrize("row", MEASURED["saturation"], ids=lambda row: f"{row['phy']}-{row['stations']}")
def test_saturation_is_within_its_bounds(row: dict[str, Any]) -> None:
    assert row["goodput_mbps"] == pytest.approx(row["model_mbps"], rel=GOODPUT_BOUND)
    assert row["collision"] == pytest.approx(row["model_collision"], rel=COLLISION_BOUND, abs=0.001)


def test_all_numbers_of_stations_are_calibrated_in_both_modes() -> None:
    found = {(row["phy"], row["stations"]) for row in MEASURED["saturation"]}
    assert found == {(phy.name, stations) for phy in (DOT11B, DOT11G) for stations in STATIONS}


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
