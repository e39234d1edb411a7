# SPDX-License-Identifier: MIT
"""Requests of netlink for ``ip`` commands, in the forms that plans use most.

The kernel then has the same state as after the program.
Layouts and numbers: include/uapi/linux/{rtnetlink,if_link,if_addr,neighbour,fib_rules,mptcp_pm,veth}.h.
"""

from __future__ import annotations

import struct
from _socket import AF_INET, AF_INET6, inet_pton  # the module `socket` around it takes longer than its use here

from mptcplab.guest.command_form import UnknownFormError, parse_uint32
from mptcplab.guest.netlink import (
    ACK,
    CREATE,
    EXCLUSIVE,
    GENERIC,
    ROUTE,
    attribute,
    integer_attribute,
    nested_attribute,
    text_attribute,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mptcplab.guest.command_form import Request
    from mptcplab.guest.direct import Place

_NEW_LINK, _NEW_ADDRESS, _NEW_ROUTE, _NEW_NEIGHBOUR, _NEW_RULE = 16, 20, 24, 28, 32
_ADD = ACK | CREATE | EXCLUSIVE

#: struct ifinfomsg: index, flags, change.
_LINK = struct.Struct("=4xiII")
_IFLA_ADDRESS, _IFLA_IFNAME, _IFLA_MTU, _IFLA_LINKINFO, _IFLA_NET_NS_FD = 1, 3, 4, 18, 28
_INFO_KIND, _INFO_DATA, _VETH_PEER = 1, 2, 1
_UP = 1

#: struct ifaddrmsg: family, length of the prefix, flags, scope, index.
_ADDRESS = struct.Struct("=BBBBI")
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_NO_DETECTION = 2
_UNIVERSE, _LINK_SCOPE, _HOST_SCOPE = 0, 253, 254

#: struct rtmsg: family, length of the destination, length of the source, table, protocol, scope, type.
_ROUTE = struct.Struct("=BBBxBBBB4x")
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PREFSRC, _RTA_TABLE = 1, 4, 5, 7, 15
_BOOT, _UNICAST = 3, 1
_TABLES = {"main": 254}
_MAX_TABLE = 255

#: struct fib_rule_hdr: family, length of the destination, length of the source, table, action.
_RULE = struct.Struct("=BBBxB2xB4x")
_FRA_DST, _FRA_SRC, _FRA_PRIORITY = 1, 2, 6
_TO_TABLE = 1

#: struct ndmsg: family, index, state.
_NEIGHBOUR = struct.Struct("=B3xiHxx")
_NDA_DST, _NDA_LLADDR = 1, 2
_REACHABLE = 2

_MPTCP = "mptcp_pm"
#: struct genlmsghdr: command, version.
_GENERIC = struct.Struct("=BB2x")
_ADD_ADDRESS, _SET_LIMITS = 1, 5
_PM_ADDRESS, _PM_ADD_ADDRS, _PM_SUBFLOWS = 1, 2, 3
_PM_FAMILY, _PM_ID, _PM_ADDR4, _PM_ADDR6, _PM_PORT, _PM_FLAGS, _PM_INDEX = 1, 2, 3, 4, 5, 6, 7
_PM_FLAG = {"signal": 1, "subflow": 2, "backup": 4, "fullmesh": 8}


def ip_requests(words: list[str], place: Place) -> list[Request]:
    """Return the requests of ``ip`` with these words. :raises UnknownFormError: if their form is not supported.

    :raises OSError: if it names an interface that does not exist, or an invalid address.
    """
    family = AF_INET
    if words[:1] == ["-6"]:
        family, words = AF_INET6, words[1:]
    make = _COMMANDS.get(tuple(words[:2])) or _COMMANDS.get(tuple(words[:3]))
    if make is None:
        raise UnknownFormError
    return list(make(words, place, family))


def _options(words: list[str], known: tuple[str, ...], flags: tuple[str, ...] = ()) -> dict[str, str]:
    """Return pairs of a known word and its value, and known words without a value, as a dictionary."""
    options: dict[str, str] = {}
    left = iter(words)
    for word in left:
        value = "" if word in flags else next(left, None) if word in known else None
        if value is None or word in options:
            raise UnknownFormError
        options[word] = value
    return options


def _parse_address(text: str) -> tuple[int, bytes]:
    family = AF_INET6 if ":" in text else AF_INET
    return family, inet_pton(family, text)


def _parse_prefix(text: str) -> tuple[int, bytes, int]:
    """Return family, address and length; the length defaults to the whole address."""
    address, slash, length = text.partition("/")
    family, raw = _parse_address(address)
    return family, raw, parse_uint32(length) if slash else len(raw) * 8


def _hardware_address(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _link_add(words: list[str], place: Place, _: int) -> Iterator[Request]:
    """Make requests for ``ip link add name A ... type veth peer name B ...`` and ``... type ifb``."""
    at = words.index("type") if "type" in words else len(words)
    kind, rest = words[at + 1 : at + 2], words[at + 2 :]
    if kind == ["veth"] and rest[:1] == ["peer"]:
        peer = _LINK.pack(0, 0, 0) + _link_attributes(rest[1:], place)
        data = [nested_attribute(_INFO_DATA, nested_attribute(_VETH_PEER, peer))]
    elif kind == ["ifb"] and not rest:
        data = []
    else:
        raise UnknownFormError
    info = nested_attribute(_IFLA_LINKINFO, text_attribute(_INFO_KIND, kind[0]), *data)
    yield ROUTE, _NEW_LINK, _ADD, _LINK.pack(0, 0, 0) + _link_attributes(words[2:at], place) + info


def _link_attributes(words: list[str], place: Place) -> bytes:
    given = _options(words, ("name", "mtu", "address", "netns"))
    if "name" not in given:
        raise UnknownFormError
    parts = [text_attribute(_IFLA_IFNAME, given["name"])]
    if "mtu" in given:
        parts.append(integer_attribute(_IFLA_MTU, parse_uint32(given["mtu"]), 4))
    if "address" in given:
        parts.append(attribute(_IFLA_ADDRESS, _hardware_address(given["address"])))
    if "netns" in given:
        parts.append(integer_attribute(_IFLA_NET_NS_FD, place.namespace(given["netns"]), 4))
    return b"".join(parts)


def _link_set(words: list[str], place: Place, _: int) -> Iterator[Request]:
    given = _options(words[2:], ("dev",), ("up", "down"))
    if "dev" not in given or len(given) != 2:
        raise UnknownFormError
    yield ROUTE, _NEW_LINK, ACK, _LINK.pack(place.index(given["dev"]), _UP if "up" in given else 0, _UP)


def _address_add(words: list[str], place: Place, _: int) -> Iterator[Request]:
    given = _options(words[3:], ("dev",), ("nodad",))
    family, raw, length = _parse_prefix(words[2])
    scope = _HOST_SCOPE if family == AF_INET and raw[0] == 127 else _UNIVERSE
    flags = _NO_DETECTION if "nodad" in given else 0
    head = _ADDRESS.pack(family, length, flags, scope, place.index(_device(given)))
    yield ROUTE, _NEW_ADDRESS, _ADD, head + attribute(_IFA_LOCAL, raw) + attribute(_IFA_ADDRESS, raw)


def _device(given: dict[str, str]) -> str:
    if "dev" not in given:
        raise UnknownFormError
    return given["dev"]


def _route_add(words: list[str], place: Place, _: int) -> Iterator[Request]:
    given = _options(words[3:], ("dev", "via", "src", "table"))
    if words[2] == "default":
        family, raw, length = _parse_address(given["via"])[0] if "via" in given else AF_INET, b"", 0
    else:
        family, raw, length = _parse_prefix(words[2])
    scope = _LINK_SCOPE if family == AF_INET and "via" not in given else _UNIVERSE
    head = _ROUTE.pack(family, length, 0, _table(given.get("table", "main")), _BOOT, scope, _UNICAST)
    parts = [attribute(_RTA_DST, raw)] if length else []
    for key, kind in (("via", _RTA_GATEWAY), ("src", _RTA_PREFSRC)):
        if key in given:
            other, address = _parse_address(given[key])
            if other != family:
                raise UnknownFormError
            parts.append(attribute(kind, address))
    parts.append(integer_attribute(_RTA_OIF, place.index(_device(given)), 4))
    yield ROUTE, _NEW_ROUTE, _ADD, head + b"".join(parts)


def _table(text: str) -> int:
    number = _TABLES.get(text) or parse_uint32(text)
    if not 0 < number <= _MAX_TABLE:
        raise UnknownFormError
    return number


def _rule_add(words: list[str], _: Place, family: int) -> Iterator[Request]:
    given = _options(words[2:], ("from", "to", "table", "lookup", "priority"))
    lengths, parts = [], []
    for key, kind in (("to", _FRA_DST), ("from", _FRA_SRC)):
        lengths.append(0)
        if key in given:
            other, raw, lengths[-1] = _parse_prefix(given[key])
            if other != family or not lengths[-1]:
                raise UnknownFormError
            parts.append(attribute(kind, raw))
    tables = [given[key] for key in ("table", "lookup") if key in given]
    if len(tables) != 1 or "priority" not in given:
        raise UnknownFormError
    parts.append(integer_attribute(_FRA_PRIORITY, parse_uint32(given["priority"]), 4))
    yield ROUTE, _NEW_RULE, _ADD, _RULE.pack(family, *lengths, _table(tables[0]), _TO_TABLE) + b"".join(parts)


def _neighbour_add(words: list[str], place: Place, _: int) -> Iterator[Request]:
    given = _options(words[3:], ("lladdr", "dev", "nud"))
    if given.get("nud") != "reachable" or "lladdr" not in given:
        raise UnknownFormError
    family, raw = _parse_address(words[2])
    head = _NEIGHBOUR.pack(family, place.index(_device(given)), _REACHABLE)
    parts = attribute(_NDA_DST, raw) + attribute(_NDA_LLADDR, _hardware_address(given["lladdr"]))
    yield ROUTE, _NEW_NEIGHBOUR, _ADD, head + parts


def _limits_set(words: list[str], place: Place, _: int) -> Iterator[Request]:
    given = _options(words[3:], ("subflows", "add_addr_accepted"))
    kinds = (("subflows", _PM_SUBFLOWS), ("add_addr_accepted", _PM_ADD_ADDRS))
    parts = (integer_attribute(kind, parse_uint32(given[key]), 4) for key, kind in kinds if key in given)
    yield GENERIC, place.family(_MPTCP), ACK, _GENERIC.pack(_SET_LIMITS, 1) + b"".join(parts)


def _endpoint_add(words: list[str], place: Place, _: int) -> Iterator[Request]:
    given = _options(words[4:], ("dev", "id", "port"), tuple(_PM_FLAG))
    family, raw = _parse_address(words[3])
    parts = [integer_attribute(_PM_FAMILY, family, 2)]
    parts.append(attribute(_PM_ADDR6 if family == AF_INET6 else _PM_ADDR4, raw))
    if "id" in given:
        parts.append(integer_attribute(_PM_ID, parse_uint32(given["id"]), 1))
    if "port" in given:
        parts.append(integer_attribute(_PM_PORT, parse_uint32(given["port"]), 2))
    parts.append(integer_attribute(_PM_FLAGS, sum(bit for word, bit in _PM_FLAG.items() if word in given), 4))
    parts.append(integer_attribute(_PM_INDEX, place.index(_device(given)), 4))
    body = _GENERIC.pack(_ADD_ADDRESS, 1) + nested_attribute(_PM_ADDRESS, *parts)
    yield GENERIC, place.family(_MPTCP), ACK, body


_COMMANDS: dict[tuple[str, ...], Callable[[list[str], Place, int], Iterator[Request]]] = {
    ("link", "add"): _link_add,
    ("link", "set"): _link_set,
    ("address", "add"): _address_add,
    ("route", "add"): _route_add,
    ("rule", "add"): _rule_add,
    ("neighbour", "add"): _neighbour_add,
    ("mptcp", "limits", "set"): _limits_set,
    ("mptcp", "endpoint", "add"): _endpoint_add,
}
