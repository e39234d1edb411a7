# SPDX-License-Identifier: MIT
"""Measure one run: one :class:`WorkloadMeasurement` per workload.

Goodput is payload at the receiver. Its time runs from the instant at which the client starts to connect to the last
byte that the receiving application read, so it includes handshake and slow start, and the draining of queues at the
end. For ``iperf3`` it is the value that its own server reports.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mptcplab.explain.reason import Finding
from mptcplab.lazy import pl
from mptcplab.metrics import algorithms, subflows
from mptcplab.metrics.catalog.cpu import cpu_warnings
from mptcplab.metrics.column import Subject
from mptcplab.metrics.evidence import reasons_of
from mptcplab.metrics.gateways import GatewayUse, gateway_uses
from mptcplab.metrics.manifest import RecordedTransport, read_addresses, read_nodes, transports_of
from mptcplab.metrics.network import NetworkCounters, network_counters, network_warnings, unused_link_warnings
from mptcplab.metrics.registry import compute_metrics
from mptcplab.metrics.subflows import (
    Ends,
    MptcpCounts,
    MptcpUse,
    Sockets,
    SocketSample,
    dropped_text,
    mptcp_counts,
    read_counters,
    workload_samples,
)
from mptcplab.metrics.warnings import (
    failure_warnings,
    kernel_complaints,
    late_window_warnings,
    machine_warnings,
    outage_warnings,
    pause_warnings,
)
from mptcplab.recording.record import Recording
from mptcplab.workload.outputs import NO_FAILURES, Failures, Items, TimedMessages, read_starts
from mptcplab.workload.recorded import RecordedWorkload, read_workload, read_workloads
from mptcplab.workload.registry import workload_of

_NO_CONNECTION = "no connection was seen carrying data"


@dataclass(frozen=True)
class WorkloadMeasurement:
    """The values of one workload in one run.

    ``metrics`` has the metrics that have a meaning for it, by name, and ``never`` the names of metrics whose event did
    not occur within the run. ``is_bulk`` comes from :class:`Ends`. ``reasons`` say why it is so. ``gateways`` carried
    its connections; with one, the shares of ``sockets`` are from its inner connections. ``mptcp_faults`` say how the
    use of MPTCP differs from what was asked for; None if neither the client nor a gateway asked for it. ``failures``
    has its connections that failed.
    """

    workload: str
    goodput_bps: float
    sockets: Sockets
    scheduler: str
    counts: MptcpCounts
    warnings: tuple[str, ...]
    metrics: Mapping[str, float] = field(default_factory=dict)
    is_bulk: bool = False
    gateways: tuple[GatewayUse, ...] = ()
    never: tuple[str, ...] = ()
    reasons: tuple[Finding, ...] = ()
    mptcp_faults: tuple[str, ...] | None = None
    failures: Failures = NO_FAILURES

    @property
    def duration_s(self) -> float:
        """The time over which goodput is computed."""
        return self.metrics["duration_s"]


def items_of(recording: Recording) -> dict[str, Items]:
    """Return what each workload of a run delivered one by one, if it does: objects, requests, messages."""
    workloads = read_workloads(recording)
    pairs = ((workload.name, workload_of(workload).items(recording, workload.name)) for workload in workloads)
    return {name: some for name, some in pairs if some is not None}


def timed_messages_of(recording: Recording, workload: str) -> TimedMessages | None:
    """Return the messages of a workload with the instants at which they were due, if it sends such."""
    return workload_of(read_workload(recording, workload)).timed_messages(recording, workload)


def measure(recording: Recording, network: NetworkCounters | None = None) -> list[WorkloadMeasurement]:
    """Measure all workloads of a run, in the order of the scenario; ``network`` has its counters, if already read.

    :raises LabError: if a program's output is invalid.
    """
    network = network if network is not None else network_counters(recording)
    return [measure_workload(recording, workload, network) for workload in read_workloads(recording)]


def measure_workload(recording: Recording, workload: RecordedWorkload, network: NetworkCounters) -> WorkloadMeasurement:
    """Measure one workload of a run. :raises LabError: if a program's output is invalid."""
    name, ends, kind = workload.name, workload.ends, workload_of(workload)
    reading, failures = kind.read(recording, name), kind.failed_connections(recording, name)
    observed = _observe_sockets(recording, workload, network)
    sockets = observed.sockets
    subject = Subject(recording, workload, ends, reading, sockets, observed.counts, failures=failures)
    values = compute_metrics(subject)
    gateways = tuple(gateway_uses(recording, workload))
    warnings = _socket_warnings(recording, workload, network, observed, failures)
    return WorkloadMeasurement(
        workload=name,
        goodput_bps=reading.goodput_bps,
        sockets=replace(sockets, shares=dict(gateways[0].shares)) if gateways else sockets,
        scheduler=algorithms.scheduler_names(observed.subflows) if sockets.use.with_mptcp else "",
        counts=observed.counts,
        warnings=(
            *warnings.use,
            *warnings.counts,
            *warnings.idle_paths,
            *_algorithm_warnings(recording, workload, observed),
            *kernel_complaints(recording),
            *machine_warnings(recording),
            *cpu_warnings(recording, ends),
            *failure_warnings(recording, failures),
            *outage_warnings(subject),
            *late_window_warnings(recording, ends),
            *network_warnings(network),
            *pause_warnings(recording, ends, sockets.shares, with_mptcp=observed.requests_mptcp),
            *(warning for gateway in gateways for warning in gateway.warnings),
            *warnings.unused_links,
        ),
        metrics={name: value for name, value in values.items() if value != math.inf},
        never=tuple(name for name, value in values.items() if value == math.inf),
        reasons=reasons_of(
            recording, workload, network, goodput_bps=reading.goodput_bps, with_mptcp=observed.requests_mptcp
        ),
        is_bulk=ends.is_bulk,
        gateways=gateways,
        failures=failures,
        mptcp_faults=_mptcp_faults(warnings.mptcp_faults if observed.asks_for_mptcp else None, gateways),
    )


@dataclass(frozen=True)
class _ObservedSockets:
    """The sockets of a workload, beside what was requested for them.

    ``subflows`` are the algorithms of the sender's subflows, ``counts`` the MPTCP counters of both hosts.
    ``requests_mptcp`` says that one of the hosts requests MPTCP, ``opens_tcp`` that the client is set to TCP.
    """

    sockets: Sockets
    subflows: Sequence[Sequence[algorithms.SubflowAlgorithms]]
    counts: MptcpCounts
    requests_mptcp: bool
    opens_tcp: bool

    @property
    def asks_for_mptcp(self) -> bool:
        """True if the client asks for MPTCP."""
        return self.requests_mptcp and not self.opens_tcp


def _observe_sockets(recording: Recording, workload: RecordedWorkload, network: NetworkCounters) -> _ObservedSockets:
    """Return the workload's sockets by their last samples, corrected by what the kernels counted."""
    ends = workload.ends
    sent = subflows.data_connections(
        _last_samples(recording, ends, ends.sender, ends.sending), "bytes_acked", min_share=ends.min_share
    )
    received_samples = _last_samples(recording, ends, ends.receiver, ends.receiving)
    started = read_starts(recording, ends.sending) if ends.sending is not None else []
    seen = algorithms.seen_subflows(recording, ends.sender, sent, started)
    counts = mptcp_counts(read_counters(recording, node) for node in (ends.sender, ends.receiver))
    transports = transports_of(recording, ends.sender, ends.receiver)
    requests_mptcp = any((ends.protocol or transport.protocol) == "mptcp" for transport in transports.values())
    opens_tcp = _opens_tcp(workload, transports)
    sampled = _build_sockets(recording, sent, received_samples, ends, algorithms.congestion_names(seen))
    counted = _with_counted_fallbacks(sampled, counts) if requests_mptcp else sampled
    corrected = replace(counted, use=_correct_use(counted.use, workload, network, opens_tcp=opens_tcp))
    return _ObservedSockets(corrected, seen, counts, requests_mptcp, opens_tcp)


def _last_samples(recording: Recording, ends: Ends, node: str, program: str | None) -> list[SocketSample]:
    samples = subflows.last_samples(recording.subflows, node=node, program=program)
    return workload_samples(samples, recording, ends, node, program)


@dataclass(frozen=True)
class _SocketWarnings:
    """The warnings about a workload's sockets, in the parts between which other warnings stand."""

    use: tuple[str, ...]
    counts: tuple[str, ...]
    idle_paths: tuple[str, ...]
    unused_links: tuple[str, ...]
    mptcp_faults: tuple[str, ...]
    """The differences between the use of MPTCP and what was requested."""


def _socket_warnings(
    recording: Recording,
    workload: RecordedWorkload,
    network: NetworkCounters,
    observed: _ObservedSockets,
    failures: Failures,
) -> _SocketWarnings:
    ends, sockets = workload.ends, observed.sockets
    nodes = read_nodes(recording)
    backups = nodes[ends.sender].backup_links | nodes[ends.receiver].backup_links
    use_warnings: tuple[str, ...] = ()
    count_warnings: tuple[str, ...] = ()
    idle_path_warnings: tuple[str, ...] = ()
    # If all connections failed, other warnings say so.
    if observed.requests_mptcp and (sockets.use.connections or not failures.failed):
        use_warnings = tuple(_use_warnings(sockets, workload, backups, opens_tcp=observed.opens_tcp))
        count_warnings = tuple(_count_warnings(sockets.use, observed.counts))
        idle_path_warnings = tuple(_idle_warnings(sockets, ends, backups))
    unused_links = (
        tuple(unused_link_warnings(recording, ends, sockets.shares, network)) if _spreads(sockets, ends) else ()
    )
    use_faults = use_warnings if sockets.use.connections else (_NO_CONNECTION,)
    return _SocketWarnings(
        use_warnings,
        count_warnings,
        idle_path_warnings,
        unused_links,
        mptcp_faults=(*use_faults, *idle_path_warnings, *unused_links),
    )


def _algorithm_warnings(recording: Recording, workload: RecordedWorkload, observed: _ObservedSockets) -> Iterator[str]:
    sender = workload.ends.sender
    requested = algorithms.requested_algorithms(workload, transports_of(recording, sender)[sender])
    with_mptcp = bool(observed.sockets.use.with_mptcp)
    yield from algorithms.algorithm_warnings(observed.subflows, requested, with_mptcp=with_mptcp)
    yield from algorithms.uncoupling_warnings(recording, sender)


def _mptcp_faults(of_client: tuple[str, ...] | None, gateways: Sequence[GatewayUse]) -> tuple[str, ...] | None:
    """Return the faults of the client's own use of MPTCP, None if it asks for TCP, with its gateways' faults."""
    known = [faults for faults in (of_client, *(gateway.mptcp_faults for gateway in gateways)) if faults is not None]
    return tuple(fault for faults in known for fault in faults) if known else None


def _spreads(sockets: Sockets, ends: Ends) -> bool:
    """Return whether all connections of a bulk workload use several subflows; another warning is about a single one."""
    use = sockets.use
    return ends.is_bulk and use.connections == use.with_mptcp > 0 and not use.single


def _build_sockets(
    recording: Recording,
    sent: Sequence[Sequence[SocketSample]],
    receiving: Sequence[SocketSample],
    ends: Ends,
    congestion: tuple[str, ...],
) -> Sockets:
    received = subflows.data_connections(receiving, "bytes_received", min_share=ends.min_share)
    samples = [sample for connection in sent for sample in connection]
    program = ends.receiving
    fell_back = _count_reported_fallbacks(recording, program) if program is not None else _count_fallbacks(received)
    reported = _reported_connections(recording, program)
    with_mptcp = [
        group
        for group in received
        if any(
            sample.protocol == "mptcp" or sample.subflow_id is not None or sample.conn in reported for sample in group
        )
    ]
    return Sockets(
        use=MptcpUse(
            connections=len(received),
            with_mptcp=max(0, len(with_mptcp) - fell_back),
            fell_back=fell_back,
            subflows=max((len(group) for group in with_mptcp), default=0),
            carrying=subflows.count_by_carrying_subflows(with_mptcp),
        ),
        shares=subflows.compute_shares(received, read_addresses(recording)),
        retransmitted_bytes=subflows.sum_known(samples, "bytes_retrans"),
        sent_bytes=subflows.sum_known(samples, "bytes_sent"),
        congestion=congestion,
    )


def _with_counted_fallbacks(sockets: Sockets, counts: MptcpCounts) -> Sockets:
    """Add fallbacks that the kernel counted: a receiver that only speaks TCP does not know that MPTCP was requested."""
    use = sockets.use
    if use.with_mptcp or use.fell_back or not counts.fallbacks:
        return sockets
    return replace(sockets, use=replace(use, fell_back=min(use.connections, counts.fallbacks)))


def _correct_use(use: MptcpUse, workload: RecordedWorkload, network: NetworkCounters, *, opens_tcp: bool) -> MptcpUse:
    """Return the use without apparent fallbacks of plain TCP, and with the connections that no sample shows."""
    if opens_tcp:
        # A listening MPTCP socket calls each plain TCP connection a fallback, also of a client that never asked.
        use = replace(use, fell_back=0)
    if workload.ends.receiving is None:  # other programs report their own sockets
        use = replace(use, unseen=network.unseen[workload.client, workload.server])
    return use


def _opens_tcp(workload: RecordedWorkload, transports: Mapping[str, RecordedTransport]) -> bool:
    """Return whether the client, which alone can ask for MPTCP, is set to TCP."""
    return workload.ends.protocol is None and transports[workload.client].protocol == "tcp"


def _reported_connections(recording: Recording, program: str | None) -> set[int]:
    """Return the connections of which the kernel told ``program`` what it only tells of MPTCP: their token.

    Kernels before 6.5 do not number subflows.
    """
    table = recording.connections
    if program is None or not {"fallback", "token"} <= set(table.columns):
        return set()
    frame = table.filter((pl.col("program") == program) & pl.col("token").is_not_null() & ~pl.col("fallback"))
    return set(frame["conn"])


def _count_reported_fallbacks(recording: Recording, program: str) -> int:
    table = recording.connections
    if not table.height or "fallback" not in table.columns:
        return 0
    fell = table.filter((pl.col("program") == program) & pl.col("fallback"))
    return fell["conn"].n_unique()


def _count_fallbacks(received: Sequence[Sequence[SocketSample]]) -> int:
    """Count connections that fell back: their subflow keeps its upper-layer protocol, but does not speak MPTCP."""
    asked = (group for group in received if any(sample.protocol == "mptcp" for sample in group))
    return sum(1 for group in asked if not any(map(subflows.speaks_mptcp, group)))


def _use_warnings(
    sockets: Sockets, workload: RecordedWorkload, backups: Collection[str], *, opens_tcp: bool
) -> Iterator[str]:
    """Yield how the sockets of a workload differ from MPTCP on several subflows, for which its hosts are set.

    ``backups`` are the links that should carry nothing as long as others work.
    """
    use = sockets.use
    if use.connections == 0:
        yield (
            "no connection was seen carrying data, so it is unknown whether MPTCP was in use. A shorter `interval` in "
            "[record] shows more"
        )
    elif use.fell_back:
        yield f"{use.fell_back} of {use.connections} connections fell back to TCP"
    elif use.with_mptcp < use.connections:
        plain = f"{use.connections - use.with_mptcp} of {use.connections} connections are plain TCP"
        yield f"{plain}, since {workload.client} is set to TCP" if opens_tcp else f"MPTCP was requested, but {plain}"
    elif workload.ends.is_bulk and use.single and not (backups and use.subflows > 1) and not use.is_doubtful:
        some = subflows.describe_share(use.single, use.with_mptcp)
        shown = " that samples show" if some and use.unseen else ""
        yield f"MPTCP was in use, but only one subflow carried data{some}{shown}"


def _count_warnings(use: MptcpUse, counts: MptcpCounts) -> Iterator[str]:
    """Yield where samples of the sockets miss what the kernel counted, or contradict it."""
    if use.is_doubtful:
        yield (
            "samples miss connections that the kernel accepted: subflows and shares count only what they show. A "
            "shorter `interval` in [record] shows more"
        )
    if counts.mp_capable is not None and use.with_mptcp > counts.mp_capable:
        yield f"the sockets show MPTCP, but the kernel accepted only {counts.mp_capable} MPTCP connections"
    if counts.fallbacks and not use.fell_back:
        plural = "s" if counts.fallbacks > 1 else ""
        yield f"the kernel counted {counts.fallbacks} fallback{plural} to TCP on these hosts"
    if counts.dropped_beyond_window:
        yield dropped_text(counts.dropped_beyond_window, "these hosts")


def _idle_warnings(sockets: Sockets, ends: Ends, backups: Collection[str]) -> Iterator[str]:
    """Yield the paths, other than backups, whose subflow carried next to nothing of bulk data."""
    if sockets.use.with_mptcp and ends.is_bulk and not sockets.use.is_doubtful:
        for path in subflows.idle_paths(sockets.shares):
            if not set(backups).intersection(path.split(">")):
                yield f"the subflow on {path} carried less than 1 % of the data"
