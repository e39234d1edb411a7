# SPDX-License-Identifier: MIT
"""Figures of the share of each path: what `mptcplab compare --metric share` has in rows, they have side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.errors import InputError
from mptcplab.figure import FigureSpec, build_figure
from mptcplab.figure.choice import FigureChoice
from mptcplab.results import Results, open_results

SHARE = FigureChoice(kind="bars", metric="share", points=(("delay", "10 ms"),))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("made") / "results"
    make_results(folder, TWO_LINES)
    return open_results(folder)


def _bars(made: FigureSpec) -> tuple[dict[str, list[float]], Any]:
    """Return the heights of the bars by the names of their series, and the axes, which are closed."""
    with made.sheet.open_drawing(made.draw) as drawing:
        axes = drawing.axes[0]
        series = zip(*reversed(axes.get_legend_handles_labels()), strict=True)
        return {name: [float(bar.get_height()) for bar in bars] for name, bars in series}, axes


@pytest.mark.slow
def test_paths_are_side_by_side(results: Results) -> None:
    """It was refused: "no run has the metric share_percent", of a folder in which compare tabulates it."""
    made = build_figure(results, SHARE)
    assert made.shows == "share by protocol"
    bars, axes = _bars(made)
    (mptcp,) = (
        row for row in results.rows if row.settings == {"transport.protocol": "mptcp", "links.link2.delay": "10 ms"}
    )
    assert len(mptcp.shares) == 2, mptcp.shares
    assert list(bars) == sorted(mptcp.shares), "the paths"
    for path, (tcp, both) in bars.items():
        assert both == pytest.approx(100 * mptcp.shares[path])
        assert tcp == (100 if path == next(iter(bars)) else 0), "TCP uses one path, and the share of the other is 0"
    assert axes.get_ylabel() == "share, %"
    assert axes.get_legend().get_title().get_text() == "path"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["tcp", "mptcp"]
    with_workload = build_figure(results, replace(SHARE, metric="share_percent", workloads=("bulk",)))
    assert _bars(with_workload)[0] == bars


@pytest.mark.slow
def test_paths_can_be_chosen_and_named(results: Results) -> None:
    first, second = _bars(build_figure(results, SHARE))[0].items()
    named, axes = _bars(build_figure(results, replace(SHARE, labels=((first[0], "Wi-Fi"), ("path", "line")))))
    assert named == {"Wi-Fi": first[1], second[0]: second[1]}
    assert axes.get_legend().get_title().get_text() == "line"
    figure = build_figure(results, replace(SHARE, points=(*SHARE.points, ("path", second[0]))))
    assert figure.note.startswith(f"only link2.delay 10 ms, path {second[0]}\n")
    assert _bars(figure)[0] == {"share": second[1]}
    along, axes = _bars(build_figure(results, replace(SHARE, x="path")))
    assert along == {"tcp": [first[1][0], second[1][0]], "mptcp": [first[1][1], second[1][1]]}
    assert axes.get_xlabel() == "path"


@pytest.mark.slow
def test_other_kinds(results: Results) -> None:
    lines = build_figure(results, FigureChoice(metric="share", points=(("protocol", "mptcp"),)))
    assert (lines.kind, lines.shows) == ("lines", "share by link2.delay")
    assert build_figure(results, FigureChoice(kind="cdf", metric="share")).shows == "distribution of share over runs"


def test_refusals(results: Results) -> None:
    with pytest.raises(InputError, match="no point has path = link9") as refused:
        build_figure(results, replace(SHARE, points=(("path", "link9"),)))
    assert "link1" in str(refused.value.hint)
    path = next(iter(results.rows[-1].shares))
    with pytest.raises(InputError, match="two values of path have the same words"):
        build_figure(results, replace(SHARE, labels=tuple((name, "a") for name in results.rows[-1].shares)))
    with pytest.raises(InputError, match="differ in path"):
        build_figure(results, replace(SHARE, by=("protocol",), x="delay", points=()))
    with pytest.raises(InputError, match="'path' is not a swept key"):
        build_figure(results, replace(SHARE, metric="goodput", points=(("path", path),)))
    with pytest.raises(InputError, match="no run has the metric mos") as refused:
        build_figure(results, FigureChoice(metric="mos"))
    assert "share_percent" in str(refused.value.hint)
