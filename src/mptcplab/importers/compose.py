# SPDX-License-Identifier: MIT
"""A scenario made of a :class:`~mptcplab.importers.world.World`: hosts, routers, links, transports, workloads, events.

What the files do not say is assumed, and said in a comment: a scenario needs a transfer, and a rate on each path.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mptcplab.errors import InputError
from mptcplab.importers.qdiscs import read_shape
from mptcplab.importers.world import (
    Address,
    Device,
    EndpointLine,
    ImportedNode,
    ImportedTransfer,
    Interface,
    Origin,
    Shape,
    TimedChange,
    World,
)
from mptcplab.scenario.network import default_network
from mptcplab.scenario.writing import CommentedValue
from mptcplab.units import Duration

_MAX_NODE, _MAX_LINK, _MAX_LINKS, _MAX_EVENTS = 32, 15, 120, 100
_CLIENTS = ("client", "h1", "ns1", "host1", "sender", "src", "ue", "ns_client", "a", "router")
_SERVERS = ("server", "h2", "ns2", "host2", "receiver", "dst", "sink", "ns_server", "b", "vps")
_NEEDS_RATE = ("queue", "burst", "overhead", "discipline", "aqm")
_RATE = "100 Mbit/s"
_DEFAULT_LIMITS = {"subflows": 2, "add_addr_accepted": 0}
_TRANSFER_S = 10


@dataclass
class _Link:
    """A link of the scenario: its ends, and the devices that were read."""

    name: str
    ends: tuple[str, str]
    devices: tuple[Device | None, Device | None]
    origin: Origin | None
    shapes: tuple[Shape, Shape] = field(default_factory=lambda: ({}, {}))
    #: Ends whose own interface shapes what they send.
    shaping_ends: tuple[str, ...] = ()


class Composer:
    """Makes the tables of a scenario."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._names: dict[str, str] = {}
        self._links: list[_Link] = []
        self._taken: set[str] = set()
        self._routers: set[str] = set()
        self._with_sockets: set[str] = set()

    def tables(self) -> dict[str, Any]:
        """Return the tables. :raises InputError: if no two nodes are connected."""
        self._make_links()
        if not self._links:
            hint = (
                "a network needs links: veth pairs, addLink, path_..., or tc commands for a device; see docs/import.md"
            )
            raise InputError("nothing in the files describes a link", hint=hint)
        self._choose_routers()
        workloads = self._workloads()
        self._assume_rates(workloads)
        tables: dict[str, Any] = {"title": self._world.title or "Imported"}
        addresses, is_ipv6 = self._addresses()
        if is_ipv6:
            tables["family"] = "ipv6"
        tables |= self._node_tables()
        tables["links"] = {link.name: self._link_table(link, addresses.get(link.name)) for link in self._links}
        tables["workloads"] = workloads
        events = self._events()
        if events:
            tables["events"] = events
        return tables

    # -- names

    def _name(self, name: str, longest: int) -> str:
        """Return a name of the scenario language for a name of a file."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "-", name)
        plain = plain if plain[:1].isalpha() else f"n{plain}"
        chosen, number = plain[:longest], 1
        while chosen in self._taken:
            number += 1
            chosen = f"{plain[: longest - len(str(number))]}{number}"
        self._taken.add(chosen)
        return chosen

    def _node_name(self, node: str) -> str:
        if node not in self._names:
            self._names[node] = self._name(node or "host", _MAX_NODE)
        return self._names[node]

    # -- links

    def _make_links(self) -> None:
        """Make a link of each cable, and of each interface of a real machine."""
        for first, second, origin in self._world.cables[:_MAX_LINKS]:
            ends = (self._end(first), self._end(second))
            if ends[0] == ends[1]:
                self._world.skip(origin, f"{first.name} and {second.name}", "both ends of the link are on one node")
                continue
            name = first.name if first.name == second.name or first.name not in self._taken else f"{first.name}-2"
            self._add(name, ends, (first, second), origin)
        if not self._links:
            self._make_links_of_machines()

    def _end(self, device: Device) -> str:
        """Return the node of a device; a device in a bridge belongs to the bridge."""
        if device.master is None:
            return device.node
        self._world.node(device.master).is_switch = True
        return device.master

    def _make_links_of_machines(self) -> None:
        """Connect the interfaces of machines: with each other by their networks, else with a server beyond."""
        machines = [(name, list(self._paths(name))) for name in self._world.nodes]
        machines = [(name, devices) for name, devices in machines if devices]
        left = [device for _, devices in machines for device in devices][:_MAX_LINKS]
        while left:
            first = left.pop(0)
            second = next(
                (other for other in left if other.node != first.node and _have_common_network(first, other)), None
            )
            if second is not None:
                left.remove(second)
                self._add(first.name, (first.node, second.node), (first, second), None)
                continue
            beyond = "server" if len(machines) == 1 else "internet"
            beyond = "vps" if first.node == "router" else beyond
            self._world.node(beyond).forwards = beyond == "internet"
            self._add(first.name, (first.node, beyond), (first, None), None)
        if len(machines) == 1 and self._links:
            self._world.assume(f"each interface of {machines[0][0]} is a path of its own to one server")

    def _paths(self, node: str) -> Iterator[Device]:
        """Yield the interfaces of a machine that may be paths."""
        addresses = {endpoint.address for endpoint in self._world.nodes[node].endpoints}
        for device in self._world.devices_of(node):
            has_endpoint = any(interface.ip in addresses for interface, _ in device.addresses)
            if (
                device.kind in ("", "veth")
                and device.name != "lo"
                and (device.is_path or device.addresses or has_endpoint)
            ):
                yield device

    def _add(
        self, name: str, ends: tuple[str, str], devices: tuple[Device | None, Device | None], origin: Origin | None
    ) -> None:
        shapes = []
        shaping_ends = []
        for sender, receiver in (devices, devices[::-1]):
            shape = {} if sender is None else self._shape(sender)
            if shape and sender is not None and sender.at_sender:
                shaping_ends.append(sender.node)
            incoming = {} if receiver is None or receiver.redirect is None else self._shape_before(receiver)
            shapes.append(shape | incoming)
        link = _Link(self._name(name, _MAX_LINK), ends, devices, origin, (shapes[0], shapes[1]), tuple(shaping_ends))
        self._links.append(link)
        for end in ends:
            self._node_name(end)

    def _shape(self, device: Device) -> Shape:
        if device.initial is not None:
            return dict(device.initial)
        return read_shape(self._world, device) if device.disciplines else dict(device.shape)

    def _shape_before(self, device: Device) -> Shape:
        """Return what an IFB does to the packets that arrive at a device."""
        ifb = self._world.devices.get((device.node, device.redirect or ""))
        return {} if ifb is None else self._shape(ifb)

    def _choose_routers(self) -> None:
        """Decide which nodes are routers: nodes that forward, and switches; the others are hosts."""
        connected = dict.fromkeys(end for link in self._links for end in link.ends)
        for name in connected:
            node = self._world.node(name)
            if node.is_switch or node.forwards:
                self._routers.add(name)
            if node.is_switch:
                self._world.assume(
                    f"the switch {name} becomes a router, so that each of its links is a network of its own"
                )
        for name in self._world.nodes:
            if name not in connected and (
                self._world.nodes[name].endpoints or name in {t.source for t in self._world.transfers}
            ):
                self._world.assume(f"{name} has no link, and is left out")

    def _link_of(self, device: Device | None) -> _Link | None:
        return next((link for link in self._links if device is not None and device in link.devices), None)

    def _link_of_address(self, node: str, address: Address) -> _Link | None:
        """Return the link at which a node has an address."""
        device = self._world.owner(address)
        if device is not None and device.node == node:
            return self._link_of(device)
        return None

    # -- workloads

    def _workloads(self) -> dict[str, Any]:
        tables: dict[str, Any] = {}
        for transfer in self._world.transfers[:20]:
            table = self._workload(transfer)
            if table is not None:
                tables[self._name(f"transfer{len(tables) + 1}", _MAX_NODE)] = table
        if not tables:
            source, target = self._choose_ends()
            self._with_sockets |= {source, target}
            about = "the files name no transfer: ten seconds from one host to the other are assumed"
            tables["transfer"] = CommentedValue(
                {
                    "kind": "flow",
                    "from": self._node_name(source),
                    "to": self._node_name(target),
                    "duration": f"{_TRANSFER_S} s",
                },
                about,
            )
        return tables

    def _workload(self, transfer: ImportedTransfer) -> Any:
        connected = dict.fromkeys(end for link in self._links for end in link.ends)
        target, via = self._target(transfer)
        if transfer.source not in connected or target not in connected or target == transfer.source:
            self._world.skip(transfer.origin, "transfer", "its source or its destination is not in the network")
            return None
        self._with_sockets |= {transfer.source, target}
        table: dict[str, Any] = {
            "kind": "flow",
            "from": self._node_name(transfer.source),
            "to": self._node_name(target),
        }
        if via is not None and via.name != next(link.name for link in self._links if target in link.ends):
            table["via"] = via.name
        table |= transfer.keys
        if transfer.start_s:
            table["start"] = str(Duration(round(transfer.start_s * 10**9)))
        return CommentedValue(table, str(transfer.origin))

    def _target(self, transfer: ImportedTransfer) -> tuple[str, _Link | None]:
        """Return the node that a transfer goes to, and the link whose address it connects to."""
        if isinstance(transfer.to, str):
            return transfer.to, None
        device = None if transfer.to is None else self._world.owner(transfer.to)
        if device is not None:
            return device.node, self._link_of(device)
        others = [
            end for link in self._links for end in link.ends if end != transfer.source and end not in self._routers
        ]
        if transfer.to is not None and others:
            self._world.assume(
                f"{transfer.origin}: nobody has the address {transfer.to}; the connection goes to {others[-1]}"
            )
        return (others[-1] if others else ""), None

    def _choose_ends(self) -> tuple[str, str]:
        """Return the client and the server of an assumed transfer. :raises InputError: if there are no two hosts."""
        hosts = list(dict.fromkeys(end for link in self._links for end in link.ends if end not in self._routers))
        if len(hosts) < 2:
            hosts = list(dict.fromkeys(end for link in self._links for end in link.ends))
        if len(hosts) < 2:
            raise InputError("there are no two hosts", hint="a transfer needs two; see docs/import.md")
        source = next((name for role in _CLIENTS for name in hosts if name.lower() == role), hosts[0])
        source = next((name for name in hosts if "client" in name.lower()), source)
        target = next((name for role in _SERVERS for name in hosts if name.lower() == role and name != source), "")
        target = next((name for name in hosts if "server" in name.lower() and name != source), target)
        return source, target or next(name for name in reversed(hosts) if name != source)

    def _assume_rates(self, workloads: dict[str, Any]) -> None:
        """Give each path of a transfer a rate, where no link of it has one in a direction."""
        names = {name: node for node, name in self._names.items()}
        for entry in workloads.values():
            left = list(self._links)
            table = entry.value
            while path := _shortest(left, names[table["from"]], names[table["to"]]):
                for link, _ in path:
                    left.remove(link)
                for turned in (False, True):
                    shapes = [link.shapes[0 if is_forward != turned else 1] for link, is_forward in path]
                    if not any("rate" in shape for shape in shapes):
                        shapes[-1 if turned else 0]["rate"] = CommentedValue(_RATE, "not in the files: ASSUMED, set it")

    # -- tables

    def _addresses(self) -> tuple[dict[str, tuple[Interface, Interface]], bool]:
        """Return the addresses of links by their names, if all of them fit into one scenario; and whether all are IPv6.

        Without addresses of its own, a link gets the lab's.
        """
        pairs = {link.name: _pair(link) for link in self._links}
        known = [pair for pair in pairs.values() if pair is not None]
        versions = {pair[0].version for pair in known}
        is_ipv6 = versions == {6}
        networks = [pair[0].network for pair in known]
        for number, link in enumerate(self._links, start=1):
            if pairs[link.name] is None:
                networks.append(default_network(number, is_ipv6=is_ipv6))
        overlap = any(
            network.overlaps(other)
            for index, network in enumerate(networks)
            for other in networks[index + 1 :]
            if network.version == other.version
        )
        addresses = {} if len(versions) > 1 or overlap else {name: pair for name, pair in pairs.items() if pair}
        if known and not addresses:
            self._world.assume("addresses are the lab's: in the files, a link does not have a network of its own")
        return addresses, is_ipv6 and bool(addresses)

    def _link_table(self, link: _Link, addresses: tuple[Interface, Interface] | None) -> Any:
        table: dict[str, Any] = {"between": [self._node_name(end) for end in link.ends]}
        if addresses is not None:
            table["addresses"] = [str(interface) for interface in addresses]
        mtu = next((device.mtu for device in link.devices if device is not None and device.mtu is not None), None)
        if mtu is not None:
            table["mtu"] = mtu
        if any(end not in self._routers or end in self._with_sockets for end in link.shaping_ends):
            table["shape"] = CommentedValue("sender", "tc of a host shapes what the host itself sends")
        shapes = [self._drop_idle_keys(link, shape) for shape in link.shapes]
        common = {
            key: entry for key, entry in shapes[0].items() if key in shapes[1] and shapes[1][key].value == entry.value
        }
        table |= common
        for direction, shape in zip(("forward", "backward"), shapes, strict=True):
            rest = {key: entry for key, entry in shape.items() if key not in common}
            if rest:
                table[direction] = rest
        origin = "" if link.origin is None else str(link.origin)
        return CommentedValue(table, origin) if origin else table

    def _drop_idle_keys(self, link: _Link, shape: Shape) -> Shape:
        """Return a direction without keys that need a rate, if it has none."""
        if "rate" in shape:
            return shape
        lost = [key for key in _NEEDS_RATE if key in shape]
        if lost:
            self._world.assume(f"{link.name}: {', '.join(lost)} does nothing without a rate, and is left out")
        return {key: entry for key, entry in shape.items() if key not in lost}

    def _node_tables(self) -> dict[str, Any]:
        kinds: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, chosen in self._names.items():
            node = self._world.node(name)
            is_router = name in self._routers
            table: dict[str, Any] = {}
            if not is_router or name in self._with_sockets:
                table["transport"] = self._transport(node)
                if not table["transport"] and not is_router:
                    del table["transport"]
            elif node.sysctl:
                table["sysctl"] = node.sysctl
            kinds["routers" if is_router else "hosts"][chosen] = table
        return {kind: kinds[kind] for kind in ("hosts", "routers") if kinds[kind]}

    def _transport(self, node: ImportedNode) -> dict[str, Any]:
        transport: dict[str, Any] = dict(node.transport)
        if node.sysctl:
            transport["sysctl"] = node.sysctl
        backups = {
            link.name: "backup"
            for link in self._links
            for device in link.devices
            if device is not None and device.node == node.name and device.is_backup
        }
        if backups:
            transport["modes"] = backups
        if not self._world.is_configured:
            if node.limits:
                transport["limits"] = dict(node.limits)
            return transport
        endpoints = [entry for line in node.endpoints[:8] if (entry := self._endpoint(node, line)) is not None]
        transport["endpoints"] = endpoints or CommentedValue("none", "no command adds an endpoint here")
        default = "the kernel's default, which no command changes"
        transport["limits"] = {
            key: node.limits.get(key, CommentedValue(count, default)) for key, count in _DEFAULT_LIMITS.items()
        }
        return transport

    def _endpoint(self, node: ImportedNode, line: EndpointLine) -> dict[str, Any] | None:
        link = self._link_of_address(node.name, line.address)
        if link is None:
            self._world.skip(line.origin, f"endpoint {line.address}", "no link of this node has the address")
            return None
        entry: dict[str, Any] = {"link": link.name, "flags": list(line.flags)}
        if line.port is not None:
            entry["port"] = line.port
        return entry

    # -- events

    def _events(self) -> list[Any]:
        events: list[CommentedValue] = []
        for change in sorted(self._world.changes, key=lambda change: change.at_s)[:_MAX_EVENTS]:
            table = self._event(change)
            if table is None or table in [entry.value for entry in events]:
                continue
            turned = {"forward": "backward", "backward": "forward"}.get(table.get("direction", ""))
            twin = next((entry for entry in events if turned and entry.value == table | {"direction": turned}), None)
            if twin is not None:
                del twin.value["direction"]
            else:
                events.append(CommentedValue(table, str(change.origin)))
        return events

    def _event(self, change: TimedChange) -> dict[str, Any] | None:
        table: dict[str, Any] = {"at": str(Duration(round(change.at_s * 10**9))), "type": change.keys["type"]}
        rest = {key: value for key, value in change.keys.items() if key != "type"}
        if change.keys["type"] == "limits-changed":
            return table | {"node": self._names.get(change.node, change.node)} | rest
        device = self._world.devices.get((change.node, change.device))
        if change.address is not None:
            link = self._link_of_address(change.node, change.address)
        else:
            link = self._link_of(device)
        if link is None:
            self._world.skip(change.origin, change.keys["type"], "its interface is not the end of a link")
            return None
        table["link"] = link.name
        is_first = device is not None and device is link.devices[0]
        if table["type"] == "change" or (table["type"] == "down" and "mode" not in rest):
            table["direction"] = "forward" if is_first else "backward"
        elif "address" in table["type"] or "endpoint" in table["type"] or rest.get("mode"):
            table["node"] = self._names.get(change.node, change.node)
        return table | rest


def _shortest(links: list[_Link], source: str, target: str) -> list[tuple[_Link, bool]]:
    """Return the shortest path as links, each with whether it is passed forward; an empty list if there is none."""
    before: dict[str, tuple[str, _Link, bool]] = {}
    queue = deque([source])
    while queue:
        node = queue.popleft()
        if node == target:
            break
        for link in links:
            for end, other, is_forward in ((link.ends[0], link.ends[1], True), (link.ends[1], link.ends[0], False)):
                if end == node and other != source and other not in before:
                    before[other] = (node, link, is_forward)
                    queue.append(other)
    path: list[tuple[_Link, bool]] = []
    node = target
    while node in before:
        node, link, is_forward = before[node]
        path.append((link, is_forward))
    return path[::-1] if path and node == source else []


def _have_common_network(first: Device, second: Device) -> bool:
    return any(
        entry.network == other.network and entry.ip != other.ip
        for entry, _ in first.addresses
        for other, _ in second.addresses
    )


def _pair(link: _Link) -> tuple[Interface, Interface] | None:
    """Return the addresses of both ends, if they are of one network."""
    first, second = link.devices
    if first is None or second is None or first.master is not None or second.master is not None:
        return None
    for entry, _ in first.addresses:
        for other, _ in second.addresses:
            if entry.network == other.network and entry.ip != other.ip and entry.network.num_addresses >= 4:
                return (entry, other)
    return None
