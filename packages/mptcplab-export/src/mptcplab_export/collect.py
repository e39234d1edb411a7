# SPDX-License-Identifier: MIT
"""Collect the configuration of one node, from the functions that plans are compiled from.

A plan also has what only a lab needs: it makes the links and their shaping, turns offloads off, starts workloads and
changes the network at instants. Nothing of that belongs to a real machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from mptcplab.configuration import NftTable, Route, Rule
from mptcplab.errors import InputError
from mptcplab.gateway.base import PASSWORD, SIDES, GatewayBase, GatewayContext, PreparedCall, Side
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.network.frames import MTU
from mptcplab.node import mptcp
from mptcplab.node.base import NodeBase
from mptcplab.node.context import NodeContext
from mptcplab.scenario import gateways
from mptcplab.scenario.network import Network
from mptcplab.scenario.schema import Scenario
from mptcplab.steps import Command, Program
from mptcplab_export.model import Configuration, ExportEndpoint, ExportInterface, ExportLimits, Service

# The part of gateways in a node's configuration: programs with their files, and the rules that redirect to them.


def check_gateways(network: Network, node: str) -> None:
    """Check that the gateways of ``node`` need nothing but programs, files and tables. :raises InputError: if not."""
    for gateway, context, side in _gateway_sides(network, node):
        known = {table.command(node) for table in gateway.tables(context, side)}
        commands = [command for command in gateway.commands(context) if command.node == node]
        other = next((command for command in commands if command not in known), None)
        if other is not None:
            message = f"no format can express a command of the gateway '{context.name}': {' '.join(other.argv)}"
            hint = "use a proxy, with its rules by nft; `mptcplab plan FILE` prints all commands of a run"
            raise InputError(message, hint=hint)


def gateway_tables(network: Network, node: str) -> Iterator[NftTable]:
    """Yield the tables of nftables."""
    for gateway, context, side in _gateway_sides(network, node):
        yield from gateway.tables(context, side)


def gateway_services(network: Network, node: str, *, folder: str, password: str | None) -> Iterator[Service]:
    """Yield the programs, with their files in ``folder`` and with ``password`` in the place of the lab's."""
    for gateway, context, side in _gateway_sides(network, node, folder=folder):
        prepared = PreparedCall.from_call(gateway.call_of(context, side))

        def secret(text: str) -> str:
            return text if password is None else text.replace(PASSWORD, password)

        yield Service(
            f"gateway-{side}-{context.name}",
            tuple(secret(word) for word in prepared.call.argv),
            tuple(dict.fromkeys(prepared.call.uses)),
            prepared.environment,
            tuple((path, secret(text)) for path, text in prepared.files),
        )


def gateway_notes(network: Network, node: str) -> Iterator[str]:
    """Yield what an operator has to know about the ports of ``node``."""
    for gateway, context, side in _gateway_sides(network, node):
        port = gateway.port if side == "exit" else gateway.listening_port
        if port is not None:
            yield f"The gateway {context.name} listens on port {port}: let your firewall admit only who should use it."


def has_public_password(services: Iterable[Service]) -> bool:
    """Return whether a program has the password of every lab."""
    return any(
        PASSWORD in text for service in services for text in (*service.argv, *(text for _, text in service.files))
    )


def _gateway_sides(
    network: Network, node: str, *, folder: str = "/run"
) -> Iterator[tuple[GatewayBase, GatewayContext, Side]]:
    for name, gateway in network.scenario.gateways.items():
        for side in SIDES:
            if node == gateway.node_of(side):
                yield gateway, gateways.context_of(network, name, folder=folder), side


#: Of all tables of nftables, so that none is confused with a table of the machine's own firewall.
PREFIX = "mptcplab_"
#: The folder of mptcplab's source on the machine, for its path manager.
SOURCE = "/usr/local/lib/mptcplab"
#: Forwarding of the other version of IP. It concerns none of the node's addresses, and a machine that forwards IPv6
#: ignores router advertisements, from which it may have its default route.
_OTHER_FORWARDING = {4: "net.ipv6.conf.all.forwarding=1", 6: "net.ipv4.ip_forward=1"}
#: Settings of one interface, before its name.
_OF_INTERFACE = re.compile(r"(net\.ipv[46]\.(?:conf|neigh)\.)([^.]+)(\..*)")


@dataclass(frozen=True)
class ExportMachine:
    """The properties of a real machine that a scenario does not have.

    ``devices`` are its interfaces by link; other links have interfaces of their own names. ``folder`` has the files of
    its programs. ``password`` is its gateways'; None for the lab's.
    """

    devices: Mapping[str, str]
    folder: str = "/run"
    password: str | None = None


def collect(scenario: Scenario, node: str, machine: ExportMachine) -> Configuration:
    """Return the configuration of ``machine`` as ``node``.

    :raises InputError: if the node's kind, or a gateway of it, runs commands that a configuration cannot contain.
    """
    network = Network(scenario, devices={(node, link): device for link, device in machine.devices.items()})
    described, context = network.nodes[node], network.context_of(node)
    _check_commands(described, context)
    check_gateways(network, node)
    routing = list(described.routes(context))
    services = [_service(program) for program in described.programs(context)]
    services += gateway_services(network, node, folder=machine.folder, password=machine.password)
    return Configuration(
        node=node,
        title=scenario.title,
        forwards=described.forwards,
        interfaces=tuple(_interfaces(network, node)),
        settings=tuple(_settings(described, context)),
        routes=tuple(route for route in routing if isinstance(route, Route)),
        rules=tuple(route for route in routing if isinstance(route, Rule)),
        limits=_limits(described, context),
        endpoints=tuple(_endpoints(described, context)),
        tables=tuple(_with_prefix(table) for table in (*described.tables(context), *gateway_tables(network, node))),
        services=tuple(services),
        notes=(
            *_notes(scenario, described, context),
            *_notes_of_programs(services),
            *gateway_notes(network, node),
        ),
    )


def _with_prefix(table: NftTable) -> NftTable:
    return replace(table, name=f"{PREFIX}{table.name}")


def _interfaces(network: Network, node: str) -> Iterator[ExportInterface]:
    for port in network.ports_of(node):
        mtu = int(network.scenario.links[port.link].mtu)
        yield ExportInterface(port.link, port.device, port.address, mtu if mtu != MTU else None)


def _settings(node: NodeBase, context: NodeContext) -> Iterator[tuple[str, str]]:
    devices = {port.link: port.device for port in context.ports}
    idle = {_OTHER_FORWARDING[port.address.version] for port in context.ports}
    for setting in (setting for setting in node.settings(context) if setting not in idle):
        name, _, value = setting.partition("=")
        match = _OF_INTERFACE.fullmatch(name)
        if match is not None and match[2] in devices:
            # A dot would separate parts of the name.
            name = f"{match[1]}{devices[match[2]].replace('.', '/')}{match[3]}"
        yield name, value


def _limits(node: NodeBase, context: NodeContext) -> ExportLimits | None:
    transport = node.own_transport
    if transport is None or not context.speaks_mptcp(transport.protocol):
        return None
    return ExportLimits(**transport.limits.model_dump())


def _endpoints(node: NodeBase, context: NodeContext) -> Iterator[ExportEndpoint]:
    transport = node.own_transport
    if transport is not None and context.speaks_mptcp(transport.protocol):
        for port, options in mptcp.endpoints_of(context, transport):
            yield ExportEndpoint(port.ip, port.device, options)


def _service(program: Program) -> Service:
    name = program.name.replace(".", "-")
    if program.argv[0] == PATH_MANAGER:
        module = ("python3", "-m", "mptcplab.guest.path_manager")
        return Service(name, (*module, *program.argv[1:]), ("python3",), (("PYTHONPATH", SOURCE),))
    return Service(name, program.argv, program.uses)


def _check_commands(node: NodeBase, context: NodeContext) -> None:
    """Refuse a kind with commands beyond its tables and its transport: they would be left out."""
    known = {table.command(context.name) for table in node.tables(context)}
    known |= set(mptcp.endpoint_commands(context, node.own_transport))
    commands: list[Command] = [*node.endpoints(context), *node.commands(context)]
    other = next((command for command in commands if command not in known), None)
    if other is not None:
        text = " ".join(other.argv)
        message = f"{node.phrase()} runs a command of its own, which no format can express: {text}"
        raise InputError(message, hint="its kind can describe nftables by its method `tables`; or export another node")


def _notes(scenario: Scenario, node: NodeBase, context: NodeContext) -> Iterator[str]:
    yield "Left out: rates, delays, losses and queues of links, since real links have their own; the workloads."
    outages = any(gateway.outages for gateway in scenario.gateways.values())
    if scenario.events or outages or any(node.events(context)):
        yield "Left out: the scenario's events."
    if scenario.knows_neighbours:
        yield "Left out: entries of known neighbours, since real interfaces have link-layer addresses of their own."
    if any(scenario.links[port.link].radio is not None for port in context.ports):
        yield "Left out: its radios. hostapd or wpa_supplicant must connect them before."
    if node.cpu is not None:
        yield "Left out: the node's `cpu`, since a real machine has its own."
    transport = node.own_transport
    if transport is None:
        return
    for noun, name in (("scheduler", transport.scheduler), ("congestion control", transport.congestion_control)):
        if name is not None:
            yield f"The kernel must have the {noun} `{name}`."
    if transport.protocol == "mptcp":
        yield "Programs use MPTCP if they ask for it, or if `mptcpize run PROGRAM` starts them."


def _notes_of_programs(services: list[Service]) -> Iterator[str]:
    programs = sorted({name for service in services for name in service.programs})
    if programs:
        yield f"Programs to install: {', '.join(programs)}."
    if any(("PYTHONPATH", SOURCE) in service.environment for service in services):
        yield f"The path manager is part of mptcplab: copy its folder src/mptcplab to {SOURCE}/mptcplab."
    if has_public_password(services):
        yield "The gateway's password is every lab's, and public: export both of its nodes with --password-file."
