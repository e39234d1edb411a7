# SPDX-License-Identifier: MIT
"""Captions of links in pictures: one direction at all points of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Table = Mapping[str, Any]
#: Values without an effect, as recordings write them.
NOTHING = (None, "0 ns", "0 ppb", "0 B")
#: More values of a swept key than this are abbreviated to their range.
_LISTED = 4


@dataclass(frozen=True)
class DirectionCaption:
    """One direction of a link at every point of an experiment, as recordings describe it."""

    points: Sequence[Table]

    def text(self, key: str, value: Callable[[Table], Any] | None = None) -> str:
        """Return ``20 ms``; ``5, 10, 20 ms`` if points differ; nothing if the key has no effect at any point.

        ``value`` returns the value of a point, if it is not the key's.
        """
        return _merge_values(point.get(key) if value is None else value(point) for point in self.points)


def _merge_values(values: Iterable[Any]) -> str:
    texts = [str(value) if value is not None else "none" for value in dict.fromkeys(values)]
    if texts == ["none"] or (len(texts) == 1 and texts[0] in NOTHING):
        return ""
    texts = ["0" if text in NOTHING else text for text in texts]
    units = {text.partition(" ")[2] for text in texts if text not in ("0", "none")}
    if len(units) == 1 and len(texts) > 1:
        unit = units.pop()
        texts = [text.removesuffix(f" {unit}") for text in texts]
        return f"{join_texts(texts)} {unit}"
    return join_texts(texts)


def join_texts(texts: Sequence[str]) -> str:
    """Return all ``texts`` as a list, or the first and last of many."""
    return ", ".join(texts) if len(texts) <= _LISTED else f"{texts[0]} … {texts[-1]}"
