# SPDX-License-Identifier: MIT
"""The description of the scenario in a recording's manifest, for everything that reads recordings.

Readers know the scenario only from it: they use neither the scenario's model nor the compiler of plans. Lists are in
the order of the scenario.

nodes      name, kind, and the description by the kind: see NodeBase.description
links      name, between, mtu; forward and backward as resolved, with the maximum payload rate of TCP, the node and the
           device whose disciplines shape it (None: not shaped), and the probabilities of random loss, to which each
           behaviour contributes (see Behaviour.chances)
workloads  name, all keys of the scenario, and its ends (see WorkloadBase.ends)
paths      by workload: the steps (link, direction) from each link of its sender to each link of its receiver
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import reduce
from typing import Any

from mptcplab.fields import Part
from mptcplab.network.chances import LossChances
from mptcplab.network.frames import full_frame
from mptcplab.network.registry import BEHAVIOURS, VARIABLE_KEYS
from mptcplab.node.graph import Port
from mptcplab.plan.links import shaper_of
from mptcplab.scenario.links import DIRECTIONS, ShapedDirection
from mptcplab.scenario.network import Network

Step = tuple[str, str]
#: A full frame carries its MTU less the headers of IP and of TCP with timestamps.
_TCP_HEADER = 32
_IP_HEADERS = {"ipv4": 20, "ipv6": 40}


def describe_scenario(network: Network, ports: dict[str, int]) -> dict[str, Any]:
    """Return the description for one run. ``ports`` has the port on which the server of each workload listens."""
    return {
        "nodes": list(_nodes(network)),
        "links": [_link(network, name) for name in network.scenario.links],
        "workloads": list(_workloads(network, ports)),
        "paths": {name: dict(_paths(network, name)) for name in network.scenario.workloads},
    }


def _dump(part: Part) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(part.model_dump_json(by_alias=True))
    return document


def _nodes(network: Network) -> Iterator[dict[str, Any]]:
    for name, node in network.nodes.items():
        yield {"name": name, "kind": node.kind, **node.description(network.context_of(name))}


def _link(network: Network, name: str) -> dict[str, Any]:
    link = network.scenario.links[name]
    mtu = int(link.mtu)
    sides = {side: _direction(network, network.directions[name, side], mtu) for side in DIRECTIONS}
    return {"name": name, "between": list(link.between), "mtu": mtu, **sides}


def _direction(network: Network, direction: ShapedDirection, mtu: int) -> dict[str, Any]:
    return {
        **_dump(direction.settings),
        "payload_bps": _payload_bps(network, direction, mtu),
        "shaped_at": shaper_of(network, direction),
        "chances": asdict(_chances(network, direction)),
    }


def _payload_bps(network: Network, direction: ShapedDirection, mtu: int) -> float | None:
    """Return the maximum payload rate of TCP, in full frames; None if nothing limits it."""
    payload = mtu - _IP_HEADERS[network.scenario.family] - _TCP_HEADER
    limits = (behaviour.payload_bps(direction.settings, payload, full_frame(mtu)) for behaviour in BEHAVIOURS)
    return min((limit for limit in limits if limit is not None), default=None)


def _chances(network: Network, direction: ShapedDirection) -> LossChances:
    """Return the probabilities of loss of a direction with all behaviours of links."""
    settings = direction.settings
    values: dict[str, Sequence[Any]] = {key: [getattr(settings, key)] for key in VARIABLE_KEYS}
    if settings.traced is not None:
        series = settings.traced.read
        values |= {
            key: [VARIABLE_KEYS[key].quantity(dict(step.values)[key]) for step in series.steps] for key in series.keys
        }
    for event in network.scenario.events:
        if event.link == direction.link and direction.name in event.directions:
            values |= {key: [*values[key], value] for key, value in event.new.items()}
    return reduce(lambda before, behaviour: behaviour.chances(settings, values, before), BEHAVIOURS, LossChances())


def _workloads(network: Network, ports: dict[str, int]) -> Iterator[dict[str, Any]]:
    for name, workload in network.scenario.workloads.items():
        keys = _dump(workload)
        yield {"name": name, **keys, "ends": type(workload).ends(name, keys, ports[name])}


def _paths(network: Network, name: str) -> Iterator[tuple[str, list[Step]]]:
    """Yield the paths from the side that sends, by the names that subflows have there: ``access1>link1``."""
    workload = network.scenario.workloads[name]
    ends = (workload.sender, workload.receiver)
    sender, receiver = reversed(ends) if type(workload).sends_to_client(_dump(workload)) else ends
    for first in network.ports_of(sender):
        for last in network.ports_of(receiver):
            steps = _steps(network, first, last)
            if steps is not None:
                yield first.link if first.link == last.link else f"{first.link}>{last.link}", steps


def _steps(network: Network, first: Port, last: Port) -> list[Step] | None:
    """Return the directions of links from one port to the other; None if no path begins there."""
    steps: list[Step] = []
    node, link = first.node, first.link
    for _ in network.scenario.links:
        port = network.ports[node, link]
        steps.append((link, "forward" if network.scenario.links[link].between[0] == node else "backward"))
        if link == last.link:
            return steps
        node = port.peer
        onward = network.next_hop(node, last)
        direct = any(neighbour.link == last.link for neighbour in network.ports_of(node))
        if not direct and onward is None:
            return None
        link = last.link if direct or onward is None else onward.link
    return None
