# SPDX-License-Identifier: MIT
"""Paths through nodes that forward, in any network, by what a packet would do there."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mptcplab.node.graph import Graph, Port

NAMES = [f"n{number}" for number in range(6)]
_PAIRS = st.lists(st.permutations(NAMES).map(lambda names: (names[0], names[1])), min_size=1, max_size=9)


def _graph(pairs: list[tuple[str, str]], forwarding: set[str]) -> Graph:
    ports = {}
    for number, (first, other) in enumerate(pairs):
        here, there = (ipaddress.ip_interface(f"10.0.{number}.{end}/24") for end in (1, 2))
        ports[first, f"l{number}"] = Port(first, f"l{number}", here, other, there)
        ports[other, f"l{number}"] = Port(other, f"l{number}", there, first, here)
    return Graph(NAMES, ports, forwarding)


def _reachable(graph: Graph, port: Port, target: Port, forwarding: set[str]) -> bool:
    """Return whether any walk over nodes that forward, without ``port.node``, begins at ``port`` and ends there."""
    seen, waiting = {port.node}, [port]
    while waiting:
        here = waiting.pop()
        if here.link == target.link:
            return True
        if here.peer not in seen and here.peer in forwarding:
            seen.add(here.peer)
            waiting += graph.ports_of(here.peer)
    return False


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(pairs=_PAIRS, forwarding=st.sets(st.sampled_from(NAMES)))
def test_paths_of_a_node_that_does_not_forward(pairs: list[tuple[str, str]], forwarding: set[str]) -> None:
    """Every path there is leads somewhere, since none comes back; and hosts are never on the way to themselves."""
    graph = _graph(pairs, forwarding)
    for port in (port for port in graph.ports.values() if port.node not in forwarding):
        for target in graph.ports.values():
            assert graph.leads(port, target) == _reachable(graph, port, target, forwarding)
            if target.node not in forwarding:
                assert graph.enters(port, target) == graph.leads(port, target)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(pairs=_PAIRS, forwarding=st.sets(st.sampled_from(NAMES)))
def test_paths_of_a_node_that_forwards(pairs: list[tuple[str, str]], forwarding: set[str]) -> None:
    """A packet is followed by the routes of each node that forwards it."""
    graph = _graph(pairs, forwarding)
    for port in (port for port in graph.ports.values() if port.node in forwarding):
        for target in graph.ports.values():
            passed, here = [], port
            while here.link != target.link and here.peer in forwarding:
                passed.append(here.peer)
                onward = graph.next_hop(here.peer, target)
                if onward is None:
                    break
                here = onward
            arrives = here.link == target.link and port.node not in passed
            assert graph.leads(port, target) == arrives
            assert graph.enters(port, target) == (arrives and target.node not in passed)
