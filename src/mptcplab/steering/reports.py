# SPDX-License-Identifier: MIT
"""The datagram by which an agent reports the stations of its access point, once per period.

    magic     5 bytes, ``MPST`` and the version of this format, 1
    length    1 byte, the length of the name
    name      of the access point, which selects the key; printable ASCII
    seal      32 bytes, HMAC-SHA256 under that key of all other bytes
    body      JSON: ``time_ns``, the agent's clock since 1970; ``stations``, see :class:`Station`, by an identifier that
              stays, such as the MAC address

Nothing of the body is parsed before the seal is checked. The receiver accepts only growing times close to its own clock
(:class:`mptcplab.steering.counters.AccessPointCounters`), so that no datagram counts twice or much later.
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

_MAGIC = b"MPST\1"
_SEAL_BYTES = 32
#: Below the largest datagram.
MAX_BYTES = 60000
MAX_NAME = 64
_MAX_STATIONS = 512
_MAX_ADDRESSES = 16
_MAX_COUNT = 1 << 63
#: Signals in dBm that a receiver may report: from below any noise floor to more than any transmitter has.
_RSSI_DBM = range(-150, 41)


class ReportError(ValueError):
    """A datagram that is not a report, not signed with the key, or not credible."""


class Station:
    """A station as its access point knows it: addresses, bytes since it came, RSSI in dBm.

    ``rssi_dbm`` is None if it is not known; ``heard_ms`` is the time since the station was heard last.
    """

    def __init__(
        self, addresses: Sequence[str], rx_bytes: int, tx_bytes: int, rssi_dbm: int | None, heard_ms: int = 0
    ) -> None:
        self.addresses = tuple(addresses)
        self.rx_bytes, self.tx_bytes, self.rssi_dbm, self.heard_ms = rx_bytes, tx_bytes, rssi_dbm, heard_ms

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "addresses": list(self.addresses),
            "rx_bytes": self.rx_bytes,
            "tx_bytes": self.tx_bytes,
            "rssi_dbm": self.rssi_dbm,
            "heard_ms": self.heard_ms,
        }


class StationReport:
    """All stations of an access point at one instant."""

    def __init__(self, access_point: str, time_ns: int, stations: dict[str, Station]) -> None:
        self.access_point, self.time_ns, self.stations = access_point, time_ns, stations

    def to_datagram(self, key: bytes) -> bytes:
        """Return the datagram."""
        stations = {name: station.to_json() for name, station in self.stations.items()}
        body = json.dumps({"time_ns": self.time_ns, "stations": stations}, separators=(",", ":")).encode()
        return sign(self.access_point, key, body)


def sign(name: str, key: bytes, body: bytes) -> bytes:
    """Return a datagram with any body."""
    written = name.encode("ascii")
    head = _MAGIC + bytes([len(written)]) + written
    return head + hmac.digest(key, head + body, hashlib.sha256) + body


def sender_of(datagram: bytes) -> str:
    """Return the access point that a datagram claims to be of. :raises ReportError: if it is not a report."""
    start = len(_MAGIC) + 1
    if not datagram.startswith(_MAGIC) or len(datagram) < start:
        raise ReportError("is not a report of this version")
    written = datagram[start : start + datagram[start - 1]]
    if len(datagram) < start + len(written) + _SEAL_BYTES or len(written) != datagram[start - 1]:
        raise ReportError("is too short")
    try:
        return _name(written.decode("ascii"))
    except UnicodeDecodeError as error:
        raise ReportError("has a name that is not ASCII") from error


def verify(key: bytes, datagram: bytes) -> StationReport:
    """Return the report in a datagram. :raises ReportError: if it is not a report that was sealed with this key."""
    name = sender_of(datagram)
    start = len(_MAGIC) + 1 + len(name)
    head, seal, body = datagram[:start], datagram[start : start + _SEAL_BYTES], datagram[start + _SEAL_BYTES :]
    if not hmac.compare_digest(seal, hmac.digest(key, head + body, hashlib.sha256)):
        raise ReportError("is not sealed with the key")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ReportError("is not JSON") from error
    given = _table(document, "report", ("time_ns", "stations"))
    stations = given["stations"]
    if not isinstance(stations, dict) or len(stations) > _MAX_STATIONS:
        raise ReportError(f"has no table of at most {_MAX_STATIONS} stations")
    return StationReport(
        name,
        _count(given, "time_ns"),
        {_name(mac): _station(entry) for mac, entry in stations.items()},
    )


def _station(given: Any) -> Station:
    entry = _table(given, "station", ("addresses", "rx_bytes", "tx_bytes", "rssi_dbm", "heard_ms"))
    addresses, rssi = entry["addresses"], entry["rssi_dbm"]
    if not isinstance(addresses, list) or len(addresses) > _MAX_ADDRESSES:
        raise ReportError("has no list of addresses")
    if rssi is not None and (type(rssi) is not int or rssi not in _RSSI_DBM):
        raise ReportError("has an impossible RSSI")
    rx_bytes, tx_bytes, heard_ms = (_count(entry, key) for key in ("rx_bytes", "tx_bytes", "heard_ms"))
    return Station([_address(address) for address in addresses], rx_bytes, tx_bytes, rssi, heard_ms)


def _table(given: Any, name: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """Return a table with exactly these keys."""
    if not isinstance(given, dict) or given.keys() != set(keys):
        raise ReportError(f"has a {name} without exactly the keys {', '.join(keys)}")
    return given


def _name(given: str) -> str:
    if not 0 < len(given) <= MAX_NAME or not given.isprintable() or not given.isascii():
        raise ReportError("has an invalid name")
    return given


def _count(given: dict[str, Any], key: str) -> int:
    value = given[key]
    if type(value) is not int or not 0 <= value < _MAX_COUNT:
        raise ReportError(f"has a {key} that is not a count")
    return value


def _address(given: Any) -> str:
    if not isinstance(given, str):
        raise ReportError("has an invalid address")
    try:
        inet_pton(AF_INET6 if ":" in given else AF_INET, given)
    except (OSError, ValueError) as error:
        raise ReportError("has an invalid address") from error
    return given
