# SPDX-License-Identifier: MIT
"""Radio links as the kernels at both ends saw them: RSSI, counters and associations over time.

A watcher on each node (``radio watch``, tools/radio/watch.c) prints a line for each station that a device of the node
hears, at each sampling instant, and one for each that comes or goes. What an access point prints is what it
hears of its stations; what a station prints is what it hears of its access point.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from statistics import fmean
from typing import Any

from mptcplab.metrics.column import HIDDEN, Column, Display, Scope
from mptcplab.metrics.manifest import RecordedRadio, read_radios
from mptcplab.recording.damage import report_damage
from mptcplab.recording.record import REPEAT_HINT, Recording
from mptcplab.workload.recorded import read_zero_ns

#: Events of a station, and of an access point about a station.
ASSOCIATED, DISASSOCIATED, ROAMED = "associated", "disassociated", "roamed"
#: Runs whose lines are kept in memory, since several readers ask for them.
_KEPT = 4


@dataclass(frozen=True)
class RadioSample:
    """The counters of a radio of ``node`` about ``peer`` until ``time_ns``, which counts from time zero.

    ``link`` is the link of the station. ``rssi_dbm`` is from the last frame, None before the first. Bytes count
    whole frames of data, both counts since the association. Rates of 802.11n have an ``mcs``, and a guard interval
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
    ``rx_bytes`` came from the station to the access point, ``tx_bytes`` in the other direction, as the access point
    counted them; ``tx_retries`` of its ``tx_packets`` were repeated. Rates and MCS are means of its samples, None
    without any. ``associations`` are by the station after time zero.
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
    """All lines of a run, ordered by time."""

    samples: tuple[RadioSample, ...] = ()
    associations: tuple[Association, ...] = ()


#: What an access point counts of a station; 0 if it never came.
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


def read_associations(recording: Recording) -> tuple[Association, ...]:
    """Return all associations of a run and their terminations, as both radios saw them."""
    return _log(recording).associations


def changes_of_stations(recording: Recording) -> list[Association]:
    """Return the associations that stations saw from time zero on."""
    stations = {radio.node for radio in read_radios(recording) if radio.is_station}
    return [
        association
        for association in read_associations(recording)
        if association.time_ns >= 0 and association.node in stations
    ]


@lru_cache(maxsize=_KEPT)
def radio_links(recording: Recording) -> list[RadioLink]:
    """Return the radio links of a run by station and access point, in the order of the scenario."""
    radios = read_radios(recording)
    if not radios:
        return []
    stations = {link: radio.node for radio in radios if radio.is_station for link in radio.links}
    totals = {(link, radio.access_point): _Total() for radio in radios for link in radio.links}
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
    return [_sum_counts(link, stations[link], access_point, total) for (link, access_point), total in totals.items()]


def count_roams(recording: Recording, stations: Container[str]) -> int:
    """Return how often radios of ``stations`` associated with another access point than before, from time zero on."""
    last: dict[tuple[str, str], str] = {}
    for sample in radio_samples(recording):
        last.setdefault((sample.node, sample.device), sample.peer)
    count = 0
    for change in changes_of_stations(recording):
        if change.node in stations and change.kind != DISASSOCIATED:
            radio = (change.node, change.device)
            count += last.get(radio, change.peer) != change.peer
            last[radio] = change.peer
    return count


def _sum_counts(link: str, station: str, access_point: str, total: _Total) -> RadioLink:
    numbers: dict[str, Any] = {**total.counts, **total.rates}
    return RadioLink(
        link=link,
        station=station,
        access_point=access_point,
        rssi_dbm=fmean(total.heard) if total.heard else None,
        station_rssi_dbm=fmean(total.heard_by_station) if total.heard_by_station else None,
        associations=total.associations,
        **numbers,
    )


def _mean(samples: Iterable[RadioSample], rate: str) -> float | None:
    """Return the mean of a rate over the samples from time zero on; None if no sample has a rate."""
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
    groups: dict[tuple[str, str, str], list[RadioSample]] = {}
    for sample in samples:
        groups.setdefault((sample.link, sample.node, sample.peer), []).append(sample)
    return groups


def _log(recording: Recording) -> _Log:
    return _read(recording) if read_radios(recording) else _Log()


@lru_cache(maxsize=_KEPT)
def _read(recording: Recording) -> _Log:
    radios = read_radios(recording)
    zero_ns = read_zero_ns(recording)
    samples: list[RadioSample] = []
    changes: list[Association] = []
    with report_damage(f"what radios heard in {recording.folder} cannot be read", hint=REPEAT_HINT):
        for node, program in {radio.node: radio.program for radio in radios}.items():
            places = _LineEnds(node, radios)
            for line in map(json.loads, recording.output(program).splitlines()):
                place = places.place_of(line)
                time_ns = line["at_ns"] - zero_ns
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

    def __init__(self, node: str, radios: Sequence[RecordedRadio]) -> None:
        self._by_mac = {radio.mac: radio for radio in radios}
        self._own = {radio.device: radio for radio in radios if radio.node == node}
        # The line says that a station has left, but not which one.
        self._last = {device: radio.access_point for device, radio in self._own.items()}

    def place_of(self, line: Mapping[str, Any]) -> tuple[str, str, str, str] | None:
        """Return node, device, peer and link; None for a peer that the scenario does not have."""
        device = line["device"]
        radio = self._own[device]
        if "station" not in line:
            return radio.node, device, self._last[device], radio.links[0]
        peer = self._by_mac.get(line["station"])
        if peer is None:
            return None
        station = radio if radio.is_station else peer
        self._last[device] = peer.node
        return radio.node, device, peer.node, station.links[0]


def _sample(time_ns: int, place: tuple[str, str, str, str], line: Mapping[str, Any]) -> RadioSample:
    numbers: dict[str, Any] = {name: line[name] for name in (*_COUNTERS, "tx_failed")}
    numbers |= {name: line.get(name) for name in _RATES}
    return RadioSample(
        time_ns,
        *place,
        rssi_dbm=line.get("signal_dbm"),
        rx_short_guard=line.get("rx_short_guard", False) if "rx_mcs" in line else None,
        tx_short_guard=line.get("tx_short_guard", False) if "tx_mcs" in line else None,
        **numbers,
    )


def radio_warnings(links: Iterable[RadioLink]) -> Iterator[str]:
    """Yield a warning for each station that never associated with an access point."""
    by_link: dict[str, list[RadioLink]] = {}
    for radio_link in links:
        by_link.setdefault(radio_link.link, []).append(radio_link)
    for link, some in by_link.items():
        if all(radio_link.rssi_dbm is None and radio_link.station_rssi_dbm is None for radio_link in some):
            yield f"the radio of {link} was never associated"


_number = partial(Column[RadioLink], unit="", type=int, display=HIDDEN)
_MCS_NOTE = "MCS: mean of the indices of these rates, 0 to 7, as 802.11n numbers its modulations and codes."
_COLUMNS = (
    _number(
        name="rssi_dbm",
        unit="dBm",
        definition="mean over the samples of what the access point heard of the station",
        type=float,
        display=Display(order=1, head="RSSI dBm"),
    ),
    _number(
        name="station_rssi_dbm",
        unit="dBm",
        definition="mean over the samples of what the station heard of the access point",
        type=float,
        display=Display(order=2, head="at station"),
    ),
    _number(
        name="rx_bytes",
        unit="B",
        definition="of frames of data that the access point received from the station, from time zero",
        display=Display(order=3, head="rx MB", per=1e6),
    ),
    _number(
        name="tx_bytes",
        unit="B",
        definition="of frames of data that it sent to the station",
        display=Display(order=4, head="tx MB", per=1e6),
    ),
    _number(name="rx_packets", unit="packets", definition="frames of data that it received", in_json=False),
    _number(name="tx_packets", unit="packets", definition="frames of data that it sent", in_json=False),
    _number(name="tx_retries", definition="its attempts that were repeated", in_json=False),
    _number(
        name="tx_retries_percent",
        unit="%",
        definition="`tx_retries` of `tx_packets`",
        type=float,
        display=Display(order=9, head="retries %"),
    ),
    _number(
        name="associations",
        definition="associations of the station after time zero",
        display=Display(order=10, head="associations"),
    ),
    _number(
        name="rx_kbps",
        unit="kbit/s",
        definition="mean over the samples of the access point of the rate at which it received last",
        type=float,
        display=Display(order=5, head="rx Mbit/s", per=1e3),
    ),
    _number(
        name="tx_kbps",
        unit="kbit/s",
        definition="mean over its samples of the rate at which it sent last",
        type=float,
        display=Display(order=6, head="tx Mbit/s", per=1e3),
    ),
    _number(
        name="rx_mcs",
        definition="mean of the indices of these rates in 802.11n; unknown if none was",
        type=float,
        display=Display(order=7, head="rx MCS", shown_without_values=False, note=_MCS_NOTE),
    ),
    _number(
        name="tx_mcs",
        definition="the same of the rates at which it sent",
        type=float,
        display=Display(order=8, head="tx MCS", shown_without_values=False, note=_MCS_NOTE),
    ),
)

RADIO_LINKS = Scope(
    name="radios",
    title="Radio links",
    order=2,
    frame="radio_links",
    optional=True,
    read=radio_links,
    keys=(
        Column(name="link", definition="name of the link", type=str, display=Display(head="link")),
        Column(name="station", definition="node at its one end", type=str, display=Display(head="station")),
        Column(
            name="access_point",
            definition="node that counted: the access point with which the station was associated",
            type=str,
            display=Display(head="access point"),
        ),
    ),
    columns=_COLUMNS,
    notes=(
        "RSSI: mean of what the access point heard of the station, and of what the station heard. Rx: what the access "
        "point received from the station; tx: what it sent. Retries: repeated attempts, in percent of the frames that "
        "it sent. Associations: of the station, after time zero. Mbit/s: mean of the rates of the last frames at each "
        "sample.",
    ),
)


@dataclass(frozen=True)
class AccessPoint:
    """The bytes that an access point received from all its stations in a run."""

    access_point: str
    rx_bytes: int


def access_points(recording: Recording) -> list[AccessPoint]:
    """Return the access points of a run."""
    links = radio_links(recording)
    return [
        AccessPoint(name, sum(link.rx_bytes for link in links if link.access_point == name))
        for name in dict.fromkeys(link.access_point for link in links)
    ]


ACCESS_POINTS = Scope(
    name="access_points",
    optional=True,
    read=access_points,
    keys=(Column(name="access_point", definition="name of the access point", type=str),),
    columns=(
        Column(
            name="rx_bytes",
            unit="B",
            definition="of frames of data that it received from all its stations, from time zero",
            type=int,
            display=HIDDEN,
        ),
    ),
)
