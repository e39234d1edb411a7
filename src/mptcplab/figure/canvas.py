# SPDX-License-Identifier: MIT
"""What all figures share: colours, the configuration of matplotlib, the legend, and files that depend on data only."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mptcplab.figure.paper import USUAL, Paper, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as MplFigure

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
