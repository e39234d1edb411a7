# SPDX-License-Identifier: MIT
"""Samples of the bottlenecks' queues of a node: what ``tc -s qdisc`` shows of those that shape (``tbf``, CAKE).

Layouts: include/uapi/linux/rtnetlink.h (struct tcmsg, TCA_*), gen_stats.h (struct gnet_stats_queue).
"""

from __future__ import annotations

import struct
from _socket import AF_NETLINK, SOCK_CLOEXEC, SOCK_RAW, if_nametoindex, socket  # `socket` around it loads slowly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_NETLINK_ROUTE, _RTM_NEWQDISC, _RTM_GETQDISC = 0, 36, 38
#: Without NLM_F_ECHO the answer only goes to those who listen to all changes.
_NLM_F_REQUEST, _NLM_F_ECHO = 0x1, 0x8
_TCA_STATS2, _TCA_STATS_QUEUE = 7, 3
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=B3xiIII")
_ATTRIBUTE = struct.Struct("=HH")
#: qlen, backlog, drops of struct gnet_stats_queue.
_QUEUE = struct.Struct("=III")


class QueueSampler:
    """Asks one node. Create it inside the node's namespace: a socket stays where it was opened."""

    def __init__(self, queues: list[dict[str, Any]]) -> None:
        self._socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, _NETLINK_ROUTE)
        self._queues = [(queue, if_nametoindex(queue["device"])) for queue in queues]

    def sample(self, time_ns: int) -> Iterator[dict[str, Any]]:
        """Bytes and packets that wait in each queue, and the packets that it has dropped so far."""
        for queue, index in self._queues:
            packets, held, drops = self._ask(index, queue["handle"])
            place = {key: queue[key] for key in ("node", "device", "link", "direction")}
            yield {"time_ns": time_ns, **place, "bytes": held, "packets": packets, "drops": drops}

    def _ask(self, index: int, handle: int) -> tuple[int, int, int]:
        body = _TCMSG.pack(0, index, handle << 16, 0, 0)
        flags = _NLM_F_REQUEST | _NLM_F_ECHO
        self._socket.send(_HEADER.pack(_HEADER.size + len(body), _RTM_GETQDISC, flags, 1, 0) + body)
        answer = self._socket.recv(1 << 16)
        kind = _HEADER.unpack_from(answer)[1]
        if kind != _RTM_NEWQDISC:
            raise OSError(f"the kernel does not tell the state of queue {handle}: of interface {index}")
        statistics = _attribute(answer[_HEADER.size + _TCMSG.size :], _TCA_STATS2)
        return _QUEUE.unpack_from(_attribute(statistics, _TCA_STATS_QUEUE))


def _attribute(data: bytes, wanted: int) -> bytes:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if kind & 0x3FFF == wanted:
            return data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]
    raise OSError("the kernel tells no statistics of a queue")
