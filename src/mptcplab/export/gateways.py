# SPDX-License-Identifier: MIT
"""The part of gateways in a node's configuration: programs with their files, and the rules that redirect to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mptcplab.configuration import NftTable
from mptcplab.errors import InputError
from mptcplab.export.model import Service
from mptcplab.gateway.base import PASSWORD, SIDES, GatewayBase, Prepared
from mptcplab.gateway.context import GatewayContext
from mptcplab.gateway.outage import Side
from mptcplab.scenario import gateways
from mptcplab.scenario.network import Network


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
        prepared = Prepared.from_call(gateway.call_of(context, side))

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
