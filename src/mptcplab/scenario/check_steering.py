# SPDX-License-Identifier: MIT
"""Checks of ``[steering]``: its nodes, and what the path managers of both sides must be."""

from __future__ import annotations

from mptcplab.errors import Mistake
from mptcplab.scenario.document import Document
from mptcplab.scenario.network import Network
from mptcplab.scenario.references import check_known
from mptcplab.scenario.schema import Scenario


def check_steering(document: Document, scenario: Scenario) -> None:
    """Check the table, if there is one. :raises InputError: for the first inconsistency."""
    steering = scenario.steering
    if steering is None:
        return
    network = Network(scenario)
    check_known(document, ("steering", "at"), steering.at, scenario.transports, "node with a transport")
    for index, name in enumerate(steering.access_points):
        check_known(document, ("steering", "access_points", index), name, network.nodes, "node")
    points = steering.access_points or [name for name, node in network.nodes.items() if node.cell(name) is not None]
    if len(points) < 2:
        hint = 'add a second [access_points.NAME], or name routers, like access_points = ["ap1", "ap2"]'
        raise document.error(("steering",), "has fewer than two access points", hint=hint, kind=Mistake.MISSING)
    for name in points:
        if network.nearest_port(name, steering.at) is None:
            hint = "add a link, so that the agent there can report"
            message = f"is not reachable from {name}"
            raise document.error(("steering", "at"), message, hint=hint, kind=Mistake.REFERENCE)
    transport = scenario.transports[steering.at]
    if transport.path_manager != "userspace" or transport.endpoints != "none":
        table = network.nodes[steering.at].table
        hint = f'write [{table}.{steering.at}.transport] with path_manager = "userspace" and endpoints = "none"'
        message = "steers, which the kernel allows for connections of a path manager in user space only"
        raise document.error(("steering", "at"), message, hint=hint, kind=Mistake.CONFLICT)
