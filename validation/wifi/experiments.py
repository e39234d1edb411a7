# SPDX-License-Identifier: MIT
"""The experiments of the calibration, each beside its model, with the bounds that were set before the first run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from validation.wifi.bianchi import DOT11B, DOT11G, Phy, Saturation, saturation, with_a_slow_station
from validation.wifi.lab import ACCESS_POINT_B, ACCESS_POINT_G, Load, Network, RunMeasurements, measure
from validation.wifi.slots import collision_probability

#: Relative differences from the model that the calibration allows: goodput, and collision probability.
GOODPUT_BOUND = 0.05
COLLISION_BOUND = 0.10
STATIONS = (1, 2, 5, 10, 20)
#: Payload of a datagram, and its frame: header of 24 bytes, LLC of 8, IP of 20, UDP of 8.
PAYLOAD = 1472
MPDU = 24 + 8 + 20 + 8 + PAYLOAD
#: Attempts that minstrel allows most frames at one fixed rate; the counters of the medium have the others.
ATTEMPTS = {DOT11B.name: 10, DOT11G.name: 20}
_RADIUS_M = 5.0

#: The study's radio (asakura2019): ns-3's log-distance loss and power. The sensitivity is fitted to where it collapses.
STUDY = "path-loss log-distance 3 46.7\ndefault power-dbm 16 sensitivity-dbm -92.2"
DISTANCES_M = (5, 20, 40, 60, 80, 90, 95, 100, 105, 110, 115, 120)
_MOVES_AT_S = 5.0
_WARM_S = 8.0
KNEE_M = 110
COLLAPSE_M = 115
#: At the knee at least this part of the goodput nearby, after it at most that.
KNEE_BOUND = 0.2
COLLAPSE_BOUND = 0.05
#: RSSI is told in whole dBm.
RSSI_BOUND_DB = 0.5

Measure = Callable[[Network, str], RunMeasurements]


def measure_in(folder: Path, *, seed: int = 1) -> Measure:
    """Return a function that runs a network in a subfolder of ``folder``."""
    return lambda network, name: measure(network, folder / name, seed=seed)


@dataclass(frozen=True)
class SaturationRow:
    """A number of stations that always send, in one mode."""

    phy: str
    stations: int
    goodput_mbps: float
    model_mbps: float
    collision: float
    model_collision: float
    slots_collision: float
    """Of :func:`validation.wifi.slots.collision_probability`."""


@dataclass(frozen=True)
class AnomalyRow:
    """Goodput per station where one sends at the lowest rate of the mode and the others at the highest."""

    phy: str
    stations: int
    fast_mbps: float
    slow_mbps: float
    model_mbps: float
    alone_mbps: float
    """Goodput per station without a slow one, by the model."""
    survived: float
    """Part of the slow station's collisions that its frame survived; none in the model."""


@dataclass(frozen=True)
class DistanceRow:
    """One station at a distance, with rate control."""

    metres: int
    goodput_mbps: float
    rssi_dbm: float | None
    """As the access point's mac80211 tells; None if it heard nothing in the measured time."""
    model_rssi_dbm: float
    rates: dict[str, int]
    """Attempts by rate in Mbit/s, or by MCS."""

    @classmethod
    def from_measured(cls, metres: int, measured: RunMeasurements) -> DistanceRow:
        """Return the row of a run of :func:`at_distance`."""
        return cls(
            metres=metres,
            goodput_mbps=measured.goodput_mbps[0],
            rssi_dbm=_signal_dbm(measured.stations["ap"]) if sum(measured.goodput_mbps) else None,
            model_rssi_dbm=16 - 46.7 - 30 * math.log10(metres),
            rates=measured.rates("sta0"),
        )


def names(stations: int) -> list[str]:
    """Return the names of stations."""
    return [f"sta{index}" for index in range(stations)]


def ring(phy: Phy, stations: int, *, seconds: float) -> Network:
    """Return a network whose stations are equally far from the access point and always send to it."""
    angles = [2 * math.pi * index / stations for index in range(stations)]
    places = [f"at {_RADIUS_M * math.cos(angle):.3f} {_RADIUS_M * math.sin(angle):.3f}" for angle in angles]
    rate = ("legacy-2.4", f"{phy.rate_mbps:g}")
    return Network(
        radios={"ap": "at 0 0", **dict(zip(names(stations), places, strict=True))},
        access_points={"ap": ACCESS_POINT_G if phy.ofdm else ACCESS_POINT_B},
        stations=dict.fromkeys(names(stations), rate),
        loads=[Load(name, "ap", PAYLOAD) for name in names(stations)],
        medium="basic-rates 6 12 24 54" if phy.ofdm else "basic-rates 1 2 11",
        measured_s=seconds,
    )


def model_of(phy: Phy, stations: int) -> Saturation:
    """Return Bianchi's model of :func:`ring`."""
    return saturation(phy, stations, mpdu=MPDU, payload=PAYLOAD, attempts=ATTEMPTS[phy.name])


def saturate(phy: Phy, stations: int, run: Measure, *, seconds: float) -> SaturationRow:
    """Measure goodput and collisions of a ring of stations."""
    measured = run(ring(phy, stations, seconds=seconds), f"{phy.name}-{stations}")
    model = model_of(phy, stations)
    return SaturationRow(
        phy=phy.name,
        stations=stations,
        goodput_mbps=sum(measured.goodput_mbps),
        model_mbps=model.goodput_mbps,
        collision=measured.collision_probability(names(stations)),
        model_collision=model.collision,
        slots_collision=collision_probability(phy, stations, attempts=ATTEMPTS[phy.name]),
    )


def anomaly(phy: Phy, stations: int, run: Measure, *, seconds: float) -> AnomalyRow:
    """Measure a ring of stations of which the last one sends at the lowest rate."""
    network = ring(phy, stations, seconds=seconds)
    slow = names(stations)[-1]
    network = replace(network, stations={**network.stations, slow: ("legacy-2.4", f"{phy.lowest_mbps:g}")})
    measured = run(network, f"anomaly-{phy.name}-{stations}")
    *fast_mbps, slow_mbps = measured.goodput_mbps
    slow_phy = replace(phy, rate_mbps=phy.lowest_mbps, ack_mbps=phy.lowest_mbps)
    counters = measured.radios[slow]
    return AnomalyRow(
        phy=phy.name,
        stations=stations,
        fast_mbps=sum(fast_mbps) / len(fast_mbps),
        slow_mbps=slow_mbps,
        model_mbps=with_a_slow_station(
            phy, slow_phy, stations, mpdu=MPDU, payload=PAYLOAD, attempts=ATTEMPTS[phy.name]
        ),
        alone_mbps=model_of(phy, stations).goodput_mbps / stations,
        survived=counters["captured"] / max(1, counters["collisions"]),
    )


def _signal_dbm(dump: str) -> float | None:
    """Return the signal of the only station in the output of `iw station dump`; None if it has none."""
    lines = [line.split() for line in dump.splitlines()]
    return next((float(words[1]) for words in lines if words[:1] == ["signal:"]), None)


def at_distance(metres: int, access_point: str, *, seconds: float) -> Network:
    """Return one station that associates nearby, walks to ``metres`` at once, and sends at the rates it finds best."""
    moves = f"move sta0 {_MOVES_AT_S} 5 0\nmove sta0 {_MOVES_AT_S + 0.001} {metres} 0"
    return Network(
        radios={"ap": "at 0 0", "sta0": f"at 5 0\n{moves}"},
        access_points={"ap": access_point},
        stations={"sta0": ()},
        loads=[Load("sta0", "ap", PAYLOAD)],
        medium=STUDY,
        warm_s=_WARM_S,
        measured_s=seconds,
    )


def distance(metres: int, run: Measure, *, seconds: float) -> DistanceRow:
    """Measure a station of 802.11b that has walked to ``metres``, with rate control."""
    return DistanceRow.from_measured(
        metres, run(at_distance(metres, ACCESS_POINT_B, seconds=seconds), f"distance-{metres}")
    )


def all_saturated(run: Measure, report: Callable[[str], None], seconds: Sequence[float]) -> list[SaturationRow]:
    """Measure both modes with all numbers of stations; ``seconds`` of each mode."""
    rows = []
    for phy, duration in zip((DOT11B, DOT11G), seconds, strict=True):
        for stations in STATIONS:
            rows.append(saturate(phy, stations, run, seconds=duration))
            report(str(rows[-1]))
    return rows
