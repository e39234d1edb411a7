# SPDX-License-Identifier: MIT
"""Radios: the ``[wifi]`` table, how signals spread between all of them, and the ``radio`` of a link; their checks, for
which links need ends, positions, captures and events that radios can have, and a kernel with radios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from mptcplab.errors import Mistake
from mptcplab.fields import Misnomers, NodeName, Number, Part, Whole, idle
from mptcplab.kernel.data import WIFI, has_part, with_part
from mptcplab.node.cell import Power
from mptcplab.scenario.document import Document
from mptcplab.scenario.place import KeyPath
from mptcplab.scenario.references import check_known

if TYPE_CHECKING:
    from mptcplab.scenario.events import Event
    from mptcplab.scenario.network import Network
    from mptcplab.scenario.schema import Scenario

#: The interface of an access point to its stations; other nodes have one for each radio link, with the link's name.
AIR = "air0"
#: The bridge of an access point that stations roam to or from: a switch joins all of their network.
ROAMING = "ess0"

_Loss = Annotated[Number, Field(ge=0, le=200)]
_Dbm = Annotated[Number, Field(ge=-150, le=40)]
_Exponent = Annotated[Number, Field(ge=1, le=8)]
_Deviation = Annotated[Number, Field(ge=0, le=30)]


class Radio(Power):
    """A link's radio: the station's, at the other end from the access point."""

    misnomers: ClassVar[Misnomers] = {
        "through": ("access_points", "aps", "via", "roam"),
        "roam_below_dbm": ("roam_below", "roam_threshold", "handover_below"),
    }

    through: tuple[NodeName, ...] = Field(
        default=(),
        description="further access points of the same network, with which the station may associate instead",
        examples=[["ap2"]],
    )
    roam_below_dbm: Annotated[Number, Field(ge=-100, le=-20)] | None = Field(
        default=None,
        description="the station looks for a stronger one of them while it hears its own below this; default: only "
        "when it has lost it",
        examples=[-75],
    )

    @model_validator(mode="after")
    def _check_roaming(self) -> Radio:
        if self.roam_below_dbm is not None and not self.through:
            hint = 'add through = ["ap2"], with other access points of the network'
            raise idle("does nothing with a single access point", hint, "roam_below_dbm")
        return self


class Wifi(Part):
    """What all radios have in common. The defaults come from the calibration, see docs/wifi.md."""

    misnomers: ClassVar[Misnomers] = {
        "path_loss": ("propagation", "loss_model", "pathloss", "model"),
        "exponent": ("path_loss_exponent", "alpha", "gamma", "n"),
        "reference_loss_db": ("reference_loss",),
        "shadowing_db": ("shadowing", "sigma", "fading"),
        "noise_dbm": ("noise", "noise_floor"),
        "sensitivity_dbm": ("sensitivity",),
        "capture_db": ("capture", "capture_threshold"),
        "rts_bytes": ("rts", "rts_threshold", "rts_cts"),
    }

    path_loss: Literal["log-distance", "free-space"] = Field(
        default="log-distance", description="how a signal weakens with the distance"
    )
    exponent: _Exponent = Field(default=3.0, description="exponent of log-distance: 2 in free space, more indoors")
    reference_loss_db: _Loss = Field(default=46.7, description="loss at 1 m with log-distance, in dB")
    shadowing_db: _Deviation = Field(
        default=0.0,
        description="standard deviation of a further loss, drawn for each pair of radios, in dB",
        examples=[6],
    )
    noise_dbm: _Dbm = Field(default=-94.0, description="noise of a receiver in 20 MHz, in dBm")
    sensitivity_dbm: _Dbm = Field(default=-92.2, description="weakest signal that a receiver finds, in dBm")
    capture_db: _Loss = Field(
        default=5.0, description="by how much a later frame must be stronger to be received instead of the first, in dB"
    )
    rts_bytes: Annotated[Whole, Field(ge=0, le=2347)] | None = Field(
        default=None, description="longer frames are announced by RTS and CTS; default: none is", examples=[500]
    )

    @model_validator(mode="after")
    def _check_model(self) -> Wifi:
        for key in ("exponent", "reference_loss_db"):
            if self.path_loss == "free-space" and self.is_set(key):
                raise idle("does nothing in free space", 'remove it, or write path_loss = "log-distance"', key)
        return self


def check_radios(document: Document, network: Network) -> None:
    """Check all radio links, and that nothing about radios is set in vain.

    :raises InputError: for the first inconsistency.
    """
    scenario = network.scenario
    for name, link in scenario.links.items():
        if link.radio is not None:
            _check_ends(document, network, name)
            _check_kernel(document, scenario, ("links", name, "radio"))
    _check_nodes(document, network)
    _check_captures(document, network)
    _check_link_events(document, network)
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
    home_cell = nodes[home].cell(home)
    for index, node in enumerate(_radio_gateways(network, name)):
        path: KeyPath = ("links", name, "radio", "through", index)
        check_known(document, path, node, nodes, "node")
        cell = nodes[node].cell(node)
        if cell is None:
            hint = "name an access point: [access_points.NAME]"
            raise document.error(path, "is not an access point", hint=hint, kind=Mistake.REFERENCE)
        if node in (home, *_radio_gateways(network, name)[:index]):
            raise document.error(path, "is named twice", hint="remove it here", kind=Mistake.IDLE)
        if home_cell is None:
            continue
        if (cell.security, cell.passphrase) != (home_cell.security, home_cell.passphrase):
            hint = "give both the same security and passphrase"
            message = f"is protected in another way than '{home}', or has another passphrase"
            raise document.error(path, message, hint=hint)
        if (cell.ssid, cell.mode) != (home_cell.ssid, home_cell.mode):
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
        of_node = [links[link] for link in network.links_of(name)]
        path: KeyPath = (node.table, name)
        is_roamed = any(name in group for group in network.roaming_groups)
        if is_roamed or any(link.radio is not None for link in of_node):
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


def _check_link_events(document: Document, network: Network) -> None:
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


def check_radio_event(document: Document, path: KeyPath, scenario: Scenario, event: Event, off: set[str]) -> None:
    """Check an event of all radios of a node. ``off`` has the nodes whose radios earlier events have switched off.

    :raises InputError: if it is impossible.
    """
    node = event.node or ""
    check_known(document, (*path, "node"), node, scenario.nodes, "node")
    if not any(node in link.between and link.radio is not None for link in scenario.links.values()):
        hint = "name a node at a link with a radio, or a link"
        raise document.error((*path, "node"), "has no radio", hint=hint, kind=Mistake.IDLE)
    if event.type == "move":
        _check_move(document, path, scenario, node)
    elif event.type == "down":
        if node in off:
            hint = 'switch them on first by an event with type = "up"'
            raise document.error((*path, "type"), f"switches the radios of '{node}' off, which are off", hint=hint)
        off.add(node)
    elif event.type == "up":
        if node not in off:
            hint = 'add an earlier event with type = "down"'
            raise document.error((*path, "type"), f"switches the radios of '{node}' on, which are on", hint=hint)
        off.remove(node)


def _check_move(document: Document, path: KeyPath, scenario: Scenario, node: str) -> None:
    if scenario.nodes[node].moves:
        key = "walk" if scenario.nodes[node].walk is not None else "waypoints"
        hint = f"remove its {key}, or the event"
        raise document.error((*path, "node"), f"moves by its {key}", hint=hint, kind=Mistake.CONFLICT)
