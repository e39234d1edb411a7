# SPDX-License-Identifier: MIT
"""The evidence in a recording for :mod:`mptcplab.explain`, and the reasons that apply to a workload or to a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, NamedTuple

from mptcplab.explain.evidence import (
    Connection,
    Endpoint,
    Evidence,
    Expectation,
    Host,
    Limits,
    Middlebox,
    Path,
    Sample,
    Subflow,
    Wait,
    min_wait_s,
    pending_of,
    waits_of,
)
from mptcplab.explain.reason import STRONG, Finding
from mptcplab.explain.registry import explain
from mptcplab.lazy import pl
from mptcplab.metrics.catalog.cpu import compute_cpu_shares
from mptcplab.metrics.instants import Instant, changes_rates, is_silent, read_instants
from mptcplab.metrics.manifest import Gateway, Node, read_addresses, read_gateways, read_links, read_nodes
from mptcplab.metrics.network import (
    MIDDLEBOXES,
    NetworkCounters,
    paths_between,
    read_kernel_endpoints,
    read_kernel_limits,
    subflows_meant,
)
from mptcplab.metrics.subflows import (
    Ends,
    SocketSample,
    gateways_of,
    inner_of,
    read_counters,
    read_rows,
    read_samples,
    speaks_mptcp,
    workload_samples,
)
from mptcplab.metrics.warnings import merge_similar_warnings
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import RecordedWorkload, client_program, read_programs, read_workloads

# The evidence in a recording, for :mod:`mptcplab.explain`: one workload of one run.
#
# Of a workload that a gateway carries, it is the evidence of the connections between the gateway's two sides.

_NS, _US = 1e9, 1e6
#: Samples of a subflow are thinned to about this number, but never to less than one in this time.
_SAMPLES, _FINEST_NS, _COARSEST_NS = 500, 10_000_000, 100_000_000
#: Fields of samples by the columns of recordings, with the factor of their unit.
_SECONDS = {
    "rtt_us": "rtt_s", "rttvar_us": "rttvar_s", "min_rtt_us": "min_rtt_s", "rto_us": "rto_s",
    "busy_time_us": "busy_s", "rwnd_limited_us": "rwnd_limited_s", "sndbuf_limited_us": "sndbuf_limited_s",
}  # fmt: skip
_COUNTS = {
    "state": "state", "snd_cwnd": "cwnd", "snd_ssthresh": "ssthresh", "snd_mss": "mss", "unacked": "unacked",
    "lost": "lost", "snd_wnd": "snd_wnd", "notsent_bytes": "notsent_bytes", "bytes_sent": "bytes_sent",
    "bytes_acked": "bytes_acked", "bytes_received": "bytes_received", "bytes_retrans": "bytes_retrans",
    "rcv_ooopack": "ofo_packets",
}  # fmt: skip
_BITS = {"pacing_rate": "pacing_bps", "delivery_rate": "delivery_bps"}
_USED = (*_SECONDS, *_COUNTS, *_BITS, "token", "flags", "protocol", "congestion", "subflow_id")
#: MPTCP_SUBFLOW_FLAG_BKUP_REM and MPTCP_SUBFLOW_FLAG_BKUP_LOC of include/uapi/linux/mptcp.h.
_BACKUP = 1 << 4 | 1 << 5
_ANSWERED_BY_TCP = "MPTcpExtMPCapableFallbackSYNACK"
#: A pacing rate of all ones stands for no limit.
_UNLIMITED = 1 << 63


@dataclass(frozen=True)
class _NodePair:
    """The two nodes whose connections are explained, and the program of each that reports its sockets, if one does."""

    client: str
    server: str
    sender: str
    receiver: str
    programs: Mapping[str, str | None]
    gateway: Gateway | None


def evidence_of(
    recording: Recording, workload: RecordedWorkload, network: NetworkCounters, *, goodput_bps: float | None
) -> Evidence:
    """Return what a recording shows of one workload."""
    ends, pair = workload.ends, _select_node_pair(recording, workload)
    paths = tuple(_build_paths(recording, ends, pair))
    seen = tuple(_build_subflows(recording, ends, pair))
    connections = tuple(_build_connections(recording, pair))
    return Evidence(
        hosts=tuple(_build_host(recording, ends, pair, name) for name in dict.fromkeys((pair.client, pair.server))),
        subflows=seen,
        connections=connections,
        expected=_describe_expected(recording, workload, pair, paths, goodput_bps),
        middleboxes=tuple(
            Middlebox(name=count.router, verb=count.verb, option=count.option, packets=count.packets)
            for count in network.get(MIDDLEBOXES)
        ),
        waits=tuple(_find_waits(seen, connections, pair, paths)),
        cpus=compute_cpu_shares(recording, ends) or None,
    )


def _select_node_pair(recording: Recording, workload: RecordedWorkload) -> _NodePair:
    ends = workload.ends
    gateway = next(gateways_of(recording, ends.workload), None)
    if gateway is None:
        programs = {ends.sender: ends.sending, ends.receiver: ends.receiving}
        return _NodePair(workload.client, workload.server, ends.sender, ends.receiver, programs, None)
    inner = inner_of(gateway, ends, workload.client)
    return _NodePair(gateway.entry, gateway.exit, inner.sender, inner.receiver, {}, gateway)


def _build_host(recording: Recording, ends: Ends, pair: _NodePair, name: str) -> Host:
    node = read_nodes(recording)[name]
    addresses = [address for address, owner in read_addresses(recording).items() if owner.node == name]
    protocol = _find_protocol(ends, node, pair)
    speaks = protocol == "mptcp"
    return Host(
        name=name,
        opens=name == pair.client,
        counters=_read_counters(recording, name, node.transport.protocol if node.transport is not None else None),
        endpoints=tuple(_read_endpoints(recording, name)) if speaks else (),
        limits=_read_limits(recording, name) if speaks else None,
        sysctls=_read_sysctls(recording, name),
        addresses=tuple(addresses),
        path_manager=node.transport.path_manager if node.transport is not None else None,
        protocol=protocol,
    )


def _read_counters(recording: Recording, name: str, protocol: str | None) -> Mapping[str, int]:
    """Return a node's counters, without the counter of answers of its own proxy if its programs speak MPTCP.

    The entry of a gateway answers them with TCP, as it should: nothing was removed on the way.
    """
    counters = read_counters(recording, name)
    entries = {gateway.entry for gateway in read_gateways(recording) if gateway.carried}
    if name in entries and protocol == "mptcp":
        counters.pop(_ANSWERED_BY_TCP, None)
    return counters


def _find_protocol(ends: Ends, node: Node, pair: _NodePair) -> str | None:
    """Return the protocol that a node requests for its connections; a gateway's programs have the node's."""
    requested = ends.protocol if pair.gateway is None else None
    return requested or (node.transport.protocol if node.transport is not None else None)


def _read_endpoints(recording: Recording, host: str) -> Iterator[Endpoint]:
    for endpoint in read_kernel_endpoints(recording, host) or ():
        yield Endpoint(
            address=endpoint.address,
            flags=endpoint.flags,
            id=endpoint.id,
            port=endpoint.port,
            device=endpoint.device,
        )


def _read_limits(recording: Recording, host: str) -> Limits | None:
    """Return the limits at the end of the run."""
    limits = read_kernel_limits(recording, host) or {}
    return Limits(**limits) if len(limits) == len(fields(Limits)) else None


def _read_sysctls(recording: Recording, host: str) -> dict[str, str]:
    file = recording.folder / "counters" / host / "sysctl.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    transport = read_nodes(recording)[host].transport
    configured = {name: str(value) for name, value in transport.sysctl.items()} if transport is not None else {}
    return configured | {name: value for line in lines for name, _, value in [line.partition(" = ")]}


def _build_paths(recording: Recording, ends: Ends, pair: _NodePair) -> Iterator[Path]:
    """Yield the workload's paths; their ``client`` and ``server`` are the addresses of those nodes."""
    links = read_links(recording)
    happened = read_instants(recording)
    addresses = {(owner.node, owner.link): host for host, owner in read_addresses(recording).items()}
    nodes = read_nodes(recording)
    backups = {link for name in (pair.client, pair.server) for link in nodes[name].backup_links}
    for name, steps in paths_between(recording, ends).items():
        there = {f"{link} {direction}": links[link].in_direction(direction) for link, direction in steps}
        back = [
            links[link].in_direction("backward" if direction == "forward" else "forward") for link, direction in steps
        ]
        rates = [direction.payload_bps for direction in there.values()]
        first, last = steps[0][0], steps[-1][0]
        of_client, of_server = (first, last) if pair.client == pair.sender else (last, first)
        names = {link for link, _ in steps}
        down = _find_down_spans(happened, names)
        yield Path(
            name=name,
            rate_bps=min((rate for rate in rates if rate is not None), default=None),
            round_trip_s=sum(direction.delay_s for direction in (*there.values(), *back)),
            loss=1 - _product(1 - direction.chances.high for direction in there.values()),
            links={step: direction.payload_bps for step, direction in there.items()},
            client=addresses.get((pair.client, of_client)),
            server=addresses.get((pair.server, of_server)),
            is_backup=bool(names & backups),
            down=down,
            silent=bool(down) and any(is_silent(recording, link) for link in names),
        )


def _product(factors: Iterable[float]) -> float:
    product = 1.0
    for factor in factors:
        product *= factor
    return product


def _find_down_spans(happened: Sequence[Instant], links: set[str]) -> tuple[tuple[float, float], ...]:
    """Return the intervals in which any of ``links`` was down."""
    spans: list[tuple[float, float]] = []
    since: dict[str, float] = {}
    for instant in happened:
        if instant.place not in links:
            continue
        if instant.is_failure:
            since.setdefault(instant.place, instant.time_s)
        elif instant.place in since:
            spans.append((since.pop(instant.place), instant.time_s))
    return (*spans, *((begin, inf) for begin in since.values()))


def _describe_expected(
    recording: Recording,
    workload: RecordedWorkload,
    pair: _NodePair,
    paths: tuple[Path, ...],
    goodput_bps: float | None,
) -> Expectation:
    ends = workload.ends
    nodes = read_nodes(recording)
    transport = nodes[pair.sender].transport
    clients = [program for program in read_programs(recording) if program.name == client_program(ends.workload)]
    times = [(span[0] / _NS, span[1] / _NS) for client in clients if (span := client.span_ns) is not None]
    return Expectation(
        workload=ends.workload,
        client=pair.client,
        server=pair.server,
        sender=pair.sender,
        receiver=pair.receiver,
        mptcp=any(_find_protocol(ends, nodes[name], pair) == "mptcp" for name in (pair.client, pair.server)),
        subflows=None if pair.gateway is not None else subflows_meant(recording, ends),
        paths=paths,
        is_bulk=ends.is_bulk,
        start_s=min((begin for begin, _ in times), default=None),
        duration_s=max((end for _, end in times), default=0.0) - min((begin for begin, _ in times), default=0.0),
        goodput_bps=goodput_bps if _is_comparable(recording) else None,
        scheduler=workload.scheduler or (transport and transport.scheduler) or "default",
        congestion=workload.congestion_control or (transport and transport.congestion_control) or "cubic",
        gateway=pair.gateway.program if pair.gateway is not None else None,
    )


def _is_comparable(recording: Recording) -> bool:
    """Return whether the goodput of a workload can be compared with what its paths carry: alone, at constant rates."""
    return len(read_workloads(recording)) == 1 and not changes_rates(recording)


def _build_subflows(recording: Recording, ends: Ends, pair: _NodePair) -> Iterator[Subflow]:
    inner = inner_of(pair.gateway, ends, pair.client) if pair.gateway is not None else None
    for name in dict.fromkeys((pair.sender, pair.receiver)):
        program = pair.programs.get(name)
        samples = _thin_samples(recording, name, program)
        of_workload = workload_samples(samples, recording, ends, name, program, inner)
        yield from _subflows_of({sample: samples[sample] for sample in of_workload}, recording, name, pair.sender)


def _thin_samples(recording: Recording, node: str, program: str | None) -> dict[SocketSample, Sample]:
    """Return the samples of a node's program, or of all its sockets, thinned evenly in time, in order.

    Each is there as other metrics see it, and as evidence.
    """
    table = recording.subflows
    if not table.height or (program is not None and "program" not in table.columns):
        return {}
    ends_ns = [program.end_ns for program in read_programs(recording) if program.end_ns is not None]
    end = max(ends_ns, default=0)
    step = min(max(end // _SAMPLES, _FINEST_NS), _COARSEST_NS)
    wanted = pl.col("node") == node
    if "program" in table.columns:
        wanted &= pl.col("program").is_null() if program is None else pl.col("program") == program
    keys = [name for name in ("conn", "local", "remote") if name in table.columns]
    used = [name for name in (*keys, "time_ns", *_USED) if name in table.columns]
    rows = table.lazy().filter(wanted).select(used).collect()
    columns = rows[["time_ns", *keys]].to_dict(as_series=False)
    times = columns.pop("time_ns")
    # Rows of a socket are in order of time, so that the last of each step stays.
    samples = enumerate(zip(times, *columns.values(), strict=True))
    last = {(time_ns // step, *key): index for index, (time_ns, *key) in samples}
    indices = sorted(last.values(), key=times.__getitem__)
    thin = rows[indices]
    return dict(zip(read_samples(thin), map(_build_sample, thin.iter_rows(named=True)), strict=True))


def _subflows_of(
    samples: Mapping[SocketSample, Sample], recording: Recording, host: str, sender: str
) -> Iterator[Subflow]:
    sockets: dict[tuple[int | None, str, str], list[SocketSample]] = {}
    addresses = read_addresses(recording)
    for sample in samples:
        sockets.setdefault(sample.socket, []).append(sample)
    for (conn, local, remote), of_socket in sockets.items():
        token = next((sample.token for sample in of_socket if sample.token), None)
        flags = [sample.flags for sample in of_socket if sample.flags is not None]
        yield Subflow(
            host=host,
            local=local,
            remote=remote,
            connection=conn if conn is not None else token if token is not None else (local, remote),
            path=of_socket[0].path(addresses, is_sender=host == sender),
            is_backup=any(flag & _BACKUP for flag in flags) if flags else None,
            is_mptcp=any(speaks_mptcp(sample) or sample.subflow_id is not None for sample in of_socket),
            congestion=next((sample.congestion for sample in reversed(of_socket) if sample.congestion), None),
            samples=tuple(samples[sample] for sample in of_socket),
        )


def _build_sample(row: Mapping[str, Any]) -> Sample:
    """Return a row of ``subflows.parquet`` as evidence, in seconds and bit/s."""
    values: dict[str, Any] = {field: row.get(column) for column, field in _COUNTS.items()}
    values |= {field: row[column] / _US for column, field in _SECONDS.items() if row.get(column) is not None}
    if not values.get("rtt_s"):  # no answer yet; the smallest time is then all ones
        values |= {"rtt_s": None, "rttvar_s": None, "min_rtt_s": None}
    rates = {field: row.get(column) for column, field in _BITS.items()}
    # Before a rate is known, and where it has no limit, the kernel reports 0 or all ones.
    values |= {field: 8 * rate for field, rate in rates.items() if rate is not None and 0 < rate < _UNLIMITED}
    return Sample(time_s=row["time_ns"] / _NS, **values)


class _ConnectionSample(NamedTuple):
    """A row of ``connections.parquet``: what a connection reported of itself. What a row lacks is None."""

    conn: int
    time_ns: int
    fallback: bool | None = None
    subflows: int | None = None
    subflows_max: int | None = None
    add_addr_accepted: int | None = None
    add_addr_signal: int | None = None
    csum_enabled: int | None = None
    total: int | None = None
    write_seq: int | None = None
    snd_una: int | None = None


def _build_connections(recording: Recording, pair: _NodePair) -> Iterator[Connection]:
    table = recording.connections
    for host, program in pair.programs.items():
        if program is None or not table.height:
            continue
        of_program = table.lazy().filter(pl.col("program") == program).sort("time_ns", maintain_order=True).collect()
        samples: dict[int, list[_ConnectionSample]] = {}
        for sample in read_rows(_ConnectionSample, _ConnectionSample._fields, of_program):
            samples.setdefault(sample.conn, []).append(sample)
        yield from (_build_connection(of_connection, host, conn) for conn, of_connection in samples.items())


def _build_connection(samples: Sequence[_ConnectionSample], host: str, conn: int) -> Connection:
    def last_known(name: str) -> Any:
        return next((value for sample in reversed(samples) if (value := getattr(sample, name)) is not None), None)

    checksum = last_known("csum_enabled")
    return Connection(
        host=host,
        connection=conn,
        fell_back=last_known("fallback"),
        subflows=last_known("subflows"),
        subflows_max=last_known("subflows_max"),
        add_addr_accepted=last_known("add_addr_accepted"),
        add_addr_signal=last_known("add_addr_signal"),
        checksum=None if checksum is None else bool(checksum),
        received=tuple(_find_changes(samples)),
        pending=tuple(_pending_bytes(samples)),
    )


def _find_changes(samples: Sequence[_ConnectionSample]) -> Iterator[tuple[float, int]]:
    """Yield the times at which the total grew, with its values; and the first and the last observation."""
    known = [(sample.time_ns / _NS, sample.total) for sample in samples if sample.total is not None]
    before = -1
    for index, (time_s, total) in enumerate(known):
        if total > before or index == len(known) - 1:
            yield time_s, total
        before = total


def _pending_bytes(samples: Sequence[_ConnectionSample]) -> Iterator[tuple[float, int]]:
    for sample in samples:
        if sample.write_seq is not None and sample.snd_una is not None:
            yield sample.time_ns / _NS, max(0, sample.write_seq - sample.snd_una)


def _find_waits(
    seen: Sequence[Subflow], connections: Sequence[Connection], pair: _NodePair, paths: Sequence[Path]
) -> Iterator[Wait]:
    """Yield the waits of connections that report what arrived in order."""
    min_s = min_wait_s(paths)
    for receiving in connections:
        if receiving.host != pair.receiver or not receiving.received:
            continue
        key = pair.sender, receiving.connection
        sending = next(
            (connection for connection in connections if (connection.host, connection.connection) == key), None
        )
        of_sender = [subflow for subflow in seen if (subflow.host, subflow.connection) == key]
        pending = pending_of(sending, of_sender)
        yield from waits_of(receiving.received, pending, connection=receiving.connection, min_s=min_s)


# The reasons that apply to a workload of a run, and to a row of several runs.
#
# A reason says why something is as it is; a warning says that a result may not be what it seems. Tables and reports
# have both. Hints, which merely agree with the evidence, are only in JSON.


@dataclass(frozen=True)
class RowReason:
    """A reason that applies to runs of a row, whose ``seeds`` it has. ``evidence`` is from the first of them.

    It is in the notes of tables if it ``is_noted``.
    """

    reason: str
    kind: str
    text: str
    page: str
    evidence: tuple[str, ...]
    seeds: tuple[int, ...]
    is_noted: bool

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        return {
            "reason": self.reason,
            "kind": self.kind,
            "text": self.text,
            "page": self.page,
            "evidence": list(self.evidence),
            "seeds": list(self.seeds),
        }


def reasons_of(
    recording: Recording,
    workload: RecordedWorkload,
    network: NetworkCounters,
    *,
    goodput_bps: float,
    with_mptcp: bool,
) -> tuple[Finding, ...]:
    """Return what applies to a workload. Without MPTCP, that is only what limits any connection: the CPUs."""
    if not with_mptcp:
        return tuple(explain(Evidence(cpus=compute_cpu_shares(recording, workload.ends) or None)))
    return tuple(explain(evidence_of(recording, workload, network, goodput_bps=goodput_bps)))


def reasons_of_row(members: Iterable[tuple[int, Iterable[Finding]]]) -> tuple[RowReason, ...]:
    """Return the reasons of a row from its runs' reasons, by seed. Texts that differ only in numbers are one."""
    known = [(seed, finding) for seed, findings in members for finding in findings]
    texts = merge_similar_warnings(finding.text for _, finding in known)
    alike: dict[str, list[tuple[int, Finding]]] = {}
    for seed, finding in known:
        alike.setdefault(texts[finding.text], []).append((seed, finding))
    return tuple(_of_alike(text, some) for text, some in alike.items())


def _of_alike(text: str, some: list[tuple[int, Finding]]) -> RowReason:
    first = some[0][1]
    return RowReason(
        reason=first.reason,
        kind=first.kind,
        text=text,
        page=first.page,
        evidence=first.lines,
        seeds=tuple(dict.fromkeys(seed for seed, _ in some)),
        is_noted=any(finding.is_noted and finding.strength >= STRONG for _, finding in some),
    )
