# SPDX-License-Identifier: MIT
"""The parts that all figures share: colours, matplotlib's configuration, the legend, files, positions below an axis."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.figure.axis import smallest_gap
from mptcplab.figure.paper import USUAL, Paper, compute_layout, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as MplFigure
    from matplotlib.text import Text


# What all figures share: colours, the configuration of matplotlib, the legend, and files that depend on data only.

#: Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
#: One more than colours, so that curves of the same colour have different markers.
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
#: Formats of files, by suffix, with the metadata that would differ from one drawing to the next.
SUFFIXES: dict[str, dict[str, None]] = {
    ".svg": {"Date": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Producer": None, "Creator": None},
}
#: A legend beside the plot takes at most this part of the figure's width; one below it may take so much.
_WIDEST_LEGEND, _LEGEND_BELOW = 0.4, 0.85
#: The length of a line in the legend, in letters, where dashes tell curves of a colour apart.
_LONG_HANDLE = 3.6
#: Inches of the width that a legend leaves to the plot and its labels: a column of a paper has little more.
_BESIDE_LEGEND = 2.6
#: The size of the note below a figure, and the height of its lines as a part of it.
_NOTE_POINTS, _LINE = 7.5, 1.25
#: Characters at the beginning of an SVG that have the digest of its inputs.
_HEAD_CHARACTERS = 4000


def save_drawing(
    folder: Path, name: str, key: bytes, size: tuple[float, float], note: str, draw: Callable[[MplFigure, Axes], None]
) -> list[Path]:
    """Write NAME.svg and NAME.png with the function ``draw`` and ``note`` below, unless they are up to date.

    ``key`` identifies everything beside this module that determines the figure; ``size`` is in inches.
    """
    files = [folder / f"{name}.svg", folder / f"{name}.png"]
    parts = (key, Path(__file__).read_bytes(), importlib.metadata.version("matplotlib").encode())
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    if _is_drawn(files, digest):
        return files
    with open_pyplot() as plt:
        drawing, axes = plt.subplots(figsize=size, layout="constrained")
        draw(drawing, axes)
        _add_note(drawing, note)
        files[1].unlink(missing_ok=True)  # it is written last: if it exists, both are complete
        drawing.savefig(files[0], metadata={"Date": None, "Identifier": digest})
        drawing.savefig(files[1], dpi=160, metadata={"Software": None})
        plt.close(drawing)
    return files


def _add_note(drawing: MplFigure, note: str) -> None:
    room = _lift_legends(drawing, note.count("\n") + 1 if note else 0)
    if note or room:
        drawing.supxlabel("\n" * room + note, fontsize=points(_NOTE_POINTS), color="0.35", x=0.01, ha="left")


def _lift_legends(drawing: MplFigure, lines: int) -> int:
    """Move legends of the whole figure above a note of this number of lines; return how many more lines they take."""
    from matplotlib.transforms import ScaledTranslation  # late, as all of matplotlib

    line = _LINE * points(_NOTE_POINTS) / 72
    above = lines * line
    for legend in drawing.legends:
        up = ScaledTranslation(0, above, drawing.dpi_scale_trans)
        legend.set_bbox_to_anchor((0, 0), drawing.transSubfigure + up)
        legend.set_in_layout(False)
        above += legend.get_window_extent().height / drawing.dpi
    return math.ceil(above / line - lines) if drawing.legends else 0


@contextmanager
def open_pyplot(text_points: float = USUAL) -> Iterator[Any]:
    """Yield pyplot, configured so that equal figures give equal bytes and text stays text of the given size in
    points.
    """
    import matplotlib as mpl  # imported late: it takes longer than the rest of the command

    mpl.use("Agg")
    from matplotlib import pyplot

    looks: Any = {"svg.hashsalt": "mptcplab", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": text_points}
    # Names are the user's: a dollar is a dollar.
    looks |= {"text.parse_math": False}
    with mpl.rc_context(looks):
        yield pyplot


def _is_drawn(files: Sequence[Path], digest: str) -> bool:
    """Return whether the SVG and the PNG exist and were drawn from the inputs with this digest."""
    try:
        with files[0].open(encoding="utf-8", errors="replace") as svg:
            return files[1].stat().st_size > 0 and digest in svg.read(_HEAD_CHARACTERS)
    except OSError:
        return False


def tidy(axes: Axes, title: str = "") -> None:
    """Draw the grid below the curves and the legend beside them, without a box; below the plot if it is too wide.

    Call it last: a legend below makes the figure higher, and begins below the labels of the horizontal axis.
    """
    from matplotlib.transforms import ScaledTranslation  # late, as all of matplotlib

    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    handles, _ = axes.get_legend_handles_labels()
    if not handles:
        return
    words: dict[str, Any] = {"frameon": False, "fontsize": points(9), "title": title or None, "alignment": "left"}
    if len(handles) > len(COLOURS):
        # Dashes show which of two curves of a colour is which, so they need to be seen.
        words["handlelength"] = _LONG_HANDLE
    beside = axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), **words)
    drawing = axes.get_figure(root=True)
    assert drawing is not None, "axes of a figure"
    width = beside.get_window_extent().width / drawing.dpi
    across, height = drawing.get_size_inches()
    if width > min(_WIDEST_LEGEND * across, across - _BESIDE_LEGEND):
        labels = axes.xaxis.get_tightbbox()
        depth = (axes.get_window_extent().y0 - labels.y0) / drawing.dpi if labels is not None else 0.0
        place = axes.transAxes + ScaledTranslation(0, -depth, drawing.dpi_scale_trans)
        columns = max(1, int(_LEGEND_BELOW * across / width))
        words |= {"bbox_to_anchor": (0, 0), "bbox_transform": place, "ncols": columns}
        below = axes.legend(loc="upper left", borderaxespad=0.4, **words)
        # There is more between columns than beside the only one.
        while words["ncols"] > 1 and below.get_window_extent().width > axes.get_window_extent().width:
            words["ncols"] -= 1
            below = axes.legend(loc="upper left", borderaxespad=0.4, **words)
        drawing.set_size_inches(across, height + below.get_window_extent().height / drawing.dpi)


def style_of(number: int) -> tuple[str, str | tuple[int, tuple[int, ...]]]:
    """Return colour and dashes of a figure's curve: after all colours the dashes change."""
    dashes: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", (0, (5, 2)), (0, (1, 1)), (0, (5, 2, 1, 2)))
    return COLOURS[number % len(COLOURS)], dashes[number // len(COLOURS) % len(dashes)]


def grid(axes: Axes) -> None:
    """Draw horizontal lines below the curves, and no frame."""
    axes.grid(axis="y", color="0.88", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def label_powers_plainly(axis: Axis, multiples: Sequence[int]) -> None:
    """Label a logarithmic axis with plain numbers, at these multiples of each power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator  # late, as all of matplotlib

    axis.set_major_locator(LogLocator(subs=multiples))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def label_plainly(axis: Axis) -> None:
    """Label a logarithmic axis whose ends are near each other with plain numbers, as a linear one."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # late, as all of matplotlib

    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


@dataclass(frozen=True)
class FigureSheet:
    """The sheet of a figure: its usual size in inches, the size that the user asks for, and the note below it."""

    usual: tuple[float, float]
    paper: Paper
    note: str

    @contextmanager
    def open_drawing(self, draw: Callable[[MplFigure], None]) -> Iterator[MplFigure]:
        """Yield the drawing that ``draw`` makes. :raises InputError: if it has no room in the size asked for."""
        size = self.paper.size(self.usual)
        with open_pyplot(self.paper.points(self.usual)) as plt:
            drawing = plt.figure(figsize=size, layout="constrained")
            try:
                draw(drawing)
                _add_note(drawing, self.note)
                self.paper.fit(drawing, size)
                yield drawing
            finally:
                plt.close(drawing)

    def png(self, draw: Callable[[MplFigure], None]) -> bytes:
        """Return a drawing as PNG, for a notebook."""
        made = io.BytesIO()
        with self.open_drawing(draw) as drawing:
            drawing.savefig(made, format="png", dpi=72, metadata=SUFFIXES[".png"])
        return made.getvalue()

    def write(self, file: Path, draw: Callable[[MplFigure], None]) -> None:
        """Draw into ``file``, completely or not at all; its suffix selects the format, one of :data:`SUFFIXES`.

        Equal figures give equal bytes.
        """
        part = file.with_name(f".{file.stem}.part{file.suffix}")
        try:
            with self.open_drawing(draw) as drawing:
                drawing.savefig(part, dpi=200, metadata=SUFFIXES[file.suffix.lower()])
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)


# The names of positions below an axis: level, in several lines, inclined or upright, whatever can be read.

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
_LABEL_LINE = 1.2
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
    return abs(pitch) * math.sin(math.radians(degrees)) < (_LABEL_LINE * lines + _APART / 2) * size
