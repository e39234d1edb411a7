# SPDX-License-Identifier: MIT
"""The network of a run as it was, not as it was asked for: links, endpoints, middleboxes, and what to warn of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mptcplab.metrics.endpoints import EndpointStates, endpoint_states, endpoint_warnings
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.instants import failed
from mptcplab.metrics.links import DirectionCounters, direction_counters
from mptcplab.metrics.loss import CONFIDENCE
from mptcplab.metrics.middleboxes import MiddleboxCount, middlebox_counts
from mptcplab.recording.record import Recording

#: Of what the workload's sender gave to all its links, below which a link is said to have carried nothing.
_NOTHING = 0.01


@dataclass(frozen=True)
class NetworkCounters:
    """What was counted in one run."""

    directions: tuple[DirectionCounters, ...] = ()
    endpoints: tuple[EndpointStates, ...] = ()
    boxes: tuple[MiddleboxCount, ...] = ()


def network_counters(recording: Recording) -> NetworkCounters:
    """Read all counters of the network of a run."""
    return NetworkCounters(
        tuple(direction_counters(recording)), tuple(endpoint_states(recording)), tuple(middlebox_counts(recording))
    )


def network_warnings(seen: NetworkCounters) -> Iterator[str]:
    """A sentence for each link and host that was not as asked for."""
    for one in seen.directions:
        if one.expected is not None and not one.is_as_asked:
            low, high = one.expected
            number = str(low) if low == high else f"{low} to {high}"
            yield (
                f"{one.link} {one.direction} lost {one.lost} of {one.offered} packets at random, where {number} were "
                f"to be expected ({100 * CONFIDENCE:g} % of all runs)"
            )
    yield from endpoint_warnings(list(seen.endpoints))


def unused_links(recording: Recording, ends: Ends, shares: Mapping[str, float], seen: NetworkCounters) -> Iterator[str]:
    """A sentence if there are links that MPTCP should have used, and that carried no data.

    Such a link is one of the workload's own hosts, on a way between them that was up all the time and that the path
    managers of both are to send data by. Subflows are in ``shares``, by their paths: of those that carried nothing
    their sockets tell.
    """
    ways = [
        [(link, direction) for link, direction in way] for way in recording.manifest["paths"][ends.workload].values()
    ]
    carried = {(one.link, one.direction): one.bytes for one in seen.directions}
    least = _NOTHING * sum(carried[step] for step in {way[0] for way in ways})
    named = {link for path in shares for link in path.split(">")}
    meant = [way for way in ways if _is_way_meant(recording, ends, [link for link, _ in way])]
    own = [(step, host) for way in meant for step, host in ((way[0], ends.sender), (way[-1], ends.receiver))]
    unused = [f"{step[0]} of {host}" for step, host in own if step[0] not in named and carried[step] <= least]
    if unused:
        yield f"MPTCP was in use, but no data went by {' and '.join(dict.fromkeys(unused))}"


def _is_way_meant(recording: Recording, ends: Ends, links: Sequence[str]) -> bool:
    if any(failed(recording, link) for link in links):
        return False
    return _is_meant(recording, ends.sender, links[0]) and _is_meant(recording, ends.receiver, links[-1])


def _is_meant(recording: Recording, host: str, link: str) -> bool:
    """Whether the host's path manager is to send data by a link while others work, and may have so many subflows."""
    transport = next(node["transport"] for node in recording.manifest["nodes"] if node["name"] == host)
    endpoints, limits = transport["endpoints"], transport["limits"]
    links = [one for one in recording.manifest["links"] if host in one["between"]]
    if len(links) - 1 > min(limits.values()):
        return False
    if isinstance(endpoints, str):
        return endpoints != "none" and transport["modes"].get(link, "on") in ("on", "master")
    return any(one["link"] == link and "backup" not in one["flags"] for one in endpoints)
