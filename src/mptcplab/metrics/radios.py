# SPDX-License-Identifier: MIT
"""Radio links as the kernels at both ends saw them: RSSI, counters and associations over time.

A watcher on each node (``radio watch``, tools/radio/watch.c) prints a line for each station that a device of the node
hears, at each sampling instant, and one for each that comes or goes. What an access point prints is what it
hears of its stations; what a station prints is what it hears of its access point.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from statistics import fmean
from typing import Any

from mptcplab.recording.damage import reporting_damage
from mptcplab.recording.record import REPEATED, Recording

_STATION = "station"
#: Events of a station, and of an access point about a station.
ASSOCIATED, DISASSOCIATED, ROAMED = "associated", "disassociated", "roamed"
#: Runs whose lines are kept in memory, since several readers ask for them.
_KEPT = 4


@dataclass(frozen=True)
class RadioSample:
    """What a radio of ``node`` has heard from ``peer`` until ``time_ns``, which counts from time zero.

    ``link`` is the link of the station. ``rssi_dbm`` is from the last frame, None before the first. Bytes are those
    of whole frames of data, both counts since the association. Rates of 802.11n have an ``mcs``, and a guard interval
    that may be short; both are None of others.
    """

    time_ns: int
    node: str
    device: str
    peer: str
    link: str
    rssi_dbm: int | None
    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    tx_retries: int
    tx_failed: int
    rx_kbps: int | None
    tx_kbps: int | None
    rx_mcs: int | None
    tx_mcs: int | None
    rx_short_guard: bool | None
    tx_short_guard: bool | None


@dataclass(frozen=True)
class Association:
    """``node`` and ``peer`` associated, roamed or disassociated (``kind``), as ``node`` saw it.

    ``reason`` is the code of IEEE Std 802.11-2016, 9.4.1.7, None without one.
    """

    time_ns: int
    node: str
    device: str
    peer: str
    link: str
    kind: str
    reason: int | None


@dataclass(frozen=True)
class RadioLink:
    """One station's radio link with one access point in a run, from time zero on.

    ``rssi_dbm`` is the mean of the samples of the access point, ``station_rssi_dbm`` of the station, None without any.
    ``rx_bytes`` came from the station to the access point, ``tx_bytes`` went the other way, as the access point counted
    them; ``tx_retries`` of its ``tx_packets`` were repeated. Rates and MCS are means of its samples, None without any.
    ``associations`` are by the station after time zero.
    """

    link: str
    station: str
    access_point: str
    rssi_dbm: float | None
    station_rssi_dbm: float | None
    rx_bytes: int
    tx_bytes: int
    rx_packets: int
    tx_packets: int
    tx_retries: int
    associations: int
    rx_kbps: float | None
    tx_kbps: float | None
    rx_mcs: float | None
    tx_mcs: float | None

    @property
    def tx_retries_percent(self) -> float | None:
        """Repeated attempts of the access point in percent of the frames that it sent; None if it sent none."""
        return 100 * self.tx_retries / self.tx_packets if self.tx_packets else None


@dataclass(frozen=True)
class _Log:
    """All lines of a run, in the order of time."""

    samples: tuple[RadioSample, ...] = ()
    associations: tuple[Association, ...] = ()


#: What an access point counts of a station; 0 of one that never came.
_COUNTERS = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "tx_retries")
#: What an access point says of the last frames in each sample.
_RATES = ("rx_kbps", "tx_kbps", "rx_mcs", "tx_mcs")


@dataclass
class _Total:
    """Sums over one link with one access point."""

    heard: list[int] = field(default_factory=list)
    heard_by_station: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTERS, 0))
    rates: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(_RATES))
    associations: int = 0


def radio_samples(recording: Recording) -> tuple[RadioSample, ...]:
    """Return all samples of a run; none without radios. :raises LabError: if the recording is damaged."""
    return _log(recording).samples


def associations(recording: Recording) -> tuple[Association, ...]:
    """Return all associations of a run and their ends, as both sides saw them."""
    return _log(recording).associations


def changes_of_stations(recording: Recording) -> list[Association]:
    """Return the associations that stations saw from time zero on."""
    stations = {radio["node"] for radio in recording.manifest.get("radios", ()) if radio["role"] == _STATION}
    return [
        association
        for association in associations(recording)
        if association.time_ns >= 0 and association.node in stations
    ]


def radio_links(recording: Recording) -> list[RadioLink]:
    """Return the radio links of a run by station and access point, in the order of the scenario."""
    radios = recording.manifest.get("radios", ())
    if not radios:
        return []
    stations = {link: radio["node"] for radio in radios if radio["role"] == _STATION for link in radio["links"]}
    totals = {(link, radio["access_point"]): _Total() for radio in radios for link in radio["links"]}
    for (link, node, peer), of_one in _group_samples(radio_samples(recording)).items():
        heard = [sample.rssi_dbm for sample in of_one if sample.rssi_dbm is not None and sample.time_ns >= 0]
        if node == stations[link]:
            totals.setdefault((link, peer), _Total()).heard_by_station += heard
            continue
        total = totals.setdefault((link, node), _Total())
        total.heard += heard
        total.counts = {name: _counter_growth(of_one, name) for name in _COUNTERS}
        total.rates = {name: _mean(of_one, name) for name in _RATES}
    for change in changes_of_stations(recording):
        if change.kind != DISASSOCIATED:
            totals.setdefault((change.link, change.peer), _Total()).associations += 1
    return [
        _sum_counts(link, stations[link], access_point, this_total)
        for (link, access_point), this_total in totals.items()
    ]


def rx_by_access_point(links: Iterable[RadioLink]) -> dict[str, int]:
    """Return the bytes that each access point received from its stations."""
    counter: Counter[str] = Counter()
    for link in links:
        counter[link.access_point] += link.rx_bytes
    return dict(counter)


def count_roams(recording: Recording, stations: Container[str]) -> int:
    """Return how often radios of ``stations`` associated with another access point than before, from time zero on."""
    last: dict[tuple[str, str], str] = {}
    for sample in radio_samples(recording):
        last.setdefault((sample.node, sample.device), sample.peer)
    count = 0
    for change in changes_of_stations(recording):
        if change.node in stations and change.kind != DISASSOCIATED:
            place = (change.node, change.device)
            count += last.get(place, change.peer) != change.peer
            last[place] = change.peer
    return count


def _sum_counts(link: str, station: str, access_point: str, total: _Total) -> RadioLink:
    counts = total.counts
    return RadioLink(
        link=link,
        station=station,
        access_point=access_point,
        rssi_dbm=fmean(total.heard) if total.heard else None,
        station_rssi_dbm=fmean(total.heard_by_station) if total.heard_by_station else None,
        rx_bytes=counts["rx_bytes"],
        tx_bytes=counts["tx_bytes"],
        rx_packets=counts["rx_packets"],
        tx_packets=counts["tx_packets"],
        tx_retries=counts["tx_retries"],
        associations=total.associations,
        rx_kbps=total.rates["rx_kbps"],
        tx_kbps=total.rates["tx_kbps"],
        rx_mcs=total.rates["rx_mcs"],
        tx_mcs=total.rates["tx_mcs"],
    )


def _mean(samples: Iterable[RadioSample], rate: str) -> float | None:
    """Return the mean of a rate over the samples from time zero on; None if none has one."""
    values = [getattr(sample, rate) for sample in samples if sample.time_ns >= 0 and getattr(sample, rate) is not None]
    return fmean(values) if values else None


def _counter_growth(samples: Iterable[RadioSample], counter: str) -> int:
    """Return by how much a counter has grown since time zero. It begins anew when the station associates again."""
    samples = list(samples)
    before = [sample for sample in samples if sample.time_ns <= 0][-1:]
    values = [
        int(getattr(sample, counter))
        for sample in (*before, *(radio_sample for radio_sample in samples if radio_sample.time_ns > 0))
    ]
    first = [] if before else values[:1]
    return sum((*first, *(later - earlier if later >= earlier else later for earlier, later in pairwise(values))))


def _group_samples(samples: Iterable[RadioSample]) -> dict[tuple[str, str, str], list[RadioSample]]:
    found_samples: dict[tuple[str, str, str], list[RadioSample]] = {}
    for sample in samples:
        found_samples.setdefault((sample.link, sample.node, sample.peer), []).append(sample)
    return found_samples


def _log(recording: Recording) -> _Log:
    return _read(recording) if recording.manifest.get("radios") else _Log()


@lru_cache(maxsize=_KEPT)
def _read(recording: Recording) -> _Log:
    radios: list[Mapping[str, Any]] = recording.manifest["radios"]
    samples: list[RadioSample] = []
    changes: list[Association] = []
    with reporting_damage(f"what radios heard in {recording.folder} cannot be read", hint=REPEATED):
        for node, program in {radio["node"]: radio["program"] for radio in radios}.items():
            places = _LineEnds(node, radios)
            for line in map(json.loads, recording.output(program).splitlines()):
                place = places.place_of(line)
                time_ns = line["at_ns"] - int(recording.manifest["zero_ns"])
                if place is None:
                    continue
                if "event" in line:
                    changes.append(Association(time_ns, *place, line["event"], line.get("reason")))
                else:
                    samples.append(_sample(time_ns, place, line))
    ordered = sorted(samples, key=lambda sample: sample.time_ns)
    return _Log(tuple(ordered), tuple(sorted(changes, key=lambda association: association.time_ns)))


class _LineEnds:
    """Finds the ends of the lines of ``node``, which are in the order of time."""

    def __init__(self, node: str, radios: Iterable[Mapping[str, Any]]) -> None:
        self._by_mac = {radio["mac"]: radio for radio in radios}
        self._own = {radio["device"]: radio for radio in radios if radio["node"] == node}
        # The line says that a station has left, but not which one.
        self._last = {device: radio["access_point"] for device, radio in self._own.items()}

    def place_of(self, line: Mapping[str, Any]) -> tuple[str, str, str, str] | None:
        """Return node, device, peer and link; None for a peer that the scenario does not have."""
        device = line["device"]
        own_entry = self._own[device]
        if "station" not in line:
            return own_entry["node"], device, self._last[device], own_entry["links"][0]
        peer = self._by_mac.get(line["station"])
        if peer is None:
            return None
        station = own_entry if own_entry["role"] == _STATION else peer
        self._last[device] = peer["node"]
        return own_entry["node"], device, peer["node"], station["links"][0]


def _sample(time_ns: int, place: tuple[str, str, str, str], line: Mapping[str, Any]) -> RadioSample:
    return RadioSample(
        time_ns,
        *place,
        rssi_dbm=line.get("signal_dbm"),
        rx_bytes=line["rx_bytes"],
        tx_bytes=line["tx_bytes"],
        rx_packets=line["rx_packets"],
        tx_packets=line["tx_packets"],
        tx_retries=line["tx_retries"],
        tx_failed=line["tx_failed"],
        rx_kbps=line.get("rx_kbps"),
        tx_kbps=line.get("tx_kbps"),
        rx_mcs=line.get("rx_mcs"),
        tx_mcs=line.get("tx_mcs"),
        rx_short_guard=line.get("rx_short_guard", False) if "rx_mcs" in line else None,
        tx_short_guard=line.get("tx_short_guard", False) if "tx_mcs" in line else None,
    )


def radio_warnings(links: Iterable[RadioLink]) -> Iterator[str]:
    """Yield a warning for each station that never was with an access point."""
    by_link: dict[str, list[RadioLink]] = {}
    for radio_link in links:
        by_link.setdefault(radio_link.link, []).append(radio_link)
    for link, some in by_link.items():
        if all(radio_link.rssi_dbm is None and radio_link.station_rssi_dbm is None for radio_link in some):
            yield f"the radio of {link} was never associated"
