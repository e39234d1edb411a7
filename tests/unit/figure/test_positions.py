# SPDX-License-Identifier: MIT
"""The names of positions below an axis can be read, whatever their length."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.unit.figure.test_legible import BARS

from mptcplab.figure.bars import draw_bars
from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.lines import FigureSeries, draw_lines
from mptcplab.stats import Interval


def test_positions_of_several_words_do_not_overlap() -> None:
    """Labels of values are whole phrases, and a legend beside the plot may take two fifths of the width."""
    positions = ("all the time", "when Wi-Fi fails", "when told of a failure")
    series = tuple(FigureSeries(f"nobody notices, path manager {n}", (Interval(1.0, 0.1, 3),) * 3) for n in range(4))
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=(6.4, 4.0), layout="constrained")
        axes = drawing.subplots()
        draw_bars(replace(BARS, positions=positions, series=series, legend="failure"), drawing, axes)
        drawing.canvas.draw()
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        plt.close(drawing)
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes)), boxes


#: Names as points of a sweep have them, and longer ones.
LONG = (
    "DSL",
    "both, DSL first",
    "both, 5G first",
    "both, redundant",
    "both, minrtt",
    "5G alone, fq_codel",
    "both, with the flatmate bonding too",
    "DSL alone, at night",
    "both, limited to 10 Mbit/s",
    "both, the second line as backup",
    "both, Balia at the server",
    "everything at once",
)


def _edges(text: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the corners of a text as it is drawn, which form an inclined box if the text is inclined."""
    degrees = text.get_rotation()
    anchor = text.get_transform().transform(text.get_unitless_position())
    text.set_rotation(0)
    box = text.get_window_extent()
    text.set_rotation(degrees)
    turn = np.deg2rad(degrees)
    corners = np.array([(box.x0, box.y0), (box.x1, box.y0), (box.x1, box.y1), (box.x0, box.y1)]) - anchor
    turned: np.ndarray[Any, np.dtype[np.float64]] = anchor + corners @ np.array(
        [[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]
    )
    return turned


def _are_apart(box: Any, other: Any) -> bool:
    """Return whether a line along an edge of one of two rectangles separates them."""
    first, second = _edges(box), _edges(other)
    for corners in (first, second):
        for edge in (corners[1] - corners[0], corners[2] - corners[1]):
            left, right = first @ edge, second @ edge
            if left.max() <= right.min() or right.max() <= left.min():
                return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "curves", "count"),
    [
        *((draw_bars, 2, count) for count in (4, 5, 6, 8, 10, 12)),
        (draw_bars, 1, 7),
        (draw_bars, 4, 12),
        (draw_lines, 4, 6),
    ],
)
def test_long_names_of_points_do_not_overlap(draw: Any, curves: int, count: int) -> None:
    """Six names of 15 letters lay on top of each other in the narrowest figure."""
    series = tuple(FigureSeries(f"protocol {n}", (Interval(1.0, 0.1, 3),) * count) for n in range(curves))
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=(6.4, 4.0), layout="constrained")
        axes = drawing.subplots()
        draw(replace(BARS, positions=LONG[:count], series=series, legend="flatmate.protocol"), drawing, axes)
        drawing.draw_without_rendering()
        labels = axes.get_xticklabels()
        words = [" ".join(label.get_text().split()) for label in labels]
        pairs = [(a.get_text(), b.get_text()) for a, b in pairwise(labels) if not _are_apart(a, b)]
        plot, page = axes.get_window_extent(), drawing.bbox
        lowest = min(label.get_window_extent().y0 for label in labels)
        leftmost = min(label.get_window_extent().x0 for label in labels)
        plt.close(drawing)
    assert words == list(LONG[:count])
    assert not pairs, f"{labels[0].get_rotation()}°: {pairs}"
    assert (lowest >= 0, leftmost >= 0) == (True, True), "names are cut off"
    # Half of each is what a reader can still take values from; the rest are names and a legend.
    assert plot.width > 0.5 * page.width, f"{plot.width / page.width:.0%} of the width"
    assert plot.height > 0.45 * page.height, f"{plot.height / page.height:.0%} of the height"
