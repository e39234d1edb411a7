# SPDX-License-Identifier: MIT
"""Gateways in texts and pictures, from what recordings say about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: The kinds of events of an outage in recordings.
DOWN, UP = "gateway-down", "gateway-up"
_KILLED, _STARTED, _BOTH = "killed", "started again", "restarted"
_VERBS = {DOWN: _KILLED, UP: _STARTED}


@dataclass(frozen=True)
class Role:
    """A node's part in a gateway: ``entry of bond``, its ``program``, and its ``mode``, ``redirect over MPTCP``."""

    side: str
    program: str
    mode: str


def roles(node: str, gateways: Mapping[str, Mapping[str, Any]]) -> Iterator[Role]:
    """Yield the parts that a node has in the ``gateways`` of a resolved scenario."""
    for name, gateway in gateways.items():
        for side in ("entry", "exit"):
            if gateway[side] == node:
                mode = f"{gateway['mode']} over {gateway['protocol'].upper()}"
                yield Role(f"{side} of {name}", gateway["program"], mode)


def event_words(kind: str, name: str, side: str) -> str | None:
    """Return an event of a gateway in words, ``gateway bond: exit killed``; None if it is another event."""
    return f"gateway {name}: {side} {_VERBS[kind]}" if kind in _VERBS else None


def words_at_instant(events: Sequence[str]) -> list[str]:
    """Return the words of the events of one instant: a side that is killed and started again is ``restarted``."""
    killed, started = (
        {event.removesuffix(verb) for event in events if event.endswith(verb)} for verb in (_KILLED, _STARTED)
    )
    both = sorted(killed & started)
    replaced = {f"{side}{verb}" for side in both for verb in (_KILLED, _STARTED)}
    return [*(event for event in events if event not in replaced), *(f"{side}{_BOTH}" for side in both)]
