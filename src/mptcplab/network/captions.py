# SPDX-License-Identifier: MIT
"""Values of links in the words of a picture: one direction at all points of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Table = Mapping[str, Any]
#: Values that do nothing, as recordings write them.
NOTHING = (None, "0 ns", "0 ppb", "0 B")
#: More values of a swept key than this are written as their range.
_LISTED = 4


@dataclass(frozen=True)
class DirectionCaption:
    """One direction of a link at every point of an experiment, as recordings describe it."""

    points: Sequence[Table]

    def text(self, key: str, say: Callable[[Table], Any] | None = None) -> str:
        """Return ``20 ms``; ``5, 10, 20 ms`` when points differ; nothing when it does nothing at every point.

        ``say`` returns the value of a point where it is not the one of the key.
        """
        return _merged(point.get(key) if say is None else say(point) for point in self.points)


def _merged(values: Iterable[Any]) -> str:
    texts = [str(value) if value is not None else "none" for value in dict.fromkeys(values)]
    if texts == ["none"] or (len(texts) == 1 and texts[0] in NOTHING):
        return ""
    texts = ["0" if text in NOTHING else text for text in texts]
    units = {text.partition(" ")[2] for text in texts if text not in ("0", "none")}
    if len(units) == 1 and len(texts) > 1:
        unit = units.pop()
        texts = [text.removesuffix(f" {unit}") for text in texts]
        return f"{several(texts)} {unit}"
    return several(texts)


def several(texts: Sequence[str]) -> str:
    """Return a short list of all ``texts``, or the first and last of many."""
    return ", ".join(texts) if len(texts) <= _LISTED else f"{texts[0]} … {texts[-1]}"
