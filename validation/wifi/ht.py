# SPDX-License-Identifier: MIT
"""The experiments with 802.11n: stations that always send aggregates, and minstrel_ht by distance.

The bounds come from :mod:`validation.wifi.experiments`, and were set before the first run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from validation.wifi.aggregates import DOT11N, Ht, saturation
from validation.wifi.bianchi import Saturation
from validation.wifi.experiments import PAYLOAD, DistanceRow, Measure, at_distance, names, ring
from validation.wifi.lab import ACCESS_POINT_N, Load, Network
from validation.wifi.slots import collision_probability

#: Stations of the rings.
STATIONS_N = (1, 2, 5, 10, 20)
#: An MPDU before its FCS: header of QoS data of 26 bytes, LLC of 8, IP of 20, UDP of 8.
MPDU_N = 26 + 8 + 20 + 8 + PAYLOAD
#: Attempts of an aggregate along minstrel_ht's table when the MCS is fixed: at its first rate, and all.
PLAIN_ATTEMPTS = 2
ATTEMPTS_N = 8
#: An aggregate has at least this part of the MPDUs that fit into the longest one, on average.
FULL_BOUND = 0.95
DISTANCES_N_M = (5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100)
#: Goodput at a distance is at most this part more than at the next shorter one, and nearby at least that part of the
#: model's at the highest MCS.
RISE_BOUND = 0.03
NEAR_BOUND = 0.9
#: So that frames for two aggregates wait.
_SEND_BUFFER = 192 << 10


@dataclass(frozen=True)
class AggregationRow:
    """A number of stations that always send aggregates at one MCS."""

    stations: int
    goodput_mbps: float
    model_mbps: float
    collision: float
    model_collision: float
    slots_collision: float
    """Of :func:`validation.wifi.slots.collision_probability`."""
    mpdus: float
    """Mean MPDUs in an aggregate."""
    model_mpdus: int


def ring_n(stations: int, *, seconds: float, ht: Ht = DOT11N) -> Network:
    """Return a ring whose stations always have more than an aggregate to send, at the MCS of ``ht``."""
    legacy = ring(ht.access, stations, seconds=seconds)
    access_point = ACCESS_POINT_N + ("ht_capab=[SHORT-GI-20]\n" if ht.short_guard else "")
    rate = ("ht-mcs-2.4", str(ht.mcs), *(("sgi-2.4",) if ht.short_guard else ()))
    return replace(
        legacy,
        access_points={"ap": access_point},
        stations=dict.fromkeys(names(stations), rate),
        loads=[Load(name, "ap", PAYLOAD, _SEND_BUFFER) for name in names(stations)],
        medium="basic-rates 6 12 24",
    )


def model_of_aggregates(stations: int, ht: Ht = DOT11N) -> Saturation:
    """Return the model of :func:`ring_n`."""
    return saturation(ht, stations, mpdu=MPDU_N, payload=PAYLOAD, plain=PLAIN_ATTEMPTS, attempts=ATTEMPTS_N)


def aggregate(stations: int, run: Measure, *, seconds: float) -> AggregationRow:
    """Measure goodput, collisions and the length of aggregates of a ring of stations."""
    measured = run(ring_n(stations, seconds=seconds), f"{DOT11N.name}-{stations}")
    model = model_of_aggregates(stations)
    counters = [measured.radios[name] for name in names(stations)]
    return AggregationRow(
        stations=stations,
        goodput_mbps=sum(measured.goodput_mbps),
        model_mbps=model.goodput_mbps,
        collision=measured.collision_probability(names(stations)),
        model_collision=model.collision,
        slots_collision=collision_probability(DOT11N.access, stations, attempts=ATTEMPTS_N),
        mpdus=sum(counter["aggregated_mpdus"] for counter in counters)
        / max(1, sum(counter["aggregates"] for counter in counters)),
        model_mpdus=DOT11N.mpdus(MPDU_N),
    )


def distance_n(metres: int, run: Measure, *, seconds: float) -> DistanceRow:
    """Measure one station of 802.11n that has walked to ``metres``, with minstrel_ht."""
    network = at_distance(metres, ACCESS_POINT_N, seconds=seconds)
    return DistanceRow.from_measured(
        metres, run(replace(network, loads=[Load("sta0", "ap", PAYLOAD, _SEND_BUFFER)]), f"distance-n-{metres}")
    )


def all_aggregated(run: Measure, report: Callable[[str], None], seconds: float) -> list[AggregationRow]:
    """Measure all numbers of stations."""
    rows = []
    for stations in STATIONS_N:
        rows.append(aggregate(stations, run, seconds=seconds))
        report(str(rows[-1]))
    return rows
