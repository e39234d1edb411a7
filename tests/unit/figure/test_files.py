# SPDX-License-Identifier: MIT
"""Figures as files: equal ones are not drawn again, and nothing half drawn passes for whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mptcplab.figure.lines import Figure, FigureSeries, save
from mptcplab.report.html_sweep import published_drawing
from mptcplab.stats import Interval

FIGURE = Figure("t", "x", "y", ("1 ms", "2 ms"), (FigureSeries("s", (Interval(1.0, 0.1, 3), None), (1.1, None)),))


def _draw(files: list[Path]) -> list[int]:
    return [file.stat().st_mtime_ns for file in files]


@pytest.mark.slow
def test_equal_figures_are_drawn_once(tmp_path: Path) -> None:
    files = save(FIGURE, tmp_path, "f")
    assert [file.name for file in files] == ["f.svg", "f.png"]
    before, text = _draw(files), files[0].read_bytes()
    assert save(FIGURE, tmp_path, "f") == files
    assert _draw(files) == before
    save(replace(FIGURE, title="another"), tmp_path, "f")
    assert all(now > then for now, then in zip(_draw(files), before, strict=True))
    save(FIGURE, tmp_path, "f")
    assert files[0].read_bytes() == text, "equal figures give equal bytes"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["f.svg", "f.png"])
def test_what_is_not_whole_is_drawn_again(tmp_path: Path, broken: str) -> None:
    files = save(FIGURE, tmp_path, "f")
    (tmp_path / broken).write_bytes(b"")
    save(FIGURE, tmp_path, "f")
    assert all(file.stat().st_size > 1000 for file in files)


def test_a_figure_of_nothing(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    save(replace(FIGURE, series=(FigureSeries("s", (None, None)),)), tmp_path, "f")
    assert not recwarn.list


def test_versions_are_names() -> None:
    """As numbers, 6.12 would stand on the left of 7.2, and a line would join them."""
    kernels = replace(FIGURE, positions=("7.2", "6.12"))
    assert published_drawing(kernels).data["axis"]["numbers"] == (7.2, 6.12)
    assert published_drawing(replace(kernels, named=True)).data["axis"]["numbers"] is None


def test_versions_of_three_parts_are_no_numbers() -> None:
    releases = replace(FIGURE, positions=("0.1.5", "0.0.11"))
    assert published_drawing(releases).data["axis"]["numbers"] is None


def test_a_figure_with_one_position() -> None:
    """The short form of a table may have one row."""
    figure = replace(FIGURE, positions=("1 ms",), series=(FigureSeries("s", (Interval(1.0, 0.1, 3),), (1.1,)),))
    assert published_drawing(figure).data["axis"]["numbers"] == (1.0,)
