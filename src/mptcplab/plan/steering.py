# SPDX-License-Identifier: MIT
"""Compile ``[steering]``: the daemon on its node, and the agents on access points."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from mptcplab.scenario.network import Network
from mptcplab.scenario.steering import Steering
from mptcplab.steps import OURS, Program

#: The program of both sides, in plans, and the names of its output.
STEER = f"{OURS}steer"
DAEMON, AGENT = "steering", "steering-agent.{}"
_PORT = 9100
_ANY = {"ipv4": "0.0.0.0", "ipv6": "::"}
_NS = 10**9
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
        "listen": [_ANY[network.scenario.family], _PORT],
        "key": _KEY,
        "period_s": steering.period.seconds,
        "policy": steering.policy,
        "floor_dbm": steering.floor_dbm,
        "seed": seed,
    }
    if steering.policy == "ratio":
        config["threshold"] = steering.threshold
    if steering.policy == "fair":
        config |= {"margin_db": steering.margin_db, "hold_s": steering.hold.seconds}
    return config


def _agent(network: Network, steering: Steering, name: str) -> dict[str, object]:
    server = network.nearest(name, steering.at)
    assert server is not None, "checked when the scenario was loaded"
    hosts = {node for node, kind in network.nodes.items() if kind.own_transport is not None} - {steering.at}
    devices = dict.fromkeys(port.device for port in network.ports_of(name) if port.peer in hosts)
    return {
        "access_point": name,
        "devices": list(devices),
        "server": [server.ip, _PORT],
        "key": _KEY,
        "period_s": steering.period.seconds,
    }
