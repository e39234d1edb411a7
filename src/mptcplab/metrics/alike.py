# SPDX-License-Identifier: MIT
"""Merge warnings that differ only in their numbers, as they do over seeds and points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_PLAIN = r"\d+(?:\.\d+)?"
#: A number that is a word, not part of a name, or a range of two.
_NUMBER = re.compile(rf"(?<![\w.-])({_PLAIN})(?: to ({_PLAIN}))?(?![\w-]|\.\d)")


def merge_similar_warnings(warnings: Iterable[str]) -> dict[str, str]:
    """Return for each warning the text that it shares with warnings that differ from it only in numbers.

    Numbers that differ become ranges: "dropped 14" and "dropped 2" are "dropped 2 to 14". The order follows the
    warnings. A range is a number as well, so texts of this function can be merged again.
    """
    alike: dict[str, list[str]] = {}
    for warning in dict.fromkeys(warnings):
        alike.setdefault(_NUMBER.sub("#", warning), []).append(warning)
    return {warning: text for texts in alike.values() for text in [_span_numbers(texts)] for warning in texts}


def _span_numbers(texts: list[str]) -> str:
    """Return the first text, with the range over all texts in the place of each number."""
    if len(texts) == 1:
        return texts[0]
    ranges = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    words: Iterator[str] = iter([_range([number for pair in pairs for number in pair if number]) for pairs in ranges])
    return _NUMBER.sub(lambda _: next(words), texts[0])


def _range(numbers: list[str]) -> str:
    low, high = min(numbers, key=float), max(numbers, key=float)
    return low if float(low) == float(high) else f"{low} to {high}"
