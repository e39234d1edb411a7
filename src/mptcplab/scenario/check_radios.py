# SPDX-License-Identifier: MIT
"""Checks of radio links: their ends, positions, captures and events, and the kernel that radios need."""

from __future__ import annotations

from mptcplab.errors import Mistake
from mptcplab.kernel.data import WIFI, has_part, with_part
from mptcplab.scenario.document import Document
from mptcplab.scenario.network import AIR, ROAMING, Network
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known
from mptcplab.scenario.schema import Scenario


def check_radios(document: Document, scenario: Scenario) -> None:
    """Check all radio links, and that nothing about radios is set in vain.

    :raises InputError: for the first inconsistency.
    """
    network = Network(scenario)
    for name, link in scenario.links.items():
        if link.radio is not None:
            _check_ends(document, network, name)
            _check_kernel(document, scenario, ("links", name, "radio"))
    _check_nodes(document, network)
    _check_captures(document, network)
    _check_events(document, network)
    if not scenario.has_radios and scenario.is_set("wifi"):
        hint = "add [access_points.NAME], and give the link to it radio = {}"
        raise document.error(("wifi",), "does nothing: no link has a radio", hint=hint, kind=Mistake.IDLE)


def _check_ends(document: Document, network: Network, name: str) -> None:
    ends = network.scenario.links[name].between
    cells = [end for end in ends if network.nodes[end].cell(end) is not None]
    path: KeyPath = ("links", name, "radio")
    if not cells:
        hint = f"add [access_points.NAME] and use it as one end, or remove `radio`: '{ends[1]}' is not an access point"
        raise document.error(path, "joins no access point", hint=hint, kind=Mistake.REFERENCE)
    if len(cells) == len(ends):
        hint = "remove `radio`: access points are joined by a cable"
        raise document.error(path, "joins two access points", hint=hint, kind=Mistake.CONFLICT)
    _check_roaming(document, network, name, cells[0])
    for end in (*ends, *_radio_gateways(network, name)):
        if network.nodes[end].position is None:
            key = (network.nodes[end].table, end)
            hint = "add position = [0, 0]: x and y in metres"
            message = f"has a radio, by link '{name}', but no position"
            raise document.error(key, message, hint=hint, kind=Mistake.MISSING)


def _radio_gateways(network: Network, name: str) -> tuple[str, ...]:
    radio = network.scenario.links[name].radio
    return radio.through if radio is not None else ()


def _check_roaming(document: Document, network: Network, name: str, home: str) -> None:
    """Check that a station can be with each access point that its link names."""
    nodes = network.nodes
    own_cell = nodes[home].cell(home)
    for index, node in enumerate(_radio_gateways(network, name)):
        path: KeyPath = ("links", name, "radio", "through", index)
        check_known(document, path, node, nodes, "node")
        cell = nodes[node].cell(node)
        if cell is None:
            hint = "name an access point: [access_points.NAME]"
            raise document.error(path, "is not an access point", hint=hint, kind=Mistake.REFERENCE)
        if node in (home, *_radio_gateways(network, name)[:index]):
            raise document.error(path, "is named twice", hint="remove it here", kind=Mistake.IDLE)
        if own_cell is None:
            continue
        if (cell.security, cell.passphrase) != (own_cell.security, own_cell.passphrase):
            hint = "give both the same security and passphrase"
            message = f"is protected in another way than '{home}', or has another passphrase"
            raise document.error(path, message, hint=hint)
        if (cell.ssid, cell.mode) != (own_cell.ssid, own_cell.mode):
            hint = f'give both the same mode and ssid, like ssid = "office", in [access_points.{home}] and here'
            message = f"is of another network than '{home}': {cell.ssid}, {cell.mode}"
            raise document.error(path, message, hint=hint)


def _check_kernel(document: Document, scenario: Scenario, path: KeyPath) -> None:
    if not has_part(scenario.kernel, WIFI):
        hint = f'write kernel = "{with_part(scenario.kernel, WIFI)}" at the top of the file'
        message = f"needs a kernel with simulated radios, and {scenario.kernel} has none"
        raise document.error(path, message, hint=hint, kind=Mistake.CONFLICT)


def _check_nodes(document: Document, network: Network) -> None:
    links = network.scenario.links
    for name, node in network.nodes.items():
        own_links = [links[link] for link in network.links_of(name)]
        path: KeyPath = (node.table, name)
        is_roamed = any(name in group for group in network.roaming_groups)
        if is_roamed or any(link.radio is not None for link in own_links):
            for device in {AIR, ROAMING} & set(network.links_of(name)) if node.cell(name) is not None else ():
                hint = "give the link another name"
                message = f"is the name of an interface of '{name}', one of its ends"
                raise document.error(("links", device), message, hint=hint, kind=Mistake.CONFLICT)
            continue
        if node.cell(name) is not None:
            hint = f"give the link of a station radio = {{}}: [links.NAME] between = [STATION, {name!r}]"
            raise document.error(path, "has no station", hint=hint.replace("'", '"'), kind=Mistake.IDLE)
        for key in ("position", "waypoints", "walk"):
            if node.is_set(key):
                hint = "remove it, or give a link of the node radio = {}"
                raise document.error((*path, key), "does nothing without a radio", hint=hint, kind=Mistake.IDLE)


def _check_captures(document: Document, network: Network) -> None:
    """Refuse captures at access points, whose interface has the packets of all stations."""
    for index, capture in enumerate(network.scenario.record.captures):
        for link in network.links_of(capture.node):
            is_radio = network.scenario.links[link].radio is not None
            if is_radio and capture.link in (None, link) and network.nodes[capture.node].cell(capture.node) is not None:
                peer = network.ports[capture.node, link].peer
                hint = f'capture at the station, node = "{peer}", or name a wired link'
                message = f"is an access point, whose packets of link '{link}' cannot be captured alone"
                raise document.error(("record", "captures", index, "node"), message, hint=hint, kind=Mistake.CONFLICT)


def _check_events(document: Document, network: Network) -> None:
    """Refuse events that a radio cannot have: it fails at the station, by its interface."""
    for index, event in enumerate(network.scenario.events):
        link = network.scenario.links.get(event.link)
        if link is None or link.radio is None:
            continue
        path: KeyPath = ("events", index)
        if event.type == "change":
            hint = 'move the node by type = "move", or let the station\'s radio fail by type = "down"'
            raise document.error((*path, "link"), "is a radio link, which has no values", hint=hint)
        if event.type == "down" and event.failure_mode == "carrier":
            hint = 'write mode = "interface" to switch the station\'s interface off, or "silent" for its radio'
            raise document.error((*path, "mode"), 'cannot fail as "carrier": it is a radio link', hint=hint)
        if event.direction != "both":
            hint = "remove `direction`: its radio neither hears nor is heard"
            raise document.error((*path, "direction"), "cannot be set for a radio link", hint=hint)
        if event.node is not None and network.nodes[event.node].cell(event.node) is not None:
            hint = "name the station, or remove `node`"
            message = "is an access point, with one radio for all of its stations"
            raise document.error((*path, "node"), message, hint=hint)
