# SPDX-License-Identifier: MIT
"""Aggregation benefit: what several paths gave against the best of them (0) and all of them together (1).

The definition is that of Kaspar (thesis, University of Oslo, 2012), in the form of Paasch, Khalili and Bonaventure, On
the Benefits of Applying Experimental Design to Improve Multipath TCP, CoNEXT 2013, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario

#: What a full frame carries: its MTU less the headers of IP and TCP with timestamps; and its Ethernet header.
_MTU, _ETHERNET, _TCP_HEADER = 1500, 14, 32
_IP_HEADERS = {"ipv4": 20, "ipv6": 40}


def aggregation_benefit(goodput_bps: float, capacities_bps: Sequence[float]) -> float | None:
    """From -1 (nothing arrived) by 0 (as much as the best path alone) to 1 (the sum of all paths).

    None for fewer than two paths, or when the others add nothing.
    """
    best, whole = max(capacities_bps, default=0.0), sum(capacities_bps)
    if len(capacities_bps) < 2 or best <= 0 or whole <= best:
        return None
    beyond = goodput_bps - best
    return beyond / (whole - best) if beyond >= 0 else beyond / best


def path_capacities(described: Mapping[str, Any], sender: str, paths: Iterable[str]) -> list[float] | None:
    """What each bottleneck of ``paths`` (``access1>line1``, named from the sender's side) can carry, in bit/s.

    ``described`` is the scenario of a recording. None when it cannot be told: a scenario of another version, a path
    without a rate or behind a translation of addresses, or two paths that share a link which is the bottleneck of only
    one of them.
    """
    try:
        network = Network(Scenario.model_validate({"title": "recorded", **described}))
    except ValueError:
        return None
    named = [path.split(">") for path in paths]
    if any((sender, first) not in network.ports for first, *_ in named):
        return None  # behind a router that translates addresses, the receiver sees that router's link
    ways = [_way(network, sender, *names) for names in named]
    found: dict[tuple[str, str], float] = {}
    used: dict[tuple[str, str], int] = {}
    for way in ways:
        rates = {step: rate for step in way if (rate := _payload_rate(network, *step)) is not None}
        if not rates:
            return None
        narrowest = min(rates, key=lambda step: rates[step])
        found[narrowest] = rates[narrowest]
        for step in rates:
            used[step] = used.get(step, 0) + 1
    shared = {step for step, count in used.items() if count > 1}
    return list(found.values()) if shared <= set(found) and (not shared or len(found) == 1) else None


def _way(network: Network, sender: str, first: str, last: str = "") -> list[tuple[str, str]]:
    """The directions of links from ``sender``, by its own link ``first``, to the receiver's link ``last``."""
    steps, node, link = [], sender, first
    while True:
        port = network.ports[node, link]
        steps.append((link, "forward" if network.scenario.links[link].between[0] == node else "backward"))
        if link == (last or first):
            return steps
        node = port.peer
        target = next(one for one in network.ports.values() if one.link == last)
        onward = network.next_hop(node, target)
        direct = any(one.link == last for one in network.ports_of(node))
        link = last if direct or onward is None else onward.link


def _payload_rate(network: Network, link: str, side: str) -> float | None:
    """The payload that TCP can carry at most over one direction of a link, in full frames; None without a rate."""
    described = network.scenario.links[link]
    direction = described.forward if side == "forward" else described.backward
    if direction.rate is None:
        return None
    mtu = int(getattr(described, "mtu", None) or _MTU)
    payload = mtu - _IP_HEADERS[network.scenario.family] - _TCP_HEADER
    return float(direction.rate) * payload / (mtu + _ETHERNET + direction.overhead)
