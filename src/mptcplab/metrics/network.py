# SPDX-License-Identifier: MIT
"""The network of a run as it was, not as it was asked for: links, endpoints, middleboxes, and what to warn of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mptcplab.metrics.boxes import BoxSeen, boxes_seen
from mptcplab.metrics.endpoints import EndpointsSeen, endpoint_warnings, endpoints_seen
from mptcplab.metrics.ends import Ends
from mptcplab.metrics.instants import failed
from mptcplab.metrics.links import DirectionSeen, directions_seen
from mptcplab.metrics.loss import CONFIDENCE
from mptcplab.metrics.subflows import Sockets
from mptcplab.recording.record import Recording

#: Of what the workload's sender gave to all its links, below which a link is said to have carried nothing.
_NOTHING = 0.01


@dataclass(frozen=True)
class NetworkSeen:
    """What was counted in one run."""

    directions: tuple[DirectionSeen, ...] = ()
    endpoints: tuple[EndpointsSeen, ...] = ()
    boxes: tuple[BoxSeen, ...] = ()


def network_seen(recording: Recording) -> NetworkSeen:
    """Read all counters of the network of a run."""
    return NetworkSeen(
        tuple(directions_seen(recording)), tuple(endpoints_seen(recording)), tuple(boxes_seen(recording))
    )


def network_warnings(seen: NetworkSeen) -> Iterator[str]:
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


def unused_links(recording: Recording, ends: Ends, sockets: Sockets, seen: NetworkSeen) -> Iterator[str]:
    """A sentence if there are links that MPTCP should have used, and that carried no data.

    Such a link is one of the workload's own hosts, up all the time, on a way between them, and meant for data by its
    host's path manager. Subflows that carried next to nothing are another matter: their sockets tell.
    """
    paths = recording.manifest["paths"][ends.workload]
    carried = {(one.link, one.direction): one.bytes for one in seen.directions}
    first = {steps[0][0]: carried.get(tuple(steps[0]), 0) for steps in paths.values()}
    least = _NOTHING * sum(first.values())
    named = {link for path in sockets.shares for link in path.split(">")}
    unused = [
        f"{link} of {host}"
        for link, (step, host) in _own_steps(paths, ends).items()
        if link not in named
        and carried.get(step, 0) <= least
        and _is_meant(recording, host, link)
        and not any(failed(recording, name) for name in _ways(paths, link))
    ]
    if unused:
        yield f"MPTCP was in use, but no data went by {' and '.join(unused)}"


def _own_steps(paths: Mapping[str, Any], ends: Ends) -> dict[str, tuple[tuple[str, str], str]]:
    """The links of both hosts with the direction of the data, and whose they are."""
    found: dict[str, tuple[tuple[str, str], str]] = {}
    for steps in paths.values():
        for (link, direction), host in ((steps[0], ends.sender), (steps[-1], ends.receiver)):
            found.setdefault(link, ((link, direction), host))
    return found


def _ways(paths: Mapping[str, Any], link: str) -> set[str]:
    """All links of the paths that ``link`` is on."""
    ways = ({name for name, _ in steps} for steps in paths.values())
    return {name for way in ways if link in way for name in way}


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
