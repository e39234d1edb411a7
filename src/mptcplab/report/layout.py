# SPDX-License-Identifier: MIT
"""Layout of the nodes and links in a network's picture: from the senders on the left to the receivers on the right.

Nodes are in even columns, the labels of links in odd ones, so that a label never overlaps a node or another label. A
link that passes a column of nodes takes a place there like a node. Rows are found by moving everything towards the mean
of its neighbours (the barycentre method of layered drawings).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
