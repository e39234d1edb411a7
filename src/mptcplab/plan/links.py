# SPDX-License-Identifier: MIT
"""Links as ``ip`` and ``tc`` commands: veth pairs, offloads off, and what each direction does to packets.

Shaping stands where it cannot push back on a sender's TCP: on the egress of a router, or, when a host sends, on the
far end of the wire (an IFB that the receiving end's ingress is redirected to). With ``shape = "sender"`` a host's own
egress is shaped instead, as a host with a slow network card would be.

Which queueing disciplines a direction is made of, :mod:`mptcplab.plan.disciplines` says; in front of them, filters may
act on packets. To change a direction while packets pass, compile the plan with its name in ``changing`` (see
:func:`shaping_commands`), and let :func:`change_commands` and :func:`action_changes` give the commands.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from mptcplab.network.behaviour import Words
from mptcplab.network.frames import MTU
from mptcplab.network.registry import IN_PACKET_ORDER
from mptcplab.network.tables import table_name
from mptcplab.node.graph import Port
from mptcplab.plan.disciplines import NETEM, disciplines
from mptcplab.scenario.links import DIRECTIONS, DirectionSettings
from mptcplab.scenario.network import Network
from mptcplab.steps import Command, Queue
from mptcplab.units import Duration

#: Preference of the filter of the first behaviour; before it a silent failure drops everything, and behind all of them
#: stands the redirection to an IFB, which is added without a preference and so gets a high one.
_FIRST_ACTION = 2


def wire_commands(network: Network) -> Iterator[Command]:
    """Create every link between its two nodes; the interfaces bear the link's name."""
    for name, link in network.scenario.links.items():
        first, second = link.between
        mtu = ("mtu", str(int(link.mtu)))
        # Without a word of its own the peer has the usual MTU.
        peer = ("peer", "name", name, *(mtu if link.mtu != MTU else ()), "netns", second)
        yield Command(None, ("ip", "link", "add", "name", name, *mtu, "netns", first, "type", "veth", *peer))


def interface_commands(network: Network, node: str) -> Iterator[Command]:
    """Addresses, used at once (no duplicate address detection), and links up."""
    for port in network.ports_of(node):
        address = ("ip", "address", "add", str(port.address), "dev", port.link)
        yield Command(node, (*address, "nodad") if port.address.version == 6 else address)
        yield Command(node, ("ip", "link", "set", "dev", port.link, "up"))


def offload_commands(network: Network, node: str) -> Iterator[Command]:
    """Offloads off, so that what a queue holds and drops is packets and not bundles of 64 KB."""
    for port in network.ports_of(node):
        yield Command(node, ("ethtool", "-K", port.link, "tso", "off", "gso", "off", "gro", "off"))


def table_commands(network: Network) -> Iterator[Command]:
    """Files that the shaping commands read."""
    for name, link in network.scenario.links.items():
        for direction in DIRECTIONS:
            for one in IN_PACKET_ORDER:
                yield from one.files(getattr(link, direction), name, direction)


def shaping_commands(network: Network, changing: Container[tuple[str, str]] = ()) -> Iterator[Command]:
    """What each direction of every link does to packets.

    ``changing`` are the directions (link, "forward" or "backward") that get other values later.
    """
    directions = [(name, direction) for name in network.scenario.links for direction in DIRECTIONS]
    for name, direction in directions:
        yield from _direction(network, name, direction, changeable=(name, direction) in changing)
    for name, direction in directions:
        yield from _actions(network, name, direction)


def change_commands(network: Network, name: str, direction: str, settings: DirectionSettings) -> Iterator[Command]:
    """Give one ``way`` of link ``name``, set up as one of the ``changing``, the values of ``direction``.

    Packets that wait stay where they are. Only values may differ from those that it was set up with; a direction with
    a rate keeps one, and a table of delays stays as it is.
    """
    found = _disciplines(network, name, direction, settings, changeable=True)
    yield from _attach(*_place(network, name, direction), found, "change")


def action_changes(
    network: Network, name: str, direction: str, settings: DirectionSettings, before: DirectionSettings | None
) -> Iterator[Command]:
    """Give the filters of one ``way`` of link ``name`` the values of ``direction``, where they have others ``before``.

    None stands for any others. An action that is there from the start stays, and none is added.
    """
    node, device, side = _entrance(network, name, direction)
    for pref, one in enumerate(IN_PACKET_ORDER, start=_FIRST_ACTION):
        words = one.actions(settings)
        if words and (before is None or words != one.actions(before)):
            # A matchall filter cannot be changed.
            yield Command(node, ("tc", "filter", "delete", "dev", device, side, "pref", str(pref)))
            yield _filter(node, device, side, pref, words)


def _actions(network: Network, name: str, direction: str) -> Iterator[Command]:
    node, device, side = _entrance(network, name, direction)
    found = [one.actions(getattr(network.scenario.links[name], direction)) for one in IN_PACKET_ORDER]
    if any(found):
        yield Command(node, ("tc", "qdisc", "replace", "dev", device, "clsact"))
    for pref, words in enumerate(found, start=_FIRST_ACTION):
        if words:
            yield _filter(node, device, side, pref, words)


def _filter(node: str, device: str, side: str, pref: int, words: Words) -> Command:
    argv = ("tc", "filter", "add", "dev", device, side, "pref", str(pref), "matchall", "action", *words)
    return Command(node, argv, features=words[:1])


def _entrance(network: Network, name: str, direction: str) -> tuple[str, str, str]:
    """Node, interface and side of it that packets of a direction pass before its queueing disciplines."""
    source, target = network.ends(name, direction)
    node, device = _place(network, name, direction)
    return (node, device, "egress") if node == source.node else (node, target.link, "ingress")


def _disciplines(
    network: Network, name: str, direction: str, settings: DirectionSettings, *, changeable: bool
) -> list[Words]:
    mtu = int(network.scenario.links[name].mtu)
    shifted = _shifted(settings, network.shifts_ns.get((name, direction), 0))
    return disciplines(shifted, mtu=mtu, table=table_name(name, direction), changeable=changeable)


def _shifted(settings: DirectionSettings, shift_ns: int) -> DirectionSettings:
    """The direction with the delay that it has in this run; one that an event made short stays at least its jitter."""
    if not shift_ns:
        return settings
    delay = max(int(settings.jitter), int(settings.delay) + shift_ns)
    return settings.model_copy(update={"delay": Duration(delay)})


def _direction(network: Network, name: str, direction: str, *, changeable: bool) -> Iterator[Command]:
    found = _disciplines(
        network, name, direction, getattr(network.scenario.links[name], direction), changeable=changeable
    )
    if not found:
        return
    source, target = network.ends(name, direction)
    node, ifb = _place(network, name, direction)
    if node == source.node:
        yield from _attach(node, source.link, found)
        return
    yield Command(target.node, ("ip", "link", "add", "name", ifb, "type", "ifb"))
    yield Command(target.node, ("ip", "link", "set", "dev", ifb, "up"))
    yield from _attach(target.node, ifb, found)
    yield Command(target.node, ("tc", "qdisc", "add", "dev", target.link, "clsact"))
    redirect = ("action", "mirred", "egress", "redirect", "dev", ifb)
    ingress = ("tc", "filter", "add", "dev", target.link, "ingress", "matchall", *redirect)
    yield Command(target.node, ingress)


def _place(network: Network, name: str, direction: str) -> tuple[str, str]:
    """Node and device on which a direction is shaped."""
    source, target = network.ends(name, direction)
    if network.nodes[source.node].shapes or network.scenario.links[name].shape == "sender":
        return source.node, source.link
    return target.node, ifb_name(network, target)


def shaper_of(
    network: Network, name: str, direction: str, changing: Container[tuple[str, str]] = ()
) -> tuple[str, str] | None:
    """Node and device whose disciplines one ``way`` of link ``name`` is made of; None if there are none."""
    settings = getattr(network.scenario.links[name], direction)
    found = _disciplines(network, name, direction, settings, changeable=(name, direction) in changing)
    return _place(network, name, direction) if found else None


def bottlenecks(network: Network, changing: Container[tuple[str, str]] = ()) -> Iterator[Queue]:
    """The queue of every direction that has a rate: its samples count what waits in the disciplines below as well."""
    for name, link in network.scenario.links.items():
        for direction in DIRECTIONS:
            found = _disciplines(
                network, name, direction, getattr(link, direction), changeable=(name, direction) in changing
            )
            shapers = [handle for handle, words in enumerate(found, start=1) if words[0] != NETEM]
            if shapers:
                yield Queue(*_place(network, name, direction), shapers[0], name, direction)


def ifb_name(network: Network, port: Port) -> str:
    """The IFB behind the ingress of ``port``, named after the number of its link: unique and short."""
    return f"ifb.{list(network.scenario.links).index(port.link) + 1}"


def _attach(node: str, device: str, found: list[Words], verb: str = "add") -> Iterator[Command]:
    parent: Words = ("root",)
    for number, discipline in enumerate(found, start=1):
        handle = f"{number}:"
        argv = ("tc", "qdisc", verb, "dev", device, *parent, "handle", handle, *discipline)
        yield Command(node, argv, features=discipline[:1])
        parent = ("parent", f"{number}:1")
