# SPDX-License-Identifier: MIT
"""The size of a figure on paper: what the user asks for, the size of its text, and whether all of it has room."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mptcplab.errors import InputError
from mptcplab.units import Quantity, UnitError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

_NM_PER_INCH = 25_400_000
#: Points of usual text, of the text in the smallest figures, and of the smallest text of all.
USUAL, _SMALLEST, _LEGIBLE = 10.0, 7.5, 7.0
#: The usual width of a figure with one plot, and the letters of a title across it.
WIDTH, _TITLE_LETTERS = 6.4, 58
#: The size of the note below a figure, and how many of its letters have room on an inch.
_NOTE_POINTS, _NOTE_LETTERS = 7.5, 16
#: Letters of a label beside the vertical axis that have room on an inch of the figure's height.
_LABEL_LETTERS = 8.5
#: A plot is at least so high as a part of the figure's width, if its height is open; and so high and wide in inches.
_PLOT_PART, _MIN_HEIGHT, _MIN_WIDTH = 0.42, 0.4, 0.9
#: How often a drawing is made higher.
_ATTEMPTS = 3
#: Text may be this far beyond the edge, in inches: a part of a letter's box that has no ink.
_BEYOND = 0.03


class Length(Quantity):
    """Nanometres on paper. ``pt`` are TeX's points, as ``\\the\\columnwidth`` prints them."""

    noun = "length"
    example = "8.6 cm"
    probable = ("cm", "in")
    units: ClassVar[dict[str, int]] = {
        "nm": 1,
        "pt": round(_NM_PER_INCH / 72.27),
        "mm": 10**6,
        "cm": 10**7,
        "in": _NM_PER_INCH, "inch": _NM_PER_INCH, "inches": _NM_PER_INCH,
    }  # fmt: skip
    mistaken: ClassVar[dict[str, str]] = {
        "px": "write the size on paper: cm, mm, in or pt",
        "m": "write cm",
        '"': "write in",
    }
    largest = 10**9

    @classmethod
    def _from_fraction(cls, value: Fraction) -> Self:
        # Points are not a whole number of nanometres; a part of one does not matter.
        return super()._from_fraction(Fraction(round(value)))

    @property
    def inches(self) -> float:
        """The length in inches."""
        return int(self) / _NM_PER_INCH

    @classmethod
    def unit_of(cls, text: str) -> str:
        """Return the unit of a text that :meth:`parse` accepts."""
        return max((unit for unit in cls.units if text.strip().endswith(unit)), key=len)

    @classmethod
    def format(cls, inches: float, unit: str) -> str:
        """Format a length in inches as text in ``unit``, with three digits."""
        return f"{float(f'{inches * _NM_PER_INCH / cls.units[unit]:.3g}'):g} {unit}"


@dataclass(frozen=True)
class Paper:
    """The width and the height that the user asks for; None follows from the other, or from the figure.

    ``units`` are the user's; an open length has the unit of the other.
    """

    width: Length | None = None
    height: Length | None = None
    units: tuple[str, str] = ("in", "in")

    @classmethod
    def parse(cls, width: str | None, height: str | None) -> Paper:
        """Read lengths such as ``8.6 cm``. :raises InputError: for anything else."""
        lengths = _length("width", width), _length("height", height)
        units = [Length.unit_of(text) for text in (width, height) if text is not None]
        return cls(*lengths, (units[0], units[-1]) if units else ("in", "in"))

    def size(self, usual: tuple[float, float]) -> tuple[float, float]:
        """Return the size in inches of a figure that is as large as ``usual`` if the user asks for nothing."""
        width, height = usual
        if self.width is not None:
            width = self.width.inches
            height *= width / usual[0]
        return width, height if self.height is None else self.height.inches

    def points(self, usual: tuple[float, float]) -> float:
        """Return the size of usual text: smaller where the figure is, but legible."""
        part = self.size(usual)[0] / usual[0]
        return min(USUAL, max(_SMALLEST, 5.7 + 4.3 * part))

    def note_letters(self, usual: tuple[float, float]) -> int:
        """Return how many letters of the note below the figure have room in a line."""
        size = _scale_size(_NOTE_POINTS, self.points(usual))
        return int(_NOTE_LETTERS * self.size(usual)[0] * _NOTE_POINTS / size)

    def fit(self, drawing: MplFigure, size: tuple[float, float]) -> None:
        """Give a drawing the height that was asked for, or enough for its plots.

        Not every drawing is laid out for that: a layout that is computed twice differs in the last digits.
        :raises InputError: if its words and plots do not fit.
        """
        if self == Paper():
            return
        if self.height is not None:
            # A legend below the plot made it higher.
            drawing.set_size_inches(*size)
        else:
            _grow(drawing)
        compute_layout(drawing)
        self._check_room(drawing)

    def _check_room(self, drawing: MplFigure) -> None:
        if not _has_room(drawing):
            words = map(Length.format, drawing.get_size_inches(), self.units)
            raise InputError(
                f"the figure has no room for its words in {' x '.join(words)}",
                hint="make it larger, draw less with --points, --by or --panels, or shorten words with --label "
                "or --title",
            )


def _length(option: str, text: str | None) -> Length | None:
    if text is None:
        return None
    try:
        length = Length.parse(text)
    except UnitError as error:
        raise InputError(f"--{option}: '{text}' {error}", hint=error.hint) from error
    if length.inches < _MIN_WIDTH:
        raise InputError(f"--{option} {text} is too small for a figure", hint='write for example "8.6 cm"')
    return length


def _grow(drawing: MplFigure) -> None:
    """Make a drawing higher until each of its rows is high enough for its width."""
    # Without any room at first, no layout exists whose plots could be measured.
    for _ in range(_ATTEMPTS):
        compute_layout(drawing)
        width, height = drawing.get_size_inches()
        heights = [_extent(axes, drawing)[1] for axes in drawing.axes]
        rows = len({round(axes.get_position().y0, 3) for axes in drawing.axes})
        # Of several rows, each may be lower.
        missing = _PLOT_PART * width / rows**0.5 - min(heights)
        if missing > 0:
            drawing.set_size_inches(width, height + missing * rows)


def _extent(axes: Axes, drawing: MplFigure) -> tuple[float, float]:
    box = axes.get_window_extent()
    return box.width / drawing.dpi, box.height / drawing.dpi


def _has_room(drawing: MplFigure) -> bool:
    """Return whether all words are inside the drawing, and its plots large enough."""
    width, height = drawing.get_size_inches()
    inside = drawing.get_tightbbox()
    room = inside.x0 > -_BEYOND and inside.x1 < width + _BEYOND and inside.y0 > -_BEYOND
    room = room and inside.y1 < height + _BEYOND
    for axes in drawing.axes:
        across, up = _extent(axes, drawing)
        room = room and across >= _MIN_WIDTH and up >= _MIN_HEIGHT
    return bool(room)


def compute_layout(drawing: MplFigure) -> None:
    """Compute the layout of a drawing, silently if it has no room: another one is tried, or that is an error."""
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="constrained_layout not applied")
        drawing.draw_without_rendering()


def points(usual: float) -> float:
    """Return the size of text that has ``usual`` points where usual text has 10."""
    import matplotlib as mpl  # late: it takes longer than the rest of the command

    return _scale_size(usual, float(mpl.rcParams["font.size"]))


def _scale_size(usual: float, text_points: float) -> float:
    return max(min(usual, _LEGIBLE), usual * text_points / USUAL)


def title_letters(width: float) -> int:
    """Return how many letters of a title have room in a line of a figure of this width in inches."""
    return max(12, int(_TITLE_LETTERS * width / WIDTH * 11 / points(11)))


def label_values(axes: Axes, label: str) -> None:
    """Name the vertical axis beside it, in two lines if the figure is not high enough for one."""
    import textwrap

    drawing = axes.get_figure(root=True)
    assert drawing is not None, "axes of a figure"
    letters = int(_LABEL_LETTERS * drawing.get_size_inches()[1] * USUAL / points(USUAL))
    lines = textwrap.wrap(label, max(letters, -(-len(label) // 2) + 4), break_long_words=False)
    axes.set_ylabel("\n".join(lines) if len(label) > letters else label)


def write_title(axes: Axes, title: str, **more: Any) -> None:
    """Write the title of a figure above its plot, in as many lines as it needs."""
    import textwrap

    drawing = axes.get_figure(root=True)
    assert drawing is not None, "axes of a figure"
    lines = textwrap.wrap(title, title_letters(drawing.get_size_inches()[0]))
    axes.set_title("\n".join(lines), loc="left", fontsize=points(11), fontweight="bold", **more)
