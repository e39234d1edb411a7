# SPDX-License-Identifier: MIT
"""One direction of a link as queueing disciplines: the words that ``tc qdisc`` takes, in order from the root.

First stands ``netem``, whose own queue is so long that it never is the limit, unless the scenario gives a
``delay_limit``; below it what shapes, and what keeps its queue. So a queue limit counts packets that wait for the
bottleneck, not those that are on the wire.
"""

from __future__ import annotations

from mptcplab.network.behaviour import Context, Words
from mptcplab.network.frames import MTU, full_frame
from mptcplab.network.registry import IN_PACKET_ORDER
from mptcplab.scenario.links import DirectionSettings

NETEM = "netem"


def disciplines(
    settings: DirectionSettings, *, mtu: int = MTU, table: str = "", changeable: bool = False
) -> list[Words]:
    """What ``tc qdisc add`` or ``change`` takes behind ``parent`` and ``handle``, from the root down.

    ``table`` is the name of the file of the delay's own distribution, if it has one. ``changeable`` makes a netem also
    when there is nothing for it to do, so that loss and delay can be given later by ``tc qdisc change``: the numbers
    of equal kinds of discipline may be changed while packets pass, but none may be added or taken away.
    """
    context = Context(full_frame(mtu), table, changeable)
    found: list[Words] = []
    netem = {one.name: tuple(one.netem(settings, context)) for one in IN_PACKET_ORDER}
    if changeable or any(netem[one.name] for one in IN_PACKET_ORDER if one.is_active(settings)):
        found.append((NETEM, *(word for words in netem.values() for word in words)))
    return found + [words for one in IN_PACKET_ORDER for words in one.disciplines(settings, context)]
