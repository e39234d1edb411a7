# SPDX-License-Identifier: MIT
"""What the kernel counted of MPTCP on a host (``nstat``, MPTcpExt*; net/mptcp/mib.c): a second witness.

The counters are per host, not per connection: with several workloads on one host they are the sum of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_PREFIX = "MPTcpExt"
_OPPORTUNISTIC = ("OppRetrans", "OppRetransBytes", "OppPenalties")


@dataclass(frozen=True)
class MptcpCounts:
    """Connections that a host accepted as MPTCP, additional subflows that joined there, and falls back to TCP.

    The opportunistic ones are counted by the lab's kernels (kernel/net/mptcp/sched_opportunistic.c) where data is sent:
    segments that a faster subflow retransmitted because the connection was blocked, their payload in bytes, and how
    often the window of a slower subflow was halved for that. None if the kernel does not count them.
    """

    mp_capable: int
    joins: int
    fallbacks: int
    opportunistic_retransmissions: int | None = None
    opportunistic_bytes: int | None = None
    penalties: int | None = None


def mptcp_counts(hosts: Iterable[Mapping[str, int]]) -> MptcpCounts:
    """Sum over ``hosts`` of their ``nstat`` counters. A connection is counted where it was accepted."""
    mp_capable = joins = fallbacks = 0
    opportunistic: dict[str, int | None] = dict.fromkeys(_OPPORTUNISTIC)
    for counters in hosts:
        mp_capable += counters.get(f"{_PREFIX}MPCapableACKRX", 0)
        joins += counters.get(f"{_PREFIX}MPJoinAckRx", 0)
        fallbacks += sum(count for name, count in counters.items() if _is_fallback(name))
        for name, known in opportunistic.items():
            if (count := counters.get(_PREFIX + name)) is not None:
                opportunistic[name] = count if known is None else known + count
    return MptcpCounts(mp_capable, joins, fallbacks, *opportunistic.values())


def _is_fallback(name: str) -> bool:
    if not name.startswith(_PREFIX):
        return False
    # "FallbackFailed" counts connections that wanted to fall back and were not allowed to.
    return ("Fallback" in name and not name.endswith("FallbackFailed")) or name.endswith("InfiniteMapTx")
