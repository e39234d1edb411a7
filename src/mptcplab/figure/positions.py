# SPDX-License-Identifier: MIT
"""The names of positions below an axis: level, in several lines, inclined or upright, whatever can be read."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mptcplab.figure.axis import smallest_gap
from mptcplab.figure.canvas import tidy
from mptcplab.figure.paper import compute_layout, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure
    from matplotlib.text import Text

#: More letters than this below the axis would overlap.
_LEVEL_LETTERS = 80
#: The number of letters that fit beside a wide legend; words shorter than the second number are not worth a line.
_WRAPPED_LETTERS, _SHORT = 40, 8
#: The maximum number of lines of names below each other; the number of letters in lines of inclined names.
_MOST_LINES, _INCLINED_LETTERS = 4, 28
#: The size of small names in points, and the least distance between two names as a part of it.
_SMALL, _APART = 8, 0.3
#: Names that take less than this part of the figure's width never overlap: the plot is wider.
_ROOMY = 0.4
#: The height of a line as a part of its size.
_LINE = 1.2
_DEGREES = 30


@dataclass(frozen=True)
class _Way:
    """A way to write the names: the maximum number of letters in a line, and their rotation."""

    letters: int
    degrees: int = 0


def name_positions(
    axes: Axes,
    places: Sequence[float],
    positions: Sequence[str],
    legend: str,
    *,
    with_legend: bool = True,
    some: bool = False,
) -> None:
    """Write the names of positions so that they do not overlap, and the legend; call it last, as :func:`tidy`.

    It measures the names, since their room depends on the legend and on all that is beside the plot. With ``some``,
    names may be left out if they have no room at all, as on any axis of numbers.
    """
    ordered = sorted(zip(places, positions, strict=True))
    places, positions = [place for place, _ in ordered], [name for _, name in ordered]
    drawing = axes.get_figure(root=True)
    assert drawing is not None, "axes of a figure"
    across, height = drawing.get_size_inches()
    _write_level(axes, places, positions)
    if with_legend:
        tidy(axes, legend)
    if _is_roomy(drawing, axes, places) or not _any_overlap(drawing, axes, places):
        return
    for way in _ways(drawing, axes, places, positions):
        # A legend below the plot begins below the names, and made the figure higher.
        drawing.set_size_inches(across, height)
        _write(axes, places, positions, way)
        if with_legend:
            tidy(axes, legend)
        if not _any_overlap(drawing, axes, places):
            return
    if some:
        _leave_out(drawing, axes, places, positions)


def _leave_out(drawing: MplFigure, axes: Axes, places: Sequence[float], positions: Sequence[str]) -> None:
    """Write only names that have room level, the first and the last among them; the others keep their tick."""
    _write(axes, places, positions, _Way(max(map(len, positions))))
    compute_layout(drawing)
    labels = axes.get_xticklabels()
    kept = [True] * len(labels)
    before = labels[0]
    for number, label in enumerate(labels[1:-1], 1):
        kept[number] = not (_are_too_close(before, label, 0.0) or _are_too_close(label, labels[-1], 0.0))
        before = label if kept[number] else before
    axes.set_xticklabels([name if keep else "" for name, keep in zip(positions, kept, strict=True)])


def _write_level(axes: Axes, places: Sequence[float], positions: Sequence[str]) -> None:
    """Write short words level, in several lines if these have room, and many letters inclined."""
    room = _WRAPPED_LETTERS // len(positions)
    wrapped = (_lines(position, room) if room >= _SHORT else position for position in positions)
    axes.set_xticks(places, list(wrapped))
    if sum(map(len, positions)) > _LEVEL_LETTERS:
        _write(axes, places, positions, _Way(max(map(len, positions)), _DEGREES))


def _lines(text: str, letters: int) -> str:
    return "\n".join(textwrap.wrap(text, letters, break_long_words=False, break_on_hyphens=False))


def _ways(drawing: MplFigure, axes: Axes, places: Sequence[float], positions: Sequence[str]) -> Iterator[_Way]:
    """Yield ways to write names that overlap, the most legible first."""
    longest = max(map(len, positions))
    pitch = 72 * axes.get_window_extent().width / drawing.dpi * _pitch(places)
    # A line that is narrower than the longest word overlaps; the width of a letter is about half of its size.
    letters = max(1, int(pitch / (0.5 * points(_SMALL))))
    lines = (
        max(_lines(position, letters).count("\n") + 1 for position in positions) if letters >= _SHORT / 2 else longest
    )
    if lines <= _MOST_LINES:
        yield _Way(letters)
    yield _Way(longest, _DEGREES) if longest <= _INCLINED_LETTERS else _Way(_INCLINED_LETTERS, _DEGREES)
    yield _Way(_INCLINED_LETTERS, 90)


def _write(axes: Axes, places: Sequence[float], positions: Sequence[str], way: _Way) -> None:
    turned: dict[str, Any] = {"rotation": way.degrees, "ha": "center"}
    if way.degrees:
        turned |= {"ha": "right", "rotation_mode": "anchor"}
    turned["va"] = "center" if way.degrees == 90 else "top"
    axes.set_xticks(
        places, [_lines(position, way.letters) for position in positions], fontsize=points(_SMALL), **turned
    )


def _is_roomy(drawing: MplFigure, axes: Axes, places: Sequence[float]) -> bool:
    """Return whether names are so short that nothing beside the plot leaves them too little room: no need for a layout.

    A layout that is computed twice differs in the last digits.
    """
    widest = max(label.get_window_extent().width for label in axes.get_xticklabels())
    return bool(widest < _ROOMY * drawing.bbox.width * _pitch(places))


def _pitch(places: Sequence[float]) -> float:
    """Return the part of the axis that each position has at least."""
    gap = smallest_gap(places)
    if math.isinf(gap):
        return 1.0
    return gap / (places[-1] - places[0] + gap) if gap > 0 else 0.0


def _any_overlap(drawing: MplFigure, axes: Axes, places: Sequence[float]) -> bool:
    """Return whether two neighbours overlap, or nearly do, where the figure's layout puts them."""
    labels = axes.get_xticklabels()
    if drawing.get_layout_engine() is not None:
        compute_layout(drawing)
    ends = axes.transData.transform([(place, 0.0) for place in places])[:, 0]
    neighbours = zip(pairwise(labels), pairwise(ends), strict=True)
    return any(_are_too_close(left, right, after - before) for (left, right), (before, after) in neighbours)


def _are_too_close(left: Text, right: Text, pitch: float) -> bool:
    """Return whether two texts, whose places are ``pitch`` pixels apart, are closer than a reader can tell apart."""
    drawing = left.get_figure(root=True)
    assert drawing is not None, "a text of a figure"
    size, degrees = float(left.get_fontsize()) * drawing.dpi / 72, float(left.get_rotation())
    if degrees in (0, 90):
        return bool(left.get_window_extent().x1 + _APART * size > right.get_window_extent().x0)
    # Inclined ones have boxes that overlap: what counts is the distance of their lines.
    lines = max(text.get_text().count("\n") + 1 for text in (left, right))
    return abs(pitch) * math.sin(math.radians(degrees)) < (_LINE * lines + _APART / 2) * size
