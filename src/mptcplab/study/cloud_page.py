# SPDX-License-Identifier: MIT
"""A study over many test beds as a table, a summary and a picture: published values against the cloud."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.figure.canvas import label_plainly, label_powers_plainly, save_drawing
from mptcplab.report.html import Drawing
from mptcplab.report.table import Cell, Emphasis, Table, key_columns, number, number_columns
from mptcplab.study.cloud import (
    CLASSES,
    IN_ALL,
    IN_NONE,
    IN_SOME,
    Cloud,
    CloudValue,
    median_or_nan,
)
from mptcplab.study.library import SelectedTable
from mptcplab.study.notes import NONE, with_unit
from mptcplab.study.sensitivity import MIN_BEDS_FOR_CAUSES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

#: Okabe and Ito's colours, which colour-blind readers can distinguish.
_COLOURS = {IN_ALL: "#009E73", IN_SOME: "#56B4E9", IN_NONE: "#D55E00"}
_EMPHASES: dict[str, Emphasis] = {IN_ALL: "good", IN_SOME: "fair", IN_NONE: "bad"}
#: A picture has columns of at most this many values, of this height each, in inches.
_LINES, _LINE_INCHES = 46, 0.17
_COLUMN_INCHES, _FRAME_INCHES = 5.2, 1.6
_LOWEST_RATIO = 0.01
_DIGITS = 4
#: Numbers on an axis of less than a decade, and of less than two. The decades alone would give one number or two.
_NARROW_TICKS, _WIDE_TICKS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4), (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
_DECADE = 10
#: An axis whose ends differ by less than this factor has too few of these ticks.
_NEAR = 2.5
#: This share of all dots may lie beyond an end of an axis, if that saves as much of its length.
_BEYOND, _SAVED = 0.02, 0.3
#: Height and width of the bar of a median, in points.
_BAR_HEIGHT, _BAR_WIDTH = 8, 1.8
#: Room beside the outermost dots, as a factor of the ratio.
_MARGIN = 1.1
#: The confidence of a share is one minus this.
_LEVEL = 0.05


def cloud_table(cloud: Cloud, tables: Sequence[SelectedTable]) -> Table:
    """Return a line for each published value: its range over test beds, the share in its band, and what moves it."""
    by_number = {selected.number: selected for selected in tables}
    columns = (
        *key_columns("table", "row", "column"),
        *number_columns("published", "tolerance", "smallest", "median", "largest", "in the band"),
        *("verdict", "moved by"),
    )
    rows = (_line(value, by_number[value.table]) for value in cloud.values if value.known)
    return Table.build(f"{cloud.study}: published values over {_beds_text(cloud)}", columns, rows, summarise(cloud))


def claims_table(cloud: Cloud) -> Table:
    """Return a line for each claim: the share of test beds in which it holds, among those where it can be judged."""
    rows = []
    for claim in cloud.claims:
        share = f"{sum(claim.judged)} of {len(claim.judged)}" if claim.judged else NONE
        emphasis: Emphasis = _EMPHASES[claim.verdict] if claim.judged else ""
        verdict = Cell(claim.verdict.replace("agrees", "holds"), emphasis=emphasis)
        rows.append((claim.table, claim.text, share, verdict, ", ".join(claim.moved_by) or NONE))
    title = f"{cloud.study}: claims over {_beds_text(cloud)}"
    note = (
        "A bed has one run for each cell: a claim holds in a bed if the values of these runs are as claimed. A trend "
        "is judged by its first and last row."
    )
    columns = ("table", "claim", *number_columns("holds"), "verdict", "moved by")
    return Table.build(title, columns, rows, [note])


def summarise(cloud: Cloud) -> Iterator[str]:
    """Yield sentences about all values: the classes, the best test bed, and what a calibration would be worth."""
    counted, beds = cloud.counted, cloud.common
    if beds < len(cloud.beds):
        yield f"Some tables were measured on the first {beds} beds only, which are what is said of beds as a whole."
    if cloud.failed_runs:
        yield f"[!] Warning: incomplete, {cloud.failed_runs} runs failed. Their beds do not count for these tables."
    if not counted:
        return
    counts = Counter(value.verdict for value in counted)
    yield (
        f"Of {len(counted)} published values, {counts[IN_ALL]} agree in at least 95 % of the beds, {counts[IN_SOME]} "
        f"in some, and {counts[IN_NONE]} in none."
    )
    least = 100 * _LEVEL ** (1 / beds)
    yield (
        f"What agrees in {beds} of {beds} beds agrees in at least {least:.0f} % of all possible beds, and what agrees "
        f"in 0 of {beds} in at most {100 - least:.0f} % (95 % confidence)."
    )
    served = cloud.count_served()
    best, first = max(served), cloud.beds[served.index(max(served))].number
    everywhere = sum(count == len(counted) for count in served)
    yield (
        f"{everywhere} of {beds} beds serve all of them at once. Bed {first} serves most, {best}; the median bed "
        f"serves {median_or_nan(served):g}."
    )
    calibration = cloud.calibrate()
    if calibration is not None:
        yield (
            f"Calibration by every second row would choose bed {calibration.bed}, which serves "
            f"{calibration.chosen_by} of the {calibration.of_chosen_by} values there. It serves {calibration.judged} "
            f"of the {calibration.of_judged} others; the mean of all beds is {calibration.expected:.1f}."
        )
    if beds < MIN_BEDS_FOR_CAUSES:
        yield f"With fewer than {MIN_BEDS_FOR_CAUSES} beds, nothing is said about the parameters that move a value."
    else:
        yield (
            "Moved by: the parameters with the largest PAWN index, at most three, where it is larger than for the "
            "strongest of as many parameters without effect in 95 % of the cases. Others move by chance, or by less."
        )


def cloud_drawings(
    cloud: Cloud, tables: Sequence[SelectedTable], anchors: Mapping[tuple[str, str, str], str]
) -> Iterator[Drawing]:
    """Yield the interactive picture, if a value counts; ``anchors`` lead to sheets, by table, row and column."""
    lines = [
        {
            "name": line.label,
            "text": f"{sum(line.value.within)} of {len(line.value.within)} beds in the band",
            "tolerance": line.value.tolerance,
            "ratios": [round(ratio, _DIGITS) for ratio in line.ratios],
            "median": round(median_or_nan(line.ratios), _DIGITS),
            "class": CLASSES.index(line.value.verdict),
            "anchor": anchors.get((line.value.table, line.value.row, line.value.column), ""),
        }
        for line in _lines(cloud, tables)
    ]
    if lines:
        data = {
            "values": lines,
            "classes": [{"name": name, "colour": _COLOURS[name]} for name in CLASSES],
            "linked": any(line["anchor"] for line in lines),
        }
        yield Drawing("beds", _title(cloud), _caption(cloud), data, ("beds",))


@dataclass(frozen=True)
class _CloudLine:
    """A line of the picture: a value, and each test bed's result as a multiple of it, down to the end of the axis."""

    value: CloudValue
    label: str
    ratios: tuple[float, ...]


def _lines(cloud: Cloud, tables: Sequence[SelectedTable]) -> list[_CloudLine]:
    by_number = {selected.number: selected for selected in tables}
    return [
        _CloudLine(
            value,
            _label(value, by_number[value.table]),
            tuple(max(known / value.published, _LOWEST_RATIO) for known in value.known),
        )
        for value in cloud.counted
        if value.published > 0
    ]


def _title(cloud: Cloud) -> str:
    return f"{cloud.study}: measured / published over {_beds_text(cloud)}"


def _caption(cloud: Cloud) -> str:
    return (
        f"Each dot is one of {count_text(cloud)} possible test beds; the bar is the median. Grey: the tolerance of the "
        "value. Colour: the value is in its band in at least 95 % of the beds, in some, or in none. Ratios below 0.01 "
        "are drawn at 0.01."
    )


def save_cloud(cloud: Cloud, tables: Sequence[SelectedTable], folder: Path, name: str) -> list[Path]:
    """Write NAME.svg and NAME.png: a line for each published value, with each test bed's ratio. Return the files."""
    lines = _lines(cloud, tables)
    if not lines:
        return []
    key = hashlib.sha256(repr((cloud.study, lines)).encode() + Path(__file__).read_bytes()).digest()
    columns = -(-len(lines) // _LINES)
    height = -(-len(lines) // columns)
    size = (_COLUMN_INCHES * columns, _FRAME_INCHES + _LINE_INCHES * max(height, 8))
    note = f"{_caption(cloud)} An arrow: as many beds as it says lie beyond the axis."
    note = note.replace(". Grey", ".\nGrey").replace(". Colour", ".\nColour").replace(". Ratios", ".\nRatios")

    def draw(drawing: MplFigure, axes: Axes) -> None:
        axes.remove()
        for at in range(columns):
            column = drawing.add_subplot(1, columns, at + 1)
            _draw_column(column, lines[at * height : (at + 1) * height], height)
        marks = [
            column.plot([], [], "|", color=_COLOURS[name], markersize=_BAR_HEIGHT, markeredgewidth=_BAR_WIDTH)[0]
            for name in CLASSES
        ]
        ncols = len(CLASSES) if columns > 1 else 1
        drawing.legend(marks, CLASSES, frameon=False, fontsize=9, loc="lower left", ncols=ncols)
        drawing.suptitle(_title(cloud), fontsize=11, x=0.01, ha="left")

    return save_drawing(folder, name, key, size, note, draw)


def find_ends(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis for these dots: beyond each are none, or a few that would take much of its length."""
    ordered = sorted(ratios)
    beyond = int(_BEYOND * len(ordered))
    low, high = min(ordered[0], 1), max(ordered[-1], 1)
    inner_low, inner_high = min(ordered[beyond], 1), max(ordered[-1 - beyond], 1)
    saved = _SAVED * math.log(high / low)
    low = inner_low if math.log(inner_low / low) > saved else low
    high = inner_high if math.log(high / inner_high) > saved else high
    return low / _MARGIN, high * _MARGIN


def _draw_beyond(axes: Axes, at: int, line: _CloudLine, ends: tuple[float, float]) -> None:
    """Draw an arrow at each end that dots of a line lie beyond, with their number."""
    for end, sign, marker in ((ends[0], -1, "<"), (ends[1], 1, ">")):
        count = sum(sign * ratio > sign * end for ratio in line.ratios)
        if count:
            colour = _COLOURS[line.value.verdict]
            axes.plot([end], [at], marker, color=colour, markersize=5, markeredgewidth=0, clip_on=False, zorder=4)
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.4}
            axes.annotate(
                str(count),
                (end, at),
                xytext=(-9 * sign, 0),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=6,
                bbox=box,
                zorder=5,
            )


def _draw_column(axes: Axes, lines: Sequence[_CloudLine], height: int) -> None:
    ends = find_ends([ratio for line in lines for ratio in line.ratios])
    for at, line in enumerate(lines):
        share, colour = line.value.tolerance / 100, _COLOURS[line.value.verdict]
        ratios = [ratio for ratio in line.ratios if ends[0] <= ratio <= ends[1]]
        axes.barh(at, 2 * share, left=1 - share, height=0.9, color="0.88", linewidth=0, zorder=1)
        axes.plot(ratios, [at] * len(ratios), ".", color=colour, alpha=0.45, markersize=4, markeredgewidth=0, zorder=3)
        median = median_or_nan(line.ratios)
        if ends[0] <= median <= ends[1]:
            axes.plot([median], [at], "|", color=colour, markersize=_BAR_HEIGHT, markeredgewidth=_BAR_WIDTH, zorder=4)
        _draw_beyond(axes, at, line, ends)
    axes.axvline(1, color="0.35", linewidth=0.8, zorder=2)
    axes.set_xscale("log")
    axes.set_xlim(ends)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    low, high = ends
    if high < _NEAR * low:
        label_plainly(axes.xaxis)
    elif high < _DECADE**2 * low:
        ticks = _NARROW_TICKS if high < _DECADE * low else _WIDE_TICKS
        axes.set_xticks([tick for tick in ticks if low <= tick <= high])
    else:
        label_powers_plainly(axes.xaxis, (1, 3) if high < _DECADE**3 * low else (1,))
    axes.set_yticks(range(len(lines)), [line.label for line in lines], fontsize=6.5)
    axes.set_ylim(height - 0.4, -0.6)
    axes.set_xlabel("measured / published")
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def count_text(cloud: Cloud) -> str:
    """Return on how many test beds the tables were measured: ``32``, or ``32 to 64``."""
    return str(len(cloud.beds)) if cloud.common == len(cloud.beds) else f"{cloud.common} to {len(cloud.beds)}"


def _beds_text(cloud: Cloud) -> str:
    return f"{count_text(cloud)} test beds{', short form' if cloud.is_quick else ''}"


def _label(value: CloudValue, selected: SelectedTable) -> str:
    return f"{value.table}  {selected.table.columns[value.column].title}, {value.row}"


def _line(value: CloudValue, selected: SelectedTable) -> tuple[str, ...]:
    table, known = selected.table, value.known
    numbers = [number(limit) for limit in (min(known), median_or_nan(known), max(known))]
    return (
        value.table,
        value.row,
        table.columns[value.column].title,
        with_unit(number(value.published), table, value.column),
        f"± {value.tolerance:g} %",
        *numbers,
        f"{sum(value.within)} of {len(value.within)}",
        Cell(value.verdict, emphasis=_EMPHASES[value.verdict]),
        ", ".join(value.moved_by) or NONE,
    )
