# SPDX-License-Identifier: MIT
"""The queueing disciplines of a namespace with their counters, as ``tc -s -j qdisc show`` of iproute2 6.1 prints them.

Layouts and numbers: include/uapi/linux/{rtnetlink,pkt_sched,gen_stats}.h.
"""

from __future__ import annotations

import struct

from mptcplab.guest.command_form import MAX32, UnknownFormError
from mptcplab.guest.json_text import to_json
from mptcplab.guest.netlink import ROUTE, attributes, integer, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from mptcplab.guest.direct import Place

_GET_QDISC = 38
#: struct tcmsg: index, handle, parent, references.
_TCMSG = struct.Struct("=4xiIII")
_KIND, _OPTIONS, _STATS2, _HARDWARE = 1, 2, 7, 12
_ROOT = 0xFFFFFFFF
_BASIC, _QUEUE, _PACKETS64 = 1, 3, 8
#: struct gnet_stats_basic: bytes, packets; struct gnet_stats_queue: packets and bytes that wait, drops, requeues,
#: overlimits.
_BASIC_LAYOUT, _QUEUE_LAYOUT = struct.Struct("=QI"), struct.Struct("=5I")

#: struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter.
_NETEM = struct.Struct("=IIIIII")
_CORRELATIONS, _REORDER, _CORRUPT, _LOSS, _RATE, _ECN, _RATE64, _SLOT = 1, 3, 4, 5, 6, 7, 8, 12
#: struct tc_netem_rate: rate, and three of the frame's overhead.
_NETEM_RATE = struct.Struct("=IiIi")
#: Reordering, corruption and bursts of losses.
_RARE = (_CORRELATIONS, _REORDER, _CORRUPT)

#: struct tc_ratespec (link layer, overhead, mpu, rate), the same of the peak's rate, limit, buffer.
_TBF = struct.Struct("=xBHxxHI8xIII4x")
_TBF_PARAMETERS, _TBF_RATE64 = 1, 4
_ETHERNET = 1

_TICKS_PER_US = 1000 / 64


def read_disciplines(place: Place) -> bytes:
    """Return the disciplines as JSON. :raises UnknownFormError: if this module does not know a property of one."""
    names: dict[int, str] = {}
    rows = []
    # Read the whole dump first: what is left of it would come before the next answer.
    for _, body in list(place.netlink(ROUTE).dump(_GET_QDISC, bytes(_TCMSG.size))):
        index = _TCMSG.unpack_from(body)[0]
        if index not in names:
            names[index] = place.name(index)
        rows.append(_discipline(body, names[index]))
    return f"{to_json(rows, compact=True)}\n".encode()


def _discipline(body: memoryview, device: str) -> dict[str, Any]:
    _, handle, parent, references = _TCMSG.unpack_from(body)
    given = dict(attributes(body[_TCMSG.size :]))
    kind = text(given[_KIND])
    if kind not in _READERS or (_HARDWARE in given and integer(given[_HARDWARE])):
        raise UnknownFormError
    counted = dict(attributes(given[_STATS2]))
    size, packets = _BASIC_LAYOUT.unpack_from(counted[_BASIC])
    waiting, backlog, drops, requeues, overlimits = _QUEUE_LAYOUT.unpack_from(counted[_QUEUE])
    return {
        "kind": kind,
        "handle": f"{handle >> 16:x}:",
        "dev": device,
        **({"root": True} if parent == _ROOT else {"parent": f"{parent >> 16:x}:{parent & 0xFFFF:x}"}),
        **({"refcnt": references} if references != 1 else {}),
        "options": _READERS[kind](given[_OPTIONS]) if _OPTIONS in given else {},
        "bytes": size,
        "packets": integer(counted[_PACKETS64]) if _PACKETS64 in counted else packets,
        "drops": drops,
        "overlimits": overlimits,
        "requeues": requeues,
        "backlog": backlog,
        "qlen": waiting,
    }


def _no_options(raw: memoryview) -> dict[str, Any]:
    del raw
    return {}


def _pfifo(raw: memoryview) -> dict[str, Any]:
    return {"limit": integer(raw[:4])}


def _netem(raw: memoryview) -> dict[str, Any]:
    latency, limit, loss, gap, duplicate, jitter = _NETEM.unpack_from(raw)
    given = dict(attributes(raw[_NETEM.size :]))
    if gap or duplicate or _LOSS in given or _SLOT in given or any(any(given[key]) for key in _RARE if key in given):
        raise UnknownFormError
    options: dict[str, Any] = {"limit": limit}
    if latency:
        options["delay"] = {"delay": _seconds(latency), "jitter": _seconds(jitter), "correlation": 0}
    if loss:
        options["loss-random"] = {"loss": _round(loss / MAX32), "correlation": 0}
    if _RATE in given:
        rate, *overheads = _NETEM_RATE.unpack_from(given[_RATE])
        if any(overheads):
            raise UnknownFormError
        if rate:
            rate = integer(given[_RATE64]) if _RATE64 in given else rate
            options["rate"] = {"rate": rate, "packetoverhead": 0, "cellsize": 0, "celloverhead": 0}
    options["ecn"] = _ECN in given and bool(integer(given[_ECN]))
    options["gap"] = gap
    return options


def _seconds(ticks: int) -> float:
    """Return seconds as tc(8) prints them: whole microseconds, six digits."""
    return _round(int(ticks / _TICKS_PER_US) / 1e6)


def _round(number: float) -> float:
    """Return a number of which JSON has the digits that C's format ``%g`` prints."""
    rounded = float(f"{number:g}")
    return int(rounded) if rounded.is_integer() else rounded


def _tbf(raw: memoryview) -> dict[str, Any]:
    given = dict(attributes(raw))
    layer, overhead, mpu, rate, peak, limit, buffer = _TBF.unpack_from(given[_TBF_PARAMETERS])
    if peak or mpu or layer & 0xF != _ETHERNET:
        raise UnknownFormError
    if _TBF_RATE64 in given:
        rate = integer(given[_TBF_RATE64])
    filled_us = int(buffer / _TICKS_PER_US)
    latency_us = 1_000_000 * (limit / rate) - filled_us
    if latency_us < 0:
        raise UnknownFormError
    options = {"rate": rate, "burst": int(rate * filled_us / 1_000_000), "lat": int(latency_us)}
    return {**options, "overhead": overhead} if overhead else options


_READERS: dict[str, Callable[[memoryview], dict[str, Any]]] = {
    **dict.fromkeys(("noqueue", "noop", "clsact"), _no_options),
    "netem": _netem,
    "tbf": _tbf,
    "pfifo": _pfifo,
}
