# SPDX-License-Identifier: MIT
"""Samples the queues of a node's bottlenecks: the data that ``tc -s qdisc`` shows of shapers (``tbf``, CAKE).

Layouts: include/uapi/linux/rtnetlink.h (struct tcmsg, TCA_*), gen_stats.h (struct gnet_stats_queue).
"""

from __future__ import annotations

import struct
from _socket import if_nametoindex  # the module `socket` around it takes longer than its use here

from mptcplab.guest.netlink import ECHO, ROUTE, Netlink, attributes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_GET_QDISC = 38
_TCA_STATS2, _TCA_STATS_QUEUE = 7, 3
_TCMSG = struct.Struct("=B3xiIII")
#: qlen, backlog, drops of struct gnet_stats_queue.
_QUEUE = struct.Struct("=III")


class QueueSampler:
    """Samples one node. Create it inside the node's namespace, to which its socket then belongs."""

    def __init__(self, queues: list[dict[str, Any]]) -> None:
        self._netlink = Netlink(ROUTE)
        self._queues = [(queue, if_nametoindex(queue["device"])) for queue in queues]

    def sample(self, time_ns: int) -> Iterator[dict[str, Any]]:
        """Yield the bytes and packets that wait in each queue, and the packets that it has dropped so far."""
        for queue, index in self._queues:
            packets, held, drops = self._ask(index, queue["handle"])
            place = {key: queue[key] for key in ("node", "device", "link", "direction")}
            yield {"time_ns": time_ns, **place, "bytes": held, "packets": packets, "drops": drops}

    def _ask(self, index: int, handle: int) -> tuple[int, int, int]:
        request = _TCMSG.pack(0, index, handle << 16, 0, 0)
        # Without ECHO, the answer goes only to sockets that subscribe to all changes.
        answer = self._netlink.ask(_GET_QDISC, request, ECHO)
        described = dict(attributes(answer[_TCMSG.size :]))
        return _QUEUE.unpack_from(dict(attributes(described[_TCA_STATS2]))[_TCA_STATS_QUEUE])
