# SPDX-License-Identifier: MIT
"""Requests of netlink for ``tc`` commands, in the forms that plans use most.

The kernel then has the same state as after the program.
Layouts and numbers: include/uapi/linux/{rtnetlink,pkt_sched,pkt_cls,tc_act/tc_mirred}.h.
"""

from __future__ import annotations

import struct

from mptcplab.guest.command_form import MAX32, UnknownFormError, parse_uint32
from mptcplab.guest.netlink import (
    ACK,
    CREATE,
    EXCLUSIVE,
    REPLACE,
    ROUTE,
    attribute,
    integer_attribute,
    nested_attribute,
    text_attribute,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mptcplab.guest.command_form import Request
    from mptcplab.guest.direct import Place

_NEW_QDISC, _NEW_FILTER = 36, 44
_FLAGS = {"add": ACK | CREATE | EXCLUSIVE, "replace": ACK | CREATE | REPLACE}
#: struct tcmsg: index, handle, parent, info.
_TCMSG = struct.Struct("=4xiIII")
_TCA_KIND, _TCA_OPTIONS = 1, 2
_ROOT, _CLSACT, _INGRESS, _EGRESS = 0xFFFFFFFF, 0xFFFFFFF1, 0xFFFFFFF2, 0xFFFFFFF3
_CLSACT_HANDLE = 0xFFFF0000
_ALL_PROTOCOLS = 0x0300  # ETH_P_ALL in the order of the network

#: struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter.
_NETEM = struct.Struct("=IIIIII")
#: struct tc_netem_rate: rate, and three of the frame's overhead.
_NETEM_RATE_LAYOUT = struct.Struct("=IiIi")
_NETEM_RATE, _NETEM_RATE64 = 6, 8
#: Ticks of the packet scheduler in a microsecond, see PSCHED_SHIFT in include/net/pkt_sched.h.
_TICKS_PER_US = 1000 / 64

#: struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate.
_RATE = struct.Struct("=BBHhHI")
#: struct tc_tbf_qopt behind its two rates: limit, buffer, mtu.
_TBF = struct.Struct("=III")
_TBF_PARAMETERS, _TBF_RATE64, _TBF_BURST = 1, 4, 6
_ETHERNET = 1
#: tc(8) divides its default packet size of 2047 bytes by this power of 2 for a table of 256 entries.
_CELL_LOG = 3

_MATCHALL_ACTIONS, _ACTION_KIND, _ACTION_OPTIONS, _MIRRED_PARAMETERS = 2, 1, 2, 2
#: struct tc_mirred: index, capabilities, action, references, bindings, direction of the packet, interface.
_MIRRED = struct.Struct("=IIiiiiI")
_STOLEN, _REDIRECT_EGRESS = 4, 1

_RATE_UNITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_TIME_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_NUMBER = frozenset("0123456789.")


def tc_requests(words: list[str], place: Place) -> list[Request]:
    """Return the requests of ``tc`` with these words. :raises UnknownFormError: if their form is not supported.

    :raises OSError: if it names an interface that does not exist.
    """
    if words[:2] in (["qdisc", "add"], ["qdisc", "replace"]) and words[2:3] == ["dev"]:
        return [_qdisc(words[1], words[3], words[4:], place)]
    if words[:3] == ["filter", "add", "dev"]:
        return [_redirection(words[3], words[4:], place)]
    raise UnknownFormError


def _qdisc(verb: str, device: str, words: list[str], place: Place) -> Request:
    index = place.index(device)
    if words == ["clsact"]:
        head = _TCMSG.pack(index, _CLSACT_HANDLE, _CLSACT, 0)
        return ROUTE, _NEW_QDISC, _FLAGS[verb], head + text_attribute(_TCA_KIND, "clsact")
    parent, words = (_ROOT, words[1:]) if words[:1] == ["root"] else (_handle(_value(words, "parent")), words[2:])
    handle, kind, rest = _handle(_value(words, "handle")), words[2:3], words[3:]
    options = _QDISCS.get(kind[0]) if kind else None
    if options is None:
        raise UnknownFormError
    parts = text_attribute(_TCA_KIND, kind[0]) + options(rest)
    return ROUTE, _NEW_QDISC, _FLAGS[verb], _TCMSG.pack(index, handle, parent, 0) + parts


def _value(words: list[str], key: str) -> str:
    if words[:1] != [key] or len(words) < 2:
        raise UnknownFormError
    return words[1]


def _handle(text: str) -> int:
    """Return the number of ``MAJOR:`` or ``MAJOR:MINOR``, both hexadecimal."""
    major, colon, minor = text.partition(":")
    try:
        number = int(major, 16) << 16 | int(minor or "0", 16)
    except ValueError:
        raise UnknownFormError from None
    if not colon or number > MAX32:
        raise UnknownFormError
    return number


def _split(text: str, units: dict[str, float] | dict[str, int]) -> tuple[str, str]:
    """Return the number and the unit of a quantity, both as text."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(number) :]
    if unit not in units or not number or not _NUMBER.issuperset(number) or number.count(".") > 1:
        raise UnknownFormError
    return number, unit


def _rate(text: str) -> int:
    """Return a rate in bytes per second, rounded down as tc(8) does."""
    number, unit = _split(text, _RATE_UNITS)
    return parse_uint32(number) * _RATE_UNITS[unit] // 8


def _ticks(text: str) -> int:
    """Return a time in ticks, rounded down to microseconds and then to ticks, as tc(8) does."""
    number, unit = _split(text, _TIME_UNITS)
    ticks = int(int(float(number) * _TIME_UNITS[unit]) * _TICKS_PER_US)
    if ticks > MAX32:
        raise UnknownFormError
    return ticks


def _probability(text: str) -> int:
    """Return a percentage as a fraction of 2**32 - 1."""
    if not text.endswith("%") or not _NUMBER.issuperset(text[:-1]):
        raise UnknownFormError
    share = float(text[:-1]) / 100
    if share > 1:
        raise UnknownFormError
    return round(share * MAX32)


def _netem(words: list[str]) -> bytes:
    """Encode ``limit N [delay TIME [JITTER]] [rate RATE] [loss random P%]``."""
    limit = delay = jitter = rate = loss = 0
    while words:
        if words[0] == "limit":
            limit, words = parse_uint32(_value(words, "limit")), words[2:]
        elif words[0] == "delay":
            delay, words = _ticks(_value(words, "delay")), words[2:]
            if words and words[0][:1].isdigit():
                jitter, words = _ticks(words[0]), words[1:]
        elif words[0] == "rate":
            rate, words = _rate(_value(words, "rate")), words[2:]
        elif words[:2] == ["loss", "random"] and len(words) > 2:
            loss, words = _probability(words[2]), words[3:]
        else:
            raise UnknownFormError
    parts = [_NETEM.pack(delay, limit, loss, 0, 0, jitter)]
    if rate:
        if rate > MAX32:
            parts.append(integer_attribute(_NETEM_RATE64, rate, 8))
        parts.append(attribute(_NETEM_RATE, _NETEM_RATE_LAYOUT.pack(min(rate, MAX32), 0, 0, 0)))
    return attribute(_TCA_OPTIONS, b"".join(parts))


def _tbf(words: list[str]) -> bytes:
    """Encode ``rate RATE burst BYTES limit BYTES [overhead BYTES]``."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) != 2 * len(given) or not {"rate", "burst", "limit"} <= set(given) <= {*_TBF_WORDS}:
        raise UnknownFormError
    rate, burst, overhead = _rate(given["rate"]), parse_uint32(given["burst"]), parse_uint32(given.get("overhead", "0"))
    # The burst replaces the field `buffer`, the link layer the table of transmission times.
    parameters = _RATE.pack(_CELL_LOG, _ETHERNET, overhead, -1, 0, min(rate, MAX32)) + bytes(_RATE.size)
    parts = [attribute(_TBF_PARAMETERS, parameters + _TBF.pack(parse_uint32(given["limit"]), 0, 0))]
    parts.append(integer_attribute(_TBF_BURST, burst, 4))
    if rate > MAX32:
        parts.append(integer_attribute(_TBF_RATE64, rate, 8))
    return nested_attribute(_TCA_OPTIONS, *parts)


_TBF_WORDS = ("rate", "burst", "limit", "overhead")


def _pfifo(words: list[str]) -> bytes:
    """Encode ``limit PACKETS``."""
    if len(words) != 2:
        raise UnknownFormError
    return integer_attribute(_TCA_OPTIONS, parse_uint32(_value(words, "limit")), 4)


_QDISCS: dict[str, Callable[[list[str]], bytes]] = {"netem": _netem, "tbf": _tbf, "pfifo": _pfifo}


def _redirection(device: str, words: list[str], place: Place) -> Request:
    """Encode ``ingress matchall action mirred egress redirect dev DEVICE``."""
    if words[:-1] != ["ingress", "matchall", "action", "mirred", "egress", "redirect", "dev"]:
        raise UnknownFormError
    head = _TCMSG.pack(place.index(device), 0, _INGRESS, _ALL_PROTOCOLS)
    parameters = attribute(
        _MIRRED_PARAMETERS, _MIRRED.pack(0, 0, _STOLEN, 0, 0, _REDIRECT_EGRESS, place.index(words[-1]))
    )
    action = nested_attribute(1, text_attribute(_ACTION_KIND, "mirred"), nested_attribute(_ACTION_OPTIONS, parameters))
    options = nested_attribute(_TCA_OPTIONS, nested_attribute(_MATCHALL_ACTIONS, action))
    return ROUTE, _NEW_FILTER, _FLAGS["add"], head + text_attribute(_TCA_KIND, "matchall") + options
