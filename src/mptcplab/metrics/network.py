# SPDX-License-Identifier: MIT
"""The network of a run as the kernel counted it, not as configured: links, endpoints, middleboxes, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mptcplab.metrics.column import Scope
from mptcplab.metrics.counters import mptcp_counts, read_counters
from mptcplab.metrics.endpoints import ENDPOINTS, endpoint_warnings
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.instants import has_failed
from mptcplab.metrics.links import LINKS
from mptcplab.metrics.manifest import read_links, read_nodes, read_paths
from mptcplab.metrics.middleboxes import MIDDLEBOXES
from mptcplab.metrics.radios import ACCESS_POINTS, RADIO_LINKS, radio_warnings
from mptcplab.metrics.subflows import count_unseen
from mptcplab.network.losses import CONFIDENCE
from mptcplab.recording.record import Recording
from mptcplab.workload.recorded import read_workloads

_T = TypeVar("_T")
#: What a run counts beside its workloads, in the order of results.json.
SCOPES: tuple[Scope[Any], ...] = (LINKS, ENDPOINTS, MIDDLEBOXES, RADIO_LINKS, ACCESS_POINTS)
#: A link with less than this share of the bytes that the workload's sender sent counts as unused.
_UNUSED_SHARE = 0.01


@dataclass(frozen=True)
class NetworkCounters:
    """The network's counters of one run.

    ``scopes`` has the things of each of :data:`SCOPES`, by its name. ``unseen`` has, for both nodes of workloads, the
    connections and subflows that the server's kernel accepted and no sample shows.
    """

    scopes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    unseen: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def get(self, scope: Scope[_T]) -> tuple[_T, ...]:
        """Return the things of a scope, in the order of the scenario."""
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
                f"random; {number} are expected "
                f"in {100 * CONFIDENCE:g} % of all runs"
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
    own_pairs = [(step, host) for path in meant for step, host in ((path[0], ends.sender), (path[-1], ends.receiver))]
    unused = [f"{step[0]} of {host}" for step, host in own_pairs if step[0] not in named and carried[step] <= bound]
    if unused:
        yield f"MPTCP was in use, but no data went over {' and '.join(dict.fromkeys(unused))}"


def paths_between(recording: Recording, ends: Ends) -> dict[str, list[tuple[str, str]]]:
    """Return the workload's paths in the manifest by name, without paths that pass one of its ends on the way.

    A router is on paths between its own links.
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
    listed = transport.listed
    if listed is not None:
        return any(endpoint.link == link and "backup" not in endpoint.flags for endpoint in listed)
    return transport.endpoints != "none" and transport.modes.get(link, "on") in ("on", "master")
