# SPDX-License-Identifier: MIT
"""Groups of what cannot be told apart, as letters: the compact letter display."""

from __future__ import annotations

import string
from collections.abc import Iterable

_LETTERS = string.ascii_lowercase


def letters(count: int, different: Iterable[tuple[int, int]]) -> list[str]:
    """Return the letters of each of ``count`` things, of which the pairs in ``different`` are known to differ.

    Two share a letter if, and only if, they are not known to differ. The first thing has the letter a. The method is
    insertion and absorption (Piepho, Journal of Computational and Graphical Statistics 13, 2004).
    """
    groups = [frozenset(range(count))]
    for pair in different:
        both = frozenset(pair)
        split = [group - {index} for group in groups for index in (pair if both <= group else ())]
        kept = [group for group in groups if not both <= group]
        groups = _maximal_groups([*kept, *split])
    ordered = sorted(groups, key=sorted)
    return ["".join(_letter(place) for place, group in enumerate(ordered) if index in group) for index in range(count)]


def _maximal_groups(groups: list[frozenset[int]]) -> list[frozenset[int]]:
    """Return the groups that no other group contains, each once."""
    once = list(dict.fromkeys(groups))
    return [group for group in once if not any(group < other for other in once)]


def _letter(place: int) -> str:
    """Return a to z, then a1 to z1, and so on."""
    turn, index = divmod(place, len(_LETTERS))
    return f"{_LETTERS[index]}{turn or ''}"
