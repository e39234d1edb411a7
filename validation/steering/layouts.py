# SPDX-License-Identifier: MIT
"""Layouts of access points and terminals, drawn at random from a seed, as scenarios.

Access points of 802.11b are at the corners of an area, each on a channel of its own. Terminals gather around them
unevenly: shares of the crowd are drawn first, then places. Every fourth terminal walks through the whole area. A
terminal has a radio for each of the access points that it hears best at its first place, up to ``radios``; its first
subflow goes over the best one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

#: Seeds of the layouts on which policies are compared. They were fixed before any policy was tuned.
HELD_OUT = tuple(range(101, 111))
#: Seeds of the layouts on which policies may be tuned.
TUNING = tuple(range(1, 4))
_SIDE_M = 70.0
#: Standard deviation of a terminal's place around the middle of its crowd.
_CROWD_M = 12.0
#: Channels do not disturb each other in the lab, whatever their numbers.
_CHANNELS = (1, 4, 8, 11)
_CORNERS = ((0.0, 0.0), (1.0, 0.0), (0.5, 0.8), (1.0, 1.0))
_SQUARE = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
#: Access points, terminals, and radios of each terminal, by the last digit of the seed. With 32 terminals a radio for
#: every access point would be 128 stations.
_SIZES = (
    (4, 16, 3),
    (3, 9, 3),
    (3, 12, 3),
    (3, 16, 3),
    (3, 24, 2),
    (4, 12, 4),
    (4, 16, 2),
    (4, 20, 2),
    (4, 24, 2),
    (4, 32, 2),
)
_WALKS = 4
_SPEED_MPS = (1.0, 1.5)

Place = tuple[float, float]


@dataclass(frozen=True)
class Terminal:
    """A terminal: its first place, whether it walks, and its access points, best first."""

    place: Place
    walks: bool
    access_points: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Where access points and terminals are."""

    seed: int
    access_points: tuple[Place, ...]
    terminals: tuple[Terminal, ...]

    @property
    def name(self) -> str:
        """A name for folders and tables."""
        return f"layout-{self.seed}"


def draw(seed: int) -> Layout:
    """Return the layout of a seed."""
    random = Random(f"layout {seed}")
    points, count, radios = _SIZES[seed % len(_SIZES)]
    corners = _CORNERS if points == 3 else _SQUARE
    places = tuple((_SIDE_M * x, _SIDE_M * y) for x, y in corners[:points])
    # The first crowd has about as many terminals as all others together.
    weights = [random.uniform(0.2, 1.0) for _ in places]
    weights[random.randrange(points)] += sum(weights)
    terminals = []
    for number in range(count):
        (crowd,) = random.choices(places, weights)
        place = (_coordinate(random.gauss(crowd[0], _CROWD_M)), _coordinate(random.gauss(crowd[1], _CROWD_M)))
        nearest = sorted(range(points), key=lambda index: math.dist(place, places[index]))
        terminals.append(Terminal(place, number % _WALKS == _WALKS - 1, tuple(nearest[:radios])))
    return Layout(seed, places, tuple(terminals))


def _coordinate(metres: float) -> float:
    """Return a coordinate within the area, and not nearer than a metre to its border."""
    return round(min(_SIDE_M - 1, max(1.0, metres)), 2)


def scenario(layout: Layout, *, duration_s: int, repeats: int, steering: str = "") -> str:
    """Return a layout as a scenario. ``steering`` has the lines of its table; without, nobody steers."""
    return "\n".join(
        [
            *_head(layout, repeats),
            *_access_points(layout),
            *_terminals(layout, duration_s, steered=bool(steering)),
            steering,
            "",
        ]
    )


def _head(layout: Layout, repeats: int) -> Iterator[str]:
    walking = sum(terminal.walks for terminal in layout.terminals)
    about = f"{len(layout.access_points)} access points, {len(layout.terminals)} terminals, {walking} of them walk"
    yield f'title = "Layout {layout.seed}: {about}"'
    yield 'kernel = "7.2-wifi"'
    yield f"repeats = {repeats}"
    yield "[transport]"
    yield 'congestion_control = "cubic"'
    yield 'scheduler = "minrtt"'
    yield "[record]"
    yield 'interval = "1 s"'
    yield "[hosts.server]"
    yield "[routers.core]"
    yield "[links.uplink]"
    yield 'between = ["core", "server"]'
    yield 'delay = "4 ms"'


def _access_points(layout: Layout) -> Iterator[str]:
    for number, (x, y) in enumerate(layout.access_points, start=1):
        yield f"[access_points.ap{number}]"
        yield 'mode = "802.11b"'
        yield f"channel = {_CHANNELS[number - 1]}"
        yield f"position = [{x:g}, {y:g}]"
        yield f"[links.backhaul{number}]"
        yield f'between = ["ap{number}", "core"]'
        yield 'rate = "100 Mbit/s"'
        yield 'delay = "1 ms"'


def _terminals(layout: Layout, duration_s: int, *, steered: bool) -> Iterator[str]:
    for number, terminal in enumerate(layout.terminals, start=1):
        yield f"[hosts.t{number}]"
        yield f"position = [{terminal.place[0]:g}, {terminal.place[1]:g}]"
        if terminal.walks:
            slow, fast = _SPEED_MPS
            yield f"walk = {{ area = [[1, 1], [{_SIDE_M - 1:g}, {_SIDE_M - 1:g}]], speed_mps = [{slow}, {fast}] }}"
        if not steered:
            backups = (f'"t{number}-ap{other + 1}" = "backup"' for other in terminal.access_points[1:])
            yield f"transport.modes = {{ {', '.join(backups)} }}"
        # The first subflow uses the first link.
        for access_point in terminal.access_points:
            yield f"[links.t{number}-ap{access_point + 1}]"
            yield f'between = ["t{number}", "ap{access_point + 1}"]'
            yield "radio = {}"
        yield f"[workloads.down{number}]"
        yield 'kind = "flow"'
        yield f'from = "t{number}"'
        yield 'to = "server"'
        yield "reverse = true"
        yield f'duration = "{duration_s} s"'
        yield 'read_quantum = "1 ms"'
        yield "checksum = true"
