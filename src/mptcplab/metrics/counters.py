# SPDX-License-Identifier: MIT
"""The kernel's MPTCP counters of a host (``nstat``, MPTcpExt*; net/mptcp/mib.c), a check of what the sockets show.

The counters are per host, not per connection: with several workloads on one host they are sums over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mptcplab.recording.record import Recording

#: The counters of a node in a recording.
FILE = "nstat.json"
_PREFIX = "MPTcpExt"
_BY_NAME = ("MPCapableACKRX", "MPJoinAckRx", "OppRetrans", "OppRetransBytes", "OppPenalties", "NoDSSInWindow")


@dataclass(frozen=True)
class MptcpCounts:
    """Connections that a host accepted as MPTCP, additional subflows that joined there, and fallbacks to TCP.

    The opportunistic ones are counted by the lab's kernels (kernel/net/mptcp/sched_opportunistic.c) at the sender:
    segments that a faster subflow retransmitted because the connection was blocked, their payload in bytes, and the
    number of times that the window of a slower subflow was halved for that. ``dropped_beyond_window``
    counts received segments that were dropped because they lay beyond the connection's window.

    A count is None if no host's kernel has it. 0 is a count by the kernel: ``nstat`` prints zeros, too (-z).
    """

    mp_capable: int | None
    joins: int | None
    fallbacks: int | None
    opportunistic_retransmissions: int | None = None
    opportunistic_bytes: int | None = None
    penalties: int | None = None
    dropped_beyond_window: int | None = None


def read_counters(recording: Recording, node: str) -> dict[str, int]:
    """Return the counters of ``nstat`` of a node at the end of a run, by their names."""
    counters: dict[str, int] = recording.counter(node, FILE)["kernel"]
    return dict(counters)


def mptcp_counts(hosts: Iterable[Mapping[str, int]]) -> MptcpCounts:
    """Return the sums of the ``nstat`` counters of ``hosts``. A connection is counted where it was accepted."""
    counted = [pair for counters in hosts for pair in counters.items() if pair[0].startswith(_PREFIX)]

    def sum_of(*, is_meant: Callable[[str], bool]) -> int | None:
        known = [count for name, count in counted if is_meant(name)]
        return sum(known) if known else None

    mp_capable, joins, *others = (sum_of(is_meant=f"{_PREFIX}{name}".__eq__) for name in _BY_NAME)
    return MptcpCounts(mp_capable, joins, sum_of(is_meant=_is_fallback), *others)


def dropped_text(count: int, where: str) -> str:
    """Return the text of a warning about segments beyond the connection's window, which ``where`` dropped."""
    return (
        f"the kernel sent segments beyond the connection's window, of which {where} dropped {count}: a bug of mainline "
        "that makes transfers wait (`mptcplab kernel build --fix window` builds a kernel without it)"
    )


def _is_fallback(name: str) -> bool:
    # "FallbackFailed" counts connections that tried to fall back and were not allowed to.
    return ("Fallback" in name and not name.endswith("FallbackFailed")) or name.endswith("InfiniteMapTx")
