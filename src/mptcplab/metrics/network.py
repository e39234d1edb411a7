# SPDX-License-Identifier: MIT
"""The network of a run as the kernel counted it, not as configured: links, endpoints, middleboxes; and its warnings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mptcplab.errors import LabError
from mptcplab.metrics.column import Column, Display, Scope
from mptcplab.metrics.instants import has_failed, links_without_address, path_manager_events
from mptcplab.metrics.links import LINKS
from mptcplab.metrics.manifest import Node, NodeEndpoint, read_links, read_nodes, read_paths
from mptcplab.metrics.radios import ACCESS_POINTS, RADIO_LINKS, radio_warnings
from mptcplab.metrics.subflows import Ends, count_unseen, mptcp_counts, read_counters
from mptcplab.network.chances import CONFIDENCE
from mptcplab.node.words import LIMITS, REMOVED, EndpointEvent, parse_limits
from mptcplab.recording.record import REPEAT_HINT, Recording
from mptcplab.workload.recorded import read_workloads

# MPTCP endpoints and limits that the kernel had when the run ended, compared with the configured ones.
#
# They are in ``mptcp-endpoint.json`` and ``mptcp-limits.json`` of every node with MPTCP sockets. The kernel adds
# *implicit* endpoints for addresses that a subflow uses and that are not configured. They do not count as a
# difference.

_FLAGS = ("backup", "fullmesh", "signal", "subflow")
_ENDPOINTS_FILE, _LIMITS_FILE = "mptcp-endpoint.json", "mptcp-limits.json"
_IMPLICIT = "implicit"
#: MPTCP_PM_ADDR_FLAG_IMPLICIT, which older versions of ``ip`` have no name for.
_IMPLICIT_BIT = 0x10
_LIMIT = re.compile(r"(subflows|add_addr_accepted)\W+(\d+)")


@dataclass(frozen=True)
class KernelEndpoint:
    """An endpoint that a node's kernel had when the run ended, with the flags that ``ip`` names."""

    address: str
    flags: frozenset[str]
    is_implicit: bool
    id: int | None
    port: int | None
    device: str | None

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> KernelEndpoint:
        """Return the endpoint in an entry of ``ip -j mptcp endpoint``."""
        bits = int(entry.get("rawflags", "0"), 16)
        return cls(
            address=entry["address"],
            flags=frozenset(flag for flag in (*_FLAGS, _IMPLICIT) if entry.get(flag)),
            is_implicit=bool(entry.get(_IMPLICIT) or bits & _IMPLICIT_BIT),
            id=entry.get("id"),
            port=entry.get("port"),
            device=entry.get("dev"),
        )

    @property
    def words(self) -> str:
        """The endpoint as text: ``10.0.1.1 subflow``; an implicit one has no other flags."""
        flags = [_IMPLICIT] if self.is_implicit else [flag for flag in _FLAGS if flag in self.flags]
        return _words(self.address, self.port, flags)


def read_kernel_endpoints(recording: Recording, node: str) -> list[KernelEndpoint] | None:
    """Return the endpoints that a node had when the run ended; None if that was not recorded."""
    if not (recording.folder / "counters" / node / _ENDPOINTS_FILE).exists():
        return None
    return list(map(KernelEndpoint.from_json, recording.counter(node, _ENDPOINTS_FILE)))


def read_kernel_limits(recording: Recording, node: str) -> dict[str, int] | None:
    """Return the limits that a node had, by the kernel's names; None if that was not recorded."""
    file = recording.folder / "counters" / node / _LIMITS_FILE
    # `ip -j` prints the limits as plain text in some versions.
    return {key: int(number) for key, number in _LIMIT.findall(file.read_text())} if file.exists() else None


@dataclass(frozen=True)
class EndpointStates:
    """The endpoints and limits of one node as text: ``10.0.1.1 subflow``. ``asked`` are those configured at the end."""

    host: str
    asked: tuple[str, ...]
    seen: tuple[str, ...]

    @property
    def missing_endpoints(self) -> tuple[str, ...]:
        """Endpoints that were configured and are missing."""
        return tuple(endpoint for endpoint in self.asked if endpoint not in self.seen)

    @property
    def unexpected_endpoints(self) -> tuple[str, ...]:
        """Endpoints that were neither configured nor implicit."""
        return tuple(
            endpoint for endpoint in self.seen if endpoint not in self.asked and not endpoint.endswith(_IMPLICIT)
        )


def endpoint_states(recording: Recording) -> list[EndpointStates]:
    """Return the endpoints of every node that speaks MPTCP, in the order of the scenario."""
    removed = links_without_address(recording)
    nodes = read_nodes(recording).values()
    return [_read_states(recording, node, removed) for node in nodes if node.speaks_mptcp]


def _read_states(recording: Recording, node: Node, removed: set[tuple[str, str]]) -> EndpointStates:
    host = node.name
    endpoints, bounds = _at_the_end(recording, node)
    asked = [endpoint for endpoint in endpoints if not {(endpoint.link, host), (endpoint.link, "")} & removed]
    seen, limits = read_kernel_endpoints(recording, host), read_kernel_limits(recording, host)
    if seen is None or limits is None:
        raise LabError(f"the recording {recording.folder} has no endpoints of {host}", hint=REPEAT_HINT)
    return EndpointStates(
        host=host,
        asked=(*sorted(_words(entry.address, entry.port, entry.flags) for entry in asked), *_limits(bounds)),
        seen=(
            *sorted(endpoint.words for endpoint in seen),
            *_limits(limits),
        ),
    )


def _words(address: str, port: int | None, flags: Sequence[str]) -> str:
    return " ".join((address, *([f"port {port}"] if port else []), *sorted(flags)))


def _at_the_end(recording: Recording, node: Node) -> tuple[list[NodeEndpoint], dict[str, int]]:
    """Return the endpoints and limits of a node after all events that change them."""
    endpoints = {(endpoint.link, endpoint.port): endpoint for endpoint in node.endpoints}
    limits = dict(node.transport.limits) if node.transport is not None else {}
    for change in path_manager_events(recording):
        if change.kind == LIMITS:
            limits |= parse_limits(change.value) if change.link == node.name else {}
            continue
        event = EndpointEvent.parse(change.value)
        key = (change.link, event.port)
        if event.node != node.name:
            continue
        if change.kind == REMOVED:
            endpoints.pop(key, None)
        else:
            endpoints[key] = NodeEndpoint(change.link, event.address, tuple(event.flags), event.port)
    return list(endpoints.values()), limits


def _limits(limits: Mapping[str, int]) -> tuple[str, ...]:
    return (
        f"at most {limits['subflows']} subflows",
        f"at most {limits['add_addr_accepted']} announced addresses",
    )


def endpoint_warnings(seen: Iterable[EndpointStates]) -> Iterator[str]:
    """Yield a warning for each node whose endpoints or limits differ from the configured ones."""
    for states in seen:
        if states.missing_endpoints or states.unexpected_endpoints:
            parts = [("missing", states.missing_endpoints), ("unexpected", states.unexpected_endpoints)]
            differences = "; ".join(f"{word} {', '.join(names)}" for word, names in parts if names)
            yield f"the MPTCP endpoints of {states.host} are not those configured: {differences}"


ENDPOINTS = Scope(
    name="endpoints",
    title="MPTCP endpoints",
    order=3,
    read=endpoint_states,
    keys=(
        Column(name="host", definition="name of the node", type=str),
        Column(name="asked", definition="endpoints and limits that were configured at the end of the run", type=tuple),
        Column(name="seen", definition="the endpoints that the kernel had", type=tuple),
    ),
    notes=("State at the end of the run. The kernel adds implicit endpoints for addresses that subflows use.",),
)


# Packets that middleboxes dropped or altered, by the counters of their rules (``nft.json``), one per action.

_TABLE = "middlebox"


@dataclass(frozen=True)
class MiddleboxCount:
    """The number of packets to which a router applied one action: ``verb`` (drop, strip, mangle, damage) ``option``."""

    router: str
    verb: str
    option: str
    packets: int


def middlebox_counts(recording: Recording) -> list[MiddleboxCount]:
    """Return the counts of every rule of every router, in the order of the scenario."""
    return [
        MiddleboxCount(node.name, verb, option, packets)
        for node in read_nodes(recording).values()
        if node.middlebox
        for (verb, option), packets in zip(node.middlebox, _read_counts(recording, node.name), strict=True)
    ]


def _read_counts(recording: Recording, router: str) -> Iterator[int]:
    for entry in recording.counter(router, "nft.json")["nftables"]:
        rule = entry.get("rule", {})
        if rule.get("table") == _TABLE:
            yield from (part["counter"]["packets"] for part in rule["expr"] if "counter" in part)


MIDDLEBOXES = Scope(
    name="middleboxes",
    title="Middleboxes",
    order=4,
    read=middlebox_counts,
    keys=(
        Column(name="router", definition="name of the router", type=str, display=Display(head="router")),
        Column(name="verb", definition="`drop`, `strip`, `mangle` or `damage`", type=str, display=Display(head="does")),
        Column(name="option", definition="the option of TCP or MPTCP", type=str, display=Display(head="to")),
    ),
    columns=(
        Column(
            name="packets",
            unit="packets",
            definition="packets to which it did so",
            type=int,
            display=Display(order=1, head="packets"),
        ),
    ),
)


# The network of a run as the kernel counted it, not as configured: links, endpoints, middleboxes, and warnings.

_T = TypeVar("_T")
#: What a run counts beside its workloads, in the order of results.json.
SCOPES: tuple[Scope[Any], ...] = (LINKS, ENDPOINTS, MIDDLEBOXES, RADIO_LINKS, ACCESS_POINTS)
#: A link with less than this share of the bytes that the workload's sender sent counts as unused.
_UNUSED_SHARE = 0.01


@dataclass(frozen=True)
class NetworkCounters:
    """The network's counters of one run.

    ``scopes`` has the items of each of :data:`SCOPES`, by its name. ``unseen`` has a number for
    each pair of client and server: of connections, or of additional subflows if these are more, that the server's
    kernel accepted and no sample shows.
    """

    scopes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    unseen: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def get(self, scope: Scope[_T]) -> tuple[_T, ...]:
        """Return the items of a scope, in the order of the scenario."""
        return self.scopes.get(scope.name, ())


def network_counters(recording: Recording) -> NetworkCounters:
    """Return all counters of the network of a run."""
    scopes = {scope.name: tuple(scope.read(recording)) for scope in SCOPES}
    return NetworkCounters(scopes, _count_unseen(recording))


def _count_unseen(recording: Recording) -> dict[tuple[str, str], int]:
    """Return what samples miss between the nodes of workloads whose sockets are sampled from outside."""
    numbers: dict[tuple[str, str], int] = {}
    for workload in read_workloads(recording):
        nodes = workload.client, workload.server
        if nodes not in numbers and workload.ends.receiving is None:
            counts = mptcp_counts([read_counters(recording, workload.server)])
            numbers[nodes] = count_unseen(recording.subflows, nodes, counts)
    return numbers


def network_warnings(seen: NetworkCounters) -> Iterator[str]:
    """Yield a warning for each link and node that was not as configured."""
    for direction in seen.get(LINKS):
        if direction.expected is not None and not direction.is_as_asked:
            low, high = direction.expected
            number = str(low) if low == high else f"{low} to {high}"
            yield (
                f"{direction.link} {direction.direction} lost {direction.lost} of {direction.offered} packets at "
                f"random; {number} are expected in {100 * CONFIDENCE:g} % of all runs"
            )
    yield from endpoint_warnings(seen.get(ENDPOINTS))
    yield from radio_warnings(seen.get(RADIO_LINKS))


def unused_link_warnings(
    recording: Recording, ends: Ends, shares: Mapping[str, float], seen: NetworkCounters
) -> Iterator[str]:
    """Yield a warning if MPTCP should have used links that carried no data.

    Such a link is connected to one of the workload's hosts. It is on a path between them that was up all the time and
    that the path managers of both should use. ``shares`` has the paths of subflows; another warning reports paths
    that carried nothing.
    """
    paths = list(paths_between(recording, ends).values())
    carried = {(direction.link, direction.direction): direction.bytes for direction in seen.get(LINKS)}
    bound = _UNUSED_SHARE * sum(carried[step] for step in {path[0] for path in paths})
    named = {link for path in shares for link in path.split(">")}
    meant = [path for path in paths if _is_path_meant(recording, ends, [link for link, _ in path])]
    access_steps = [
        (step, host) for path in meant for step, host in ((path[0], ends.sender), (path[-1], ends.receiver))
    ]
    unused = [f"{step[0]} of {host}" for step, host in access_steps if step[0] not in named and carried[step] <= bound]
    if unused:
        yield f"MPTCP was in use, but no data went over {' and '.join(dict.fromkeys(unused))}"


def paths_between(recording: Recording, ends: Ends) -> dict[str, list[tuple[str, str]]]:
    """Return the workload's paths in the manifest by name, without paths that pass one of its ends on the way.

    If one end is a router, the manifest also has paths that pass through it.
    """
    links, paths = read_links(recording), {}
    for name, path in read_paths(recording, ends.workload).items():
        behind = [links[link].between[direction == "forward"] for link, direction in path]
        if behind[-1] == ends.receiver and not {ends.sender, ends.receiver} & {*behind[:-1]}:
            paths[name] = path
    return paths


def subflows_meant(recording: Recording, ends: Ends) -> int:
    """Return how many subflows each connection should have at least: one over each link that should carry data."""
    meant = [
        [link for link, _ in path]
        for path in paths_between(recording, ends).values()
        if _is_meant(recording, ends.sender, path[0][0]) and _is_meant(recording, ends.receiver, path[-1][0])
    ]
    return max(1, len({path[0] for path in meant}), len({path[-1] for path in meant}))


def _is_path_meant(recording: Recording, ends: Ends, links: Sequence[str]) -> bool:
    if any(has_failed(recording, link) for link in links):
        return False
    return _is_meant(recording, ends.sender, links[0]) and _is_meant(recording, ends.receiver, links[-1])


def _is_meant(recording: Recording, host: str, link: str) -> bool:
    """Return whether a node's path manager should use a link while others work, and may have enough subflows."""
    transport = read_nodes(recording)[host].transport
    links = [entry for entry in read_links(recording).values() if host in entry.between]
    if transport is None or len(links) - 1 > min(transport.limits.values()):
        return False
    listed = transport.listed_endpoints
    if listed is not None:
        return any(endpoint.link == link and "backup" not in endpoint.flags for endpoint in listed)
    return transport.endpoints != "none" and transport.modes.get(link, "on") in ("on", "master")
