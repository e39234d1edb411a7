# SPDX-License-Identifier: MIT
"""The sockets of one workload: its ends, the payload of each subflow, and the kernel's MPTCP counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from mptcplab.explain.evidence import address_of
from mptcplab.lazy import pl
from mptcplab.metrics.manifest import Addresses, Gateway, read_addresses, read_gateways
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import CONTROL_SHARE, read_workload, read_workloads
from mptcplab.workload.recorded import Ends as Ends

_T = TypeVar("_T")

# The kernel's MPTCP counters of a host (``nstat``, MPTcpExt*; net/mptcp/mib.c), a check of what the sockets show.
#
# The counters are per host, not per connection: with several workloads on one host they are sums over all of them.

#: The counters of a node in a recording.
FILE = "nstat.json"
_PREFIX = "MPTcpExt"
#: Fields of :class:`MptcpCounts`, and the names that the kernel prints after the prefix.
_COUNTERS = {
    "mp_capable": "MPCapableACKRX",
    "joins": "MPJoinAckRx",
    "opportunistic_retransmissions": "OppRetrans",
    "opportunistic_bytes": "OppRetransBytes",
    "penalties": "OppPenalties",
    "dropped_beyond_window": "NoDSSInWindow",
}


@dataclass(frozen=True)
class MptcpCounts:
    """Connections that hosts accepted as MPTCP, additional subflows that joined there, and fallbacks to TCP.

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

    sums = {count: sum_of(is_meant=f"{_PREFIX}{name}".__eq__) for count, name in _COUNTERS.items()}
    return MptcpCounts(fallbacks=sum_of(is_meant=_is_fallback), **sums)


def dropped_text(count: int, where: str) -> str:
    """Return the text of a warning about segments beyond the connection's window, which ``where`` dropped."""
    return (
        f"the kernel sent segments beyond the connection's window, of which {where} dropped {count}: a bug of mainline "
        "that makes transfers wait (`mptcplab kernel build --fix window` builds a kernel without it)"
    )


def _is_fallback(name: str) -> bool:
    # "FallbackFailed" counts connections that tried to fall back and were not allowed to.
    return ("Fallback" in name and not name.endswith("FallbackFailed")) or name.endswith("InfiniteMapTx")


# The sockets of one workload: the payload of each subflow, and whether MPTCP was really in use.

#: Counts of bytes that a socket reports.
ByteCount = Literal["bytes_acked", "bytes_received", "bytes_retrans", "bytes_sent"]
#: A subflow with less than this share is reported as idle.
_IDLE_SHARE = 0.01
#: MPTCP_SUBFLOW_FLAG_MCAP_REM and MPTCP_SUBFLOW_FLAG_JOIN_REM, include/uapi/linux/mptcp.h.
_ANSWERED = 1 | 4


class SocketSample(NamedTuple):
    """A sample of a subflow's socket: a row of ``subflows.parquet``. What a row lacks is None.

    ``conn`` numbers the connections of a program that reports its own sockets. ``token``, ``flags`` and ``subflow_id``
    are the kernel's, of MPTCP. ``rtt_us`` is smoothed, ``snd_cwnd`` in segments.
    """

    local: str
    remote: str
    time_ns: int = 0
    node: str = ""
    program: str | None = None
    conn: int | None = None
    token: int | None = None
    flags: int | None = None
    subflow_id: int | None = None
    protocol: str | None = None
    congestion: str | None = None
    rtt_us: int | None = None
    snd_cwnd: int | None = None
    bytes_acked: int | None = None
    bytes_received: int | None = None
    bytes_retrans: int | None = None
    bytes_sent: int | None = None

    @property
    def socket(self) -> tuple[int | None, str, str]:
        """The connection, if it has a number, and the two ends."""
        return self.conn, self.local, self.remote

    @property
    def shows_mptcp(self) -> bool:
        """True if the sample shows MPTCP: by its token, its protocol, or the kernel's number of the subflow."""
        return speaks_mptcp(self) or self.protocol == "mptcp" or self.subflow_id is not None

    def path(self, addresses: Addresses, *, is_sender: bool) -> str:
        """Return the path, from the sender of the payload to its receiver; the socket belongs to one of them."""
        first, last = (self.local, self.remote) if is_sender else (self.remote, self.local)
        return path_name(first, last, addresses)


def read_samples(frame: pl.DataFrame) -> Iterator[SocketSample]:
    """Yield the samples of ``frame``, which may lack columns, in its order."""
    return read_rows(SocketSample, SocketSample._fields, frame)


def read_rows(build: Callable[..., _T], fields: Iterable[str], frame: pl.DataFrame) -> Iterator[_T]:
    """Yield what ``build`` makes of each row of ``frame``.

    Each column of ``fields`` that the frame has is a keyword argument. ``build`` needs defaults for the others.
    """
    names = [name for name in fields if name in frame.columns]
    return (build(**dict(zip(names, values, strict=True))) for values in frame.select(names).iter_rows())


@dataclass(frozen=True)
class MptcpUse:
    """The use of MPTCP as found on the sockets, not as requested.

    ``connections`` carried data; ``with_mptcp`` of them spoke MPTCP to the end, and ``fell_back`` of them requested it
    and ended as TCP. ``subflows`` is the largest number of subflows of a connection. ``carrying`` has the number of
    connections with MPTCP by the number of their *carrying* subflows, which received payload: ``{1: 2, 2: 5}`` are two
    connections with one and five with two. ``unseen`` is the larger of two numbers, of connections and of
    additional subflows, that the kernel of the server's host accepted and no sample shows: they may be shorter than the
    time between two samples.
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


def count_by_carrying_subflows(connections: Iterable[Sequence[SocketSample]]) -> dict[int, int]:
    """Return the number of connections by the number of their carrying subflows, which received payload."""
    return dict(Counter(sum(1 for sample in samples if sample.bytes_received) for samples in connections))


def count_single_connections(carrying: Mapping[int, int]) -> int:
    """Return the number of connections with at most one carrying subflow."""
    return sum(count for subflows, count in carrying.items() if subflows < 2)


def describe_share(count: int, total: int) -> str:
    """Return in how many connections something was seen, as the end of a sentence; nothing if in all."""
    return "" if count == total else f" in {count} of {total} connections"


def subflows_text(carrying: Mapping[int, int], existing: int = 0) -> str:
    """Return how many subflows of each connection carried payload: ``2 subflows``, ``1 to 2 subflows``.

    ``carrying`` has the number of connections by the number of their carrying subflows. ``existing`` is the largest
    number of subflows of a connection, and named if it is larger: ``1 of 2 subflows``. Short connections are often
    done before the second subflow carries data, so they differ.
    """
    low, high = min(carrying, default=0), max(carrying, default=0)
    number = f"{low}" if low == high else f"{low} to {high}"
    if high < existing:
        return f"{number} of {existing} subflows"
    return f"{number} subflow{'' if high == 1 else 's'}"


@dataclass(frozen=True)
class Sockets:
    """One workload's sockets at the end: payload received by path, and retransmissions of the sender.

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


def sum_known(samples: Iterable[SocketSample], column: ByteCount) -> int | None:
    """Return the sum of a count; None if no sample has it, because an unknown count is not zero."""
    known = [count for sample in samples if (count := getattr(sample, column)) is not None]
    return sum(known) if known else None


def last_samples(subflows: pl.DataFrame, *, node: str, program: str | None) -> list[SocketSample]:
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
    last: dict[tuple[int | None, str, str], SocketSample] = {}
    for sample in read_samples(subflows.lazy().filter(is_listed).sort("time_ns", maintain_order=True).collect()):
        before = last.get(sample.socket)
        if sample.bytes_received is None and before is not None and before.bytes_received is not None:
            continue
        last[sample.socket] = sample
    return list(last.values())


def samples_of_server(samples: Iterable[SocketSample], ports: Collection[int]) -> list[SocketSample]:
    """Return the subflows of connections to a server's ``ports``, including those to an announced port."""
    connections = group_by_connection(samples).values()
    return [sample for some in connections if any(_is_at(sample, ports) for sample in some) for sample in some]


def _is_at(sample: SocketSample, ports: Collection[int]) -> bool:
    return any(int(end.rpartition(":")[2]) in ports for end in (sample.local, sample.remote))


def speaks_mptcp(sample: SocketSample) -> bool:
    """Return whether a sampled subflow belongs to a connection that is MPTCP.

    It has a token, which it keeps if the peer answers with plain TCP, and flags (``enum mptcp_subflow_flags``)
    that show an answer with MPTCP. Without flags, the token alone counts.
    """
    return bool(sample.token) and (sample.flags is None or bool(sample.flags & _ANSWERED))


def path_name(first: str, last: str, addresses: Addresses) -> str:
    """Return a subflow's path by the links of the addresses of its two ends: ``access1>link1``."""
    hosts = [address_of(end) for end in (first, last)]
    links = [addresses[host].link if host in addresses else host for host in hosts]
    return links[0] if links[0] == links[1] else ">".join(links)


def group_by_connection(samples: Iterable[SocketSample]) -> dict[tuple[object, ...], list[SocketSample]]:
    """Group subflows by connection: by ``flow``'s number, else by MPTCP's token, else each alone."""
    connections: dict[tuple[object, ...], list[SocketSample]] = {}
    for sample in samples:
        connections.setdefault(_connection_key(sample), []).append(sample)
    return connections


def _connection_key(sample: SocketSample) -> tuple[object, ...]:
    if sample.conn is not None:
        return "conn", sample.conn
    return ("token", sample.token) if sample.token else ("socket", sample.local, sample.remote)


def data_connections(
    samples: Iterable[SocketSample], column: ByteCount, *, min_share: float = CONTROL_SHARE
) -> list[list[SocketSample]]:
    """Return connections that carried payload by ``column``, without control connections.

    These have less than ``min_share`` of the largest connection's bytes; 0 if the workload has none.
    """
    connections = list(group_by_connection(samples).values())
    totals = [sum_known(connection, column) for connection in connections]
    bound = min_share * max((total for total in totals if total is not None), default=0)
    pairs = zip(connections, totals, strict=True)
    return [connection for connection, total in pairs if total is not None and total > bound]


def compute_shares(connections: Iterable[Sequence[SocketSample]], addresses: Addresses) -> dict[str, float]:
    """Return each path's share of the payload that subflows received, duplicates by reinjection included. Sums to 1."""
    by_path: dict[str, int] = {}
    for connection in connections:
        for sample in connection:
            if sample.bytes_received is not None:
                name = sample.path(addresses, is_sender=False)
                by_path[name] = by_path.get(name, 0) + sample.bytes_received
    total = sum(by_path.values())
    return {name: count / total for name, count in sorted(by_path.items())} if total else {}


def idle_paths(of: Mapping[str, float]) -> list[str]:
    """Return paths with a subflow that carried next to nothing."""
    return [name for name, share in of.items() if share < _IDLE_SHARE]


# Sender and receiver of a workload's payload, and the programs that report their own sockets.


def ends_of(recording: Recording) -> list[Ends]:
    """Return the ends of a run's workloads, in the order of the scenario."""
    return [workload.ends for workload in read_workloads(recording)]


# The sockets of one workload: on its own hosts, and between the two sides of a gateway that carries it.


@dataclass(frozen=True)
class InnerConnections:
    """The connections between the sides of a gateway: to ``port`` of the node ``exit``.

    The workload's data goes from ``sender`` to ``receiver``, which are the gateway's two nodes.
    """

    sender: str
    receiver: str
    exit: str
    port: int


def workload_samples(
    samples: Iterable[SocketSample],
    recording: Recording,
    ends: Ends,
    node: str,
    program: str | None,
    inner: InnerConnections | None = None,
) -> list[SocketSample]:
    """Return a node's ``samples`` that are the workload's, by the ports of its server.

    With ``inner``, the node is a side of a gateway, and the samples of the inner connections are returned.
    If the workload's ``program`` reports its own sockets, all samples are the workload's. The client of a workload that
    speaks to a gateway by itself has its connections there.
    """
    if inner is not None:
        return inner_samples(samples, inner, read_addresses(recording))
    if program is not None:
        return list(samples)
    if node == read_workload(recording, ends.workload).client:
        for gateway in read_gateways(recording):
            address = gateway.local.get(ends.workload)
            if address is not None:
                return [sample for sample in samples if sample.remote == f"{address}:{gateway.listening_port}"]
    return samples_of_server(samples, ends.ports)


def gateways_of(recording: Recording, workload: str) -> Iterator[Gateway]:
    """Yield the gateways that carry a workload, in the scenario's order."""
    return (gateway for gateway in read_gateways(recording) if workload in gateway.carried)


def inner_of(gateway: Gateway, ends: Ends, client: str) -> InnerConnections:
    """Return the inner connections of ``gateway``, as a workload of ``client`` uses them."""
    sides = gateway.entry, gateway.exit
    receiver, sender = sides if ends.receiver == client else sides[::-1]
    return InnerConnections(sender, receiver, gateway.exit, gateway.port)


def inner_samples(samples: Iterable[SocketSample], inner: InnerConnections, addresses: Addresses) -> list[SocketSample]:
    """Return one node's ``samples`` that are subflows of inner connections."""

    def leads_to_exit(sample: SocketSample) -> bool:
        """Return whether one of the sample's two ends is the port of the gateway's exit."""
        for host, _, port in (end.rpartition(":") for end in (sample.local, sample.remote)):
            owner = addresses.get(host.strip("[]"))
            if int(port) == inner.port and owner is not None and owner.node == inner.exit:
                return True
        return False

    return [
        sample for some in group_by_connection(samples).values() if any(map(leads_to_exit, some)) for sample in some
    ]
