# SPDX-License-Identifier: MIT
"""A map of a run's radios as inline SVG: where nodes with radios are, how they move, and who is whose station.

Colours come from the page's style sheet by class names. A name that would cover another one is left out; the element's
title still has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mptcplab.metrics.manifest import RecordedRadio, read_label, read_radios, read_tracks
from mptcplab.recording.record import Recording
from mptcplab.report.topology import Picture

_WIDTH, _MAX_HEIGHT, _MIN_HEIGHT, _MARGIN = 640.0, 480.0, 110.0, 46.0
_RADIUS, _CHARACTER, _LINE = 5.0, 6.5, 15.0
#: Space below for the scale.
_SCALE = 34.0
#: Tracks with more corners than this show their first ones.
_MAX_CORNERS = 400

Point = tuple[float, float]
Box = tuple[float, float, float, float]


def radio_map(recording: Recording) -> Picture | None:
    """Return the map of a run; None without radios."""
    tracks = {
        node: [(point.x, point.y) for point in track[:_MAX_CORNERS]] for node, track in read_tracks(recording).items()
    }
    if not tracks:
        return None
    radios = read_radios(recording)
    places = {node: "{:g}, {:g} m".format(*track[0]) for node, track in tracks.items()}
    text = "; ".join(f"{node} at {place}" for node, place in places.items())
    moving = [node for node, track in tracks.items() if len(set(track)) > 1]
    text += f"; moving: {', '.join(moving)}" if moving else ""
    seed = f", seed {read_label(recording).seed}" if moving else ""
    return Picture(_Map(tracks, radios, f"Positions of radios{seed}: {text}").svg(), text, swept=False)


@dataclass
class _Map:
    tracks: Mapping[str, Sequence[Point]]
    radios: Sequence[RecordedRadio]
    label: str

    def __post_init__(self) -> None:
        points = [point for track in self.tracks.values() for point in track]
        self._left, self._top = min(x for x, _ in points), max(y for _, y in points)
        wide = max(max(x for x, _ in points) - self._left, 1.0)
        high = self._top - min(y for _, y in points)
        room = _MAX_HEIGHT - 2 * _MARGIN - _SCALE
        self._per_metre = min((_WIDTH - 2 * _MARGIN) / wide, room / high if high else math.inf)
        self._height = max(_MIN_HEIGHT, high * self._per_metre + 2 * _MARGIN + _SCALE)

    def svg(self) -> Markup:
        """Return the whole map."""
        head = Markup('<svg class="network map" viewBox="0 0 {0:.0f} {1:.0f}" style="max-width:{0:.0f}px" ')
        parts = [head.format(_WIDTH, self._height) + Markup('role="img" aria-label="{}">').format(self.label)]
        parts += [*self._links(), *self._paths(), *self._nodes(), self._scale(), Markup("</svg>")]
        return Markup("\n").join(parts)

    def _to_pixels(self, point: Point) -> Point:
        return _MARGIN + (point[0] - self._left) * self._per_metre, _MARGIN + (self._top - point[1]) * self._per_metre

    def _links(self) -> Iterator[Markup]:
        """Yield a line from each station to its access point, where both are at first."""
        for radio in self.radios:
            if radio.is_station:
                ends = [self._to_pixels(self.tracks[node][0]) for node in (radio.node, radio.access_point)]
                line = Markup('<path class="air" d="M{:.1f} {:.1f} L{:.1f} {:.1f}"/>')
                yield line.format(*ends[0], *ends[1])

    def _paths(self) -> Iterator[Markup]:
        for track in self.tracks.values():
            if len(set(track)) > 1:
                corners = " L".join("{:.1f} {:.1f}".format(*self._to_pixels(point)) for point in track)
                yield Markup('<path class="walk" d="M{}"/>').format(corners)
                yield Markup('<circle class="end" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(*self._to_pixels(track[-1]))

    def _nodes(self) -> Iterator[Markup]:
        taken: list[Box] = []
        # Access points come last, above the others; their names come first.
        access_points = {radio.node: radio for radio in self.radios if not radio.is_station}
        ordered = sorted(self.tracks, key=lambda node: node not in access_points)
        names = {node: self._name(node, access_points.get(node), taken) for node in ordered}
        for node in reversed(ordered):
            kind = "access-point" if node in access_points else "station"
            x, y = self._to_pixels(self.tracks[node][0])
            radius = _RADIUS + 3 if node in access_points else _RADIUS
            circle = Markup('<g class="radio {}"><title>{}</title><circle cx="{:.1f}" cy="{:.1f}" r="{:g}"/>{}</g>')
            title = "{} at {:g}, {:g} m".format(node, *self.tracks[node][0])
            yield circle.format(kind, title, x, y, radius, names[node])

    def _name(self, node: str, access_point: RecordedRadio | None, taken: list[Box]) -> Markup:
        """Return the name beside a node, on the side where it covers none of ``taken``; nothing if there is no such."""
        words = [node]
        if access_point is not None:
            words.append(f"{access_point.mode}, channel {access_point.channel}")
        x, y = self._to_pixels(self.tracks[node][0])
        width, height = _CHARACTER * max(map(len, words)), _LINE * len(words)
        for left, top in (
            (x + 12, y - 9),
            (x - 12 - width, y - 9),
            (x - width / 2, y - 12 - height),
            (x - width / 2, y + 12),
        ):
            box = (left, top, left + width, top + height)
            if left >= 0 and box[2] <= _WIDTH and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                line = Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>')
                return Markup("").join(
                    line.format("value" if number else "name", left + width / 2, top + _LINE * (number + 0.8), word)
                    for number, word in enumerate(words)
                )
        return Markup("")

    def _scale(self) -> Markup:
        """Return a bar of a round number of metres."""
        metres = _round_below((_WIDTH - 2 * _MARGIN) / 3 / self._per_metre)
        y, length = self._height - 14, metres * self._per_metre
        bar = Markup(
            '<path class="scale" d="M{:.1f} {:.1f} h{:.1f}"/><text class="value" x="{:.1f}" y="{:.1f}">{:g} m</text>'
        )
        return bar.format(_MARGIN, y, length, _MARGIN + length / 2, y - 5, metres)


def _overlap(pair: Box, other: Box) -> bool:
    return pair[0] < other[2] and other[0] < pair[2] and pair[1] < other[3] and other[1] < pair[3]


def _round_below(value: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is not above ``value``."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= value * (1 + 1e-9))
