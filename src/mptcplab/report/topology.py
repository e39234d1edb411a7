# SPDX-License-Identifier: MIT
"""The picture of an experiment's network: inline SVG with nodes as boxes, and links with their properties.

Colours come from the page's style sheet by class names, so that the picture follows light, dark and print.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

from mptcplab.gateway.words import Role, roles
from mptcplab.network.captions import join_texts
from mptcplab.network.words import BETWEEN, direction_words, mtu_words
from mptcplab.node.base import NodeBase
from mptcplab.node.registry import NODE_KINDS

# Layout of the nodes and links in a network's picture: from the senders on the left to the receivers on the right.
#
# Nodes are in even columns, the labels of links in odd ones, so that a label never overlaps a node or another label. A
# link that passes a column of nodes takes a place there like a node. Rows are found by moving everything towards the
# mean of its neighbours (the barycentre method of layered drawings).

_ROUNDS = 12
Item = str | tuple[str, int]
Ends = tuple[str, str]


@dataclass(frozen=True)
class Layout:
    """Places as (column, row). Rows in a column are at least 1 apart.

    ``courses`` has the places of every link from its left end to its right end; ``labels`` has the place of its label
    among these; ``reversed_links`` are drawn from their second end to their first.
    """

    nodes: dict[str, tuple[int, float]]
    courses: dict[str, tuple[tuple[int, float], ...]]
    labels: dict[str, tuple[int, float]]
    reversed_links: frozenset[str]
    columns: int


def arrange(nodes: Sequence[str], links: Mapping[str, Ends], sources: Iterable[str], sinks: Iterable[str]) -> Layout:
    """Return places for all nodes and links. Nodes without a link are on the left."""
    columns = _columns(nodes, links, list(sources), list(sinks))
    chains: dict[str, list[Item]] = {}
    column_of: dict[Item, int] = {}
    column_of.update(columns.items())
    turned = set()
    for name, (first, second) in links.items():
        left, right = first, second
        if columns[first] > columns[second]:
            left, right = second, first
            turned.add(name)
        chains[name] = _chain(name, left, right, column_of)
    rows = _rows(column_of, chains)
    labels = {name: _label_place(name, chain) for name, chain in chains.items()}
    return Layout(
        nodes={name: (column_of[name], rows[name]) for name in nodes},
        courses={name: tuple((column_of[item], rows[item]) for item in chain) for name, chain in chains.items()},
        labels={name: (column_of[item], rows[item]) for name, item in labels.items()},
        reversed_links=frozenset(turned),
        columns=max(column_of.values(), default=0) + 1,
    )


def _columns(
    nodes: Sequence[str], links: Mapping[str, Ends], sources: Sequence[str], sinks: Sequence[str]
) -> dict[str, int]:
    """Return even columns: the relative distance of each node between the sources and the sinks."""
    neighbours: dict[str, list[str]] = {name: [] for name in nodes}
    for first, second in links.values():
        neighbours[first].append(second)
        neighbours[second].append(first)
    starts = [name for name in sources if name not in sinks] or list(nodes[:1])
    ends = [name for name in sinks if name not in starts] or [name for name in nodes if name not in starts][:1]
    behind, before = _distances(neighbours, starts), _distances(neighbours, ends)
    longest = max((behind[name] + before[name] for name in nodes if name in behind and name in before), default=1)
    columns = {}
    for name in nodes:
        total = behind.get(name, 0) + before.get(name, 0)
        part = behind.get(name, 0) / total if total else 0.0
        columns[name] = 2 * math.floor(part * longest + 0.5)
    used = {column: 2 * index for index, column in enumerate(sorted(set(columns.values())))}
    return {name: used[column] for name, column in columns.items()}


def _distances(neighbours: Mapping[str, Sequence[str]], starts: Iterable[str]) -> dict[str, int]:
    distances = dict.fromkeys(starts, 0)
    queue = deque(distances)
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if other not in distances:
                distances[other] = distances[node] + 1
                queue.append(other)
    return distances


def _chain(link: str, left: str, right: str, column_of: dict[Item, int]) -> list[Item]:
    """Return the items that a link passes, including its ends; places between these are added to ``column_of``."""
    first, last = column_of[left], column_of[right]
    # Both ends in one column: out to the labels on their right and back.
    between = range(first + 1, last) if first < last else range(first + 1, first + 2)
    passed: list[Item] = [(link, column) for column in between]
    column_of.update(zip(passed, between, strict=True))
    return [left, *passed, right]


def _label_place(link: str, chain: Sequence[Item]) -> Item:
    """Return the place of the label: the odd column nearest to the middle of the link."""
    places = [item for item in chain if isinstance(item, tuple) and item[0] == link and item[1] % 2]
    return places[len(places) // 2]


def _rows(column_of: Mapping[Item, int], chains: Mapping[str, Sequence[Item]]) -> dict[Item, float]:
    neighbours: dict[Item, list[Item]] = {item: [] for item in column_of}
    for chain in chains.values():
        for here, there in pairwise(chain):
            neighbours[here].append(there)
            neighbours[there].append(here)
    members: dict[int, list[Item]] = {}
    for item, column in column_of.items():
        members.setdefault(column, []).append(item)
    rows: dict[Item, float] = {}
    for items in members.values():
        rows.update({item: index - (len(items) - 1) / 2 for index, item in enumerate(items)})
    for turn in range(_ROUNDS):
        for column in sorted(members, reverse=bool(turn % 2)):
            _settle(members[column], neighbours, rows)
    for items in members.values():
        _snap(items, rows)
    return rows


def _settle(items: list[Item], neighbours: Mapping[Item, Sequence[Item]], rows: dict[Item, float]) -> None:
    """Move the items of one column towards their neighbours, at least 1 apart, in the resulting order."""
    wanted = {item: _mean([rows[other] for other in neighbours[item]], rows[item]) for item in items}
    ordered = sorted(items, key=lambda item: (round(wanted[item], 6), rows[item]))
    placed = _separate_rows([wanted[item] for item in ordered])
    shift = _mean([wanted[item] - row for item, row in zip(ordered, placed, strict=True)], 0.0)
    rows.update({item: row + shift for item, row in zip(ordered, placed, strict=True)})


def _snap(items: list[Item], rows: dict[Item, float]) -> None:
    """Move the items of one column to half rows, so that nearly straight links become straight."""
    ordered = sorted(items, key=lambda item: rows[item])
    rows.update(zip(ordered, _separate_rows([math.floor(2 * rows[item] + 0.5) / 2 for item in ordered]), strict=True))


def _separate_rows(wanted: Sequence[float]) -> list[float]:
    """Return ``wanted``, with rows moved down that would be less than 1 apart."""
    placed: list[float] = []
    for row in wanted:
        placed.append(max(row, placed[-1] + 1) if placed else row)
    return placed


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


_NODE_WIDTH, _NODE_HEIGHT = 92, 40
_CURVE = 34
_LINE = 15
_CHARACTER = 6.5
_NARROWEST_LABEL = 64
_MARGIN = 10
#: Captions of a node that has several, in lines of their own.
_LISTED = 3

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Picture:
    """One network. ``text`` describes it for screen readers; ``swept``: some link differs between points."""

    svg: Markup
    text: str
    swept: bool


@dataclass(frozen=True)
class _Label:
    """The label of a link: its name above the line, the rest below. ``varied`` are the parts that points differ in."""

    name: str
    below: tuple[str, ...]
    varied: Collection[str]

    @property
    def width(self) -> float:
        return max([_NARROWEST_LABEL, *(_CHARACTER * len(line) for line in (self.name, *self.below))])


def networks(scenarios: Sequence[Table]) -> list[Picture]:
    """Return a picture of every distinct network among the resolved ``scenarios`` of an experiment's points.

    Labels of links have all values that differ between points.
    """
    alike: dict[Any, list[Table]] = {}
    for scenario in scenarios:
        ends = tuple((name, *link["between"]) for name, link in scenario["links"].items())
        alike.setdefault((tuple(_kinds(scenario).items()), ends), []).append(scenario)
    return [_picture(group) for group in alike.values()]


def _kinds(scenario: Table) -> dict[str, type[NodeBase]]:
    """Return all nodes with their kinds."""
    return {name: kind for kind in NODE_KINDS.values() for name in scenario.get(kind.table, ())}


def _picture(group: Sequence[Table]) -> Picture:
    first = group[0]
    links = {name: (link["between"][0], link["between"][1]) for name, link in first["links"].items()}
    workloads = list(first["workloads"].values())
    kinds = _kinds(first)
    sources, sinks = [load["from"] for load in workloads], [load["to"] for load in workloads]
    layout = arrange(list(kinds), links, sources, sinks)
    labels = {name: _label(name, group, turned=name in layout.reversed_links) for name in links}
    text = "; ".join(f"{name} between {a} and {b}: {', '.join(labels[name].below)}" for name, (a, b) in links.items())
    captions = {name: [*_captions(name, kind, group), *_role_lines(name, group)] for name, kind in kinds.items()}
    text += "".join(f"; {name} {words}" for name, lines in captions.items() for words in lines)
    svg = _Drawing(layout, labels, kinds, text, captions).svg()
    return Picture(svg, text, any(label.varied for label in labels.values()))


def _captions(name: str, kind: type[NodeBase], group: Sequence[Table]) -> list[str]:
    """Return the captions of a node at the points, each once and in a line of its own; the first and last of many."""
    words = dict.fromkeys(kind.caption(scenario[kind.table][name]) for scenario in group)
    lines = [word for word in words if word]
    return lines if len(lines) <= _LISTED else [lines[0], "…", lines[-1]]


def _role_lines(name: str, group: Sequence[Table]) -> Iterator[str]:
    """Yield the lines about a node's parts in gateways, with all programs and modes if points differ."""
    lines: dict[str, list[Role]] = {}
    for scenario in group:
        for role in roles(name, scenario.get("gateways", {})):
            lines.setdefault(role.side, []).append(role)
    for side, alike in lines.items():
        yield f"{side}:"
        yield join_texts(list(dict.fromkeys(role.program for role in alike)))
        yield join_texts(list(dict.fromkeys(role.mode for role in alike)))


def _label(name: str, group: Sequence[Table], *, turned: bool) -> _Label:
    links = [scenario["links"][name] for scenario in group]
    radios = [link["radio"] for link in links if link.get("radio") is not None]
    if radios:
        powers = join_texts(list(dict.fromkeys(f"{radio['power_dbm']:g} dBm" for radio in radios)))
        line = f"radio, {powers}"
        return _Label(name, (line,), [line] if any(radio != radios[0] for radio in radios) else ())
    texts = {direction: direction_words([link[direction] for link in links]) for direction in ("forward", "backward")}
    mtu = mtu_words(links)
    varied = _varied_parts(links, [*texts["forward"], *texts["backward"], *mtu])
    if texts["forward"] == texts["backward"]:
        return _Label(name, (*texts["forward"], *mtu), varied)
    right, left = ("backward", "forward") if turned else ("forward", "backward")
    lines = [f"{'→' if direction == right else '←'} {line}" for direction in (right, left) for line in texts[direction]]
    return _Label(name, (*lines, *mtu), varied)


def _varied_parts(links: Sequence[Table], lines: Iterable[str]) -> Collection[str]:
    """Return the parts of the lines about a link that are not the same at all points; all if words show none."""
    if all(link == links[0] for link in links):
        return ()
    parts = _parts(lines)
    of_each = [
        _parts([*direction_words([link["forward"]]), *direction_words([link["backward"]]), *mtu_words([link])])
        for link in links
    ]
    return {part for part in parts if not all(part in each for each in of_each)} or parts


def _parts(lines: Iterable[str]) -> set[str]:
    return {part for line in lines for part in line.split(BETWEEN)}


class _Drawing:
    """Turns rows and columns into pixels, and these into SVG."""

    def __init__(
        self,
        layout: Layout,
        labels: Mapping[str, _Label],
        kinds: Mapping[str, type[NodeBase]],
        text: str,
        captions: Mapping[str, Sequence[str]],
    ) -> None:
        self._layout, self._labels, self._kinds, self._text, self._captions = layout, labels, kinds, text, captions
        widths = [self._node_width(column) for column in range(layout.columns)]
        for column in range(1, layout.columns, 2):
            here = [labels[name].width for name, place in layout.labels.items() if place[0] == column]
            widths[column] = max(here, default=0.0) + 2 * _CURVE
        starts = [sum(widths[:column]) for column in range(layout.columns)]
        self._centres = [_MARGIN + start + width / 2 for start, width in zip(starts, widths, strict=True)]
        self._widths = widths
        label_lines = max((len(label.below) for label in labels.values()), default=1)
        caption_lines = max((len(lines) for lines in captions.values()), default=0)
        caption_height = _LINE * max(1, caption_lines) + 7
        self._step = max(_NODE_HEIGHT + caption_height, _LINE * (label_lines + 1) + 18)
        on_links = (place for course in layout.courses.values() for place in course)
        rows = [row for _, row in [*layout.nodes.values(), *on_links]]
        self._top = min(rows)
        self.width = sum(widths) + 2 * _MARGIN
        below_nodes = _NODE_HEIGHT / 2 + (caption_height if caption_lines else 0)
        self._below = max(below_nodes, _LINE * label_lines + 6) + _MARGIN
        self.height = (max(rows) - self._top) * self._step + _NODE_HEIGHT / 2 + _MARGIN + self._below

    def _node_width(self, column: int) -> float:
        """Return the width that the nodes in a column need, with the captions below them."""
        here = (name for name, place in self._layout.nodes.items() if place[0] == column)
        return max([float(_NODE_WIDTH), *(_CHARACTER * len(line) for name in here for line in self._captions[name])])

    def _to_pixels(self, place: tuple[int, float]) -> tuple[float, float]:
        column, row = place
        return self._centres[column], _MARGIN + _NODE_HEIGHT / 2 + (row - self._top) * self._step

    def svg(self) -> Markup:
        """Return the whole picture."""
        parts = [self._link(name) for name in self._layout.courses]
        parts += [self._text_of(name, label) for name, label in self._labels.items()]
        parts += [self._node(name, place) for name, place in self._layout.nodes.items()]
        size = Markup('viewBox="0 0 {0:.0f} {1:.0f}" style="max-width:{0:.0f}px;min-width:{2:.0f}px"')
        head = Markup('<svg class="network" {} role="img" aria-label="{}">').format(
            size.format(self.width, self.height, 0.72 * self.width), f"The network: {self._text}"
        )
        return head + Markup("\n").join(parts) + Markup("</svg>")

    def _node(self, name: str, place: tuple[int, float]) -> Markup:
        x, y = self._to_pixels(place)
        kind = self._kinds[name]
        shown = name if len(name) <= 13 else f"{name[:12]}…"
        below = Markup("").join(
            Markup('<text class="value" x="{:.1f}" y="{:.1f}">{}</text>').format(
                x, y + _NODE_HEIGHT / 2 + _LINE * number, line
            )
            for number, line in enumerate(self._captions[name], start=1)
        )
        outline = kind.outline(x - _NODE_WIDTH / 2, y - _NODE_HEIGHT / 2, _NODE_WIDTH, _NODE_HEIGHT)
        return Markup(
            '<g class="node {kind}"><title>{kind} {name}</title>'
            "{outline}"
            '<text x="{x:.1f}" y="{base:.1f}">{shown}</text></g>{below}'
        ).format(
            below=below,
            kind=kind.kind,
            name=name,
            outline=Markup(outline),
            x=x,
            base=y + 4.5,
            shown=shown,
        )

    def _link(self, name: str) -> Markup:
        """Return the line of a link: straight past labels and nodes, with bends in the gaps between columns."""
        course = self._layout.courses[name]
        x, y = self._to_pixels(course[0])
        x += _NODE_WIDTH / 2
        path = f"M{x:.1f} {y:.1f}"
        turns_back = course[0][0] == course[-1][0]
        for place in course[1:]:
            middle, there = self._to_pixels(place)
            half = self._widths[place[0]] / 2 - (_CURVE if place[0] % 2 else 0)
            half = _NODE_WIDTH / 2 if place == course[-1] else half
            enter = middle + half if turns_back and place == course[-1] else middle - half
            bend = (x + enter) / 2
            if turns_back:  # out to the beginning of the label, and back
                bend = max(x, enter)
            path += f" C{bend:.1f} {y:.1f} {bend:.1f} {there:.1f} {enter:.1f} {there:.1f}"
            x, y = enter, there
            if not turns_back and place != course[-1]:
                x = middle + half
                path += f" H{x:.1f}"
        return Markup('<path class="link" d="{}"/>').format(path)

    def _text_of(self, name: str, label: _Label) -> Markup:
        x, y = self._to_pixels(self._layout.labels[name])
        lines = [Markup('<text class="name" x="{:.1f}" y="{:.1f}">{}</text>').format(x, y - 6, label.name)]
        for number, line in enumerate(label.below, start=1):
            markup = Markup('<text class="value" x="{:.1f}" y="{:.1f}">{}</text>')
            lines.append(markup.format(x, y + _LINE * number, _colour_differences(line, label.varied)))
        return Markup("").join(lines)


def _colour_differences(line: str, varied: Collection[str]) -> Markup:
    """Return a line about a link with the parts coloured that points differ in."""
    arrow = line[:2] if line[0] in "→←" else ""
    parts = line.removeprefix(arrow).split(BETWEEN)
    swept = Markup('<tspan class="swept">{}</tspan>')
    return escape(arrow) + Markup(BETWEEN).join(swept.format(part) if part in varied else part for part in parts)
