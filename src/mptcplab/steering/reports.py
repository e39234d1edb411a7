# SPDX-License-Identifier: MIT
"""What an agent reports to the daemon: one datagram per period, with the stations of its access point.

A datagram is an HMAC-SHA256 of 32 bytes under the key that both share, and JSON that it covers. ``boot`` and ``number``
grow from report to report, so that none counts twice.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from _socket import AF_INET, AF_INET6, inet_pton  # the module `socket` around it loads slowly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_MAC_BYTES = 32
#: Below the largest datagram.
MAX_BYTES = 60000
_MAX_STATIONS = 512
_MAX_ADDRESSES = 16
_MAX_NAME = 64
_MAX_COUNT = 1 << 63


class ReportError(ValueError):
    """A datagram that is no report, or not one of somebody with the key."""


class Station:
    """A station as its access point knows it: addresses, bytes since it came, RSSI in dBm (None: not known)."""

    def __init__(self, addresses: Sequence[str], rx_bytes: int, tx_bytes: int, rssi_dbm: int | None) -> None:
        self.addresses = tuple(addresses)
        self.rx_bytes, self.tx_bytes, self.rssi_dbm = rx_bytes, tx_bytes, rssi_dbm

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "addresses": list(self.addresses),
            "rx_bytes": self.rx_bytes,
            "tx_bytes": self.tx_bytes,
            "rssi_dbm": self.rssi_dbm,
        }


class Report:
    """All stations of an access point at one instant, by an identifier that stays, such as their MAC address."""

    def __init__(self, access_point: str, boot: int, number: int, stations: dict[str, Station]) -> None:
        self.access_point, self.boot, self.number, self.stations = access_point, boot, number, stations

    def sealed(self, key: bytes) -> bytes:
        """Return the datagram."""
        document = {
            "access_point": self.access_point,
            "boot": self.boot,
            "number": self.number,
            "stations": {name: station.to_json() for name, station in self.stations.items()},
        }
        body = json.dumps(document, separators=(",", ":")).encode()
        return hmac.digest(key, body, hashlib.sha256) + body


def unsealed(key: bytes, datagram: bytes) -> Report:
    """Return the report in a datagram. :raises ReportError: if it is none, or not sealed with this key."""
    seal, body = datagram[:_MAC_BYTES], datagram[_MAC_BYTES:]
    if not hmac.compare_digest(seal, hmac.digest(key, body, hashlib.sha256)):
        raise ReportError("is not sealed with the key")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ReportError("is not JSON") from error
    given = _table(document, "report")
    stations = _table(given.get("stations"), "stations")
    if len(stations) > _MAX_STATIONS:
        raise ReportError("has too many stations")
    return Report(
        _name(given.get("access_point")),
        _count(given.get("boot"), "boot"),
        _count(given.get("number"), "number"),
        {_name(name): _station(one) for name, one in stations.items()},
    )


def _station(given: Any) -> Station:
    described = _table(given, "station")
    addresses = described.get("addresses")
    if not isinstance(addresses, list) or len(addresses) > _MAX_ADDRESSES:
        raise ReportError("has no list of addresses")
    rssi = described.get("rssi_dbm")
    if rssi is not None and (type(rssi) is not int or not -150 <= rssi <= 40):
        raise ReportError("has an impossible RSSI")
    counts = [_count(described.get(name), name) for name in ("rx_bytes", "tx_bytes")]
    return Station([_address(one) for one in addresses], counts[0], counts[1], rssi)


def _table(given: Any, name: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise ReportError(f"{name} is not a table")
    return given


def _name(given: Any) -> str:
    if not isinstance(given, str) or not 0 < len(given) <= _MAX_NAME or not given.isprintable():
        raise ReportError("has a name that is none")
    return given


def _count(given: Any, name: str) -> int:
    if type(given) is not int or not 0 <= given < _MAX_COUNT:
        raise ReportError(f"{name} is not a count")
    return given


def _address(given: Any) -> str:
    if not isinstance(given, str):
        raise ReportError("has an address that is none")
    try:
        inet_pton(AF_INET6 if ":" in given else AF_INET, given)
    except (OSError, ValueError) as error:
        raise ReportError("has an address that is none") from error
    return given
