# SPDX-License-Identifier: MIT
"""Checks of nodes and their transports: number, links, CPUs, endpoints, modes, weights, and the checks of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic_core import PydanticCustomError

from mptcplab.errors import Mistake
from mptcplab.gateway.base import SIDES
from mptcplab.kernel.data import CPU, has_part, with_part
from mptcplab.node.mptcp import subflow_ends, uses_weights, weights_by_address
from mptcplab.node.registry import NODE_KINDS
from mptcplab.node.transport import MAX_WEIGHTS, WEIGHTED_SCHEDULERS
from mptcplab.scenario.document import Document, join_key, lookup, suggest_name
from mptcplab.scenario.network import Network
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known, check_own_link
from mptcplab.scenario.schema import Scenario

_MAX_NODES = 250
#: MPTCP's path manager has that many addresses in a namespace: MPTCP_PM_MAX_ADDR_ID in net/mptcp/protocol.h.
_MAX_LINKS_OF_NODE = 255


def check_nodes(document: Document, scenario: Scenario) -> None:
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


def check_named_links(document: Document, network: Network) -> None:
    """Check that nodes name their own links. :raises InputError: for the first that is not."""
    for name, node in network.nodes.items():
        for key, links in node.named_links():
            for index, link in enumerate(links):
                check_own_link(document, (node.table, name, *key, index), network, name, link)


def check_kinds(document: Document, network: Network) -> None:
    """Run the check of each node's kind. :raises InputError: for the first node that fails it."""
    for name, node in network.nodes.items():
        try:
            node.check(network.context_of(name))
        except PydanticCustomError as error:
            raise document.to_error((node.table, name), error) from error


def check_loopbacks(document: Document, network: Network) -> None:
    """Check that only nodes with sockets have keys of their loopback interface.

    :raises InputError: for the first node where this does nothing.
    """
    for name, node in network.nodes.items():
        given = {"loopback_offload": not node.loopback_offload, "loopback_packet_time": node.loopback_packet_time}
        key = next((key for key, value in given.items() if value), None)
        if key is not None and name not in network.scenario.transports:
            message = "does nothing: the node has no sockets, so nothing passes its loopback interface"
            hint = f"remove it, or add [{node.table}.{name}.transport]" if node.transport_is_optional else "remove it"
            raise document.error((node.table, name, key), message, hint=hint, kind=Mistake.IDLE)


def check_cpus(document: Document, network: Network) -> None:
    """Check that the kernel lets programs take time, and that nodes with a CPU run any.

    :raises InputError: for the first node that has a CPU in vain.
    """
    scenario = network.scenario
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


def check_endpoints(document: Document, network: Network) -> None:
    """Check that nodes have endpoints at their own links, and each once. :raises InputError: for the first mistake."""
    for name, transport in network.scenario.transports.items():
        wanted = transport.endpoints
        endpoints = wanted if isinstance(wanted, tuple) else ()
        table = network.nodes[name].table
        seen = set()
        for index, endpoint in enumerate(endpoints):
            path: KeyPath = (table, name, "transport", "endpoints", index, "link")
            hint = f"endpoints belong to one node: write them in [{table}.NAME.transport]"
            check_own_link(document, path, network, name, endpoint.link, hint=hint)
            if (endpoint.link, endpoint.port) in seen:
                raise document.error(path, "has two endpoints", hint="write one endpoint with all flags")
            seen.add((endpoint.link, endpoint.port))


def check_weights(document: Document, network: Network) -> None:
    """Check that a node's own weights match its subflows, and weights for all nodes at least one node's subflows."""
    scenario = network.scenario
    transports = scenario.transports
    for name, transport in transports.items():
        table = network.nodes[name].table
        path: KeyPath = (table, name, "transport", "weights")
        for link in transport.weights:
            check_known(document, (*path, link), link, scenario.links, "link")
            is_own = (document.place((*path, link)).written or path)[0] == table
            asked = [network.context_of(node) for node in ([name] if is_own else transports)]
            if not any(subflow_ends(context, link) for context in asked):
                seen = [other for other in scenario.links if any(subflow_ends(context, other) for context in asked)]
                message = f"does not end at '{name}' or one of its peers" if is_own else "does not end at a host"
                hint = f"use a link at an end of a subflow: {', '.join(seen)}"
                raise document.error((*path, link), message, hint=hint, kind=Mistake.REFERENCE)
        count = len(weights_by_address(network.context_of(name), transport))
        if count > MAX_WEIGHTS:
            hint = f"use at most {MAX_WEIGHTS}: weights of 1 are the default and can be removed"
            raise document.error(path, f"resolve to {count} addresses", hint=hint, kind=Mistake.VALUE)


def check_modes(document: Document, network: Network) -> None:
    """Check that modes name the node's own links, and that one link stays usable."""
    for name, transport in network.scenario.transports.items():
        links, modes = network.links_of(name), transport.modes
        path: KeyPath = (network.nodes[name].table, name, "transport", "modes")
        for link in modes:
            hint = f"modes belong to one node's own links: '{name}' has {', '.join(links)}"
            check_own_link(document, (*path, link), network, name, link, hint=hint)
        if modes and all(modes.get(link) == "off" for link in links):
            raise document.error(path, "switch every link off", hint='set one of them to "on"')


def refuse_ineffective_weights(document: Document, scenarios: Sequence[Scenario]) -> None:
    """Refuse weights that no scheduler uses. If the scheduler is swept, one scheduler that uses them is enough."""
    nodes = scenarios[0].nodes
    for path in (("transport",), *((node.table, name, "transport") for name, node in nodes.items())):
        weights: KeyPath = (*path, "weights")
        if not lookup(document.tables, weights):
            continue
        if not any(_any_connects(scenario, only=path[1:2]) for scenario in scenarios):
            hint = f"remove them, or let a workload begin or end at '{path[1]}'"
            raise document.error(weights, "do nothing on a node without connections", hint=hint, kind=Mistake.IDLE)
        if not any(_any_uses_weights(scenario, only=path[1:2]) for scenario in scenarios):
            named = " or ".join(f'scheduler = "{name}"' for name in WEIGHTED_SCHEDULERS)
            hint = f"add {named} to [{join_key(path)}]"
            raise document.error(weights, "do nothing with this scheduler", hint=hint, kind=Mistake.IDLE)


def _any_connects(scenario: Scenario, *, only: Sequence[str]) -> bool:
    """Return whether any node, or one of ``only`` if given, opens or accepts connections."""
    network = Network(scenario)
    return any(network.context_of(name).workloads for name in only or scenario.nodes)


def _any_uses_weights(scenario: Scenario, *, only: Sequence[str]) -> bool:
    """Return whether any node, or one of ``only`` if given, has a scheduler that uses weights."""
    network, transports = Network(scenario), scenario.transports
    return any(
        uses_weights(network.context_of(name), transports[name]) for name in only or transports if name in transports
    )
