# SPDX-License-Identifier: MIT
"""Checks across keys: names that refer to nothing, hosts that cannot reach each other, addresses that conflict."""

from __future__ import annotations

import ipaddress
import itertools

from pydantic_core import PydanticCustomError

from mptcplab.configuration import Subnet
from mptcplab.errors import Mistake
from mptcplab.fields import LOOPBACK, conflict, value_error
from mptcplab.network.registry import BEHAVIOURS, largest_packet
from mptcplab.node.graph import Interface
from mptcplab.node.transport import MAX_WEIGHTS
from mptcplab.node.weights import subflow_ends, weights_by_address
from mptcplab.scenario.check_events import check_events
from mptcplab.scenario.check_gateways import check_carried, check_gateways
from mptcplab.scenario.check_nodes import (
    check_cpus,
    check_kinds,
    check_linked,
    check_loopbacks,
    check_named_links,
    check_numbers,
)
from mptcplab.scenario.check_radios import check_radios
from mptcplab.scenario.check_steering import check_steering
from mptcplab.scenario.document import Document
from mptcplab.scenario.links import DIRECTIONS, MIN_MTU_IPV6, Link
from mptcplab.scenario.network import Network, capture_points
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known, check_own_link, check_sockets
from mptcplab.scenario.schema import Scenario

#: 300 links among 200 nodes run. With 400, one batch of commands takes longer than virtual time may stand still.
_MAX_LINKS = 300
_MAX_WORKLOADS = 1000
_FAMILIES = {4: "ipv4", 6: "ipv6"}
_ADDRESS_EXAMPLES = {4: "10.1.1.1/24", 6: "fd00:1::1/64"}


def check(document: Document, scenario: Scenario, *, real_time: bool = False) -> None:
    """Check ``scenario`` as a whole. :raises InputError: for the first inconsistency.

    In ``real_time``, every workload with a duration ends.
    """
    check_numbers(document, scenario)
    _check_numbers(document, scenario)
    _check_links(document, scenario)
    check_linked(document, scenario)
    _check_addresses(document, scenario)
    _check_mtus(document, scenario)
    check_named_links(document, scenario)
    check_gateways(document, scenario)
    _check_workloads(document, scenario)
    check_carried(document, scenario)
    check_kinds(document, scenario)
    check_cpus(document, scenario)
    check_loopbacks(document, scenario)
    _check_endpoints(document, scenario)
    _check_weights(document, scenario)
    _check_modes(document, scenario)
    if not real_time:
        _check_durations(document, scenario)
    _check_captures(document, scenario)
    check_radios(document, scenario)
    check_steering(document, scenario)
    check_events(document, scenario)


def _check_numbers(document: Document, scenario: Scenario) -> None:
    if len(scenario.links) > _MAX_LINKS:
        hint = f"use at most {_MAX_LINKS} links"
        raise document.error(("links",), f"has {len(scenario.links)} links", hint=hint, kind=Mistake.VALUE)
    if not scenario.workloads:
        hint = 'add [workloads.NAME] with kind = "flow", from = "client", to = "server" and duration = "10 s"'
        raise document.error(
            ("workloads",), "is empty, so there is nothing to measure", hint=hint, kind=Mistake.MISSING
        )
    if len(scenario.workloads) > _MAX_WORKLOADS:
        hint = f"use at most {_MAX_WORKLOADS} workloads; `connections` gives one several connections"
        raise document.error(("workloads",), f"has {len(scenario.workloads)} workloads", hint=hint, kind=Mistake.VALUE)


def _check_links(document: Document, scenario: Scenario) -> None:
    nodes = scenario.nodes
    for name, link in scenario.links.items():
        for index, end in enumerate(link.between):
            check_known(document, ("links", name, "between", index), end, nodes, "node")
        if link.shape == "sender" and all(nodes[end].shapes for end in link.between):
            hint = "remove `shape`: a router without a transport always shapes what it sends"
            raise document.error(
                ("links", name, "shape"), "does nothing on a link without a host", hint=hint, kind=Mistake.IDLE
            )
    if scenario.knows_neighbours and all(link.radio is not None for link in scenario.links.values()):
        hint = "remove `neighbours`: stations and access points always resolve addresses"
        raise document.error(("neighbours",), "does nothing without a wired link", hint=hint, kind=Mistake.IDLE)


def _check_addresses(document: Document, scenario: Scenario) -> None:
    version = 4 if scenario.family == "ipv4" else 6
    users: dict[str, str] = {}
    for name, link in scenario.links.items():
        interfaces: list[Interface] = []
        for index, text in enumerate(link.addresses or ()):
            path: KeyPath = ("links", name, "addresses", index)
            try:
                interface = _interface(text, version)
            except PydanticCustomError as error:
                raise document.refusal(path, error) from error
            user = users.setdefault(str(interface.ip), name)
            if interfaces and interface.ip == interfaces[0].ip:
                hint = "give the two ends different addresses"
                raise document.error(path, "is also the other end's address", hint=hint)
            if user != name:
                raise document.error(path, f"is also used by link '{user}'", hint="choose another address")
            interfaces.append(interface)
        if len({interface.network for interface in interfaces}) > 1:
            word, other = (str(interface.network) for interface in interfaces)
            message = f"are in different networks, {word} and {other}"
            hint = "use two addresses of one network, like 10.1.1.1/24 and 10.1.1.2/24"
            raise document.error(("links", name, "addresses"), message, hint=hint)
    if users:
        _check_subnets(document, scenario)


def _interface(text: str, version: int) -> Interface:
    """Return ``text`` as the address of a link's end. :raises PydanticCustomError: if it cannot be one."""
    example = _ADDRESS_EXAMPLES[version]
    try:
        interface = ipaddress.ip_interface(text)
    except ValueError:
        interface = None
    if interface is None or "%" in text:
        raise value_error("is not an address", f'write address and prefix length, like "{example}"')
    if interface.version != version:
        family = _FAMILIES[interface.version]
        hint = f'write family = "{family}" at the top of the file, or an address like "{example}"'
        raise conflict(f"is an {family} address in a scenario of {_FAMILIES[version]}", hint)
    if "/" not in text:
        length = example.split("/")[1]
        raise value_error("has no prefix length", f'write "{text}/{length}"')
    network, ip = interface.network, interface.ip
    if network.num_addresses < 2:
        raise value_error("leaves no address for the other end", f'use a shorter prefix: "{example}"')
    is_this_network = version == 4 and int(ip) >> 24 == 0
    if ip.is_loopback or ip.is_multicast or ip.is_unspecified or ip.is_link_local or is_this_network:
        raise value_error("is not a usable unicast address", f'use a private address like "{example}"')
    if network.num_addresses > 2 and ip == network.network_address:
        raise value_error("is the address of the network itself", f'use a host address in it, like "{_host(network)}"')
    if network.num_addresses > 2 and version == 4 and ip == network.broadcast_address:
        raise value_error("is the network's broadcast address", f'use a host address in it, like "{_host(network)}"')
    return interface


def _host(network: Subnet) -> str:
    return f"{network.network_address + 1}/{network.prefixlen}"


def _check_subnets(document: Document, scenario: Scenario) -> None:
    """Refuse networks that overlap. Two networks either nest or are disjoint, so sorting makes overlaps adjacent."""
    subnets = {port.link: port.subnet for port in Network(scenario).ports.values()}
    ordered = sorted(subnets.items(), key=lambda item: (int(item[1].network_address), item[1].prefixlen))
    for (outer, network), (inner, below) in itertools.pairwise(ordered):
        if int(below.network_address) <= int(network.broadcast_address):
            culprit, other = (inner, outer) if scenario.links[inner].addresses else (outer, inner)
            default = "" if scenario.links[other].addresses else "default "
            message = f"overlap {subnets[other]}, the {default}network of link '{other}'"
            hint = "give every link a network of its own, like 192.168.1.0/24 and 192.168.2.0/24"
            raise document.error(("links", culprit, "addresses"), message, hint=hint)


def _check_mtus(document: Document, scenario: Scenario) -> None:
    for name, link in scenario.links.items():
        if scenario.family == "ipv6" and link.mtu < MIN_MTU_IPV6:
            hint = f"use at least {MIN_MTU_IPV6} B, which IPv6 needs on every link"
            raise document.error(("links", name, "mtu"), "is too small for IPv6", hint=hint)
        for direction in DIRECTIONS:
            settings = getattr(link, direction)
            for behaviour in BEHAVIOURS:
                try:
                    behaviour.check_frame(settings, largest_packet(settings, int(link.mtu)))
                except PydanticCustomError as error:
                    raise document.refusal(("links", name, direction), error) from error


def _check_workloads(document: Document, scenario: Scenario) -> None:
    network = Network(scenario)
    for name, workload in scenario.workloads.items():
        path: KeyPath = ("workloads", name)
        for key, node in (("from", workload.sender), ("to", workload.receiver)):
            check_sockets(document, (*path, key), network, node, "host")
        if workload.via is not None:
            check_own_link(document, (*path, "via"), network, workload.receiver, workload.via)
        target = network.target(workload)
        if target is None or not network.reaches(workload.sender, target):
            where = (*path, "to" if workload.via is None else "via")
            hint = "connect them through routers: hosts do not forward"
            raise document.error(where, f"is not reachable from '{workload.sender}'", hint=hint, kind=Mistake.REFERENCE)


def _check_modes(document: Document, scenario: Scenario) -> None:
    """Check that modes name the node's own links, and that one link stays usable."""
    network = Network(scenario)
    for name, transport in scenario.transports.items():
        own_links, modes = network.links_of(name), transport.modes
        path: KeyPath = (scenario.nodes[name].table, name, "transport", "modes")
        for link in modes:
            hint = f"modes belong to one node's own links: '{name}' has {', '.join(own_links)}"
            check_own_link(document, (*path, link), network, name, link, hint=hint)
        if modes and all(modes.get(link) == "off" for link in own_links):
            raise document.error(path, "switch every link off", hint='set one of them to "on"')


def _check_durations(document: Document, scenario: Scenario) -> None:
    network = Network(scenario)
    for name, workload in scenario.workloads.items():
        target = network.target(workload)
        if target is None or not getattr(workload, "duration", None) or workload.advances_time:
            continue
        if any(network.nodes[end].cpu is not None for end in (workload.sender, workload.receiver)):
            continue
        if not any(_takes_time(scenario.links[link]) for link in network.path_between(workload.sender, target)):
            hint = "give a link on the path a rate or a delay, or give the workload a size"
            path: KeyPath = ("workloads", name, "duration")
            raise document.error(
                path, "never ends: nothing on the path takes virtual time", hint=hint, kind=Mistake.IDLE
            )


def _takes_time(link: Link) -> bool:
    sides = (link.forward, link.backward)
    return link.radio is not None or any(
        behaviour.takes_time(direction) for direction in sides for behaviour in BEHAVIOURS
    )


def _check_endpoints(document: Document, scenario: Scenario) -> None:
    network = Network(scenario)
    for name, transport in scenario.transports.items():
        wanted = transport.endpoints
        endpoints = wanted if isinstance(wanted, tuple) else ()
        table = scenario.nodes[name].table
        seen = set()
        for index, endpoint in enumerate(endpoints):
            path: KeyPath = (table, name, "transport", "endpoints", index, "link")
            hint = f"endpoints belong to one node: write them in [{table}.NAME.transport]"
            check_own_link(document, path, network, name, endpoint.link, hint=hint)
            if (endpoint.link, endpoint.port) in seen:
                raise document.error(path, "has two endpoints", hint="write one endpoint with all flags")
            seen.add((endpoint.link, endpoint.port))


def _check_weights(document: Document, scenario: Scenario) -> None:
    """Check that a node's own weights match its subflows, and weights for all nodes at least one node's subflows."""
    network = Network(scenario)
    transports = scenario.transports
    for name, transport in transports.items():
        table = network.nodes[name].table
        path: KeyPath = (table, name, "transport", "weights")
        for link in transport.weights:
            check_known(document, (*path, link), link, scenario.links, "link")
            is_own = (document.place((*path, link)).written or path)[0] == table
            asked = [network.context_of(this_transport) for this_transport in ([name] if is_own else transports)]
            if not any(subflow_ends(context, link) for context in asked):
                seen = [other for other in scenario.links if any(subflow_ends(context, other) for context in asked)]
                message = f"does not end at '{name}' or one of its peers" if is_own else "does not end at a host"
                hint = f"use a link at an end of a subflow: {', '.join(seen)}"
                raise document.error((*path, link), message, hint=hint, kind=Mistake.REFERENCE)
        count = len(weights_by_address(network.context_of(name), transport))
        if count > MAX_WEIGHTS:
            hint = f"use at most {MAX_WEIGHTS}: weights of 1 are the default and can be removed"
            raise document.error(path, f"resolve to {count} addresses", hint=hint, kind=Mistake.VALUE)


def _check_captures(document: Document, scenario: Scenario) -> None:
    network = Network(scenario)
    files: dict[str, int] = {}
    for index, capture in enumerate(scenario.record.captures):
        path: KeyPath = ("record", "captures", index)
        check_known(document, (*path, "node"), capture.node, scenario.nodes, "node")
        if capture.link == LOOPBACK:
            check_sockets(document, (*path, "node"), network, capture.node, "node")
        elif capture.link is not None:
            check_own_link(document, (*path, "link"), network, capture.node, capture.link)
        for file, _ in capture_points(network, capture):
            if file in files:
                hint = "capture each interface once, or rename a node or link if two file names coincide"
                message = f"would write {file}, as captures[{files[file]}] does"
                raise document.error((*path, "node"), message, hint=hint)
            files[file] = index
