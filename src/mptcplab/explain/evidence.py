# SPDX-License-Identifier: MIT
"""The evidence: what is known about some hosts and their connections, wherever it came from.

A recording, a capture, the output of ``nstat``, ``ss`` and ``ip mptcp`` of a real machine: all become the same records.
Each value is optional. None means that nobody looked; zero, an empty tuple and False are observations. Reasons ask for
what they need (:data:`NEEDS`), so that a missing observation is never taken for a good one.

Times are in seconds from the begin of the observation, rates in bit/s, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mptcplab.capture.summary import ConnectionSummary

#: The prefix of the kernel's MPTCP counters in ``nstat``.
MPTCP = "MPTcpExt"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An endpoint of the kernel's path manager, as ``ip mptcp endpoint`` shows it. ``device`` is its ``dev``."""

    address: str
    flags: frozenset[str] = frozenset()
    id: int | None = None
    port: int | None = None
    device: str | None = None

    @property
    def text(self) -> str:
        """Address and flags, as in ``10.0.1.1 subflow``."""
        return " ".join((self.address, *sorted(self.flags)))


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the kernel's path manager (``ip mptcp limits``): additional subflows, and accepted ADD_ADDR."""

    subflows: int
    add_addr_accepted: int


@dataclass(frozen=True, kw_only=True)
class PathEvent:
    """A line of ``ip mptcp monitor``.

    ``kind`` is the word in brackets, in lower case: ``created``, ``established``, ``closed``, ``announced``,
    ``removed``, ``sf_established``, ``sf_closed``, ``sf_prio``, ``listener_created``, ``listener_closed``. ``error`` is
    the errno of a closed subflow, ``reset_reason`` the reason of an MP_TCPRST (RFC 8684, section 3.6).
    """

    kind: str
    time_s: float | None = None
    token: int | None = None
    local: str | None = None
    remote: str | None = None
    backup: bool | None = None
    error: int | None = None
    reset_reason: int | None = None


@dataclass(frozen=True, kw_only=True)
class Route:
    """The kernel's answer to ``ip route get REMOTE from LOCAL [oif DEVICE]``: the device, or the error.

    ``of_address`` is the device that has the address ``local``, None if unknown.
    """

    local: str
    remote: str
    device: str | None = None
    error: str | None = None
    of_address: str | None = None


def address_of(end: str) -> str:
    """Return the address of an end of a subflow, ``ADDRESS:PORT``, where one of IPv6 is in brackets."""
    return end.rpartition(":")[0].strip("[]")


@dataclass(frozen=True, kw_only=True)
class JoinError:
    """A failed step of a join, in the log of the kernel outside of mainline.

    ``step`` is ``add``, ``bind`` or ``connect``. ``error`` is an errno, positive. ``address`` is known for ``bind``.
    """

    step: str
    family: str
    error: int
    address: str | None = None


@dataclass(frozen=True, kw_only=True)
class SocketCall:
    """A system call of a program that creates a socket, or sets ``option`` of one, as ``strace`` shows it.

    ``error`` is the name of an errno.
    """

    is_mptcp: bool
    option: str | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class OptionTrace:
    """What tracebox found on the way to ``target``: ``hop`` is where MP_CAPABLE was missing, None if the target got it.

    ``device`` is the interface by which it asked, empty if unknown.
    """

    target: str
    device: str = ""
    hop: str | None = None


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A command ``ip mptcp`` that the kernel refused: its object, ``endpoint`` or ``limits``, and an errno if known."""

    what: str
    error: int | None = None


@dataclass(frozen=True, kw_only=True)
class Host:
    """One host. ``opens`` says whether it opened the connections (the client) or accepted them.

    ``counters`` are by the names of ``nstat`` (``MPTcpExtMPJoinSynTx``, ``TcpExtTCPTimeouts``), as differences over the
    observation, or since boot. ``sysctls`` are by their whole names. ``addresses`` belong to all its interfaces,
    without loopback. ``routes`` are the kernel's answers about routes from its endpoints to its peers, ``down`` are
    interfaces that are down or without a carrier. ``unanswered`` has the ends of connections whose first SYN got no
    answer for longer than a moment, ``unanswered_at_a_look`` of several that waited at the only look.
    ``path_manager`` and ``protocol`` are what was configured: "kernel" or "userspace", "mptcp" or "tcp".
    ``release`` is the kernel's (``uname -r``). ``without_settings`` is True if ``sysctl`` found nothing of MPTCP.
    ``join_errors`` map what the kernel's log says to how often it does. A traced program made ``calls``, and
    ``unwrapped`` are programs for which ``mptcpize`` changed nothing. ``shared_addresses`` has the interfaces of each
    address that several have, ``rule_sources`` the source addresses in routing rules by IP version.
    ``checksummed_bytes`` are the payloads of captured segments with a checksum of MPTCP; ``offloads`` is True if the
    interface may send larger ones.
    """

    name: str
    opens: bool | None = None
    counters: Mapping[str, int] | None = None
    endpoints: tuple[Endpoint, ...] | None = None
    limits: Limits | None = None
    sysctls: Mapping[str, str] | None = None
    addresses: tuple[str, ...] | None = None
    events: tuple[PathEvent, ...] | None = None
    routes: tuple[Route, ...] | None = None
    down: frozenset[str] | None = None
    unanswered: tuple[tuple[str, str], ...] | None = None
    unanswered_at_a_look: tuple[tuple[str, str], ...] = ()
    path_manager: str | None = None
    protocol: str | None = None
    release: str | None = None
    without_settings: bool = False
    join_errors: Mapping[JoinError, int] | None = None
    calls: tuple[SocketCall, ...] | None = None
    unwrapped: tuple[str, ...] = ()
    traces: tuple[OptionTrace, ...] | None = None
    refusals: tuple[Refusal, ...] | None = None
    shared_addresses: Mapping[str, tuple[str, ...]] | None = None
    rule_sources: Mapping[str, frozenset[str]] | None = None
    checksummed_bytes: tuple[int, ...] | None = None
    offloads: bool | None = None

    def count(self, name: str) -> int | None:
        """Return one of the kernel's MPTCP counters, by its name in net/mptcp/mib.c; None if it is not known."""
        return self.counter(f"{MPTCP}{name}")

    def counter(self, name: str) -> int | None:
        """Return any counter by its name in ``nstat``; None if it is not known."""
        return None if self.counters is None else self.counters.get(name)

    def known_count(self, name: str) -> int:
        """Return one of the kernel's MPTCP counters, 0 if it is not known: for evidence that something did happen."""
        return self.count(name) or 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A subflow at one instant, with the names of ``ss`` in full and its units made the common ones.

    Bytes and the ``*_limited_s`` are totals since the subflow began. ``app_limited`` is True if the congestion window
    had room when the application had nothing more to send.
    """

    time_s: float
    state: str | None = None
    rtt_s: float | None = None
    rttvar_s: float | None = None
    min_rtt_s: float | None = None
    rto_s: float | None = None
    backoff: int | None = None
    cwnd: int | None = None
    ssthresh: int | None = None
    mss: int | None = None
    unacked: int | None = None
    lost: int | None = None
    snd_wnd: int | None = None
    notsent_bytes: int | None = None
    bytes_sent: int | None = None
    bytes_acked: int | None = None
    bytes_received: int | None = None
    bytes_retrans: int | None = None
    ofo_packets: int | None = None
    pacing_bps: float | None = None
    delivery_bps: float | None = None
    busy_s: float | None = None
    rwnd_limited_s: float | None = None
    sndbuf_limited_s: float | None = None
    app_limited: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Subflow:
    """One subflow (or plain TCP connection) as a host's sockets show it.

    ``connection`` is any value that the subflows of a connection have in common: its token, or a number. ``path`` is
    its name in tables. ``is_backup`` is True if either side marked it. ``samples`` are in order of time, and rarely
    empty: a socket that was only seen in a list has one.
    """

    host: str
    local: str
    remote: str
    connection: object = None
    path: str = ""
    is_backup: bool | None = None
    is_mptcp: bool | None = None
    congestion: str | None = None
    ulp: str | None = None
    samples: tuple[Sample, ...] = ()

    @property
    def name(self) -> str:
        """The name of its path, or its addresses."""
        return self.path or f"{self.local} to {self.remote}"

    def last(self, name: str) -> float | None:
        """Return the last known value of a field of the samples."""
        values = (getattr(sample, name) for sample in reversed(self.samples))
        return next((value for value in values if value is not None), None)

    def values(self, name: str) -> list[float]:
        """Return all known values of a field of the samples."""
        return [value for sample in self.samples if (value := getattr(sample, name)) is not None]

    def median(self, name: str) -> float | None:
        """Return the median of a field of the samples, the lower one of two."""
        values = sorted(self.values(name))
        return values[(len(values) - 1) // 2] if values else None

    @property
    def lifetime_s(self) -> float:
        """The time between its first and its last sample."""
        return self.samples[-1].time_s - self.samples[0].time_s if self.samples else 0.0


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One connection as a host knows it (``ss -Mi``): what the kernel's MPTCP_INFO has.

    ``fell_back`` is None if unknown. ``subflows`` counts additional subflows, ``subflows_max`` is their limit there.
    ``received`` are totals of bytes that arrived in order, by time, as pairs (time_s, bytes), only where they change;
    ``pending`` are the bytes that wait to be acknowledged, or to be sent, as such pairs.
    """

    host: str
    connection: object = None
    fell_back: bool | None = None
    subflows: int | None = None
    subflows_max: int | None = None
    add_addr_accepted: int | None = None
    add_addr_signal: int | None = None
    checksum: bool | None = None
    pending: tuple[tuple[float, int], ...] = ()
    received: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Path:
    """One path from the sender to the receiver, as described or measured.

    ``rate_bps`` is the highest rate of TCP's payload, ``round_trip_s`` the propagation in both directions, ``loss`` the
    probability of random loss. ``links`` are the directions of links that it crosses, as ``link1 forward``, each with
    its rate, or None if nothing limits it. ``client`` and ``server`` are the addresses at its ends. ``down`` are the
    intervals in which nothing passed, and it is ``silent`` if its hosts were not told.
    """

    name: str
    rate_bps: float | None = None
    round_trip_s: float | None = None
    loss: float | None = None
    links: Mapping[str, float | None] = field(default_factory=dict)
    client: str | None = None
    server: str | None = None
    is_backup: bool = False
    down: tuple[tuple[float, float], ...] = ()
    silent: bool = False

    def is_down(self, begin_s: float, end_s: float) -> bool:
        """Return whether it was down at some time between two instants."""
        return any(begin < end_s and end > begin_s for begin, end in self.down)


@dataclass(frozen=True, kw_only=True)
class Middlebox:
    """A device that strips, drops or alters MPTCP options: its name, what it does to which option, how often it did."""

    name: str
    verb: str
    option: str
    packets: int


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """The expected behaviour: from the scenario, or from what the user says.

    ``subflows`` is the number that each connection should have. ``is_bulk`` workloads send as much as the paths carry,
    for at least ``duration_s``.
    """

    workload: str = ""
    client: str = ""
    server: str = ""
    sender: str = ""
    receiver: str = ""
    mptcp: bool | None = None
    subflows: int | None = None
    paths: tuple[Path, ...] = ()
    is_bulk: bool | None = None
    start_s: float | None = None
    duration_s: float | None = None
    goodput_bps: float | None = None
    scheduler: str | None = None
    congestion: str | None = None
    gateway: str | None = None


@dataclass(frozen=True, kw_only=True)
class Wait:
    """An interval in which a connection's receiver got nothing new in order, although its sender had data to send."""

    connection: object
    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """Its length."""
        return self.end_s - self.begin_s

    @property
    def text(self) -> str:
        """Length and begin: ``1.2 s from 3.4 s``."""
        return f"{self.length_s:.3g} s from {self.begin_s:.3g} s"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """All that is known.

    ``subflows`` and ``connections`` may be from several hosts. ``captured`` are the connections of captures.
    ``waits`` are longer than the stated length. ``cpus`` has the share of the time
    in which a CPU was busy, by the name of its host, also of hosts on the way.
    """

    hosts: tuple[Host, ...] = ()
    subflows: tuple[Subflow, ...] | None = None
    connections: tuple[Connection, ...] | None = None
    captured: tuple[ConnectionSummary, ...] | None = None
    expected: Expectation | None = None
    middleboxes: tuple[Middlebox, ...] | None = None
    waits: tuple[Wait, ...] | None = None
    cpus: Mapping[str, float] | None = None

    @cached_property
    def client(self) -> Host | None:
        """The host that opens the connections."""
        return next((host for host in self.hosts if host.opens), None)

    @cached_property
    def server(self) -> Host | None:
        """The host that accepts the connections."""
        return next((host for host in self.hosts if host.opens is False), None)

    @cached_property
    def lacking(self) -> frozenset[str]:
        """The names in :data:`NEEDS` of what is not known."""
        return frozenset(need for need, (_, is_known) in NEEDS.items() if not is_known(self))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths that are known."""
        return self.expected.paths if self.expected is not None else ()

    def path(self, name: str) -> Path | None:
        """Return the path with a name."""
        return next((path for path in self.paths if path.name == name), None)

    def senders(self) -> list[Subflow]:
        """Return the subflows at the side that sends the payload: as expected, or where more was acknowledged."""
        subflows = self.subflows or ()
        if self.expected is not None and self.expected.sender:
            return [subflow for subflow in subflows if subflow.host == self.expected.sender]
        acked: dict[str, float] = {}
        for subflow in subflows:
            acked[subflow.host] = acked.get(subflow.host, 0.0) + (subflow.last("bytes_acked") or 0.0)
        sender = max(acked, key=lambda host: acked[host], default="")
        return [subflow for subflow in subflows if subflow.host == sender]

    def merge(self, other: Evidence) -> Evidence:
        """Return this evidence with what ``other`` adds: hosts of new names, and what was not known."""
        names = {host.name for host in self.hosts}
        observations = ("subflows", "connections", "captured", "expected", "middleboxes", "waits", "cpus")
        changes = {name: getattr(other, name) for name in observations if getattr(self, name) is None}
        return replace(self, hosts=(*self.hosts, *(host for host in other.hosts if host.name not in names)), **changes)


#: What reasons may need, by name: the words for messages that say what is missing, and a check.
NEEDS: Mapping[str, tuple[str, Callable[[Evidence], bool]]] = {
    "client counters": (
        "the counters of the host that opens the connections (`nstat -az`)",
        lambda evidence: evidence.client is not None and evidence.client.counters is not None,
    ),
    "server counters": (
        "the counters of the host that accepts the connections (`nstat -az`)",
        lambda evidence: evidence.server is not None and evidence.server.counters is not None,
    ),
    "counters": (
        "the counters of at least one host (`nstat -az`)",
        lambda evidence: any(host.counters is not None for host in evidence.hosts),
    ),
    "endpoints": (
        "the endpoints of both hosts (`ip mptcp endpoint`)",
        lambda evidence: bool(evidence.hosts) and all(host.endpoints is not None for host in evidence.hosts),
    ),
    "limits": (
        "the limits of both hosts (`ip mptcp limits`)",
        lambda evidence: bool(evidence.hosts) and all(host.limits is not None for host in evidence.hosts),
    ),
    "sysctls": (
        "the sysctls (`sysctl net.mptcp net.ipv4.tcp_rmem net.ipv4.tcp_wmem`)",
        lambda evidence: any(host.sysctls is not None for host in evidence.hosts),
    ),
    "events": (
        "the events of the path manager (`ip mptcp monitor`)",
        lambda evidence: any(host.events is not None for host in evidence.hosts),
    ),
    "routes": (
        "the routes from each endpoint (`ip route get PEER from ENDPOINT`)",
        lambda evidence: any(host.routes is not None for host in evidence.hosts),
    ),
    "interfaces": (
        "the state of the interfaces (`ip addr`)",
        lambda evidence: any(host.down is not None for host in evidence.hosts),
    ),
    "openings": (
        "the connections that are being opened (`ss -Mtia`)",
        lambda evidence: any(host.unanswered is not None for host in evidence.hosts),
    ),
    "release": (
        "the kernel's release (`uname -r`)",
        lambda evidence: any(host.release is not None or host.without_settings for host in evidence.hosts),
    ),
    "kernel log": (
        "the kernel's log about joins (`dmesg`, outside of mainline)",
        lambda evidence: any(host.join_errors is not None for host in evidence.hosts),
    ),
    "calls": (
        "the calls of the program (`strace -f -e trace=network`)",
        lambda evidence: any(host.calls is not None for host in evidence.hosts),
    ),
    "traces": (
        "what tracebox says of the path",
        lambda evidence: any(host.traces is not None for host in evidence.hosts),
    ),
    "refusals": (
        "errors of the commands that configure (`ip mptcp endpoint add`)",
        lambda evidence: any(host.refusals is not None for host in evidence.hosts),
    ),
    "addresses": (
        "the addresses of the interfaces (`ip addr`)",
        lambda evidence: any(host.shared_addresses is not None for host in evidence.hosts),
    ),
    "segments": (
        "segments as `tcpdump` prints them, with `ethtool -k`",
        lambda evidence: any(host.checksummed_bytes is not None for host in evidence.hosts),
    ),
    "priorities": (
        "which subflows are backups (`ss -ti`, `ip mptcp monitor`)",
        lambda evidence: bool(evidence.subflows) or any(host.events is not None for host in evidence.hosts),
    ),
    "subflows": ("samples of the subflows (`ss -tiM`)", lambda evidence: bool(evidence.subflows)),
    "connections": ("the state of the connections (`ss -Mi`)", lambda evidence: bool(evidence.connections)),
    "captures": ("a capture of the connection's first packets", lambda evidence: evidence.captured is not None),
    "expectations": (
        "what is expected: number of subflows, rates and round-trip times of the paths",
        lambda evidence: evidence.expected is not None,
    ),
    "waits": ("samples over time, which show when nothing arrived", lambda evidence: evidence.waits is not None),
    "middleboxes": ("the counters of middleboxes", lambda evidence: evidence.middleboxes is not None),
    "cpu": ("the load of the CPUs", lambda evidence: evidence.cpus is not None),
}


# Find waits: intervals in which nothing new arrived, although there was something to send.

#: A wait that is worth a reason is at least this long, in s,
WAIT_S = 0.5
#: and this number of round trips of the slowest path without its queues: in slow start, nothing arrives for one.
_ROUND_TRIPS = 2.0
#: In this share of the samples within a wait, data has to be pending.
_MOSTLY = 0.5


def min_wait_s(paths: Iterable[Path]) -> float:
    """Return the length from which on a wait is reported, for connections on these paths."""
    longest = max((path.round_trip_s or 0.0 for path in paths), default=0.0)
    return max(WAIT_S, _ROUND_TRIPS * longest)


def waits_of(
    received: Sequence[tuple[float, int]],
    pending: Sequence[tuple[float, int]],
    *,
    connection: object,
    min_s: float = WAIT_S,
) -> Iterator[Wait]:
    """Yield the waits of one connection.

    ``received`` are totals by time, only where they change, with the first and the last observation. ``pending`` are
    the bytes that the sender had not had acknowledged, or not sent, by time.
    """
    for (begin_s, _), (end_s, _) in pairwise(received):
        if end_s - begin_s < min_s:
            continue
        inside = [count > 0 for time_s, count in pending if begin_s < time_s < end_s]
        if inside and sum(inside) >= _MOSTLY * len(inside):
            yield Wait(connection=connection, begin_s=begin_s, end_s=end_s)


def pending_of(connection: Connection | None, subflows: Iterable[Subflow]) -> list[tuple[float, int]]:
    """Return the bytes that a sender had not had acknowledged, by time: of its connection, else of its subflows."""
    if connection is not None and connection.pending:
        return list(connection.pending)
    totals: dict[float, int] = {}
    for subflow in subflows:
        for sample in subflow.samples:
            waiting = (sample.unacked or 0) * (sample.mss or 1) + (sample.notsent_bytes or 0)
            totals[sample.time_s] = totals.get(sample.time_s, 0) + waiting
    return sorted(totals.items())
