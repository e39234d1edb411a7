# SPDX-License-Identifier: MIT
"""The sockets of one workload: the payload of each subflow, and whether MPTCP was really in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mptcplab.lazy import pl
from mptcplab.metrics.counters import MptcpCounts
from mptcplab.metrics.manifest import Addresses
from mptcplab.workload.recorded import CONTROL_SHARE

Row = dict[str, Any]
#: A subflow with less than this share is reported as idle.
_IDLE_SHARE = 0.01
#: MPTCP_SUBFLOW_FLAG_MCAP_REM and MPTCP_SUBFLOW_FLAG_JOIN_REM, include/uapi/linux/mptcp.h.
_ANSWERED = 1 | 4


@dataclass(frozen=True)
class MptcpUse:
    """The use of MPTCP as found on the sockets, not as requested.

    ``connections`` carried data; ``with_mptcp`` of them spoke MPTCP to the end, and ``fell_back`` of them requested it
    and ended as TCP. ``subflows`` is the largest number of subflows of a connection. ``carrying`` has the number of
    connections with MPTCP by the number of their subflows that carried payload. ``count_unseen`` counts connections and
    subflows that the kernel of the server's host accepted and no sample shows: they may be shorter than the time
    between two samples.
    """

    connections: int
    with_mptcp: int
    fell_back: int
    subflows: int = 0
    carrying: Mapping[int, int] = field(default_factory=dict)
    unseen: int = 0

    @property
    def is_doubtful(self) -> bool:
        """True if the samples show one subflow with payload per connection, but miss some connections."""
        return bool(self.unseen and self.with_mptcp and max(self.carrying, default=0) < 2)

    @property
    def text(self) -> str:
        """The text for a table: ``no``, ``2 subflows``, ``1 to 2 subflows``, ``1 of 2 subflows``, ``fell back``."""
        if self.fell_back:
            return "fell back" if self.fell_back == self.connections else "partly fell back"
        if self.with_mptcp == 0:
            return "no"
        if self.with_mptcp < self.connections:
            return "partly"
        seen = " seen" if self.is_doubtful else ""
        return f"{subflows_text(self.carrying, self.subflows)}{seen}"

    @property
    def single(self) -> int:
        """The number of connections with MPTCP of which at most one subflow carried payload."""
        return count_single_connections(self.carrying)


def use_of_all(uses: Iterable[MptcpUse]) -> MptcpUse:
    """Return the use of MPTCP by the connections of several runs."""
    known = list(uses)
    return MptcpUse(
        connections=sum(use.connections for use in known),
        with_mptcp=sum(use.with_mptcp for use in known),
        fell_back=sum(use.fell_back for use in known),
        subflows=max((use.subflows for use in known), default=0),
        carrying=dict(sum((Counter(use.carrying) for use in known), Counter())),
        unseen=sum(use.unseen for use in known),
    )


def count_unseen(table: pl.DataFrame, nodes: Iterable[str], counts: MptcpCounts) -> int:
    """Return how many of the accepted connections, or of their additional subflows, are in no sample.

    ``nodes`` are both ends: one may have forgotten a connection that the other still has.
    """
    connections, additional = zip(*(_count_sampled(table, node) for node in nodes), strict=True)
    pairs = ((counts.mp_capable, max(connections)), (counts.joins, max(additional)))
    missed: list[int] = [counted - seen for counted, seen in pairs if counted is not None]
    return max([0, *missed])


def _count_sampled(table: pl.DataFrame, node: str) -> tuple[int, int]:
    """Return how many connections with MPTCP, and how many additional subflows, the samples of a node show."""
    if not {"token", "node"} <= set(table.columns):
        return 0, 0
    known = table.filter((pl.col("node") == node) & pl.col("token").is_not_null() & (pl.col("token") != 0))
    connections = known["token"].n_unique()
    return connections, known.select("token", "local", "remote").n_unique() - connections


def carrying_subflows(connections: Iterable[Sequence[Row]]) -> dict[int, int]:
    """Return the number of connections by the number of their subflows that received payload."""
    return dict(Counter(sum(1 for row in rows if row["bytes_received"]) for rows in connections))


def count_single_connections(carrying: Mapping[int, int]) -> int:
    """Return the number of connections of which at most one subflow carried payload."""
    return sum(count for subflows, count in carrying.items() if subflows < 2)


def describe_share(count: int, total: int) -> str:
    """Return in how many connections something was seen, as the end of a sentence; nothing if in all."""
    return "" if count == total else f" in {count} of {total} connections"


def subflows_text(carrying: Mapping[int, int], existing: int = 0) -> str:
    """Return how many subflows of each connection carried payload: ``2 subflows``, ``1 to 2 subflows``.

    ``existing`` is the largest number of subflows of a connection. It is named if all carried on fewer: ``1 of 2
    subflows``. Short connections are often done before the second subflow carries data, so they differ.
    """
    low, high = min(carrying, default=0), max(carrying, default=0)
    number = f"{low}" if low == high else f"{low} to {high}"
    if high < existing:
        return f"{number} of {existing} subflows"
    return f"{number} subflow{'' if high == 1 else 's'}"


@dataclass(frozen=True)
class Sockets:
    """One workload's sockets at the end: payload received by path, and retransmissions of the sending side.

    Byte counts are None if the sockets do not report them, or no socket was seen.
    """

    use: MptcpUse
    shares: dict[str, float]
    retransmitted_bytes: int | None
    sent_bytes: int | None
    congestion: tuple[str, ...]

    @property
    def retransmitted_percent(self) -> float | None:
        """Bytes retransmitted, of all bytes that subflows sent; None if that is unknown, or nothing was sent."""
        if self.retransmitted_bytes is None or not self.sent_bytes:
            return None
        return 100 * self.retransmitted_bytes / self.sent_bytes


def sum_known(rows: Iterable[Row], column: str) -> int | None:
    """Return the sum of a column; None if no row has it, because an unknown count is not zero."""
    known = [row[column] for row in rows if row.get(column) is not None]
    return sum(known) if known else None


def last_rows(subflows: pl.DataFrame, *, node: str, program: str | None) -> list[Row]:
    """Return the last sample of each subflow of ``node``; without a ``program``, from the socket sampler.

    After the program has closed a socket, its last sample may lack all counts (``inet_timewait_sock`` in FIN_WAIT2):
    then the last sample with counts is returned.
    """
    if not subflows.height:
        return []
    is_listed = pl.col("node") == node
    if "program" in subflows.columns:
        is_listed &= pl.col("program").is_null() if program is None else pl.col("program") == program
    elif program is not None:
        return []  # all samples are the sampler's; this program reports none, like udp
    last: dict[tuple[Any, ...], Row] = {}
    rows = subflows.lazy().filter(is_listed).sort("time_ns", maintain_order=True).collect()
    for row in rows.iter_rows(named=True):
        key = (row.get("conn"), row["local"], row["remote"])
        if row.get("bytes_received") is None and sum_known([last.get(key, {})], "bytes_received") is not None:
            continue
        last[key] = row
    return list(last.values())


def rows_of_server(rows: Iterable[Row], ports: Collection[int]) -> list[Row]:
    """Return the subflows of connections to a server's ``ports``, including those to an announced port."""
    connections = group(rows).values()
    return [row for some in connections if any(_is_at(row, ports) for row in some) for row in some]


def _is_at(row: Row, ports: Collection[int]) -> bool:
    return any(int(row[end].rpartition(":")[2]) in ports for end in ("local", "remote"))


def speaks_mptcp(row: Row) -> bool:
    """Return whether a sampled subflow belongs to a connection that is MPTCP.

    It has a token, which it keeps if the other side answers with plain TCP, and flags (``enum mptcp_subflow_flags``)
    that show an answer with MPTCP. Without flags, the token alone counts.
    """
    flags = row.get("flags")
    return bool(row.get("token")) and (flags is None or bool(flags & _ANSWERED))


def path_name(row: Row, addresses: Addresses) -> str:
    """Return the subflow's path by the links of its two addresses, the sampled node's last: ``access1>link1``."""
    hosts = [_host(row[key]) for key in ("remote", "local")]
    links = [addresses[host].link if host in addresses else host for host in hosts]
    return links[0] if links[0] == links[1] else ">".join(links)


def _host(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


def group(rows: Iterable[Row]) -> dict[Any, list[Row]]:
    """Group subflows by connection: by ``flow``'s number, else by MPTCP's token, else each alone."""
    connections: dict[Any, list[Row]] = {}
    for row in rows:
        key = ("conn", row["conn"]) if row.get("conn") is not None else _token(row)
        connections.setdefault(key, []).append(row)
    return connections


def _token(row: Row) -> tuple[Any, ...]:
    return ("token", row["token"]) if row.get("token") else ("socket", row["local"], row["remote"])


def data_connections(rows: Iterable[Row], column: str, *, min_share: float = CONTROL_SHARE) -> list[list[Row]]:
    """Return connections that carried payload by ``column`` (bytes_received, bytes_acked), without control connections.

    These have less than ``min_share`` of the largest connection's bytes; 0 if the workload has none.
    """
    connections = list(group(rows).values())
    totals = [sum_known(connection, column) for connection in connections]
    bound = min_share * max((total for total in totals if total is not None), default=0)
    pairs = zip(connections, totals, strict=True)
    return [connection for connection, total in pairs if total is not None and total > bound]


def shares(connections: Iterable[list[Row]], addresses: Addresses) -> dict[str, float]:
    """Return each path's share of the payload that subflows received, duplicates by reinjection included. Sums to 1."""
    by_path: dict[str, int] = {}
    for connection in connections:
        for row in connection:
            if row.get("bytes_received") is not None:
                name = path_name(row, addresses)
                by_path[name] = by_path.get(name, 0) + row["bytes_received"]
    total = sum(by_path.values())
    return {name: count / total for name, count in sorted(by_path.items())} if total else {}


def idle_paths(of: Mapping[str, float]) -> list[str]:
    """Return paths with a subflow that carried next to nothing."""
    return [name for name, share in of.items() if share < _IDLE_SHARE]
