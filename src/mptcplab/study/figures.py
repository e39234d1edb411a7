# SPDX-License-Identifier: MIT
"""The figures of a judged table: measured lines beside published points, and the agreement of all values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.figure.axis import NAMES
from mptcplab.figure.canvas import save_drawing, tidy
from mptcplab.figure.lines import Figure, FigureSeries, Mark
from mptcplab.report.html import Drawing
from mptcplab.stats import Interval
from mptcplab.study.judgement import FAILS, VALUE_CLASSES
from mptcplab.study.parts import kind_name, kind_of
from mptcplab.study.verdict import JudgedTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure


# The figures of a judged table: measured lines, published points and what the study claims.


def study_figures(judged: JudgedTable) -> list[tuple[str, Figure]]:
    """Our lines, published points and marks; one figure per kind of value, named by what is added to the table's."""
    table = judged.selected.table
    drawn = [name for name, column in table.columns.items() if column.drawn]
    kinds = list(dict.fromkeys(kind_name(table.value_of(name)) for name in drawn))
    return [("" if kind == kinds[0] else f"-{kind}", _figure(judged, kind)) for kind in kinds]


def _figure(judged: JudgedTable, kind: str) -> Figure:
    table, study, form = judged.selected.table, judged.selected.study, kind_of(kind)
    positions = tuple(row for row in table.all_rows if any(place[0] == row for place in judged.measured))
    names = [name for name, column in table.columns.items() if column.drawn and kind_name(table.value_of(name)) == kind]
    n = max((value.interval.n for value in judged.measured.values()), default=0)
    unit = f", {form.unit}" if form.unit else ""
    return Figure(
        f"{study.authors} {study.year}, {judged.title}",
        table.along_label,
        f"{form.axis}{unit}",
        positions,
        tuple(_series(judged, name, positions) for name in names),
        f"measured: lab kernel in virtual time, n = {n}" + (", whiskers: 95 % interval" if n > 1 else ""),
        lowest=form.lowest,
        marks=tuple(_claim_marks(judged, names, positions)),
        named=table.along in NAMES,
    )


def _series(judged: JudgedTable, name: str, positions: Sequence[str]) -> FigureSeries:
    table = judged.selected.table
    values = [judged.measured.get((row, name)) for row in positions]
    published = [table.published.get(row, {}).get(name) for row in positions]
    return FigureSeries(
        table.columns[name].title,
        tuple(value.interval if value else None for value in values),
        tuple(value.mean if value else None for value in published),
    )


def _claim_marks(judged: JudgedTable, names: Sequence[str], positions: Sequence[str]) -> Iterator[Mark]:
    """A statement of the study over the rows that it is about, in the figure of its values."""
    for claim in judged.claims:
        rows = [row for row in claim.claim.rows or positions if row in positions]
        if claim.claim.mark and rows and claim.claim.of.partition("@")[0] in names:
            yield Mark(rows[0], rows[-1], claim.claim.mark, claim.verdict, claim.verdict == FAILS)


# The figure of published and measured values: logarithmic axes, identity line, tolerance bands, and intervals.

#: Of the larger of two bounds, what is left free beside the points.
_SPARE = 1.35
_DIGITS = 6


@dataclass(frozen=True)
class AgreementPoint:
    """One published value that was measured. ``tolerance`` in percent; ``anchor`` is where its sheet is on a page."""

    name: str
    published: float
    measured: Interval
    tolerance: float
    verdict: str
    anchor: str = ""


def points_of(judged: JudgedTable, anchors: Sequence[str] = ()) -> list[AgreementPoint]:
    """Return the points of a table, each published value once: a table of another test bed has none.

    ``anchors`` has one for every cell of the table.
    """
    table = judged.selected.table
    if not judged.selected.study.counts(judged.selected.number):
        return []
    points = []
    for number, cell in enumerate(judged.cells):
        if cell.measured is not None and cell.first is None and min(cell.published.mean, cell.measured.mean) > 0:
            place = f"{table.columns[cell.column].title} at {cell.row}, {table.unit_of(cell.column)}"
            name, anchor = f"{judged.selected.name}, {place}", anchors[number] if anchors else ""
            points.append(
                AgreementPoint(name, cell.published.mean, cell.measured, table.tolerance, cell.counted_as, anchor)
            )
    return points


def _bounds(points: Sequence[AgreementPoint]) -> tuple[float, float]:
    lows = [
        min(point.published, point.measured.low if point.measured.low > 0 else point.measured.mean) for point in points
    ]
    highs = [max(point.published, point.measured.high) for point in points]
    return min(lows) / _SPARE, max(highs) * _SPARE


def agreement_drawing(title: str, points: Sequence[AgreementPoint]) -> Drawing:
    """Return the interactive picture: a click on a point leads to its sheet."""
    low, high = _bounds(points)
    data = {
        "range": [low, high],
        "tolerances": sorted({point.tolerance for point in points}),
        "classes": [
            {"name": kind.head, "colour": kind.colour, "symbol": kind.symbol, "points": of_kind}
            for kind in VALUE_CLASSES
            if (of_kind := [_row(point) for point in points if point.verdict == kind.name])
        ],
    }
    return Drawing("agreement", title, caption(points), data, ("agreement",))


def _row(point: AgreementPoint) -> list[Any]:
    half = point.measured.half_width
    spread = None if half is None else round(half, _DIGITS)
    return [point.name, point.published, round(point.measured.mean, _DIGITS), spread, point.measured.n, point.anchor]


def caption(points: Sequence[AgreementPoint]) -> str:
    """Return the caption of the figure."""
    tolerances = " and ".join(f"{tolerance:g} %" for tolerance in sorted({point.tolerance for point in points}))
    return (
        f"{len(points)} published values, each once. On the line, measured equals published; bands: tolerance of "
        f"{tolerances}. Bars: 95 % interval; without a bar, a point is a single run, or its interval is smaller than "
        "the mark. Values are in the unit of their table."
    )


def save_agreement(title: str, points: Sequence[AgreementPoint], folder: Path, name: str) -> list[Path]:
    """Write NAME.svg and NAME.png if there are points. Equal points give equal bytes and are not drawn again."""
    if not points:
        return []
    key = repr((title, points)).encode() + Path(__file__).read_bytes()
    note = caption(points).replace(". Bars", ".\nBars")
    return save_drawing(folder, name, key, (7.2, 5.6), note, partial(_draw, title, points))


def _draw(title: str, points: Sequence[AgreementPoint], drawing: MplFigure, axes: Axes) -> None:
    low, high = _bounds(points)
    tolerances = sorted({point.tolerance for point in points}, reverse=True)
    for number, tolerance in enumerate(tolerances, start=1):
        share = tolerance / 100
        ends = ([low * (1 - share), high * (1 - share)], [low * (1 + share), high * (1 + share)])
        axes.fill_between([low, high], *ends, color=str(0.93 - 0.1 * number), linewidth=0, label=f"± {tolerance:g} %")
    axes.plot([low, high], [low, high], color="0.35", linewidth=0.9)
    for kind in VALUE_CLASSES:
        of_kind = [point for point in points if point.verdict == kind.name]
        if not of_kind:
            continue
        # A single run has no interval, so it gets no bar.
        above = [math.nan if point.measured.half_width is None else point.measured.half_width for point in of_kind]
        below = [min(width, 0.999 * point.measured.mean) for width, point in zip(above, of_kind, strict=True)]
        axes.errorbar(
            [point.published for point in of_kind],
            [point.measured.mean for point in of_kind],
            yerr=[below, above],
            fmt=kind.marker,
            color=kind.colour,
            markersize=4.5,
            elinewidth=1.1,
            capsize=2,
            alpha=0.85,
            label=f"{kind.head} ({len(of_kind)})",
        )
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("published")
    axes.set_ylabel("measured")
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.grid(color="0.9", linewidth=0.7)
    tidy(axes)
    # A first layout leaves no room for the legend and the label beside a square plot; the second one does.
    drawing.draw_without_rendering()
