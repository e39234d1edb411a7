# SPDX-License-Identifier: MIT
"""Short texts about links, for tables and pictures of networks: all that readers of recordings use of this room.

Links are described as recordings hold them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mptcplab.network.captions import DirectionCaption, several
from mptcplab.network.registry import BEHAVIOURS, IN_PACKET_ORDER
from mptcplab.units import Size

Table = Mapping[str, Any]
_USUAL_MTU = str(Size(1500))


def direction_words(directions: Sequence[Table]) -> tuple[str, ...]:
    """Return a few lines about one direction of a link, at all points of an experiment."""
    shown = DirectionCaption(directions)
    above = [part for one in BEHAVIOURS for part in one.headline(shown)]
    below = [part for one in IN_PACKET_ORDER for part in one.details(shown)]
    lines = [" · ".join(parts) for parts in (above, below) if parts]
    traces = dict.fromkeys(direction["trace"]["file"] for direction in directions if direction.get("trace"))
    if traces:
        lines.append(f"means of {several(list(traces))}")
    return (*lines, *_impairments(directions)) or ("no limits",)


def _impairments(directions: Sequence[Table]) -> Iterator[str]:
    """Yield the other effects on packets; if points differ, those of each."""
    rest = dict.fromkeys(impairment_words(direction) for direction in directions)
    if list(rest) != [""]:
        acting = [one for one in IN_PACKET_ORDER if any(any(one.caption(direction)) for direction in directions)]
        yield " | ".join(words or acting[-1].absent for words in rest)


def impairment_words(direction: Table) -> str:
    """Return the captions of the behaviours of one direction; empty if it has none."""
    return " · ".join(words for one in IN_PACKET_ORDER for words in one.caption(direction))


def mtu_words(links: Iterable[Table]) -> tuple[str, ...]:
    """Return the MTUs of a link at the points of an experiment, if any is not the usual one."""
    mtus = dict.fromkeys(str(link["mtu"]) for link in links)
    return () if list(mtus) == [_USUAL_MTU] else (f"MTU {', '.join(mtus)}",)
