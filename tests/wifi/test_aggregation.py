# SPDX-License-Identifier: MIT
"""802.11n between real hostapd, wpa_supplicant and mac80211: aggregates, block acks, and what rate control learns.

A datagram of 1472 bytes is a frame of 1538: header with QoS of 26 bytes, LLC of 8, IP of 20, UDP of 8, FCS of 4. In an
aggregate each has a delimiter of 4 bytes, and begins at a multiple of 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.unit.tools.radio.parts import spectrum, union_bound
from tests.wifi.neighbours import beside_802_11b
from validation.wifi.experiments import Measure, names
from validation.wifi.lab import ACCESS_POINT_G, Load, Network, RunMeasurements, measure

PAYLOAD = 1472
FRAME = 26 + 8 + 20 + 8 + PAYLOAD + 4
SUBFRAME = 1544
#: An aggregate takes no longer, at any rate of its table.
LIMIT_US = 4000
SIFS_US, SLOT_US, EXTENSION_US = 10, 9, 6
AIFS_SLOTS, CW_MIN = 3, 15
#: Of the medium's defaults.
NOISE_DBM, POWER_DBM = -94, 16

ACCESS_POINT_N = ACCESS_POINT_G.replace("wmm_enabled=0", "wmm_enabled=1") + "ieee80211n=1\n"
MCS_7 = ("ht-mcs-2.4", "7")


def psdu_bytes(frames: int) -> int:
    """Return the bytes of an aggregate; the last frame has no padding."""
    return SUBFRAME * (frames - 1) + 4 + FRAME


def ppdu_us(data_bits: int, size: int) -> int:
    """Return how long an aggregate takes, for the bits of data of a symbol."""
    return 36 + 4 * math.ceil((22 + 8 * size) / data_bits) + EXTENSION_US


def full_aggregate(data_bits: int) -> int:
    """Return the frames of the longest aggregate."""
    frames = 1
    while ppdu_us(data_bits, psdu_bytes(frames + 1)) <= LIMIT_US:
        frames += 1
    return frames


def cycle_us(data_bits: int, frames: int, *, block_ack_bits: int = 216) -> float:
    """Return the time from one aggregate of a lone station to the next: block ack of 32 bytes, AIFS, mean draw."""
    block_ack_us = 20 + 4 * math.ceil((22 + 8 * 32) / block_ack_bits) + EXTENSION_US
    access_us = SIFS_US + AIFS_SLOTS * SLOT_US + CW_MIN / 2 * SLOT_US
    return ppdu_us(data_bits, psdu_bytes(frames)) + SIFS_US + block_ack_us + access_us


#: MCS 7: 20 frames in 3852 us, 58.9 Mbit/s.
MCS_7_BITS = 260
MCS_7_FULL = full_aggregate(MCS_7_BITS)
MCS_7_MBPS = MCS_7_FULL * 8 * PAYLOAD / cycle_us(MCS_7_BITS, MCS_7_FULL)


def network_of(
    stations: Sequence[str], *, metres: float = 5, rates: Sequence[str] = MCS_7, seconds: float = 3
) -> Network:
    """Return a network of 802.11n whose stations always send to the access point."""
    angles = [2 * math.pi * index / len(stations) for index in range(len(stations))]
    places = [f"at {metres * math.cos(angle):.3f} {metres * math.sin(angle):.3f}" for angle in angles]
    return Network(
        radios={"ap": "at 0 0", **dict(zip(stations, places, strict=True))},
        access_points={"ap": ACCESS_POINT_N},
        stations=dict.fromkeys(stations, rates),
        loads=[Load(name, "ap", PAYLOAD) for name in stations],
        medium="basic-rates 6 12 24 54",
        measured_s=seconds,
    )


def frames_per_aggregate(measured: RunMeasurements, name: str) -> float:
    counters = measured.radios[name]
    return float(counters["aggregated_mpdus"] / counters["aggregates"])


def test_a_station_has_the_goodput_of_full_aggregates(run: Measure) -> None:
    measured = run(network_of(names(1)), "mcs7")
    counters = measured.radios["sta0"]
    length = frames_per_aggregate(measured, "sta0")
    print("goodput", measured.goodput_mbps, "of", MCS_7_MBPS, "frames per aggregate", length, "of", MCS_7_FULL)
    print({key: counters[key] for key in ("attempts", "aggregates", "block_acks", "acked", "unacked", "rates")})
    assert sum(measured.goodput_mbps) == pytest.approx(MCS_7_MBPS, rel=0.02)
    # One in 750 aggregates is shorter, when the sender wakes late; none is longer.
    assert MCS_7_FULL - 0.2 <= length <= MCS_7_FULL
    assert counters["unacked"] == 0
    assert counters["block_acks"] == pytest.approx(counters["aggregates"], abs=1)


def test_rate_control_finds_the_highest_mcs(run: Measure) -> None:
    """It begins with MCS 0, and learns from reports about aggregates alone."""
    measured = run(replace(network_of(names(1), rates=()), warm_s=3), "minstrel")
    rates = measured.rates("sta0")
    part = rates["mcs7"] / sum(rates.values())
    print("goodput", measured.goodput_mbps, "of", MCS_7_MBPS, "at MCS 7", part, rates)
    # The rest are frames with which it tries other rates, 50 a second of some 5000.
    assert part > 0.95
    # Aggregates have to be short enough for the slower rates of its table.
    assert sum(measured.goodput_mbps) > 0.93 * MCS_7_MBPS


@cache
def weights() -> list[tuple[int, int]]:
    """Return the first weights of the code of rate 5/6."""
    return spectrum(5, 5)


def error_rate(sinr: float) -> float:
    """Return the part of frames that is lost at MCS 7, by the union bound over its code (64-QAM, 5/6)."""
    _, bit = union_bound(6, sinr * 64 / 56, 5, weights())
    return 1 - (1 - bit) ** (8 * (4 + FRAME))


def distance_of(loss: float) -> tuple[float, float]:
    """Return the distance in metres at which about this part of frames is lost, and the exact part."""
    metres = 5.0
    while (rate := error_rate(10 ** ((POWER_DBM - 46.7 - 30 * math.log10(metres) - NOISE_DBM) / 10))) < loss:
        metres += 0.01
    return round(metres, 3), rate


def test_only_missing_frames_are_repeated(run: Measure) -> None:
    """Where 15 % of frames are lost, an eighth more attempts are made, and nothing is lost to the receiver."""
    metres, loss = distance_of(0.15)
    measured = run(network_of(names(1), metres=metres), "errors")
    counters = measured.radios["sta0"]
    rate = counters["rates"]["mcs7"]
    frame_loss = 1 - rate["acked"] / rate["attempts"]
    print(
        f"at {metres} m {frame_loss:.4f} of {rate['attempts']} are lost, expected {loss:.4f}; {measured.goodput_mbps}"
    )
    # Four standard errors of a proportion; 2 % for the weights of the code that are left out.
    assert frame_loss == pytest.approx(loss, abs=4 * math.sqrt(loss * (1 - loss) / rate["attempts"]) + 0.02 * loss)
    assert counters["block_acks"] >= 0.99 * counters["aggregates"]
    # Each aggregate is as long as one without errors: new frames take the places of frames that arrived.
    assert frames_per_aggregate(measured, "sta0") > MCS_7_FULL - 1
    assert sum(measured.goodput_mbps) == pytest.approx((1 - frame_loss) * MCS_7_MBPS, rel=0.03)
    # minstrel allows at least 4 attempts at a fixed rate: at most 0.15 ^ 4 of the frames are given up.
    assert counters["unacked"] <= 1e-3 * counters["acked"]


def test_queues_stay_in_mac80211(run: Measure) -> None:
    """The medium has an aggregate for each of two stations, CoDel all other frames, and both get the same."""
    network = network_of(names(2))
    loads = [Load("ap", name) for name in names(2)]
    measured = run(
        replace(network, stations=dict.fromkeys(names(2), ()), loads=loads, queues_of=("ap",), warm_s=3), "queues"
    )
    backlogs = [
        max(int(line.split()[3]) for line in text.splitlines()[1:] if line.strip())
        for name, text in measured.queues["ap"].items()
        if "/stations/" in name
    ]
    most = measured.after["ap"]["queued_max"]
    print("frames in mac80211", backlogs, "at most in the medium", most, "goodput", measured.goodput_mbps)
    assert len(backlogs) == 2
    assert min(backlogs) >= 5
    # One more than fits, so that the medium sees that it does not; and a request for a block ack or two.
    assert most <= 2 * (MCS_7_FULL + 1) + 2
    assert measured.goodput_mbps[0] == pytest.approx(measured.goodput_mbps[1], rel=0.05)


def test_a_slow_station_has_few_frames_in_the_medium(run: Measure) -> None:
    """At MCS 0, 4 ms are two frames, not the 64 of the window: those would wait 120 ms beyond CoDel."""
    measured = run(network_of(names(1), rates=("ht-mcs-2.4", "0")), "slow")
    expected = full_aggregate(26)
    mbps = expected * 8 * PAYLOAD / cycle_us(26, expected, block_ack_bits=24)
    print("goodput", measured.goodput_mbps, "of", mbps, "in the medium", measured.after["sta0"]["queued_max"])
    assert expected == 2
    assert sum(measured.goodput_mbps) == pytest.approx(mbps, rel=0.02)
    # Frames of association and of the first session are at other rates.
    assert measured.radios["sta0"]["mpdus_by_aggregate"].keys() >= {"2"}
    assert frames_per_aggregate(measured, "sta0") == pytest.approx(2, abs=0.01)


def test_stations_share_the_channel(run: Measure) -> None:
    measured = run(network_of(names(3), seconds=12), "three")
    counters = [measured.radios[name] for name in names(3)]
    collisions = measured.collision_probability(names(3))
    print("goodput", measured.goodput_mbps, "collisions", collisions)
    # 900 aggregates of each. Who collides waits longer, so turns come in rows: with 250 of each, they differ by half.
    assert min(measured.goodput_mbps) > 0.8 * max(measured.goodput_mbps)
    assert 0.05 < collisions < 0.25
    assert sum(measured.goodput_mbps) < MCS_7_MBPS
    for counter in counters:
        assert counter["unacked"] <= 0.01 * counter["acked"]


def test_a_station_of_802_11g_has_as_many_turns(run: Measure) -> None:
    """And one frame in each, where a station of 802.11n has an aggregate; both hear each other's reservations."""
    stations = names(2)
    network = network_of(stations, seconds=4)
    network = replace(
        network,
        stations={"sta0": MCS_7, "sta1": ("legacy-2.4", "54")},
        networks={"sta1": '\tssid="lab"\n\tkey_mgmt=NONE\n\tscan_freq=2412\n\tdisable_ht=1\n'},
    )
    measured = run(network, "neighbours")
    new, old = (measured.radios[name] for name in stations)
    print("goodput", measured.goodput_mbps, "attempts", new["attempts"], old["attempts"], old["rates"])
    assert old["aggregates"] == 0
    assert {rate for rate, counts in old["rates"].items() if counts["attempts"]} == {"54"}
    # Some 800 attempts of each.
    assert old["attempts"] == pytest.approx(new["attempts"], rel=0.15)
    assert measured.goodput_mbps[0] == pytest.approx(MCS_7_FULL * measured.goodput_mbps[1], rel=0.15)


def test_aggregates_are_protected_beside_802_11b(run: Measure) -> None:
    """hostapd hears beacons of 802.11b, so that each aggregate comes after a CTS at a rate that all know."""
    network = network_of(names(1), seconds=1)
    measured = run(beside_802_11b(network), "protection")
    counters = measured.radios["sta0"]
    print("goodput", measured.goodput_mbps, "protected", counters["cts_to_self"], "of", counters["attempts"])
    assert counters["cts_to_self"] == counters["attempts"] > 200
    # Each takes 192 us and 14 bytes at 11 Mbit/s, and a SIFS.
    expected = MCS_7_FULL * 8 * PAYLOAD / (cycle_us(MCS_7_BITS, MCS_7_FULL) + 203 + SIFS_US)
    assert sum(measured.goodput_mbps) == pytest.approx(expected, rel=0.02)


def test_frames_that_are_given_up_hold_up_nothing(run: Measure) -> None:
    """The access point is deaf for 0.3 s in each second. The receiver is told to go on without what was given up."""
    network = network_of(names(1), seconds=5)
    lines = "".join(f"\noff ap {at}\non ap {at + 0.3}" for at in range(1, 9))
    radios = {**network.radios, "sta0": network.radios["sta0"] + lines}
    measured = run(replace(network, radios=radios), "deaf")
    counters = measured.radios["sta0"]
    acked_mbps = counters["acked"] * 8e-6 * PAYLOAD / network.measured_s
    print("goodput", measured.goodput_mbps, "acknowledged", acked_mbps, {k: counters[k] for k in ("acked", "unacked")})
    assert counters["unacked"] >= 20
    # What was acknowledged has arrived, and the last aggregate before each silence without the sender knowing.
    aggregate_mbps = MCS_7_FULL * 8e-6 * PAYLOAD / network.measured_s
    assert -aggregate_mbps <= sum(measured.goodput_mbps) - acked_mbps <= 6 * aggregate_mbps
    # After the silence it may wait for the largest window, 9 ms, and an aggregate that it has begun.
    assert 0.66 * MCS_7_MBPS < sum(measured.goodput_mbps) < 0.71 * MCS_7_MBPS


def test_the_same_seed_gives_the_same_frames(tmp_path: Path) -> None:
    """Of a run with rate control, collisions, errors and shadowing. Another seed gives others."""
    network = replace(network_of(names(3), metres=12, rates=(), seconds=1), medium="shadowing-db 4", log=True)
    logs = []
    for index, seed in enumerate((1, 1, 2)):
        measure(network, tmp_path / str(index), seed=seed)
        logs.append((tmp_path / str(index) / "frames.log").read_bytes())
    aggregates = logs[0].count(b" ampdu ")
    print(len(logs[0].splitlines()), "frames,", aggregates, "aggregates")
    assert aggregates > 200
    assert logs[0] == logs[1]
    assert logs[0] != logs[2]
