# SPDX-License-Identifier: MIT
"""Checks of nodes across keys: their number, their links, and the checks of each kind."""

from __future__ import annotations

from collections import Counter

from pydantic_core import PydanticCustomError

from mptcplab.errors import Mistake
from mptcplab.gateway.base import SIDES
from mptcplab.kernel.data import CPU, has_part, with_part
from mptcplab.node.registry import NODE_KINDS
from mptcplab.scenario.document import Document, suggest_name
from mptcplab.scenario.network import Network
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_own_link
from mptcplab.scenario.schema import Scenario

_MAX_NODES = 250
#: MPTCP's path manager has that many addresses in a namespace: MPTCP_PM_MAX_ADDR_ID in net/mptcp/protocol.h.
_MAX_LINKS_OF_NODE = 255


def check_numbers(document: Document, scenario: Scenario) -> None:
    """Check the number of nodes and their names. :raises InputError: for too few, too many or a name used twice."""
    kinds: dict[str, str] = {}
    for kind in NODE_KINDS.values():
        for name in scenario.node_tables[kind.table]:
            if name in kinds:
                hint = "give the two nodes different names"
                raise document.error((kind.table, name), f"is also {kinds[name]}", hint=hint)
            kinds[name] = kind.phrase()
    if len(scenario.transports) < 2:
        hint = "use a [topology] preset, or add [hosts.NAME]: a workload needs two hosts"
        raise document.error(("hosts",), "has fewer than two hosts", hint=hint, kind=Mistake.MISSING)
    if len(kinds) > _MAX_NODES:
        hint = f"use at most {_MAX_NODES} nodes in all"
        message = f"brings the number of nodes to {len(kinds)}"
        raise document.error(("hosts",), message, hint=hint, kind=Mistake.VALUE)


def check_linked(document: Document, scenario: Scenario) -> None:
    """Check that every node has links, and not too many. :raises InputError: for the first that has not."""
    linked = Counter(end for link in scenario.links.values() for end in link.between)
    for table, nodes in scenario.node_tables.items():
        for name in nodes:
            if linked[name] > _MAX_LINKS_OF_NODE:
                hint = f"use at most {_MAX_LINKS_OF_NODE} links for a node: MPTCP has no more addresses"
                raise document.error((table, name), f"has {linked[name]} links", hint=hint, kind=Mistake.VALUE)
            if name in linked:
                continue
            near = suggest_name(name, [other for other in linked if other in nodes])
            hint = f'add a link with between = ["{name}", "{next(iter(linked), "server")}"]'
            hint = f"did you mean `{near}`?" if near else hint
            raise document.error((table, name), "has no link", hint=hint, kind=Mistake.MISSING)


def check_named_links(document: Document, scenario: Scenario) -> None:
    """Check that nodes name their own links. :raises InputError: for the first that is not."""
    network = Network(scenario)
    for name, node in network.nodes.items():
        for key, links in node.named_links():
            for index, link in enumerate(links):
                check_own_link(document, (node.table, name, *key, index), network, name, link)


def check_kinds(document: Document, scenario: Scenario) -> None:
    """Run the check of each node's kind. :raises InputError: for the first node that fails it."""
    network = Network(scenario)
    for name, node in network.nodes.items():
        try:
            node.check(network.context_of(name))
        except PydanticCustomError as error:
            raise document.refusal((node.table, name), error) from error


def check_loopbacks(document: Document, scenario: Scenario) -> None:
    """Check that only nodes with sockets have keys of their loopback interface.

    :raises InputError: for the first node where this does nothing.
    """
    for name, node in Network(scenario).nodes.items():
        given = {"loopback_offload": not node.loopback_offload, "loopback_packet_time": node.loopback_packet_time}
        key = next((key for key, value in given.items() if value), None)
        if key is not None and name not in scenario.transports:
            message = "does nothing: the node has no sockets, so nothing passes its loopback interface"
            hint = f"remove it, or add [{node.table}.{name}.transport]" if node.transport_is_optional else "remove it"
            raise document.error((node.table, name, key), message, hint=hint, kind=Mistake.IDLE)


def check_cpus(document: Document, scenario: Scenario) -> None:
    """Check that the kernel lets programs take time, and that nodes with a CPU run any.

    :raises InputError: for the first node that has a CPU in vain.
    """
    network = Network(scenario)
    sides = {gateway.node_of(side) for gateway in scenario.gateways.values() for side in SIDES}
    for name, node in network.nodes.items():
        if node.cpu is None:
            continue
        path: KeyPath = (node.table, name, "cpu")
        context = network.context_of(name)
        if name not in sides and not context.workloads and not any(node.programs(context)):
            hint = "give it to a node that a workload uses: forwarding packets takes no time"
            raise document.error(path, "does nothing: no program runs on this node", hint=hint, kind=Mistake.IDLE)
        if not has_part(scenario.kernel, CPU):
            hint = f'write kernel = "{with_part(scenario.kernel, CPU)}" at the top of the file'
            message = f"needs a kernel that lets programs take time, and {scenario.kernel} does not"
            raise document.error(path, message, hint=hint, kind=Mistake.CONFLICT)
