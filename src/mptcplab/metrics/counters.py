# SPDX-License-Identifier: MIT
"""What the kernel counted of MPTCP on a host (``nstat``, MPTcpExt*; net/mptcp/mib.c): a second witness.

The counters are per host, not per connection: with several workloads on one host they are the sum of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_PREFIX = "MPTcpExt"


@dataclass(frozen=True)
class MptcpCounts:
    """Connections that a host accepted as MPTCP, additional subflows that joined there, and falls back to TCP."""

    mp_capable: int
    joins: int
    fallbacks: int


def mptcp_counts(hosts: Iterable[Mapping[str, int]]) -> MptcpCounts:
    """Sum over ``hosts`` of their ``nstat`` counters. A connection is counted where it was accepted."""
    mp_capable = joins = fallbacks = 0
    for counters in hosts:
        mp_capable += counters.get(f"{_PREFIX}MPCapableACKRX", 0)
        joins += counters.get(f"{_PREFIX}MPJoinAckRx", 0)
        fallbacks += sum(count for name, count in counters.items() if _is_fallback(name))
    return MptcpCounts(mp_capable, joins, fallbacks)


def _is_fallback(name: str) -> bool:
    if not name.startswith(_PREFIX):
        return False
    # "FallbackFailed" counts connections that wanted to fall back and were not allowed to.
    return ("Fallback" in name and not name.endswith("FallbackFailed")) or name.endswith("InfiniteMapTx")
