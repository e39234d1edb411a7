# SPDX-License-Identifier: MIT
"""Random schedules of link events: every one is possible, and the share of time with a path up is known.

Two paths, each made of the client's link (``access1``) and the server's (``link1``). A path is up when nothing of it is
down, silent or without its address.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PATHS = (1, 2)
#: How likely each kind of event is tried. Ends are likelier than failures, so that paths are up most of the time.
_KINDS = {"silent": 3, "carrier": 2, "interface": 2, "address": 1, "restore": 14, "change": 6}


@dataclass
class Schedule:
    """Events as tables of a scenario, and what they amount to."""

    events: list[dict[str, str]] = field(default_factory=list)
    end_ms: int = 0
    #: Share of the time in which at least one path was up.
    some_path_up: float = 0.0
    longest_without_ms: int = 0

    @property
    def toml(self) -> str:
        """As a scenario has it."""
        return "\n".join("[[events]]\n" + "\n".join(f'{k} = "{v}"' for k, v in event.items()) for event in self.events)


class _State:
    def __init__(self) -> None:
        #: What is wrong on each link: the words that the event which ends it needs.
        self.wrong: dict[str, dict[str, str]] = {}

    def is_up(self, path: int) -> bool:
        return not any(link in self.wrong for link in (f"access{path}", f"link{path}"))

    def some_up(self) -> bool:
        return any(self.is_up(path) for path in PATHS)


def schedule(seed: int, *, events: int, mean_gap_ms: int = 300, kinds: tuple[str, ...] = tuple(_KINDS)) -> Schedule:
    """A schedule whose paths are up, one or the other, at least half of the time; the end finds both up."""
    chance = random.Random(seed)
    while True:
        made = _attempt(chance, events, mean_gap_ms, kinds)
        if made.some_path_up >= 0.5:
            return made


def _attempt(chance: random.Random, events: int, mean_gap_ms: int, kinds: tuple[str, ...]) -> Schedule:
    state, made = _State(), Schedule()
    now_ms, up_ms, without_ms = 1000, 1000, 0
    while len(made.events) < events:
        event = _draw(chance, state, kinds)
        if event is None:
            continue
        gap_ms = 1 + int(chance.expovariate(1 / mean_gap_ms))
        # What was true until now.
        if state.some_up():
            up_ms, without_ms = up_ms + gap_ms, 0
        else:
            without_ms += gap_ms
            made.longest_without_ms = max(made.longest_without_ms, without_ms)
        now_ms += gap_ms
        _take(state, event)
        made.events.append({"at": f"{now_ms} ms", **event})
    for link, end in state.wrong.items():
        now_ms += 1
        made.events.append({"at": f"{now_ms} ms", "link": link, **end})
    made.end_ms, made.some_path_up = now_ms, up_ms / now_ms
    return made


def _take(state: _State, event: dict[str, str]) -> None:
    link = event["link"]
    if event["type"] == "down":
        state.wrong[link] = {"type": "up"}
    elif event["type"] == "address-removed":
        state.wrong[link] = {"type": "address-added"}
    elif event["type"] in ("up", "address-added"):
        del state.wrong[link]


def _draw(chance: random.Random, state: _State, kinds: tuple[str, ...]) -> dict[str, str] | None:
    """Draw an event. None if it is not possible now."""
    kind = chance.choices(kinds, [_KINDS[kind] for kind in kinds])[0]
    link = f"{chance.choice(('access', 'link'))}{chance.choice(PATHS)}"
    if kind == "restore":
        return {"link": link, **state.wrong[link]} if link in state.wrong else None
    if kind == "change":
        return _change(chance, f"link{link[-1]}")
    if link in state.wrong:
        return None
    if kind == "address":
        return {"link": link, "type": "address-removed"}
    return {"link": link, "type": "down", "mode": kind}


def _change(chance: random.Random, link: str) -> dict[str, str]:
    delay = chance.randint(1, 100)
    values = {
        "rate": f"{chance.randint(500, 5000)} kbit/s",
        "delay": f"{delay} ms",
        "jitter": f"{chance.randint(0, delay)} ms",
        "loss": f"{chance.choice((0, 0, 0, 1, 2, 5))} %",
    }
    if chance.random() < 0.5:
        return {"link": link, "type": "change", "direction": chance.choice(("forward", "backward")), **values}
    return {"link": link, "type": "change", **values}
