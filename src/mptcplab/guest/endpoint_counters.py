# SPDX-License-Identifier: MIT
"""The MPTCP endpoints and limits of a namespace, as ``ip -j mptcp`` of iproute2 6.1 prints them.

Layouts and numbers: include/uapi/linux/mptcp_pm.h.
"""

from __future__ import annotations

import struct

from mptcplab.guest.json_text import to_json
from mptcplab.guest.netlink import GENERIC, address_text, attributes, integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from mptcplab.guest.direct import Place

_FAMILY = "mptcp_pm"
#: struct genlmsghdr: command, version.
_HEADER = struct.Struct("=BB2x")
_GET_ADDRESS, _GET_LIMITS = 3, 6
_ENDPOINT, _ADD_ADDRS, _SUBFLOWS = 1, 2, 3
_ID, _ADDR4, _ADDR6, _PORT, _FLAGS, _INDEX = 2, 3, 4, 5, 6, 7
_FLAG = {"signal": 1, "subflow": 2, "backup": 4, "fullmesh": 8}


def read_endpoints(place: Place) -> bytes:
    """Return the endpoints as JSON. :raises OSError: if the kernel has no MPTCP."""
    request = _HEADER.pack(_GET_ADDRESS, 1)
    # Read the whole dump first: what is left of it would come before the next answer.
    answers = list(place.netlink(GENERIC).dump(place.family(_FAMILY), request))
    entries = [_endpoint(dict(attributes(body[_HEADER.size :])), place) for _, body in answers]
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
    if _INDEX in given and (index := integer(given[_INDEX])):
        entry["dev"] = place.name(index)
    return entry


def read_limits(place: Place) -> bytes:
    """Return the limits as text, which is the form of this version with ``-j``, too."""
    request = _HEADER.pack(_GET_LIMITS, 1)
    answer = place.netlink(GENERIC).ask(place.family(_FAMILY), request, 0)
    given = dict(attributes(answer[_HEADER.size :]))
    return f"add_addr_accepted {integer(given[_ADD_ADDRS])} subflows {integer(given[_SUBFLOWS])} \n".encode()
