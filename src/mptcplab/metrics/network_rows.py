# SPDX-License-Identifier: MIT
"""Counters of the network by the points of a sweep: means over seeds, and the single values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mptcplab.metrics.endpoints import EndpointStates
from mptcplab.metrics.links import DirectionCounters
from mptcplab.metrics.loss import Chances
from mptcplab.metrics.middleboxes import MiddleboxCount
from mptcplab.metrics.network import NetworkCounters
from mptcplab.metrics.radios import RadioLink, rx_by_access_point
from mptcplab.metrics.rows import RunResult
from mptcplab.stats import mean_interval

_Seen = TypeVar("_Seen")
#: Counters of a direction, by their names in JSON.
_COUNTED: dict[str, Callable[[DirectionCounters], float | None]] = {
    "packets": lambda counters: counters.packets,
    "bytes": lambda counters: counters.bytes,
    "lost": lambda counters: counters.lost,
    "lost_percent": lambda counters: counters.lost_percent,
    "dropped": lambda counters: counters.dropped,
    "marked": lambda counters: counters.marked,
    "waiting": lambda counters: counters.waiting,
    "peak_queue_bytes": lambda counters: counters.peak_bytes,
    "peak_queue_packets": lambda counters: counters.peak_packets,
}
#: Numbers of a radio link, by their names in JSON.
_OF_RADIOS: dict[str, Callable[[RadioLink], float | None]] = {
    "rssi_dbm": lambda link: link.rssi_dbm,
    "station_rssi_dbm": lambda link: link.station_rssi_dbm,
    "rx_bytes": lambda link: link.rx_bytes,
    "tx_bytes": lambda link: link.tx_bytes,
    "tx_retries_percent": lambda link: link.tx_retries_percent,
    "associations": lambda link: link.associations,
    "rx_kbps": lambda link: link.rx_kbps,
    "tx_kbps": lambda link: link.tx_kbps,
    "rx_mcs": lambda link: link.rx_mcs,
    "tx_mcs": lambda link: link.tx_mcs,
}


@dataclass(frozen=True)
class LinkRow:
    """One direction of a link at one point. ``values`` has the counters that any run has.

    ``outside`` has the seeds whose losses are outside the expected interval; ``unknown`` is the reason if there is no
    such interval.
    """

    settings: Mapping[str, str]
    link: str
    direction: str
    asked: Chances
    seeds: tuple[int, ...]
    values: Mapping[str, tuple[float, ...]]
    outside: tuple[int, ...]
    unknown: str

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "settings": dict(self.settings),
            "link": self.link,
            "direction": self.direction,
            "asked_loss_percent": [100 * self.asked.low, 100 * self.asked.high],
            **{name: _json(values) for name, values in self.values.items()},
            "seeds": list(self.seeds),
            "seeds_outside_99.9_percent": list(self.outside),
            "loss_not_compared": self.unknown,
        }


@dataclass(frozen=True)
class EndpointRow:
    """The endpoints of one node at one point, and the seeds that had them."""

    settings: Mapping[str, str]
    endpoints: EndpointStates
    seeds: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        endpoint = self.endpoints
        described = {
            "settings": dict(self.settings),
            "host": endpoint.host,
            "asked": list(endpoint.asked),
            "seen": list(endpoint.seen),
        }
        return {**described, "seeds": list(self.seeds)}


@dataclass(frozen=True)
class MiddleboxRow:
    """The packets to which a middlebox applied one action at one point."""

    settings: Mapping[str, str]
    router: str
    verb: str
    option: str
    packets: tuple[float, ...]
    seeds: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        described = {"settings": dict(self.settings), "router": self.router, "verb": self.verb, "option": self.option}
        return {**described, "packets": _json(self.packets), "seeds": list(self.seeds)}


@dataclass(frozen=True)
class RadioRow:
    """One radio link with one access point at one point. ``values`` has the numbers that any run has."""

    settings: Mapping[str, str]
    link: str
    station: str
    access_point: str
    seeds: tuple[int, ...]
    values: Mapping[str, tuple[float, ...]]

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        described = {"settings": dict(self.settings), "link": self.link, "station": self.station}
        numbers = {name: _json(values) for name, values in self.values.items()}
        return {**described, "access_point": self.access_point, **numbers, "seeds": list(self.seeds)}


@dataclass(frozen=True)
class AccessPointRow:
    """The bytes that one access point received from its stations at one point, by seed."""

    settings: Mapping[str, str]
    access_point: str
    rx_bytes: tuple[float, ...]
    seeds: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        described = {"settings": dict(self.settings), "access_point": self.access_point}
        return {**described, "rx_bytes": _json(self.rx_bytes), "seeds": list(self.seeds)}


def network_document(results: Sequence[RunResult]) -> dict[str, Any]:
    """Return all rows as JSON data for results.json."""
    return {
        "links": [row.to_json() for row in link_rows(results)],
        "endpoints": [row.to_json() for row in endpoint_rows(results)],
        "middleboxes": [row.to_json() for row in middlebox_rows(results)],
        **_radio_document(results),
    }


def _radio_document(results: Sequence[RunResult]) -> dict[str, Any]:
    """Return the rows of radios and access points; without radios, nothing."""
    radios = [row.to_json() for row in radio_rows(results)]
    return {"radios": radios, "access_points": [row.to_json() for row in access_point_rows(results)]} if radios else {}


def link_rows(results: Iterable[RunResult]) -> list[LinkRow]:
    """Return the rows of every direction of every link, by point."""
    groups = _group_by_point(
        results, lambda seen: seen.directions, lambda counters: (counters.link, counters.direction)
    )
    return [_link_row(settings, members) for settings, members in groups]


def endpoint_rows(results: Iterable[RunResult]) -> list[EndpointRow]:
    """Return the rows of every node's endpoints, by point; several rows if seeds differ."""
    groups = _group_by_point(results, lambda seen: seen.endpoints, lambda states: states)
    return [EndpointRow(settings, members[0][1], _seeds(members)) for settings, members in groups]


def middlebox_rows(results: Iterable[RunResult]) -> list[MiddleboxRow]:
    """Return the rows of all actions of middleboxes, by point."""
    groups = _group_by_point(
        results, lambda seen: seen.middleboxes, lambda count: (count.router, count.verb, count.option)
    )
    return [_middlebox_row(settings, members) for settings, members in groups]


def radio_rows(results: Iterable[RunResult]) -> list[RadioRow]:
    """Return the rows of all radio links, by point, station and access point."""
    groups = _group_by_point(results, lambda seen: seen.radios, lambda link: (link.link, link.access_point))
    return [_radio_row(settings, members) for settings, members in groups]


def access_point_rows(results: Iterable[RunResult]) -> list[AccessPointRow]:
    """Return the rows of all access points, by point."""
    groups = _group_by_point(results, lambda seen: rx_by_access_point(seen.radios).items(), lambda pair: pair[0])
    return [
        AccessPointRow(settings, members[0][1][0], tuple(float(rx) for _, (_, rx) in members), _seeds(members))
        for settings, members in groups
    ]


def _group_by_point(
    results: Iterable[RunResult],
    part: Callable[[NetworkCounters], Iterable[_Seen]],
    key: Callable[[_Seen], Hashable],
) -> list[tuple[dict[str, str], list[tuple[int, _Seen]]]]:
    """Group what was counted by point and key, with the seeds."""
    groups: dict[Any, list[tuple[int, _Seen]]] = {}
    for result in results:
        for item in part(result.network):
            groups.setdefault((result.settings, key(item)), []).append((result.seed, item))
    return [(dict(settings), members) for (settings, _), members in groups.items()]


def _radio_row(settings: Mapping[str, str], members: Sequence[tuple[int, RadioLink]]) -> RadioRow:
    first = members[0][1]
    return RadioRow(
        settings=settings,
        link=first.link,
        station=first.station,
        access_point=first.access_point,
        seeds=_seeds(members),
        values=_known_values(members, _OF_RADIOS),
    )


def _link_row(settings: Mapping[str, str], members: Sequence[tuple[int, DirectionCounters]]) -> LinkRow:
    first = members[0][1]
    return LinkRow(
        settings=settings,
        link=first.link,
        direction=first.direction,
        asked=first.asked,
        seeds=_seeds(members),
        values=_known_values(members, _COUNTED),
        outside=tuple(seed for seed, counters in members if not counters.is_as_asked),
        unknown=next((counters.unknown for _, counters in members if counters.unknown), ""),
    )


def _known_values(
    members: Sequence[tuple[int, _Seen]], counters: Mapping[str, Callable[[_Seen], float | None]]
) -> dict[str, tuple[float, ...]]:
    """Return the known values of each counter over seeds; no entry for one without any."""
    counted = {name: [count(item) for _, item in members] for name, count in counters.items()}
    known = {name: tuple(float(value) for value in values if value is not None) for name, values in counted.items()}
    return {name: values for name, values in known.items() if values}


def _middlebox_row(settings: Mapping[str, str], members: Sequence[tuple[int, MiddleboxCount]]) -> MiddleboxRow:
    first = members[0][1]
    packets = tuple(float(count.packets) for _, count in members)
    return MiddleboxRow(settings, first.router, first.verb, first.option, packets, _seeds(members))


def _seeds(members: Sequence[tuple[int, Any]]) -> tuple[int, ...]:
    return tuple(seed for seed, _ in members)


def _json(values: tuple[float, ...]) -> dict[str, Any]:
    return mean_interval(values).to_json() | {"values": list(values)}
