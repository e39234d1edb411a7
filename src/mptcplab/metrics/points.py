# SPDX-License-Identifier: MIT
"""How the points of a sweep are named: short titles of keys, settings as a line, the values of each axis."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mptcplab.metrics.rows import ResultRow

_PARTS = re.compile(r"(\d+(?:\.\d+)?)")
#: The hosts of topology presets, whose workloads an experiment is about; and what a host's sockets use.
_USUAL_HOSTS = frozenset({"client", "server"})
_USED = [["transport", name] for name in ("protocol", "scheduler", "congestion_control")]


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Return column titles for swept keys: the last part, or more parts if two were equal; of a link all parts.

    A number in a list is not a title: the part before it belongs to it. What a host beside ``client`` and ``server``
    uses has the host's name: ``protocol`` alone would seem to belong to the row's workload.
    """
    for length in range(1, 8):
        names = {key: _last_parts(key, length) for key in keys}
        if len(set(names.values())) == len(names):
            return names
    return {key: key for key in keys}


def point_text(settings: Mapping[str, str], names: Mapping[str, str] | None = None) -> str:
    """Return the swept keys and values of a point as one line; with ``names`` in place of the short ones, if any."""
    shown = names if names is not None else short_names(list(settings))
    return ", ".join(f"{shown[key]} {value}".strip() for key, value in settings.items())


def quote(value: str) -> str:
    """Return a value for a list with commas."""
    return f'"{value}"' if "," in value else value


def changed_keys_note(changes: Sequence[str]) -> str:
    """Return which keys the command line set, without a full stop; empty if none."""
    return f"Changed on the command line: {', '.join(changes)}" if changes else ""


def swept_values(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """Return the swept keys with their values in ``rows``, in the order of the sweep."""
    entries: dict[str, dict[str, None]] = {}
    for row in rows:
        for key, value in row.settings.items():
            entries.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in entries.items()}


def natural_order(text: str) -> list[tuple[float, str]]:
    """Return a key that orders names by the numbers inside them: ``#2`` before ``#10``."""
    return [(float(part), "") if number % 2 else (math.inf, part) for number, part in enumerate(_PARTS.split(text))]


def _last_parts(key: str, length: int) -> str:
    parts = key.split(".")
    if length == 1 and parts[2:] in _USED and parts[0] == "hosts" and parts[1] not in _USUAL_HOSTS:
        return f"{parts[1]}.{parts[-1]}"
    length += parts[-1].isdigit()
    return ".".join(parts[1:] if parts[0] == "links" else parts[-length:])


def determine(points: Iterable[Mapping[str, str]], keys: Sequence[str], other: str) -> bool:
    """Return whether points with the same values of ``keys`` have the same value of the ``other`` key."""
    texts: dict[tuple[str, ...], str] = {}
    pairs = ((tuple(point.get(key, "") for key in keys), point.get(other, "")) for point in points)
    return all(texts.setdefault(values, value) == value for values, value in pairs)
