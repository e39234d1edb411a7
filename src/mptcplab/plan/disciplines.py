# SPDX-License-Identifier: MIT
"""One direction of a link as queueing disciplines: the words that ``tc qdisc`` takes, in order from the root.

At most three stand below each other: ``netem`` (copies, loss, damage, delay), whose own queue is so long that it never
is the limit, unless the scenario gives a ``delay_limit``; ``tbf`` (rate), or CAKE, which shapes by itself; and what
tbf's queue is kept by. So a queue limit counts packets that wait for the bottleneck, not those that are on the wire.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from mptcplab.plan.tables import spread_of
from mptcplab.scenario.links import Direction
from mptcplab.scenario.queueing import held_bytes
from mptcplab.units import Duration, Rate

MTU = 1500
_ETHERNET = 14
#: tbf needs a bucket of one frame to pass it; the smallest bucket spaces packets best. tc counts a bucket in ticks
#: of 64 ns, so that very fast links need one of some ticks.
_DEFAULT_BURST = 1600
_LEAST_BURST_NS = 2000
#: Packets that netem may hold where a scenario gives no limit: enough for 10 Gbit/s over a second of delay.
_DELAY_LINE = 1_000_000
#: RED weighs its mean by what a queue of such packets would be.
_RED_PACKET = 1000
_RED_PROBABILITY = "0.02"

Words = tuple[str, ...]


def full_frame(mtu: int) -> int:
    """Bytes of a full packet as queueing disciplines count it: an Ethernet header more than the MTU."""
    return mtu + _ETHERNET


def disciplines(direction: Direction, *, mtu: int = MTU, table: str = "", changeable: bool = False) -> list[Words]:
    """What ``tc qdisc add`` or ``change`` takes behind ``parent`` and ``handle``, from the root down.

    ``table`` is the name of the file of the delay's own distribution, if it has one. ``changeable`` makes a netem also
    when there is nothing for it to do, so that loss and delay can be given later by ``tc qdisc change``: the numbers
    of equal kinds of discipline may be changed while packets pass, but none may be added or taken away.
    """
    found: list[Words] = []
    if changeable or _needs_netem(direction):
        found.append(tuple(_netem(direction, table, changeable=changeable)))
    if direction.rate is not None:
        found += _bottleneck(direction, direction.rate, full_frame(mtu))
    return found


def _needs_netem(direction: Direction) -> bool:
    keys = ("delay", "delay_limit", "loss", "duplicate", "corrupt", "extra_delay", "burst_loss")
    return any(getattr(direction, key) for key in keys)


def _netem(direction: Direction, table: str, *, changeable: bool) -> Iterator[str]:
    yield from ("netem", "limit", str(int(direction.delay_limit or _DELAY_LINE)))
    spread = spread_of(direction)
    if spread is not None:
        middle, deviation = (_microseconds(Duration(value)) for value in (spread.middle_ns, spread.deviation_ns))
        yield from ("delay", middle, deviation, "distribution", table)
    elif direction.delay:
        yield from ("delay", _microseconds(direction.delay))
        if direction.jitter:
            yield _microseconds(direction.jitter)
            if direction.distribution != "uniform":
                yield from ("distribution", direction.distribution)
    # A delay that gets shorter would let later packets overtake those under way, just as jitter does.
    varies = direction.jitter or spread is not None or changeable
    if varies and not (direction.overtake or direction.reorder):
        yield from _IN_ORDER
    yield from _losses(direction)
    if direction.duplicate:
        yield from ("duplicate", f"{direction.duplicate.percent_text}%")
    if direction.corrupt:
        yield from ("corrupt", f"{direction.corrupt.percent_text}%")


#: Any rate makes netem keep packets in order; this one is too high to delay them.
_IN_ORDER = ("rate", "1000gbit")


def _losses(direction: Direction) -> Iterator[str]:
    if direction.loss:
        yield from ("loss", "random", f"{direction.loss.percent_text}%")
    if direction.burst_loss is not None:
        chain = direction.burst_loss
        bad, good = (f"{lost.percent_text}%" for lost in (chain.lost_in_bad, chain.lost_in_good))
        yield from ("loss", "gemodel", _percent(chain.to_bad), _percent(chain.to_good), bad, good)


def _percent(share: Fraction) -> str:
    """Exact to a part in 10^9, of which ``tc`` keeps one in 4 * 10^9."""
    return f"{(Decimal(round(share * 10**9)) / 10**7).normalize():f}%"


def _bottleneck(direction: Direction, rate: Rate, frame: int) -> Iterator[Words]:
    if direction.discipline == "cake":
        yield _cake(direction, rate)
        return
    limit = direction.queue.bytes_at(rate)
    least = max(_DEFAULT_BURST, frame + _DEFAULT_BURST - full_frame(MTU))
    burst = max(int(direction.burst or least), int(rate) * _LEAST_BURST_NS // (8 * 10**9))
    if direction.queue.packets is not None:
        limit = int(direction.queue.packets) * frame
    # The default queue is a time, which on a slow link is less than the one frame that a queue has to hold.
    size = max(int(limit or 0), frame)
    overhead = ("overhead", str(int(direction.overhead))) if direction.overhead else ()
    yield ("tbf", "rate", f"{int(rate)}bit", "burst", str(burst), "limit", str(size), *overhead)
    yield from _kept_by(direction, rate, frame)


def _kept_by(direction: Direction, rate: Rate, frame: int) -> Iterator[Words]:
    """The discipline below tbf; none for tail drop in bytes, which tbf does by itself."""
    if direction.discipline == "tail-drop":
        if direction.queue.packets is not None:
            yield ("pfifo", "limit", str(int(direction.queue.packets)))
    elif direction.discipline == "red":
        yield _red(direction, rate)
    else:
        packets = max(1, held_bytes(direction.queue, rate, frame) // frame)
        yield (direction.discipline, "limit", str(packets), *_parameters(direction))


def _parameters(direction: Direction) -> Iterator[str]:
    aqm = direction.aqm
    for name, time in (("target", aqm.target), ("interval", aqm.interval), ("tupdate", aqm.update)):
        if time is not None:
            yield from (name, _microseconds(time))
    # FQ-CoDel marks by default, the others do not: here none does unless it is said.
    yield "ecn" if aqm.ecn else "noecn"


def _red(direction: Direction, rate: Rate) -> Words:
    least, most, limit = direction.red_bytes(rate)
    mean_of = max(1, (2 * least + most) // (3 * _RED_PACKET))
    chance = direction.aqm.probability
    probability = _RED_PROBABILITY if chance is None else f"{Decimal(int(chance)) / 10**9:f}"
    words: Words = ("red", "limit", str(limit), "min", str(least), "max", str(most), "avpkt", str(_RED_PACKET))
    words += ("burst", str(mean_of), "probability", probability, "bandwidth", f"{int(rate)}bit")
    return (*words, "ecn") if direction.aqm.ecn else words


def _cake(direction: Direction, rate: Rate) -> Words:
    words: Words = ("cake", "bandwidth", f"{int(rate)}bit")
    if direction.aqm.interval is not None:
        words += ("rtt", _microseconds(direction.aqm.interval))
    # With an overhead of its own, CAKE counts from the network header on.
    return (*words, "overhead", str(_ETHERNET + int(direction.overhead))) if direction.overhead else words


def _microseconds(time: Duration) -> str:
    """Exact, and in a unit that every ``tc`` reads: some know no ns."""
    return f"{int(time) // 1000}.{int(time) % 1000:03d}us"
