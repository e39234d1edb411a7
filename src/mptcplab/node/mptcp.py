# SPDX-License-Identifier: MIT
"""A transport on a node, as ``sysctl`` and ``ip mptcp`` commands, and what is read of it in the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mptcplab.node.context import Context
from mptcplab.node.graph import Port
from mptcplab.node.transport import Transport
from mptcplab.node.weights import uses_weights, weights_by_address
from mptcplab.steps import Command, Counter

_PATH_MANAGERS = {"kernel": 0, "userspace": 1}
#: Read back at the end: what was in force, not what was asked for.
_SETTINGS = (
    "net.mptcp.scheduler",
    "net.mptcp.scheduler_weights",
    "net.mptcp.pm_type",
    "net.mptcp.checksum_enabled",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)


def settings(context: Context, transport: Transport) -> Iterator[str]:
    """What the transport says, as ``sysctl`` takes it."""
    yield "net.mptcp.enabled=1"
    yield f"net.mptcp.pm_type={_PATH_MANAGERS[transport.path_manager]}"
    if transport.congestion_control is not None:
        yield f"net.ipv4.tcp_congestion_control={transport.congestion_control}"
    if transport.scheduler is not None:
        yield f"net.mptcp.scheduler={transport.scheduler}"
    weights = weights_by_address(context, transport) if uses_weights(context, transport) else {}
    if weights:
        # Without a scheduler that looks at them nothing is set, so that kernels that lack them can be compared.
        yield f"net.mptcp.scheduler_weights={' '.join(f'{address}={weight}' for address, weight in weights.items())}"
    for key, sizes in (("tcp_rmem", transport.tcp_rmem), ("tcp_wmem", transport.tcp_wmem)):
        if sizes is not None:
            yield f"net.ipv4.{key}={' '.join(str(int(size)) for size in sizes)}"
    for name, value in transport.sysctl.items():
        yield f"{name}={value}"


def endpoint_commands(context: Context, transport: Transport | None) -> Iterator[Command]:
    """Limits and endpoints, if the node speaks MPTCP."""
    if transport is None or transport.protocol != "mptcp":
        return
    limits = transport.limits
    bounds = ("subflows", str(limits.subflows), "add_addr_accepted", str(limits.add_addr_accepted))
    yield Command(context.name, ("ip", "mptcp", "limits", "set", *bounds))
    for port, options in endpoints_of(context, transport):
        yield Command(context.name, ("ip", "mptcp", "endpoint", "add", port.ip, "dev", port.link, *options))


def change_commands(context: Context, transport: Transport | None, port: Port, *, add: bool) -> Iterator[Command]:
    """Take the endpoints that name the address of ``port`` away, or bring them back as they were.

    The kernel numbers endpoints from 1 in the order in which they are added.
    """
    if transport is None or transport.protocol != "mptcp":
        return
    for number, (own, options) in enumerate(endpoints_of(context, transport), start=1):
        if own == port and add:
            named = ("id", str(number), *options)
            yield Command(port.node, ("ip", "mptcp", "endpoint", "add", port.ip, "dev", port.link, *named))
        elif own == port:
            yield Command(port.node, ("ip", "mptcp", "endpoint", "delete", "id", str(number)))


def counters(node: str) -> Iterator[Counter]:
    """What is read of ``node`` in the end."""
    yield Counter(node, "sysctl.txt", ("sysctl", "-e", *_SETTINGS))
    yield Counter(node, "nstat.json", ("nstat", "-a", "-s", "-z", "-j"))
    yield Counter(node, "mptcp-endpoint.json", ("ip", "-j", "mptcp", "endpoint", "show"))
    yield Counter(node, "mptcp-limits.json", ("ip", "-j", "mptcp", "limits", "show"))


def described_endpoints(context: Context, transport: Transport) -> Iterator[dict[str, Any]]:
    """The endpoints that the node was to have, as a manifest has them."""
    if transport.protocol != "mptcp":
        return
    for port, words in endpoints_of(context, transport):
        number = int(words[1]) if words[:1] == ("port",) else None
        flags = sorted(words if number is None else words[2:])
        yield {"address": port.ip, "link": port.link, "port": number, "flags": flags}


def endpoints_of(context: Context, transport: Transport) -> Iterator[tuple[Port, tuple[str, ...]]]:
    """The addresses that the node offers or uses, with the words that ``ip mptcp endpoint add`` takes.

    ``auto``: a host that is connected to announces its other addresses (signal); a host that connects may open
    subflows from every address that leads to the address it connects to (subflow). Over disjoint lines nothing but
    the first line does: there the subflows are opened to announced addresses, from the address that routing chooses.
    """
    wanted = transport.endpoints
    ports = {port.link: port for port in context.ports}
    if isinstance(wanted, tuple):
        for endpoint in wanted:
            port_number = ("port", str(endpoint.port)) if endpoint.port is not None else ()
            yield ports[endpoint.link], (*port_number, *endpoint.flags)
        return
    if wanted == "none" or len(ports) < 2 or transport.path_manager == "userspace":
        return
    connected_to = {talk.target for talk in context.workloads if not talk.calls}
    targets = [talk.target for talk in context.workloads if talk.calls]
    for port in ports.values():
        flags = ["signal"] if connected_to and connected_to != {port} else []
        if wanted == "fullmesh" and targets:
            # The kernel refuses an endpoint that is fullmesh and signal at once.
            flags += ["subflow"] if flags else ["subflow", "fullmesh"]
        elif any(target is not None and context.graph.leads(port, target) for target in targets):
            flags += ["subflow"]
        if flags:
            yield port, tuple(flags)
