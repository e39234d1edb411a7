# SPDX-License-Identifier: MIT
"""Compile ``[steering]``: the daemon on its node, and the agents on access points."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from mptcplab.node.graph import Port
from mptcplab.scenario.network import Network
from mptcplab.scenario.steering import Steering
from mptcplab.steps import OURS, Program

#: The program of both sides, in plans, and the names of its output.
STEER = f"{OURS}steer"
DAEMON, AGENT = "steering", "steering-agent.{}"
_PORT = 9100
_ANY = {"ipv4": "0.0.0.0", "ipv6": "[::]"}
#: All labs have the same key: nobody else is in their networks.
_KEY = hashlib.sha256(b"mptcplab").hexdigest()


def steering_programs(network: Network, seed: int) -> Iterator[Program]:
    """Yield the daemon and the agents of a scenario that steers."""
    steering = network.scenario.steering
    if steering is None:
        return
    yield Program(
        DAEMON,
        steering.at,
        "server",
        (STEER, "daemon", json.dumps(_daemon(network, steering, seed))),
        starts=("python3",),
    )
    for name in agents_of(network, steering):
        config = json.dumps(_agent(network, steering, name))
        yield Program(AGENT.format(name), name, "server", (STEER, "agent", config), starts=("python3",))


def agents_of(network: Network, steering: Steering) -> tuple[str, ...]:
    """Return the nodes with an agent."""
    points = tuple(name for name, node in network.nodes.items() if node.cell(name) is not None)
    return steering.access_points or points


def _daemon(network: Network, steering: Steering, seed: int) -> dict[str, object]:
    config: dict[str, object] = {
        "listen": f"{_ANY[network.scenario.family]}:{_PORT}",
        "period_s": steering.period.seconds,
        "policy": steering.policy,
        "floor_dbm": steering.floor_dbm,
        "seed": seed,
        "access_points": {name: _to_dict(network, steering, name) for name in agents_of(network, steering)},
    }
    return config | steering.policy_keys


def _to_dict(network: Network, steering: Steering, name: str) -> dict[str, object]:
    return {
        "key": _KEY,
        "networks": [str(port.subnet) for port in _ports_to_terminals(network, steering, name)],
        "wired": network.nodes[name].cell(name) is None,
    }


def _ports_to_terminals(network: Network, steering: Steering, name: str) -> list[Port]:
    hosts = {node for node, kind in network.nodes.items() if kind.own_transport is not None} - {steering.at}
    return [port for port in network.ports_of(name) if port.peer in hosts]


def _agent(network: Network, steering: Steering, name: str) -> dict[str, object]:
    server = network.nearest_port(name, steering.at)
    assert server is not None, "checked when the scenario was loaded"
    return {
        "access_point": name,
        "devices": list(dict.fromkeys(port.device for port in _ports_to_terminals(network, steering, name))),
        "server": f"[{server.ip}]:{_PORT}" if ":" in server.ip else f"{server.ip}:{_PORT}",
        "key": _KEY,
        "period_s": steering.period.seconds,
    }
