# SPDX-License-Identifier: MIT
"""The interfaces of a namespace with their counters, as ``ip -s -j link show`` of iproute2 6.1 prints them.

Layouts and numbers: include/uapi/linux/{if_link,if,if_arp}.h.
"""

from __future__ import annotations

import struct
from _socket import AF_INET, inet_ntop  # the module `socket` around it takes longer than its use here

from mptcplab.guest.command_form import UnknownFormError
from mptcplab.guest.json_text import to_json
from mptcplab.guest.netlink import ROUTE, attributes, integer, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mptcplab.guest.direct import Place

_GET_LINK = 18
#: struct ifinfomsg: type, index, flags.
_LINK = struct.Struct("=2xHiI4x")
(
    _ADDRESS, _BROADCAST, _NAME, _MTU, _PARENT, _QDISC, _MASTER, _QUEUE_LENGTH, _OPERSTATE, _LINKMODE, _STATS64, _GROUP,
    _PARENT_NAMESPACE, _PROTO_DOWN, _XDP, _OTHER_NAMES, _PERMANENT_ADDRESS, _PARENT_DEVICE,
) = (1, 2, 3, 4, 5, 6, 10, 13, 16, 17, 23, 27, 37, 39, 43, 52, 54, 56)  # fmt: skip
#: Attributes that ip(8) prints in special ways, which this module does not support.
_SPECIAL = (_MASTER, _OTHER_NAMES, _PARENT_DEVICE)
_UP, _POINT_TO_POINT, _RUNNING = 1, 0x10, 0x40
#: In the order of ip(8).
_FLAGS = {
    "LOOPBACK": 0x8, "BROADCAST": 0x2, "MULTICAST": 0x1000, "NOARP": 0x80, "ALLMULTI": 0x200, "PROMISC": 0x100,
    "MASTER": 0x400, "SLAVE": 0x800, "DEBUG": 0x4, "DYNAMIC": 0x8000, "AUTOMEDIA": 0x4000, "PORTSEL": 0x2000,
    "NOTRAILERS": 0x20, "UP": _UP, "LOWER_UP": 1 << 16, "DORMANT": 1 << 17, "ECHO": 1 << 18,
}  # fmt: skip
_STATES = ("UNKNOWN", "NOTPRESENT", "DOWN", "LOWERLAYERDOWN", "TESTING", "DORMANT", "UP")
_MODES = ("DEFAULT", "DORMANT")
#: ARPHRD_*, and the types whose addresses are IPv4 addresses.
_TYPES = {1: "ether", 768: "ipip", 772: "loopback", 776: "sit"}
_OVER_IPV4 = (768, 776)
#: struct rtnl_link_stats64, its first 24 numbers.
_STATS = struct.Struct("=24Q")
_COMPRESSED = (21, 22)


def read_links(place: Place) -> bytes:
    """Return the interfaces as JSON. :raises UnknownFormError: if this module does not know a property of one."""
    # Read the whole dump first: what is left of it would come before the next answer.
    answers = list(place.netlink(ROUTE).dump(_GET_LINK, bytes(_LINK.size)))
    entries = [_link(body) for _, body in answers]
    return f"{to_json(entries, compact=True)}\n".encode()


def _link(body: memoryview) -> dict[str, Any]:
    kind, index, flags = _LINK.unpack_from(body)
    given = dict(attributes(body[_LINK.size :]))
    if kind not in _TYPES or flags & _POINT_TO_POINT or any(key in given for key in _SPECIAL):
        raise UnknownFormError
    if any(integer(given[key]) for key in (_PROTO_DOWN, _GROUP) if key in given):
        raise UnknownFormError
    if _XDP in given and any(integer(value) for _, value in attributes(given[_XDP])):
        raise UnknownFormError
    if given.get(_PERMANENT_ADDRESS, given[_ADDRESS]) != given[_ADDRESS]:
        raise UnknownFormError
    return {
        "ifindex": index,
        **_parent(given),
        "ifname": text(given[_NAME]),
        "flags": _flag_names(flags),
        "mtu": integer(given[_MTU]),
        "qdisc": text(given[_QDISC]),
        "operstate": _STATES[integer(given[_OPERSTATE])],
        "linkmode": _MODES[integer(given[_LINKMODE])],
        "group": "default",
        "txqlen": integer(given[_QUEUE_LENGTH]),
        "link_type": _TYPES[kind],
        "address": _address(kind, given[_ADDRESS]),
        "broadcast": _address(kind, given[_BROADCAST]),
        **({"link_netnsid": integer(given[_PARENT_NAMESPACE])} if _PARENT_NAMESPACE in given else {}),
        "stats64": _stats(given[_STATS64]),
    }


def _parent(given: dict[int, memoryview]) -> dict[str, Any]:
    """Return the entry about the other end of a pair of interfaces, or about the interface below a tunnel."""
    if _PARENT not in given:
        return {}
    number = integer(given[_PARENT])
    if not number:
        return {"link": None}
    if _PARENT_NAMESPACE not in given:
        raise UnknownFormError  # ip(8) finds its name
    return {"link_index": number}


def _flag_names(flags: int) -> list[str]:
    lost = ["NO-CARRIER"] if flags & _UP and not flags & _RUNNING else []
    return lost + [name for name, bit in _FLAGS.items() if flags & bit]


def _address(kind: int, raw: memoryview) -> str:
    return inet_ntop(AF_INET, raw) if kind in _OVER_IPV4 and len(raw) == 4 else raw.hex(":")


def _stats(raw: memoryview) -> dict[str, dict[str, int]]:
    numbers = _STATS.unpack_from(raw)
    if any(numbers[at] for at in _COMPRESSED):
        raise UnknownFormError
    received = {"bytes": 2, "packets": 0, "errors": 4, "dropped": 6, "over_errors": 11, "multicast": 8}
    sent = {"bytes": 3, "packets": 1, "errors": 5, "dropped": 7, "carrier_errors": 17, "collisions": 9}
    return {
        "rx": {name: numbers[at] for name, at in received.items()},
        "tx": {name: numbers[at] for name, at in sent.items()},
    }
