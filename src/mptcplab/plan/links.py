# SPDX-License-Identifier: MIT
"""Compile links to ``ip`` and ``tc`` commands: veth pairs without offloads, and the shaping of each direction.

Shaping is placed where it gives a sender's TCP no backpressure: on the egress of a router or, if a node with sockets
of its own sends, at the far end of the link (an IFB to which the receiver's ingress is redirected). With ``shape =
"sender"`` such a node's own egress is shaped instead, as for a host with a slow network card.

Filters before the queueing disciplines of a direction may act on packets. The commands that change a direction while
packets pass come from :func:`change_commands` and :func:`action_changes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mptcplab.fields import LOOPBACK
from mptcplab.network.behaviour import Behaviour, DirectionContext, Words
from mptcplab.network.frames import MTU
from mptcplab.network.registry import IN_PACKET_ORDER, aggregate_of, largest_packet
from mptcplab.network.tables import table_name
from mptcplab.node.graph import Port
from mptcplab.scenario.links import DirectionSettings, ShapedDirection
from mptcplab.scenario.network import Network
from mptcplab.steps import Command, Queue
from mptcplab.units import CpuTime, Duration

# The queueing disciplines of a link direction: the arguments of ``tc qdisc``, in order from the root.
#
# The first is ``netem``, whose own queue is too long to be the limit, unless the scenario gives a ``delay_limit``;
# below it are the shaper and the discipline of its queue. So a queue limit counts packets that wait for the
# bottleneck, not those in transit.

NETEM = "netem"


def disciplines(
    settings: DirectionSettings, *, mtu: int = MTU, table: str = "", changeable: bool = False
) -> list[Words]:
    """Return the arguments of ``tc qdisc add`` or ``change`` after ``parent`` and ``handle``, from the root down.

    ``table`` names the file of the delay's own distribution, if it has one. ``changeable`` adds a netem even if it has
    nothing to do, so that ``tc qdisc change`` can set loss and delay later: while packets pass, parameters of existing
    disciplines may change, but no discipline may be added or removed.
    """
    context = DirectionContext(largest_packet(settings, mtu), table, changeable)
    texts: list[Words] = []
    netem = {behaviour.name: tuple(behaviour.netem(settings, context)) for behaviour in IN_PACKET_ORDER}
    if changeable or any(netem[behaviour.name] for behaviour in IN_PACKET_ORDER if behaviour.is_active(settings)):
        texts.append((NETEM, *(word for words in netem.values() for word in words)))
    return texts + [words for behaviour in IN_PACKET_ORDER for words in behaviour.disciplines(settings, context)]


#: Preference of the first behaviour's filter. A silent failure's filter comes first; the redirection to an IFB comes
#: last, since it is added without a preference and so gets a high one.
_FIRST_ACTION = 2
#: The packets that wait on a loopback interface whose packets take time.
_LOOPBACK_QUEUE = 1_000_000
#: The behaviours that may have a filter, with its preference.
_WITH_ACTIONS: tuple[tuple[int, Behaviour[Any]], ...] = tuple(
    enumerate(
        (behaviour for behaviour in IN_PACKET_ORDER if type(behaviour).actions is not Behaviour.actions),
        start=_FIRST_ACTION,
    )
)


def wire_commands(network: Network) -> Iterator[Command]:
    """Yield the commands that create every link between its two nodes; both interfaces have the link's name."""
    for name, link in network.scenario.links.items():
        if link.radio is not None:
            continue
        first, second = link.between
        mtu = ("mtu", str(int(link.mtu)))
        # Without an option of its own, the peer has the default MTU.
        options = (*mtu, *_address_option(network, first, name))
        other = (*(mtu if link.mtu != MTU else ()), *_address_option(network, second, name))
        peer = ("peer", "name", name, *other, "netns", second)
        yield Command(None, ("ip", "link", "add", "name", name, *options, "netns", first, "type", "veth", *peer))


def _address_option(network: Network, node: str, link: str) -> Words:
    """Return the option that gives a link's end its address; the kernel draws one if no neighbour has to know it."""
    return ("address", _mac(network, node, link)) if network.scenario.knows_neighbours else ()


def _mac(network: Network, node: str, link: str) -> str:
    """Return the link-layer address of a wired link's end: locally administered, and never a radio's."""
    number = list(network.scenario.links).index(link) + 1
    end = network.scenario.links[link].between.index(node) + 1
    return f"02:6d:70:{number >> 8:02x}:{number & 255:02x}:{end:02x}"


def interface_commands(network: Network, node: str) -> Iterator[Command]:
    """Yield the commands that set addresses, without duplicate address detection, and set links up."""
    for port in network.ports_of(node):
        address = ("ip", "address", "add", str(port.address), "dev", port.device)
        yield Command(node, (*address, "nodad") if port.address.version == 6 else address)
        yield Command(node, ("ip", "link", "set", "dev", port.device, "up"))


def neighbour_commands(network: Network) -> Iterator[Command]:
    """Yield the commands after which nodes know their neighbours on wired links, if the scenario says so.

    All links must be up, since an interface without a carrier forgets its neighbours. An entry is ``reachable``, as
    after resolution. A ``permanent`` one would survive the loss of a carrier, and packets be lost that otherwise wait
    for resolution: in a test, TCP then continued seconds later.
    """
    if not network.scenario.knows_neighbours:
        return
    for port in network.ports.values():
        if network.scenario.links[port.link].radio is None:
            mac = _mac(network, port.peer, port.link)
            entry = (str(port.peer_address.ip), "lladdr", mac, "dev", port.device, "nud", "reachable")
            yield Command(port.node, ("ip", "neighbour", "add", *entry))


def offload_commands(network: Network, node: str) -> Iterator[Command]:
    """Yield the commands that disable offloads, or set the offloads that a link has.

    Without offloads, queues hold and drop packets, not aggregates of 64 KB.
    TCP uses generic segmentation whatever the device offers (``sk_setup_caps`` in net/core/sock.c), and the kernel
    divides such an aggregate after the queue of its own interface. Where that queue is shaped, no aggregate may form.
    The loopback interface keeps its offloads unless the scenario turns them off.
    """
    if not network.nodes[node].loopback_offload:
        yield Command(node, ("ethtool", "-K", LOOPBACK, "tso", "off", "gso", "off", "gro", "off"))
    for port in network.ports_of(node):
        if network.scenario.links[port.link].radio is not None:
            continue  # has none
        aggregate = _aggregate(network, port)
        if aggregate is not None:
            # UML's veth has segmentation offload; GRO is not needed, since nobody divides aggregates.
            yield Command(node, ("ethtool", "-K", port.link, "tso", "on", "gso", "on", "gro", "off"))
            yield Command(node, ("ip", "link", "set", "dev", port.link, "gso_max_size", str(aggregate)))
            continue
        yield Command(node, ("ethtool", "-K", port.link, "tso", "off", "gso", "off", "gro", "off"))
        if _shapes_own_egress(network, node, port.link):
            yield Command(node, ("ip", "link", "set", "dev", port.link, "gso_max_segs", "1"))


def loopback_commands(network: Network, node: str) -> Iterator[Command]:
    """Yield the commands that make packets take time on a node's loopback interface, if the scenario says so.

    A slot of netem has one packet, and begins when the packet before has gone. With a rate in place of slots, a packet
    that goes late would shorten the time until the next one. The queue is long enough for nothing to be lost. Without
    offloads no aggregate may form, as in :func:`offload_commands`.
    """
    settings = network.nodes[node]
    if settings.loopback_packet_time is None:
        return
    if not settings.loopback_offload:
        yield Command(node, ("ip", "link", "set", "dev", LOOPBACK, "gso_max_segs", "1"))
    nanoseconds = int(settings.loopback_packet_time) // CpuTime.units["ns"]
    netem = (NETEM, "limit", str(_LOOPBACK_QUEUE), "slot", f"{nanoseconds}ns", "packets", "1")
    argv = ("tc", "qdisc", "replace", "dev", LOOPBACK, "root", "handle", "1:", *netem)
    yield Command(node, argv, features=(NETEM,))


def _aggregate(network: Network, port: Port) -> int | None:
    """Return the size up to which the node of ``port`` sends aggregates into its link."""
    link = network.scenario.links[port.link]
    return aggregate_of(link.forward if port.node == link.between[0] else link.backward)


def table_commands(network: Network) -> Iterator[Command]:
    """Yield the commands that write the files which shaping commands read."""
    for direction in network.directions.values():
        for behaviour in IN_PACKET_ORDER:
            yield from behaviour.files(direction.settings, direction.link, direction.name)


def shaping_commands(network: Network) -> Iterator[Command]:
    """Yield the commands that shape each direction of every link."""
    for direction in network.directions.values():
        yield from _shape(network, direction)
    for direction in network.directions.values():
        yield from _actions(network, direction)


def change_commands(network: Network, direction: ShapedDirection) -> Iterator[Command]:
    """Yield the commands that give a changeable ``direction`` the settings that it has now.

    Queued packets stay queued. Only values may differ from those at set-up: a direction with a rate keeps one, and a
    table of delays cannot change.
    """
    yield from _attach(*_shaping_point(network, direction), _disciplines(network, direction), "change")


def action_changes(network: Network, direction: ShapedDirection, before: DirectionSettings | None) -> Iterator[Command]:
    """Yield the commands that change the filters of ``direction``, if these differ from those with settings ``before``.

    If ``before`` is None, all filters are set again. No action is added or removed.
    """
    node, device, hook = _filter_point(network, direction)
    for pref, behaviour in _WITH_ACTIONS:
        words = behaviour.actions(direction.settings)
        if words and (before is None or words != behaviour.actions(before)):
            # A matchall filter cannot be changed.
            yield Command(node, ("tc", "filter", "delete", "dev", device, hook, "pref", str(pref)))
            yield _filter(node, device, hook, pref, words)


def _actions(network: Network, direction: ShapedDirection) -> Iterator[Command]:
    node, device, hook = _filter_point(network, direction)
    pairs = [(pref, words) for pref, behaviour in _WITH_ACTIONS if (words := behaviour.actions(direction.settings))]
    if pairs:
        yield Command(node, ("tc", "qdisc", "replace", "dev", device, "clsact"))
    for pref, words in pairs:
        yield _filter(node, device, hook, pref, words)


def _filter(node: str, device: str, hook: str, pref: int, words: Words) -> Command:
    argv = ("tc", "filter", "add", "dev", device, hook, "pref", str(pref), "matchall", "action", *words)
    return Command(node, argv, features=words[:1])


def _filter_point(network: Network, direction: ShapedDirection) -> tuple[str, str, str]:
    """Return node, interface and hook that packets of a direction pass before its queueing disciplines."""
    source, target = network.ends(direction)
    node, device = _shaping_point(network, direction)
    return (node, device, "egress") if node == source.node else (node, target.link, "ingress")


def _disciplines(network: Network, direction: ShapedDirection) -> list[Words]:
    mtu = int(network.scenario.links[direction.link].mtu)
    shifted = _shift_delay(direction.settings, network.shifts_ns.get(direction.key, 0))
    return disciplines(shifted, mtu=mtu, table=table_name(*direction.key), changeable=direction.changeable)


def _shift_delay(settings: DirectionSettings, shift_ns: int) -> DirectionSettings:
    """Return the settings with the delay of this run; the delay stays at least the jitter, even if an event cuts it."""
    if not shift_ns:
        return settings
    delay = max(int(settings.jitter), int(settings.delay) + shift_ns)
    return settings.model_copy(update={"delay": Duration(delay)})


def _shape(network: Network, direction: ShapedDirection) -> Iterator[Command]:
    texts = _disciplines(network, direction)
    if not texts:
        return
    source, target = network.ends(direction)
    node, ifb = _shaping_point(network, direction)
    if node == source.node:
        yield from _attach(node, source.link, texts)
        return
    yield Command(target.node, ("ip", "link", "add", "name", ifb, "type", "ifb"))
    yield Command(target.node, ("ip", "link", "set", "dev", ifb, "up"))
    yield from _attach(target.node, ifb, texts)
    yield Command(target.node, ("tc", "qdisc", "add", "dev", target.link, "clsact"))
    redirect = ("action", "mirred", "egress", "redirect", "dev", ifb)
    ingress = ("tc", "filter", "add", "dev", target.link, "ingress", "matchall", *redirect)
    yield Command(target.node, ingress)


def _shaping_point(network: Network, direction: ShapedDirection) -> tuple[str, str]:
    """Return node and device on which a direction is shaped."""
    source, target = network.ends(direction)
    if network.nodes[source.node].shapes or _shapes_own_egress(network, source.node, direction.link):
        return source.node, source.link
    return target.node, ifb_name(network, target)


def _shapes_own_egress(network: Network, node: str, name: str) -> bool:
    """Return whether ``node`` has sockets and shapes nevertheless what it sends into link ``name``."""
    return network.scenario.links[name].shape == "sender" and not network.nodes[node].shapes


def shaper_of(network: Network, direction: ShapedDirection) -> tuple[str, str] | None:
    """Return node and device with the disciplines of ``direction``; None if it has no disciplines."""
    return _shaping_point(network, direction) if _disciplines(network, direction) else None


def bottlenecks(network: Network) -> Iterator[Queue]:
    """Yield the queue of every direction with a rate; its samples include the disciplines below it."""
    for direction in network.directions.values():
        texts = _disciplines(network, direction)
        shapers = [handle for handle, words in enumerate(texts, start=1) if words[0] != NETEM]
        if shapers:
            yield Queue(*_shaping_point(network, direction), shapers[0], *direction.key)


def ifb_name(network: Network, port: Port) -> str:
    """Return the name of the IFB behind the ingress of ``port``: the number of its link makes it unique and short."""
    return f"ifb.{list(network.scenario.links).index(port.link) + 1}"


def _attach(node: str, device: str, texts: list[Words], verb: str = "add") -> Iterator[Command]:
    parent: Words = ("root",)
    for number, discipline in enumerate(texts, start=1):
        handle = f"{number}:"
        argv = ("tc", "qdisc", verb, "dev", device, *parent, "handle", handle, *discipline)
        yield Command(node, argv, features=discipline[:1])
        parent = ("parent", f"{number}:1")
