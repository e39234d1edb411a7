# SPDX-License-Identifier: MIT
"""Table and figure of "Opportunistic retransmission and penalisation" in docs/schedulers.md.

    mptcplab run examples/behaviour/receive-buffer.toml
    python -m docs.figures.receive_buffer results/receive-buffer

writes docs/images/receive-buffer.svg and replaces the tables of the page. Means are over seeds, with 95 % intervals
(Student's t).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.lines import Line2D

from mptcplab.metrics.rows import ResultRow
from mptcplab.report.figure import COLOURS
from mptcplab.results import open_results

DOCS = Path(__file__).resolve().parents[1]
NAME = "receive-buffer"
#: Columns of the table, in this order: protocol, scheduler and setting.
COLUMNS = {
    "TCP": ("tcp", "minrtt", 0),
    "`minrtt`": ("mptcp", "minrtt", 0),
    "retransmission": ("mptcp", "minrtt", 1),
    "penalisation": ("mptcp", "minrtt", 2),
    "both": ("mptcp", "minrtt", 3),
    "`default`": ("mptcp", "default", 0),
    "`default`, both": ("mptcp", "default", 3),
    "`minrtt_v09`": ("mptcp", "minrtt_v09", 0),
}
_MARKERS = ("", "o", "s", "D", "^", "v", "P", "X")
Table = Mapping[tuple[int, str], ResultRow]


def main(folder: Path) -> None:
    """Draw the figure and replace both tables."""
    found = {(_buffer_kb(row), _column(row)): row for row in open_results(folder).rows}
    buffers = sorted({buffer for buffer, _ in found})
    _draw(found, buffers, DOCS / "images" / f"{NAME}.svg")
    page = DOCS / "schedulers.md"
    text = _replaced(page.read_text(), NAME, _goodput(found, buffers))
    page.write_text(_replaced(text, f"{NAME}-counts", _counts(found, buffers)))


def _buffer_kb(row: ResultRow) -> int:
    largest: str = json.loads(row.settings["transport.tcp_rmem"])[-1]
    return int(largest.removesuffix(" kB"))


def _column(row: ResultRow) -> str:
    digits = [letter for letter in row.settings["transport.sysctl"] if letter.isdigit()]
    key = (row.settings["transport.protocol"], row.settings["transport.scheduler"], int("".join(digits) or "0"))
    return next(name for name, wanted in COLUMNS.items() if wanted == key)


def _goodput(found: Table, buffers: Sequence[int]) -> str:
    lines = ["| receive buffer | " + " | ".join(COLUMNS) + " |", "| --- " * (len(COLUMNS) + 1) + "|"]
    for buffer in buffers:
        cells = [f"{found[buffer, name].goodput_mbps.mean:.2f}" for name in COLUMNS]
        lines.append(f"| {buffer} kB | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _counts(found: Table, buffers: Sequence[int]) -> str:
    """Means per run: segments retransmitted opportunistically, and penalties."""
    names = [name for name, (_, scheduler, mode) in COLUMNS.items() if mode or scheduler == "minrtt_v09"]
    lines = ["| receive buffer | " + " | ".join(names) + " |", "| --- " * (len(names) + 1) + "|"]
    for buffer in buffers:
        cells = []
        for name in names:
            counts = found[buffer, name].counts
            segments = mean(one.opportunistic_retransmissions or 0 for one in counts)
            cells.append(f"{segments:.0f}, {mean(one.penalties or 0 for one in counts):.0f}")
        lines.append(f"| {buffer} kB | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _draw(found: Table, buffers: Sequence[int], file: Path) -> None:
    """Write an SVG; equal results give equal bytes."""
    plt.switch_backend("Agg")
    with rc_context({"svg.hashsalt": "mptcplab", "svg.fonttype": "none", "font.size": 10}):
        drawing, axes = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
        handles = []
        for number, name in enumerate(COLUMNS):
            of_name = [found[buffer, name].goodput_mbps for buffer in buffers]
            colour = ("0.3", *COLOURS, "0.0")[number]
            style = "--" if name == "TCP" else "-"
            axes.errorbar(
                buffers,
                [value.mean for value in of_name],
                yerr=[value.half_width or 0.0 for value in of_name],
                fmt=style + _MARKERS[number],
                color=colour,
                markersize=5,
                capsize=2.5,
                linewidth=1.2,
            )
            label = name.replace("`", "")
            handles.append(Line2D([], [], linestyle=style, marker=_MARKERS[number], color=colour, label=label))
        axes.set_xscale("log")
        axes.set_xticks(buffers, [str(buffer) for buffer in buffers])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("receive buffer in kB")
        axes.set_ylabel("goodput in Mbit/s")
        axes.grid(axis="y", color="0.9", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(handles=handles, frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
        drawing.savefig(file, metadata={"Date": None})
        plt.close(drawing)
    # matplotlib leaves blanks at the ends of lines, which git complains of.
    file.write_text("\n".join(line.rstrip() for line in file.read_text().splitlines()) + "\n")


def _replaced(text: str, name: str, table: str) -> str:
    begin, end = f"<!-- table {name} -->", f"<!-- end of table {name} -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"docs/schedulers.md has no place for the table {name}")
    return f"{before}{begin}\n{table}\n{end}{after}"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
