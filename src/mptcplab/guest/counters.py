# SPDX-License-Identifier: MIT
"""Counters of a plan that the guest reads itself: starting a program takes longer than reading them.

The result has the bytes that the program prints (iproute2 6.1, procps 4). A form that this module does not
know is left to the program.
"""

from __future__ import annotations

import struct

from mptcplab.guest.command_form import UnknownFormError
from mptcplab.guest.json_text import to_json
from mptcplab.guest.link_counters import read_links
from mptcplab.guest.netlink import GENERIC, address_text, attributes, integer
from mptcplab.guest.qdisc_counters import read_disciplines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from mptcplab.guest.direct import Place

#: The kernel's tables in the order of nstat(8), and what it leaves out.
_TABLES = ("/proc/net/snmp", "/proc/net/snmp6", "/proc/net/netstat")
_NOT_COUNTERS = frozenset(
    {"IpForwarding", "IpDefaultTTL", "TcpRtoAlgorithm", "TcpRtoMin", "TcpRtoMax", "TcpMaxConn", "TcpCurrEstab"}
)

_MPTCP = "mptcp_pm"
#: struct genlmsghdr: command, version.
_GENERIC_HEADER = struct.Struct("=BB2x")
#: Commands, attributes and flags of include/uapi/linux/mptcp_pm.h.
_GET_ADDRESS, _GET_LIMITS = 3, 6
_ENDPOINT, _ADD_ADDRS, _SUBFLOWS = 1, 2, 3
_ID, _ADDR4, _ADDR6, _PORT, _FLAGS, _DEVICE_INDEX = 2, 3, 4, 5, 6, 7
_FLAG = {"signal": 1, "subflow": 2, "backup": 4, "fullmesh": 8}


def read_counter(place: Place, argv: list[str]) -> bytes | None:
    """Return what the program ``argv`` would print in the namespace ``place``; None if it has to be started."""
    try:
        if argv[:2] == ["sysctl", "-e"]:
            return _read_settings(place, argv[2:])
        if argv[0] == "cat" and len(argv) == 2 and argv[1].startswith("/"):
            return place.read(argv[1:])[0]
        read = _READERS.get(tuple(argv))
        return None if read is None else read(place)
    except (UnknownFormError, OSError, ValueError, KeyError):
        return None


def _read_settings(place: Place, names: list[str]) -> bytes:
    """Return the output of ``sysctl -e``, which leaves out settings that the kernel does not have."""
    if any("/" in name or "*" in name or name.startswith("-") for name in names):
        raise UnknownFormError
    files = ["/proc/sys/" + name.replace(".", "/") for name in names]
    lines: list[str] = []
    for name, content in zip(names, place.read(files), strict=True):
        if content is None:
            continue
        text = content.decode()
        if text.count("\n") > 1:
            raise UnknownFormError
        lines.append(f"{name} = {text}" if text.endswith("\n") else f"{name} = {text}\n")
    return "".join(lines).encode()


def _read_statistics(place: Place) -> bytes:
    counters: dict[str, int] = {}
    for table in place.read(_TABLES):
        if table is None:
            raise UnknownFormError
        counters.update(_rows(table.decode()))
    return f"{to_json({'kernel': counters}, compact=True)}\n".encode()


def _rows(text: str) -> Iterator[tuple[str, int]]:
    """Yield the counters of a table, as name and value.

    A table has pairs of lines, ``Ip: NAME ...`` and ``Ip: NUMBER ...``, or one counter per line, ``NAME NUMBER``.
    """
    lines = text.splitlines()
    if ":" not in lines[0]:
        for line in lines:
            name, number = line.split()
            yield name, int(number)
        return
    for head, row in zip(lines[::2], lines[1::2], strict=True):
        prefix, _, names = head.partition(":")
        for name, number in zip(names.split(), row.split()[1:], strict=True):
            if prefix + name not in _NOT_COUNTERS:
                yield prefix + name, int(number)


def read_endpoints(place: Place) -> bytes:
    """Return the endpoints as JSON. :raises OSError: if the kernel has no MPTCP."""
    request = _GENERIC_HEADER.pack(_GET_ADDRESS, 1)
    # Read the whole dump first: what is left of it would come before the next answer.
    answers = list(place.netlink(GENERIC).dump(place.family(_MPTCP), request))
    entries = [_endpoint(dict(attributes(body[_GENERIC_HEADER.size :])), place) for _, body in answers]
    return f"{to_json(entries, compact=True)}\n".encode()


def _endpoint(answer: dict[int, memoryview], place: Place) -> dict[str, Any]:
    given = dict(attributes(answer[_ENDPOINT]))
    entry: dict[str, Any] = {"address": address_text(given[_ADDR4] if _ADDR4 in given else given[_ADDR6])}
    if port := integer(given[_PORT]) if _PORT in given else 0:
        entry["port"] = port
    entry["id"] = integer(given[_ID])
    flags = integer(given[_FLAGS]) if _FLAGS in given else 0
    entry |= {name: True for name, bit in _FLAG.items() if flags & bit}
    if others := flags & ~sum(_FLAG.values()):
        entry["rawflags"] = f"{others:x}"
    if _DEVICE_INDEX in given and (index := integer(given[_DEVICE_INDEX])):
        entry["dev"] = place.name(index)
    return entry


def read_limits(place: Place) -> bytes:
    """Return the limits as text, which is the form of this version with ``-j``, too."""
    request = _GENERIC_HEADER.pack(_GET_LIMITS, 1)
    answer = place.netlink(GENERIC).ask(place.family(_MPTCP), request, 0)
    given = dict(attributes(answer[_GENERIC_HEADER.size :]))
    return f"add_addr_accepted {integer(given[_ADD_ADDRS])} subflows {integer(given[_SUBFLOWS])} \n".encode()


_READERS: dict[tuple[str, ...], Callable[[Place], bytes]] = {
    ("tc", "-s", "-j", "qdisc", "show"): read_disciplines,
    ("ip", "-s", "-j", "link", "show"): read_links,
    ("nstat", "-a", "-s", "-z", "-j"): _read_statistics,
    ("ip", "-j", "mptcp", "endpoint", "show"): read_endpoints,
    ("ip", "-j", "mptcp", "limits", "show"): read_limits,
}
