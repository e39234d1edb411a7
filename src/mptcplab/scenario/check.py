# SPDX-License-Identifier: MIT
"""What types cannot say: names that refer to nothing, hosts that cannot reach each other, addresses that clash."""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Iterable

from mptcplab.scenario.document import Document
from mptcplab.scenario.network import Network
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.schema import Scenario

_MOST_NODES = 250


def check(document: Document, scenario: Scenario) -> None:
    """:raises InputError: for the first thing that does not fit together."""
    _check_nodes(document, scenario)
    _check_links(document, scenario)
    _check_addresses(document, scenario)
    _check_workloads(document, scenario)
    _check_endpoints(document, scenario)


def _known(document: Document, path: KeyPath, name: str, names: Iterable[str], noun: str) -> None:
    known = sorted(names)
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else f"there is {', '.join(known) or 'none'}"
    raise document.error(path, f"there is no {noun} '{name}'", hint=hint)


def _check_nodes(document: Document, scenario: Scenario) -> None:
    for name in scenario.routers:
        if name in scenario.hosts:
            raise document.error(("routers", name), "is also a host", hint="give the two nodes different names")
    if len(scenario.hosts) < 2:
        raise document.error(
            ("hosts",), "needs at least two hosts", hint="use a [topology] preset, or add [hosts.NAME]"
        )
    if len(scenario.hosts) + len(scenario.routers) > _MOST_NODES:
        raise document.error(("hosts",), "has too many nodes", hint=f"at most {_MOST_NODES} nodes fit one lab")
    if not scenario.workloads:
        raise document.error(("workloads",), "is empty, so there is nothing to measure", hint="add [workloads.NAME]")


def _check_links(document: Document, scenario: Scenario) -> None:
    nodes = {**scenario.hosts, **scenario.routers}
    for name, link in scenario.links.items():
        for index, end in enumerate(link.between):
            _known(document, ("links", name, "between", index), end, nodes, "node")
        if link.shape == "sender" and not set(link.between) & set(scenario.hosts):
            hint = "between two routers every direction is shaped on the sending router anyway"
            raise document.error(("links", name, "shape"), "has no host to shape on", hint=hint)
    linked = {end for link in scenario.links.values() for end in link.between}
    for kind, names in (("hosts", scenario.hosts), ("routers", scenario.routers)):
        for name in names:
            if name not in linked:
                raise document.error((kind, name), "has no link", hint=f'add a link with between = ["{name}", ...]')


def _check_addresses(document: Document, scenario: Scenario) -> None:
    wanted = 4 if scenario.family == "ipv4" else 6
    seen: dict[str, str] = {}
    for name, link in scenario.links.items():
        interfaces = []
        for index, text in enumerate(link.addresses or ()):
            path: KeyPath = ("links", name, "addresses", index)
            try:
                interface = ipaddress.ip_interface(text)
            except ValueError:
                hint = 'write address and prefix length, like "10.1.1.1/24"'
                raise document.error(path, "is not an address", hint=hint) from None
            if "/" not in text or interface.network.num_addresses < 2:
                raise document.error(path, "has no prefix length", hint=f'like "{text.split("/")[0]}/24"')
            if interface.version != wanted:
                raise document.error(path, f"is not {scenario.family}", hint="set family, or change the address")
            if str(interface.ip) in seen:
                raise document.error(path, f"is also used by link '{seen[str(interface.ip)]}'", hint="choose another")
            seen[str(interface.ip)] = name
            interfaces.append(interface)
        if len({interface.network for interface in interfaces}) > 1:
            hint = "both ends of a link are in one network"
            raise document.error(("links", name, "addresses"), "are in different networks", hint=hint)


def _check_workloads(document: Document, scenario: Scenario) -> None:
    network = Network(scenario)
    for name, workload in scenario.workloads.items():
        path = ("workloads", name)
        _known(document, (*path, "from"), workload.sender, scenario.hosts, "host")
        _known(document, (*path, "to"), workload.receiver, scenario.hosts, "host")
        if workload.via is not None:
            _known(document, (*path, "via"), workload.via, scenario.links, "link")
            if workload.receiver not in scenario.links[workload.via].between:
                hint = f"`via` names a link at {workload.receiver}: {', '.join(network.links_of(workload.receiver))}"
                message = f"does not end at '{workload.receiver}'"
                raise document.error((*path, "via"), message, hint=hint)
        target = network.target(workload)
        if target is None or not network.reaches(workload.sender, target):
            message = f"'{workload.sender}' cannot reach '{workload.receiver}'"
            hint = "add links, by way of routers: hosts do not forward"
            raise document.error((*path, "to"), message, hint=hint)


def _check_endpoints(document: Document, scenario: Scenario) -> None:
    for name, host in scenario.hosts.items():
        endpoints = host.transport.endpoints
        for index, endpoint in enumerate(endpoints if isinstance(endpoints, tuple) else ()):
            path: KeyPath = ("hosts", name, "transport", "endpoints", index, "link")
            _known(document, path, endpoint.link, scenario.links, "link")
            if name not in scenario.links[endpoint.link].between:
                hint = "set endpoints per host: [hosts.NAME.transport]"
                raise document.error(path, f"does not end at '{name}'", hint=hint)
