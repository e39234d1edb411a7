# SPDX-License-Identifier: MIT
"""Links as ``ip`` and ``tc`` commands: veth pairs, offloads off, and what each direction does to packets.

Shaping stands where it cannot push back on a sender's TCP: on the egress of a router, or, when a host sends, on the
far end of the wire (an IFB that the receiving end's ingress is redirected to). With ``shape = "sender"`` a host's own
egress is shaped instead, as a host with a slow network card would be.

One direction is at most two queueing disciplines: ``netem`` for loss, delay and jitter, whose own queue is made so
long that it never is the limit, and below it ``tbf`` for rate and queue. So a queue limit counts queued packets only,
and not those that are on the wire.
"""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.plan.model import Command, Queue
from mptcplab.scenario.links import Direction, Link
from mptcplab.scenario.network import Network, Port
from mptcplab.units import Duration

MTU = 1500
#: An Ethernet header more than the MTU: what queueing disciplines count per full packet.
FULL_FRAME = MTU + 14
#: tbf needs a bucket of one frame to pass it; the smallest bucket spaces packets best. tc counts a bucket in ticks
#: of 64 ns, so that very fast links need one of some ticks.
_DEFAULT_BURST = 1600
_LEAST_BURST_NS = 2000
#: Packets that netem's delay line may hold: enough for 10 Gbit/s over a second of delay.
_DELAY_LINE = 1_000_000


def wire_commands(network: Network) -> Iterator[Command]:
    """Create every link between its two nodes; the interfaces bear the link's name."""
    for name, link in network.scenario.links.items():
        first, second = link.between
        ends = ("netns", first, "type", "veth", "peer", "name", name, "netns", second)
        yield Command(None, ("ip", "link", "add", "name", name, "mtu", str(MTU), *ends))


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


def shaping_commands(network: Network) -> Iterator[Command]:
    """What each direction of every link does to packets."""
    for name, link in network.scenario.links.items():
        first, second = (network.ports[end, name] for end in link.between)
        yield from _direction(network, link, link.forward, first, second)
        yield from _direction(network, link, link.backward, second, first)


def _direction(network: Network, link: Link, direction: Direction, source: Port, target: Port) -> Iterator[Command]:
    disciplines = list(_disciplines(direction))
    if not disciplines:
        return
    node, device = _place(network, link, source, target)
    if node == source.node:
        yield from _attach(node, device, disciplines)
        return
    ifb = device
    yield Command(target.node, ("ip", "link", "add", "name", ifb, "type", "ifb"))
    yield Command(target.node, ("ip", "link", "set", "dev", ifb, "up"))
    yield from _attach(target.node, ifb, disciplines)
    yield Command(target.node, ("tc", "qdisc", "add", "dev", target.link, "clsact"))
    redirect = ("action", "mirred", "egress", "redirect", "dev", ifb)
    ingress = ("tc", "filter", "add", "dev", target.link, "ingress", "matchall", *redirect)
    yield Command(target.node, ingress)


def _place(network: Network, link: Link, source: Port, target: Port) -> tuple[str, str]:
    """Node and device on which a direction is shaped."""
    if not network.is_host(source.node) or link.shape == "sender":
        return source.node, source.link
    return target.node, ifb_name(network, target)


def bottlenecks(network: Network) -> Iterator[Queue]:
    """The queue of every direction that has a rate."""
    for name, link in network.scenario.links.items():
        first, second = (network.ports[end, name] for end in link.between)
        for way, source, target in (("forward", first, second), ("backward", second, first)):
            disciplines = list(_disciplines(getattr(link, way)))
            handles = [number for number, words in enumerate(disciplines, start=1) if words[0] == "tbf"]
            for handle in handles:
                yield Queue(*_place(network, link, source, target), handle, name, way)


def ifb_name(network: Network, port: Port) -> str:
    """The IFB behind the ingress of ``port``, named after the number of its link: unique and short."""
    return f"ifb.{list(network.scenario.links).index(port.link) + 1}"


def _attach(node: str, device: str, disciplines: list[tuple[str, ...]]) -> Iterator[Command]:
    parent: tuple[str, ...] = ("root",)
    for number, discipline in enumerate(disciplines, start=1):
        handle = f"{number}:"
        yield Command(node, ("tc", "qdisc", "add", "dev", device, *parent, "handle", handle, *discipline))
        parent = ("parent", f"{number}:1")


def _disciplines(direction: Direction) -> Iterator[tuple[str, ...]]:
    if direction.delay or direction.loss:
        yield tuple(_netem(direction))
    if direction.rate is not None:
        limit = direction.queue.bytes_at(direction.rate)
        burst = max(int(direction.burst or _DEFAULT_BURST), int(direction.rate) * _LEAST_BURST_NS // (8 * 10**9))
        if direction.queue.packets is not None:
            limit = int(direction.queue.packets) * FULL_FRAME
        # The default queue is a time, which on a slow link is less than the one frame that a queue has to hold.
        size = max(int(limit or 0), FULL_FRAME)
        overhead = ("overhead", str(int(direction.overhead))) if direction.overhead else ()
        yield ("tbf", "rate", f"{int(direction.rate)}bit", "burst", str(burst), "limit", str(size), *overhead)
        if direction.queue.packets is not None:
            yield ("pfifo", "limit", str(int(direction.queue.packets)))


def _microseconds(time: Duration) -> str:
    """Exact, and in a unit that every ``tc`` reads: some know no ns."""
    return f"{int(time) // 1000}.{int(time) % 1000:03d}us"


def _netem(direction: Direction) -> Iterator[str]:
    yield from ("netem", "limit", str(_DELAY_LINE))
    if direction.delay:
        yield from ("delay", _microseconds(direction.delay))
        if direction.jitter:
            # Any rate makes netem keep packets in order; this one is too high to delay them.
            yield from (_microseconds(direction.jitter), "rate", "1000gbit")
    if direction.loss:
        yield from ("loss", "random", f"{direction.loss.percent_text}%")
