# SPDX-License-Identifier: MIT
"""MPTCP endpoints and limits that the kernel had when the run ended, compared with the configured ones.

They are in ``mptcp-endpoint.json`` and ``mptcp-limits.json`` of every node with MPTCP sockets. The kernel adds
*implicit* endpoints for addresses that a subflow uses and that are not configured. They do not count as a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mptcplab.errors import LabError
from mptcplab.metrics.column import Column, Scope
from mptcplab.metrics.instants import links_without_address, path_manager_events
from mptcplab.metrics.manifest import Node, NodeEndpoint, read_nodes
from mptcplab.node.words import LIMITS, REMOVED, EndpointEvent, parse_limits
from mptcplab.recording.record import REPEATED, Recording

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
    def missing(self) -> tuple[str, ...]:
        """Endpoints that were configured and are missing."""
        return tuple(endpoint for endpoint in self.asked if endpoint not in self.seen)

    @property
    def unexpected(self) -> tuple[str, ...]:
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
        raise LabError(f"the recording {recording.folder} has no endpoints of {host}", hint=REPEATED)
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
        place = (change.link, event.port)
        if event.node != node.name:
            continue
        if change.kind == REMOVED:
            endpoints.pop(place, None)
        else:
            endpoints[place] = NodeEndpoint(change.link, event.address, tuple(event.flags), event.port)
    return list(endpoints.values()), limits


def _limits(described: Mapping[str, int]) -> tuple[str, ...]:
    return (
        f"at most {described['subflows']} subflows",
        f"at most {described['add_addr_accepted']} announced addresses",
    )


def endpoint_warnings(seen: Iterable[EndpointStates]) -> Iterator[str]:
    """Yield a warning for each node whose endpoints or limits differ from the configured ones."""
    for states in seen:
        if states.missing or states.unexpected:
            parts = [("missing", states.missing), ("unexpected", states.unexpected)]
            differences = "; ".join(f"{word} {', '.join(names)}" for word, names in parts if names)
            yield f"the MPTCP endpoints of {states.host} are not those configured: {differences}"


ENDPOINTS = Scope(
    name="endpoints",
    title="MPTCP endpoints",
    place=3,
    read=endpoint_states,
    keys=(
        Column(name="host", definition="name of the node", type=str),
        Column(name="asked", definition="endpoints and limits that were configured at the end of the run", type=tuple),
        Column(name="seen", definition="the endpoints that the kernel had", type=tuple),
    ),
    notes=("State at the end of the run. The kernel adds implicit endpoints for addresses that subflows use.",),
)
