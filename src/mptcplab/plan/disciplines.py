# SPDX-License-Identifier: MIT
"""The queueing disciplines of a link direction: the arguments of ``tc qdisc``, in order from the root.

The first is ``netem``, whose own queue is too long to be the limit, unless the scenario gives a ``delay_limit``; below
it are the shaper and the discipline of its queue. So a queue limit counts packets that wait for the bottleneck, not
those in transit.
"""

from __future__ import annotations

from mptcplab.network.behaviour import DirectionContext, Words
from mptcplab.network.frames import MTU
from mptcplab.network.registry import IN_PACKET_ORDER, largest_packet
from mptcplab.scenario.links import DirectionSettings

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
