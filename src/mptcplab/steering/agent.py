# SPDX-License-Identifier: MIT
"""The agent beside hostapd: reports the stations of an access point to the daemon, once per period.

A wireless device has stations, with the counters and the signal that nl80211 reports to any program
(include/uapi/linux/nl80211.h). The addresses of a station come from the kernel's table of neighbours. A device that
is not wireless counts as one station with the counters of the device: a wired stand-in, without signals.
"""

from __future__ import annotations

import struct
import sys
import time
from _socket import AF_INET, AF_INET6, SOCK_CLOEXEC, SOCK_DGRAM, if_indextoname, if_nametoindex, socket

from mptcplab.guest.netlink import (
    GENERIC,
    ROUTE,
    Netlink,
    RefusedError,
    address_text,
    attribute,
    attributes,
    integer,
    integer_attribute,
)
from mptcplab.steering.reports import Station, StationReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from mptcplab.steering.configuration import AgentConfig

_NS = 1_000_000_000
_GENERIC_HEADER = struct.Struct("=BB2x")
_GET_INTERFACE, _GET_STATION, _IFINDEX, _MAC, _STATION = 5, 17, 3, 6, 21
_INACTIVE_MS, _RX_BYTES, _TX_BYTES, _SIGNAL = 1, 23, 24, 7
#: RTM_GETNEIGH and struct ndmsg of include/uapi/linux/neighbour.h.
_GET_NEIGHBOURS, _NEIGHBOUR = 30, struct.Struct("=BxxxiHBB")
_DESTINATION, _LINK_ADDRESS = 1, 2
#: The state of entries that are not of neighbours, such as multicast.
_NO_ARP = 0x40
#: Addresses that are not used to open connections.
_LINK_LOCAL = "fe80:"
#: The port of a service that is not in use (RFC 863).
_DISCARD = 9
_CONTROL, _GET_FAMILY, _FAMILY_ID, _FAMILY_NAME = 16, 3, 1, 2


class WirelessDevice:
    """The stations of a wireless device. :raises RefusedError: if the device is not wireless."""

    def __init__(self, device: str) -> None:
        self._device, self._netlink = integer_attribute(_IFINDEX, if_nametoindex(device), 4), Netlink(GENERIC)
        wanted = _GENERIC_HEADER.pack(_GET_FAMILY, 1) + attribute(_FAMILY_NAME, b"nl80211\0")
        answer = self._netlink.ask(_CONTROL, wanted, 0)
        self._family = integer(dict(attributes(answer[_GENERIC_HEADER.size :]))[_FAMILY_ID])
        self._netlink.ask(self._family, _GENERIC_HEADER.pack(_GET_INTERFACE, 0) + self._device, 0)

    def stations(self, neighbours: dict[str, list[str]]) -> Iterator[tuple[str, Station]]:
        """Yield each station by its MAC address. ``neighbours`` are addresses by MAC address."""
        body = _GENERIC_HEADER.pack(_GET_STATION, 0) + self._device
        for _, message in self._netlink.dump(self._family, body):
            entries = dict(attributes(message[_GENERIC_HEADER.size :]))
            if _MAC not in entries or _STATION not in entries:
                continue
            mac, info = bytes(entries[_MAC]).hex(":"), dict(attributes(entries[_STATION]))
            rssi = struct.unpack("=b", info[_SIGNAL])[0] if _SIGNAL in info else None
            counts = [integer(info[kind]) if kind in info else 0 for kind in (_RX_BYTES, _TX_BYTES)]
            heard_ms = integer(info[_INACTIVE_MS]) if _INACTIVE_MS in info else 0
            yield mac, Station(neighbours.get(mac, []), counts[0], counts[1], rssi, heard_ms)


class Wire:
    """A device with a terminal at its other end, as if it were a station."""

    def __init__(self, device: str) -> None:
        self._device = device

    def stations(self, neighbours: dict[str, list[str]]) -> Iterator[tuple[str, Station]]:
        """Yield the station. Its addresses are from all neighbours at the device."""
        received, sent = self._counts()
        yield self._device, Station(neighbours.get(self._device, []), received, sent, None)

    def _counts(self) -> tuple[int, int]:
        """Return bytes received and sent. /proc has this namespace's devices; /sys may have another's."""
        with open("/proc/net/dev") as file:
            for line in file:
                name, _, counters = line.partition(":")
                if name.strip() == self._device:
                    words = counters.split()
                    return int(words[0]), int(words[8])
        return 0, 0


def source_of(device: str) -> WirelessDevice | Wire:
    """Return what reads the stations of a device. :raises OSError: if there is no such device."""
    try:
        return WirelessDevice(device)
    except RefusedError:
        return Wire(device)


class Neighbours:
    """The kernel's table of neighbours."""

    def __init__(self) -> None:
        self._netlink = Netlink(ROUTE)

    def read(self) -> dict[str, list[str]]:
        """Return the known addresses by MAC address, and by the name of the device."""
        texts: dict[str, list[str]] = {}
        for family in (AF_INET, AF_INET6):
            for _, message in self._netlink.dump(_GET_NEIGHBOURS, _NEIGHBOUR.pack(family, 0, 0, 0, 0)):
                _, index, state, *_ = _NEIGHBOUR.unpack_from(message)
                given = dict(attributes(message[_NEIGHBOUR.size :]))
                if _DESTINATION in given and _LINK_ADDRESS in given and not state & _NO_ARP:
                    address = address_text(given[_DESTINATION])
                    if address.startswith(_LINK_LOCAL):
                        continue
                    for name in (bytes(given[_LINK_ADDRESS]).hex(":"), if_indextoname(index)):
                        texts.setdefault(name, []).append(address)
        return texts


class AccessPointAgent:
    """One access point."""

    def __init__(self, config: AgentConfig) -> None:
        self._config = config
        address, port = config.server
        self._family = AF_INET6 if ":" in address else AF_INET
        self._socket = socket(self._family, SOCK_DGRAM | SOCK_CLOEXEC)
        self._server = (address, port)
        self._sources = [source_of(device) for device in config.devices]
        self._neighbours = Neighbours()

    def run(self) -> None:
        """Report until killed."""
        next_ns = time.monotonic_ns()
        while True:
            try:
                self._report()
            except OSError as error:
                # The server cannot be reached, or a device is away: the next report says more.
                print(f"steer: {error}", file=sys.stderr, flush=True)
                self._neighbours = Neighbours()
            # After a stop, the agent does not make up for the periods that it missed.
            next_ns = max(next_ns + self._config.period_ns, time.monotonic_ns())
            time.sleep(max(0, next_ns - time.monotonic_ns()) / _NS)

    def _report(self) -> None:
        neighbours = self._neighbours.read()
        stations = {name: station for source in self._sources for name, station in source.stations(neighbours)}
        report = StationReport(self._config.access_point, time.time_ns(), stations)
        self._socket.sendto(report.to_datagram(self._config.key), self._server)
        if self._config.is_probing:
            self._probe(stations)

    def _probe(self, stations: dict[str, Station]) -> None:
        """Make stations answer that were silent for a period, so that their signal is known.

        The answer to a datagram for the port `discard` is an ICMP message, or whatever a station has there.
        """
        for station in stations.values():
            if station.rssi_dbm is None or station.heard_ms * 1_000_000 < self._config.period_ns:
                continue
            for address in station.addresses[:1]:
                family = AF_INET6 if ":" in address else AF_INET
                prober = socket(family, SOCK_DGRAM | SOCK_CLOEXEC)
                try:
                    prober.sendto(b"", (address, _DISCARD))
                except OSError:
                    continue
                finally:
                    prober.close()
