# SPDX-License-Identifier: MIT
"""The use of a gateway by a workload: the protocol of its inner connections, and of those on its two outer sides.

A side is called MPTCP only if the sockets of both its ends show it. The kernels' own counters are a second,
independent source: they count the MPTCP connections that a node opened and accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mptcplab.metrics import algorithms, subflows
from mptcplab.metrics.manifest import Gateway, read_addresses, read_gateways
from mptcplab.metrics.subflows import (
    SocketSample,
    dropped_text,
    gateways_of,
    inner_of,
    inner_samples,
    mptcp_counts,
    read_counters,
    workload_samples,
)
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import RecordedWorkload, read_workloads

_OPENED, _ACCEPTED = "MPTcpExtMPCapableSYNACKRX", "MPTcpExtMPCapableACKRX"
_ANSWERED_BY_TCP = "MPTcpExtMPCapableFallbackSYNACK"
_MIN_SHARE = 0.01


@dataclass(frozen=True)
class GatewayUse:
    """One gateway of a workload, as sockets and counters show it.

    ``client_side`` and ``server_side`` are the protocols of the outer connections, "TCP" or "MPTCP"; empty if none was
    seen. Connections of a tunnel are the workload's own, from end to end, so they may also be "UDP". ``carrying``
    has the number of inner connections by the number of their subflows with data, ``shares`` each inner path's share
    of the data. ``warnings`` say where the gateway did not do what the scenario asked for;
    ``mptcp_faults`` are those about MPTCP between its sides, None if the scenario asked for TCP there.
    """

    name: str
    client_side: str
    inner: str
    server_side: str
    carrying: Mapping[int, int] = field(default_factory=dict)
    congestion: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    mptcp_faults: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The text for a table: ``bond: TCP | MPTCP, 2 subflows, olia | TCP``."""
        words = [self.inner or "nothing"]
        if self.inner == "MPTCP":
            words.append(subflows.subflows_text(self.carrying))
        inner = ", ".join((*words, *self.congestion))
        return f"{self.name}: {self.client_side or 'nothing'} | {inner} | {self.server_side or 'nothing'}"


def text_of_all(runs: Iterable[Sequence[GatewayUse]]) -> str:
    """Return the text for a table of several runs; all texts, if they differ in more than the subflows that carried."""
    alike: dict[tuple[Any, ...], list[Sequence[GatewayUse]]] = {}
    for uses in runs:
        key = tuple((use.name, use.client_side, use.inner, use.server_side, use.congestion) for use in uses)
        alike.setdefault(key, []).append(uses)
    texts = []
    for members in alike.values():
        sums = (sum((Counter(entry.carrying) for entry in same), Counter()) for same in zip(*members, strict=True))
        texts.append("; ".join(replace(use, carrying=sum_).text for use, sum_ in zip(members[0], sums, strict=True)))
    return " / ".join(texts)


@dataclass(frozen=True)
class _Sides:
    """The last samples of the sockets that a gateway and its workload have on each node."""

    client: list[SocketSample]
    entry_outer: list[SocketSample]
    entry_inner: list[SocketSample]
    exit_inner: list[SocketSample]
    exit_outer: list[SocketSample]
    server: list[SocketSample]


def gateway_uses(recording: Recording, workload: RecordedWorkload) -> list[GatewayUse]:
    """Return the gateways that carry a workload, in the scenario's order."""
    return [_use(recording, workload, gateway) for gateway in gateways_of(recording, workload.name)]


def _use(recording: Recording, workload: RecordedWorkload, gateway: Gateway) -> GatewayUse:
    ends = workload.ends
    sides = _sides(recording, workload, gateway)
    is_tunnel = gateway.is_tunnel
    end_to_end = "UDP" if ends.protocol == "udp" else _protocol(sides.client, sides.server)
    inner = inner_of(gateway, ends, workload.client)
    both = {gateway.entry: sides.entry_inner, gateway.exit: sides.exit_inner}
    sent, received = both[inner.sender], both[inner.receiver]
    connections = subflows.data_connections(received, "bytes_received")
    gateway_use = GatewayUse(
        name=gateway.name,
        client_side=end_to_end if is_tunnel else _protocol(sides.client, sides.entry_outer),
        inner=_protocol(sides.entry_inner, sides.exit_inner),
        server_side=end_to_end if is_tunnel else _protocol(sides.exit_outer, sides.server),
        carrying=subflows.count_by_carrying_subflows(connections),
        congestion=_congestion(recording, inner.sender, sent),
        shares=subflows.compute_shares(connections, read_addresses(recording)),
    )
    inner_warnings = tuple(_inner_warnings(gateway, gateway_use, sides, is_bulk=ends.is_bulk))
    others = _other_warnings(recording, workload, gateway, gateway_use, sides) if gateway_use.inner else ()
    return replace(
        gateway_use,
        warnings=(*inner_warnings, *others),
        mptcp_faults=inner_warnings if gateway.protocol == "mptcp" else None,
    )


def _sides(recording: Recording, workload: RecordedWorkload, gateway: Gateway) -> _Sides:
    def samples_of(node: str) -> list[SocketSample]:
        return subflows.last_samples(recording.subflows, node=node, program=None)

    entry, exit_ = samples_of(gateway.entry), samples_of(gateway.exit)
    client, server, ends = workload.client, workload.server, workload.ends
    inner, addresses = inner_of(gateway, ends, client), read_addresses(recording)
    listening = [gateway.listening_port] if gateway.listening_port is not None else []
    return _Sides(
        client=workload_samples(samples_of(client), recording, ends, client, None),
        entry_outer=_samples_at_ports(entry, "local", listening),
        entry_inner=inner_samples(entry, inner, addresses),
        exit_inner=inner_samples(exit_, inner, addresses),
        exit_outer=_samples_at_ports(exit_, "remote", ends.ports),
        server=_samples_at_ports(samples_of(server), "local", ends.ports),
    )


def _samples_at_ports(
    samples: Iterable[SocketSample], end: Literal["local", "remote"], ports: Sequence[int]
) -> list[SocketSample]:
    """Return the subflows of connections with a subflow whose ``end`` is at one of ``ports``."""
    connections = subflows.group_by_connection(samples).values()
    return [sample for some in connections if any(_port(sample, end) in ports for sample in some) for sample in some]


def _port(sample: SocketSample, end: Literal["local", "remote"]) -> int:
    address = sample.local if end == "local" else sample.remote
    return int(address.rpartition(":")[2])


def _protocol(*ends: Sequence[SocketSample]) -> str:
    """Return the protocol of connections by the sockets at their ends; empty if an end has none."""
    if not all(ends):
        return ""
    return "MPTCP" if all(any(map(subflows.speaks_mptcp, samples)) for samples in ends) else "TCP"


def _congestion(recording: Recording, node: str, samples: Sequence[SocketSample]) -> tuple[str, ...]:
    connections = subflows.data_connections(samples, "bytes_acked")
    return algorithms.congestion_names(algorithms.seen_subflows(recording, node, connections, ()))


def _inner_warnings(gateway: Gateway, use: GatewayUse, sides: _Sides, *, is_bulk: bool) -> Iterator[str]:
    """Yield how the inner connections differ from the protocol that was asked for."""
    name, wanted = use.name, gateway.protocol.upper()
    if not use.inner:
        yield f"gateway {name}: no connection between {gateway.entry} and {gateway.exit} was seen"
    elif use.inner != wanted:
        yield f"gateway {name}: {wanted} was requested between entry and exit, but they speak {use.inner}"
    elif use.inner == "MPTCP":
        yield from _weak_use_warnings(use, sides, is_bulk=is_bulk)


def _other_warnings(
    recording: Recording, workload: RecordedWorkload, gateway: Gateway, use: GatewayUse, sides: _Sides
) -> Iterator[str]:
    """Yield where the outer sides, the path of the data, or the kernel's counters contradict the scenario."""
    name = use.name
    for side, protocol in (("client", use.client_side), ("server", use.server_side)):
        if protocol == "MPTCP" and gateway.listening_port is not None:
            yield f"gateway {name}: the connection on the {side}'s side is MPTCP as well"
    yield from _bypass_warnings(gateway, use, sides)
    yield from _contradictions(recording, workload, gateway, use, sides)


def _weak_use_warnings(use: GatewayUse, sides: _Sides, *, is_bulk: bool) -> Iterator[str]:
    """Yield warnings about inner MPTCP connections that did not use what they could: bulk data can use all of it."""
    connections = subflows.group_by_connection(sides.exit_inner).values()
    plain = [samples for samples in connections if not any(map(subflows.speaks_mptcp, samples))]
    if plain:
        yield f"gateway {use.name}: {len(plain)} of {len(connections)} connections between its sides are plain TCP"
    if not is_bulk:
        return
    total, single = sum(use.carrying.values()), subflows.count_single_connections(use.carrying)
    if single or not total:
        yield f"gateway {use.name}: only one of its subflows carried data{subflows.describe_share(single, total)}"
    for path in subflows.idle_paths(use.shares):
        yield f"gateway {use.name}: the subflow on {path} carried less than 1 % of the data"


def _bypass_warnings(gateway: Gateway, use: GatewayUse, sides: _Sides) -> Iterator[str]:
    """Yield a warning if the workload's data did not go through the gateway."""
    inner = _largest_received(sides.entry_inner, sides.exit_inner)
    outer = _largest_received(sides.client, sides.server)
    if inner is not None and outer is not None and inner < _MIN_SHARE * outer:
        yield f"gateway {use.name}: the workload's data did not pass through it"
    elif gateway.listening_port is not None and not (sides.entry_outer and sides.exit_outer):
        yield f"gateway {use.name}: no connection of its outer sides was seen"


def _largest_received(*ends: Sequence[SocketSample]) -> int | None:
    """Return the bytes that the end with more of them received; None if neither reports them."""
    sums = [subflows.sum_known(samples, "bytes_received") for samples in ends]
    return max((count for count in sums if count is not None), default=None)


def _contradictions(
    recording: Recording, workload: RecordedWorkload, gateway: Gateway, use: GatewayUse, sides: _Sides
) -> Iterator[str]:
    """Yield a warning for each count of the kernel that contradicts the sockets, or shows what held them up."""
    tokens = {sample.token for sample in sides.exit_inner if subflows.speaks_mptcp(sample)}
    inner = len(tokens) if use.inner == "MPTCP" else 0
    items = {gateway.entry, gateway.exit} - {workload.client, workload.server}
    dropped = mptcp_counts([read_counters(recording, node) for node in sorted(items)]).dropped_beyond_window
    if dropped:
        # The counters of the workload's own hosts have a warning of their own.
        yield f"gateway {use.name}: {dropped_text(dropped, ' and '.join(sorted(items)))}"
    for node, counter, verb in ((gateway.entry, _OPENED, "opened"), (gateway.exit, _ACCEPTED, "accepted")):
        known = read_counters(recording, node).get(counter)
        if known is not None and known < inner:
            yield f"gateway {use.name}: its sockets show {inner} MPTCP connections, but {node} {verb} only {known}"
        # A program that asks its servers for MPTCP, too, is answered by plain TCP there.
        fallbacks = mptcp_counts([read_counters(recording, node) | {_ANSWERED_BY_TCP: 0}]).fallbacks
        if inner and fallbacks:
            yield f"gateway {use.name}: its sockets show MPTCP, but {node} counted fallbacks to TCP: {fallbacks}"
    outer = ((workload.client, use.client_side, _OPENED), (workload.server, use.server_side, _ACCEPTED))
    for node, protocol, counter in outer:
        known = read_counters(recording, node).get(counter) if _is_only_for(recording, node, gateway) else None
        if protocol == "TCP" and known:
            yield f"gateway {use.name}: the sockets of {node} show TCP, but its kernel counted MPTCP: {known}"


def _is_only_for(recording: Recording, node: str, gateway: Gateway) -> bool:
    """Return whether the counters of a node come from outer sides of the gateway only: it has no other connections."""
    workloads = {workload.name for workload in read_workloads(recording) if node in (workload.client, workload.server)}
    sides = {side for other in read_gateways(recording) for side in (other.entry, other.exit)}
    return node not in sides and workloads <= set(gateway.carried)
