# SPDX-License-Identifier: MIT
"""Short texts about links, for tables and pictures of networks: all that readers of recordings use of this room.

Links are described as recordings hold them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mptcplab.network.captions import NOTHING, DirectionCaption, join_texts
from mptcplab.network.registry import BEHAVIOURS, IN_PACKET_ORDER, VARIABLE_KEYS
from mptcplab.units import Size

Table = Mapping[str, Any]
#: Between the parts of a line.
BETWEEN = " · "
#: The key whose value in a recording is the mean of a trace; of the others it is the first.
_MEAN_KEY = "rate"
_USUAL_MTU = str(Size(1500))


def direction_words(directions: Sequence[Table]) -> tuple[str, ...]:
    """Return a few lines about one direction of a link, at all points of an experiment."""
    shown = DirectionCaption(directions)
    above = [part for behaviour in BEHAVIOURS for part in behaviour.caption_above(shown)]
    below = [part for behaviour in IN_PACKET_ORDER for part in behaviour.caption_below(shown)]
    lines = [BETWEEN.join(parts) for parts in (above, below) if parts]
    traces = dict.fromkeys(_trace_words(direction["trace"]) for direction in directions if direction.get("trace"))
    if traces:
        lines.append(join_texts(list(traces)))
    return (*lines, *_impairments(directions)) or ("no limits",)


def with_trace_ranges(direction: Table, steps: Iterable[str]) -> Table:
    """Return a direction that follows a trace with the range of each value beside the rate.

    A recording has the mean of a trace's rate, but only the first of its other values. ``steps`` are all values of the
    trace, as plans write them: ``rate 5 Mbit/s, loss 0.1 %``.
    """
    texts: dict[str, list[str]] = {}
    for step in steps:
        for words in step.split(", "):
            key, _, value = words.partition(" ")
            texts.setdefault(key, []).append(value)
    ranges = {key: _range(key, values) for key, values in texts.items() if key in VARIABLE_KEYS and key != _MEAN_KEY}
    parts = [f"mean {_MEAN_KEY}"] if _MEAN_KEY in texts else []
    parts += [f"range of {' and '.join(ranges)}"] if ranges else []
    return {**direction, **ranges, "trace": {**direction["trace"], "shown": ", ".join(parts)}}


def _range(key: str, values: Iterable[str]) -> str:
    ordered = sorted(map(VARIABLE_KEYS[key].quantity.parse, dict.fromkeys(values)))
    low, high = str(ordered[0]), str(ordered[-1])
    if low == high:
        return low
    low = "0" if low in NOTHING else low
    unit = high.partition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def _trace_words(trace: Table) -> str:
    """Return which of a direction's values stand for a whole trace, and how."""
    return f"{trace.get('shown') or 'mean rate, first of other values'}: {trace['file']}"


def _impairments(directions: Sequence[Table]) -> Iterator[str]:
    """Yield the other effects on packets; if points differ, each point's."""
    rest = dict.fromkeys(impairment_words(direction) for direction in directions)
    if list(rest) != [""]:
        acting = [
            behaviour
            for behaviour in IN_PACKET_ORDER
            if any(any(behaviour.caption(direction)) for direction in directions)
        ]
        yield " | ".join(words or acting[-1].caption_if_absent for words in rest)


def impairment_words(direction: Table) -> str:
    """Return the captions of the behaviours of one direction; empty if it has none."""
    return BETWEEN.join(words for behaviour in IN_PACKET_ORDER for words in behaviour.caption(direction))


def mtu_words(links: Iterable[Table]) -> tuple[str, ...]:
    """Return the MTUs of a link at the points of an experiment, if any is not the usual one."""
    mtus = dict.fromkeys(str(link["mtu"]) for link in links)
    return () if list(mtus) == [_USUAL_MTU] else (f"MTU {', '.join(mtus)}",)
