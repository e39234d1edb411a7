# SPDX-License-Identifier: MIT
"""``mptcplab figure TABLE.csv``: which lines are points, what is drawn beside them, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.unit.command_output import output_of
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.errors import InputError
from mptcplab.figure import FigureChoice, FigureSpec, build_figure, build_table_figure, read_table
from mptcplab.figure.canvas import open_pyplot
from mptcplab.figure.table import PointTable, table_of
from mptcplab.report.result_table import long_csv, wide_csv
from mptcplab.results import open_results
from mptcplab.stats import Interval

RUNS = """\
# Lines that begin so are comments.
flows,control,seed,share,fluid model,other model
1,reno,1,0.5,0.5,
1,reno,2,0.7,0.5,
1,lia,1,0.4,,0.45
2,reno,1,0.3,0.35,0.25
2,lia,1,,0.2,
"""
MEANS = """\
loss of link1.forward,control,share,ci95_half_width,n
0.1 %,lia,0.81,0.02,5
1 %,lia,0.4,0.1,5
"""


def _read(tmp_path: Path, text: str) -> pl.DataFrame:
    (tmp_path / "own.csv").write_text(text)
    return read_table(tmp_path / "own.csv")


def _table(tmp_path: Path, text: str, **choice: Any) -> PointTable:
    return table_of(_read(tmp_path, text), FigureChoice(**choice))


def _draw(tmp_path: Path, text: str, **choice: Any) -> FigureSpec:
    return build_table_figure(_read(tmp_path, text), FigureChoice(**choice))


def _svg(tmp_path: Path, made: FigureSpec) -> str:
    made.write(tmp_path / "made.svg")
    return (tmp_path / "made.svg").read_text()


def test_lines_with_the_same_settings_are_runs_of_a_point(tmp_path: Path) -> None:
    table = _table(tmp_path, RUNS, metric="share", expected=("fluid model", "other model"))
    assert table.columns.keys == ("flows", "control"), "neither the seed nor what is expected is a setting"
    by_settings = {tuple(point.settings.values()): point for point in table.points}
    of_two = by_settings["1", "reno"]
    # Student's t for two values: 12.706 times 0.1, the standard error.
    assert of_two.interval is not None
    assert of_two.interval.mean == pytest.approx(0.6)
    assert of_two.interval.half_width == pytest.approx(1.2706, rel=1e-4)
    assert of_two.expected == (0.5, None)
    assert by_settings["1", "lia"].interval == Interval(0.4, None, 1)
    assert by_settings["2", "lia"].interval is None, "an empty cell has no value, and its line has a place"


@pytest.mark.parametrize(
    ("text", "metric", "keys"),
    [
        ("flows,requests,rate\n1,10,5.0\n2,10,6.0\n2,20,7.0\n", "rate", ("flows", "requests")),
        ("flows,goodput_mbps\n1,10\n2,12\n3,13\n", "goodput_mbps", ("flows",)),
        ("loss,mptcp,rate\n1 %,on,10\n1 %,off,5\n2 %,on,8\n2 %,off,4\n", "rate", ("loss", "mptcp")),
        ("scheduler,hz,rate\nblest,100,1\necf,250,2\n", "rate", ("scheduler", "hz")),
    ],
)
def test_a_setting_may_be_called_as_a_column_of_results_is(
    tmp_path: Path, text: str, metric: str, keys: tuple[str, ...]
) -> None:
    """Only in tables of results, which have the metrics in every row, are these no settings."""
    table = _table(tmp_path, text, metric=metric)
    assert table.columns.keys == keys
    assert all(point.interval is not None and point.interval.n == 1 for point in table.points), "no runs are mixed"


def test_settings_of_a_data_frame_keep_their_digits() -> None:
    frame = pl.DataFrame({"time": [1.7e9 + step for step in range(4)], "rate": [1.0, 2.0, 3.0, 4.0]})
    assert len(table_of(frame, FigureChoice(metric="rate")).points) == 4
    mixed = pl.DataFrame({"n": [1, None, 2], "on": [True, False, None], "rate": [1.0, 2.0, 3.0]})
    assert [point.settings for point in table_of(mixed, FigureChoice(metric="rate")).points] == [
        {"n": "1", "on": "True"}, {"n": "", "on": "False"}, {"n": "2", "on": ""},
    ]  # fmt: skip


def test_values_that_are_no_settings_are_left_out(tmp_path: Path) -> None:
    text = "flows,control,seed,rate,rtt\n1,reno,1,2,30.1\n1,reno,2,3,30.2\n"
    (point,) = _table(tmp_path, text, metric="rate", ignored="rtt").points
    assert point.values == (2.0, 3.0)


def test_lines_of_runs_may_stand_beside_lines_of_means(tmp_path: Path) -> None:
    """A researcher appended four runs of her testbed to a copy of metrics.csv."""
    text = "where,rate,ci95_half_width,n\nlab,10,1,4\nbed,9,,\nbed,11,,\n"
    lab, bed = _table(tmp_path, text, metric="rate").points
    assert lab.interval == Interval(10.0, 1.0, 4)
    assert bed.interval is not None
    assert (bed.interval.mean, bed.interval.n) == (10.0, 2)
    alone = "where,rate,ci95_half_width,n\nlab,10,1,4\nbed,9,,\n"
    assert "n = 4" in _draw(tmp_path, alone, metric="rate").note, "only whiskers have an n"


def test_the_note_names_what_is_ignored(tmp_path: Path) -> None:
    text = "flows,control,seed,rate,rtt\n1,reno,1,2,30.1\n1,reno,2,3,30.2\n"
    assert "without regard to rtt" in _draw(tmp_path, text, metric="rate", ignored=("rtt",)).note


def test_series_with_the_same_words_are_not_mixed(tmp_path: Path) -> None:
    text = 'x,c,d,v\n1,"a, b",c,1\n1,a,"b, c",2\n2,a,"b, c",3\n'
    made = _draw(tmp_path, text, metric="v", x="x", by=("c", "d"), kind="bars")
    svg = _svg(tmp_path, made)
    assert all(f">{value}.00</text>" in svg for value in (1, 2, 3)), "each point has a bar of its own"


def test_text_is_not_taken_for_mathematics(tmp_path: Path) -> None:
    svg = _svg(tmp_path, _draw(tmp_path, "pri$e_$,v\nlow $x$,1\nhigh,2\n", metric="v", title="$a$ and $b_$"))
    assert "pri$e_$" in svg
    assert "low $x$" in svg


@pytest.mark.slow
@pytest.mark.parametrize("count", [120, 400])
def test_very_many_positions_have_a_figure(tmp_path: Path, count: int) -> None:
    """The room for a name did not suffice for one letter."""
    text = "x,v\n" + "".join(f"n{number},{number}\n" for number in range(count))
    assert len(_svg(tmp_path, _draw(tmp_path, text, metric="v"))) > 5000


def test_a_column_may_have_the_name_of_a_table_of_scenarios(tmp_path: Path) -> None:
    assert _draw(tmp_path, "hosts,v\n1,2\n2,3\n", metric="v", x="hosts").shows == "v by hosts"


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_what_is_below_zero_is_inside_the_plot(tmp_path: Path, kind: str) -> None:
    for text, more in (
        ("x,v,model\n1,5,-4\n2,3,-2\n", {"expected": ("model",)}),
        ("x,v\n1,5\n2,3\n", {"level": -4.0}),
        ("x,v,ci95_half_width,n\n1,0.1,4.2,3\n2,0.3,0.1,3\n", {}),
    ):
        low, _ = _ends(_draw(tmp_path, text, metric="v", x="x", kind=kind, **more))
        assert low < -4, f"{text} begins at {low}"


def test_versions_of_kernels_are_no_numbers(tmp_path: Path) -> None:
    made = _draw(tmp_path, "kernel,v\n6.1,1\n6.12,2\n6.2,3\n", metric="v", x="kernel", kind="lines")
    assert "(logarithmic)" not in _svg(tmp_path, made)
    assert _draw(tmp_path, "kernel,v\n6.1,1\n6.12,2\n", metric="v").kind == "bars"


def test_lines_above_the_head_are_comments_and_others_are_not(tmp_path: Path) -> None:
    table = _table(tmp_path, "# comment\nsubflow,v\n#1,2\n#2,3\n\nall,5\n", metric="v")
    assert [point.settings["subflow"] for point in table.points] == ["#1", "#2", "all"]


def test_lines_with_means_have_their_own_intervals(tmp_path: Path) -> None:
    table = _table(tmp_path, MEANS)
    assert [point.interval for point in table.points] == [Interval(0.81, 0.02, 5), Interval(0.4, 0.1, 5)]
    assert table.columns.keys == ("loss of link1.forward",), "a column that does not vary distinguishes nothing"
    ends = "delay,rate,rate_low,rate_high\n1 ms,10,8,12\n2 ms,9,,\n"
    assert [point.interval for point in _table(tmp_path, ends, metric="rate").points] == [
        Interval(10.0, 2.0, 0),
        Interval(9.0, None, 1),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("of", ["wide", "long", "runs", "table"])
def test_tables_of_results_give_the_figure_of_the_results(tmp_path: Path, of: str) -> None:
    """A user adds a line or a column to what the lab has written."""
    make_results(tmp_path / "made", TWO_LINES)
    results = open_results(tmp_path / "made")
    if of in ("wide", "long"):
        frame = _read(tmp_path, wide_csv(results.rows) if of == "wide" else long_csv(results.rows))
    else:
        frame = results.runs if of == "runs" else results.table
    table = table_of(frame, FigureChoice(metric="goodput_mbps"))
    assert set(table.columns.keys) >= {"transport.protocol", "links.link2.delay"}
    assert not any("mptcp" in key or "rtt" in key or "seed" in key for key in table.columns.keys), table.columns.keys
    for row in results.rows:
        (point,) = (point for point in table.points if row.settings.items() <= dict(point.settings).items())
        assert point.interval is not None
        assert point.interval.mean == pytest.approx(row.goodput_mbps.mean)
        assert point.interval.half_width == pytest.approx(row.goodput_mbps.half_width)
    choice = FigureChoice(metric="goodput_mbps", x="delay", title="")
    of_results, of_table = build_figure(results, choice), build_table_figure(frame, choice)
    assert (of_results.kind, of_results.size) == (of_table.kind, of_table.size)
    svg = _svg(tmp_path, of_table)
    assert "goodput, Mbit/s" in svg, "the column is a metric, which has words and a unit"
    assert "link2.delay" in svg


@pytest.mark.slow
def test_what_was_found_on_sockets_is_no_setting(tmp_path: Path) -> None:
    """A newcomer's figure said that congestion_control changes with congestion_control, and mixed points."""
    swept = TWO_LINES.replace(
        '"transport.protocol" = ["tcp", "mptcp"]', '"transport.congestion_control" = ["reno", "lia"]'
    )
    make_results(tmp_path / "made", swept)
    results = open_results(tmp_path / "made")
    for frame in (results.runs, results.table, _read(tmp_path, wide_csv(results.rows))):
        chosen = FigureChoice(metric="goodput", x="delay", points=(("congestion_control", "lia"),))
        table = table_of(frame, chosen)
        assert "congestion_control" in frame.columns, "what was found"
        assert "congestion_control" not in table.columns.keys
        assert "transport.congestion_control" in table.columns.keys
        assert "changes with" not in build_table_figure(frame, chosen).note


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_the_user_chooses_the_ends_of_the_axis_and_hides_nothing(tmp_path: Path, scale: str) -> None:
    text = "flows,rate,model\n1,9.4,9.5\n2,9.2,9.1\n"
    wanted = {"metric": "rate", "x": "flows", "kind": "lines", "expected": ("model",), "y_scale": scale}
    assert _ends(_draw(tmp_path, text, **wanted, y_range="9:10")) == (9.0, 10.0)
    for hidden in ((9.3, 10.0), (9.0, 9.45)):
        with pytest.raises(InputError, match=r"is outside of --y-range 9\.?\d*:"):
            _draw(tmp_path, text, **wanted, y_range=hidden)


def test_a_logarithmic_axis_of_values_near_each_other_has_several_ticks(tmp_path: Path) -> None:
    text = "flows,rate\n1,9.4\n2,11.7\n"
    svg = _svg(tmp_path, _draw(tmp_path, text, metric="rate", x="flows", y_scale="log"))
    assert all(f">{tick}</text>" in svg for tick in (8, 10, 12)), "only 10 is a power or a multiple of one"


def test_a_label_that_is_longer_than_the_figure_is_high_has_two_lines(tmp_path: Path) -> None:
    text = "flows,rate\n1,9.4\n2,11.7\n"
    labels = {"rate": "goodput of MPTCP, Mbit/s"}
    for scale in ("linear", "log"):
        made = _draw(
            tmp_path, text, metric="rate", x="flows", labels=labels, y_scale=scale, width="8.6 cm", height="5 cm"
        )
        assert "goodput of" in _svg(tmp_path, made), "it has room"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_models_and_a_level_are_in_the_legend_and_the_note(tmp_path: Path, kind: str) -> None:
    plain = _draw(tmp_path, RUNS, metric="share", kind=kind, points={"control": "reno"}, x="flows")
    with_models = _draw(
        tmp_path, RUNS, metric="share", kind=kind, points={"control": "reno"}, x="flows",
        expected=("fluid model", "other model"), labels={"other model": "by hand"}, level=0.5, level_words="half",
    )  # fmt: skip
    assert "fluid model" not in _svg(tmp_path, plain)
    svg = _svg(tmp_path, with_models)
    assert "fluid model" in svg
    assert "by hand" in svg
    assert svg == _svg(tmp_path, with_models), "the same table gives the same file"
    assert "dashed line: half (0.5)" in with_models.note
    assert "dashed" not in plain.note
    assert "only control reno" in plain.note


def _ends(made: FigureSpec) -> tuple[float, float]:
    """Return the ends of the axis with the values."""
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=(6, 4))
        made.draw(drawing)
        low, high = drawing.axes[0].get_ylim()
        plt.close(drawing)
    return float(low), float(high)


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_an_expected_value_beyond_all_others_is_inside_the_plot(tmp_path: Path, kind: str) -> None:
    text = "flows,rate,model\n1,1,1\n2,2,40\n"
    low, high = _ends(_draw(tmp_path, text, metric="rate", x="flows", kind=kind, expected=("model",)))
    assert low == 0
    assert high > 40


def test_a_model_is_drawn_where_it_has_values_and_nowhere_else(tmp_path: Path) -> None:
    """A student's model of one loss was in the legend and not in the plot; another crossed a place without a value."""
    text = "loss,rate,one,two\n0 %,37,38,38\n1 %,27,,\n2 %,21,,30\n3 %,20,,29\n"
    made = _draw(tmp_path, text, metric="rate", x="loss", expected=("one", "two"))
    with open_pyplot() as plt:
        drawing = plt.figure(figsize=(6, 4))
        made.draw(drawing)
        lines = [line for line in drawing.axes[0].lines if 0 < len(line.get_xdata()) < 4]
        drawn_values = sorted((str(line.get_marker()), [float(y) for y in line.get_ydata()]) for line in lines)
        plt.close(drawing)
    assert drawn_values == [("None", [30.0, 29.0]), ("_", [38.0]), ("x", [38.0])]


def test_values_below_zero_are_drawn(tmp_path: Path) -> None:
    text = "distance,rssi,path loss\n5 m,-50,-51.7\n40 m,-79,-78.8\n"
    low, high = _ends(_draw(tmp_path, text, metric="rssi", expected=("path loss",)))
    assert low < -79
    assert -50 < high < -40, "nothing is near zero"


def test_a_name_with_a_point_is_no_swept_key(tmp_path: Path) -> None:
    assert _draw(tmp_path, MEANS).shows == "share by loss of link1.forward"
    swept = MEANS.replace("loss of link1.forward", "links.link1.loss")
    assert _draw(tmp_path, swept).shows == "share by link1.loss"


def test_rounded_means_get_no_digits(tmp_path: Path) -> None:
    svg = _svg(tmp_path, _draw(tmp_path, MEANS, kind="bars"))
    assert "0.81<" in svg
    assert "0.810" not in svg
    assert "0.400" not in svg


def test_a_distribution_is_of_single_values(tmp_path: Path) -> None:
    made = _draw(tmp_path, RUNS, metric="share", kind="cdf", by=("control",))
    assert (made.kind, made.shows) == ("cdf", "distribution of share")
    assert "reno (3" in _svg(tmp_path, made)
    with pytest.raises(InputError, match="the table has means"):
        _draw(tmp_path, MEANS, kind="cdf")


@pytest.mark.parametrize(
    ("text", "choice", "message", "hint"),
    [
        ("", {}, "own.csv is empty", "names of its columns"),
        ("a,b\n", {}, "has no lines below", None),
        ("a,b\n1,2,3\n", {}, "line 2 of .*own.csv has 3 cells, and its head 2", "in quotes"),
        ("a;b\n1;2\n", {}, "are separated by semicolons", "commas"),
        (RUNS, {"metric": "shar"}, "has no column 'shar'", "did you mean 'share'"),
        (RUNS, {}, "does not say which column", "flows, share, fluid model, other model"),
        (RUNS, {"metric": "control"}, "'reno' in the column 'control' is not a number", "empty"),
        ('x,y\n1,"0,5"\n', {"metric": "y"}, "'0,5' in the column 'y'", "decimal comma"),
        (RUNS, {"metric": "share", "x": "flow"}, "the table has no setting 'flow'", "flows, control"),
        (RUNS, {"metric": "share", "x": "flows", "by": ("flows",)}, "is both --x and --by", "remove"),
        (RUNS, {"metric": "share", "points": {"flows": "3"}}, "has flows = 3", "1, 2"),
        (RUNS, {"metric": "share", "points": {"flows": "1, 2"}}, "has flows = 1, 2", "flows=1 --points flows=2"),
        (RUNS, {"metric": "share", "labels": {"nothing": "x"}}, "'nothing' is not a column or value", "control"),
        (RUNS, {"metric": "share", "seed": 1}, "--seed is for results", "remove"),
        (RUNS, {"workloads": ("bulk",)}, "--workload is for results", "remove"),
        (RUNS, {"metric": "share", "kind": "time"}, "no runs over time", "lines"),
        (RUNS, {"metric": "share", "kind": "cdf", "level": 1.0}, "--level changes nothing", "remove"),
        (RUNS, {"metric": "share", "y_scale": "log", "kind": "lines", "level": 0.0},
         "no place for a value of 0", "linear"),
        (MEANS.replace("ci95_half_width", "ci95"), {"metric": "share"},
         "the column 'ci95' is not a setting", "ci95_half_width"),
        (RUNS, {"metric": "share", "y_range": "3"}, "'3' is not a range", "8:12"),
        (RUNS, {"metric": "share", "y_range": "3:x"}, "'3:x' is not a range", "8:12"),
        (RUNS, {"metric": "share", "y_range": (2, 1)}, "is not a range", "lower one first"),
        (RUNS, {"metric": "share", "kind": "bars", "y_range": "0:1"}, "--y-range changes nothing", "remove"),
        (RUNS.replace("2,reno,1,0.3,0.35", "1,reno,3,0.3,0.35"),
         {"metric": "share", "expected": ("fluid model", "other model")},
         "expected values of one point differ: 0.5 and 0.35", "one expected value"),
        (MEANS + "1 %,lia,0.5,0.1,5\n", {}, "of the same point, and one of them is a mean: .*1 %", "distinguish them"),
        ("# above\n\nflows,rate\n1,2\n3\n", {}, "line 5 of .*own.csv has 1 cells", "in quotes"),
        ("flows,rate,rate\n1,2,3\n", {}, "two columns of .*own.csv have the name 'rate'", "of its own"),
        ("flows,,rate\n1,2,3\n", {}, "a column of .*own.csv has no name", "first line"),
        ('x,y\n1,"1,000"\n', {"metric": "y"}, "'1,000' in the column 'y'", "thousands"),
        (RUNS, {"metric": "bulk:share"}, "--metric bulk:share names a workload", "name a column"),
        (RUNS, {"metric": "share", "x": "share"}, "the column 'share' has the values", "another"),
        (RUNS, {"metric": "share", "expected": ("share",)}, "the column 'share' is drawn twice", "once"),
        (RUNS, {"metric": "share", "expected": ("fluid model",) * 2}, "'fluid model' is drawn twice", "once"),
        ("x,v,v_low,v_high\na,1,0.9,2\n", {"metric": "v"}, "from 0.9 to 2 is not around its mean, 1", "ci95"),
        ("x,v,ci95_half_width\na,1,-0.5\n", {"metric": "v"}, "the half width of an interval is -0.5", "below 0"),
        ("x,v\na,\nb,\n", {"metric": "v"}, "there are no values of 'v'", "--metric"),
        ("flows,control,seed,rate,rtt\n1,reno,1,2,30.1\n1,reno,2,3,30.2\n", {"metric": "rate"},
         "no two runs of the table have the same settings, since rtt differs", "--ignore 'rtt'"),
        ("flows,run,rate,delay,where\n1,1,2,30.1,lab\n1,2,3,30.2,lab\n1,1,2,31,bed\n", {"metric": "rate"},
         "since delay differs", "--ignore 'delay'"),
        ("flows,rate,rtt\n" + "".join(f"{1 + at % 3},{at},{30 + at}\n" for at in range(40)), {"metric": "rate"},
         "curves are more than readers can distinguish", "if rtt is measured, and no setting, add --ignore 'rtt'"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, text: str, choice: dict[str, Any], message: str, hint: str | None) -> None:
    with pytest.raises(InputError, match=message) as refused:
        _draw(tmp_path, text, **choice)
    assert hint is None or hint in (refused.value.hint or ""), refused.value.hint


def test_lines_that_would_mix_points_are_refused(tmp_path: Path) -> None:
    text = "flows,control,site,rate\n1,reno,a,1\n1,lia,a,2\n1,reno,b,3\n2,lia,b,4\n"
    with pytest.raises(InputError, match="they differ in site") as refused:
        _draw(tmp_path, text, metric="rate", x="flows", by=("control",))
    assert "add site to --by" in (refused.value.hint or "")


def test_more_curves_than_can_be_distinguished(tmp_path: Path) -> None:
    text = "x,y,rate\n" + "".join(f"{x},n{y},{x * y}\n" for x in (1, 2, 3) for y in range(13))
    with pytest.raises(InputError, match="13 curves are more than readers can distinguish") as refused:
        _draw(tmp_path, text, metric="rate", x="x")
    assert "--points 'y=n0'" in (refused.value.hint or "")


def test_the_command_draws_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.csv").write_text(RUNS)
    monkeypatch.chdir(tmp_path)
    options = ("--metric", "share", "--expected", "fluid model", "--level", "0.5=half", "--out", "own.svg")
    done = output_of(monkeypatch, capsys, "figure", "own.csv", *options)
    assert (done.status, done.out.strip()) == (0, "own.svg: share by flows")
    half = output_of(monkeypatch, capsys, "figure", "own.csv", *options[:2], "--level", "half")
    assert (half.status, "'half' is not a number" in half.err) == (2, True)
    refused = output_of(monkeypatch, capsys, "figure", "none.csv")
    assert refused.status == 2
    assert "there is no table none.csv" in refused.err


def test_results_have_no_column_with_expected_values(tmp_path: Path) -> None:
    make_results(tmp_path / "made", TWO_LINES)
    with pytest.raises(InputError, match="--expected names columns of a table, and these are results"):
        build_figure(open_results(tmp_path / "made"), FigureChoice(expected=("model",)))
    made = build_figure(open_results(tmp_path / "made"), FigureChoice(level=25.0))
    assert "dashed line: 25" in made.note


@pytest.mark.parametrize(
    ("choice", "message"),
    [({"expected": ("a", "b", "c", "d")}, "up to 3 models"), ({"level": math.nan}, "--level nan is not a position")],
)
def test_choices_that_no_figure_has(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        FigureChoice(**choice)
