# SPDX-License-Identifier: MIT
"""The commands about results: pages, figures, comparisons."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.options import DeferredChoice, columns_option, defer_to, files_option, json_option, sort_option
from mptcplab.errors import InputError
from mptcplab.metrics.margin import MARGIN_PERCENT

# ``mptcplab report``.

_REPORT_EPILOG = """\b
Examples:
  mptcplab report results/two-paths
  mptcplab report results/reproduce/subramani2018 --out study.html
  mptcplab report results/reproduce         all studies, with the scoreboard
"""


@click.command(epilog=_REPORT_EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE.html", help="File to write. Default: DIR/report.html."
)
@json_option
@defer_to("mptcplab.cli.results:report")
def report() -> None:
    """Write one HTML page about the results in DIR: warnings, network, tables, figures, commands to repeat it.

    DIR is the results folder of `mptcplab run`, or of `mptcplab reproduce`, or of one study in it. Nothing is
    executed. The page is self-contained: it needs no network access and no other files.
    """


# ``mptcplab figure``: a static figure from any results folder.

_FIGURE_EPILOG = """\b
Examples:
  mptcplab figure results/two-paths                         what the results are about
  mptcplab figure results/failure --points protocol=mptcp --out failure.pdf
  mptcplab figure results/sweep --metric retransmitted --x links.link1.loss --by protocol
  mptcplab figure results/sweep --width '8.6 cm' --out column.pdf
  mptcplab figure results/web --kind cdf --out web.svg --out web.png
  mptcplab figure own.csv --metric goodput --x paths --expected model   a table of your own, beside a model

\b
Kinds:
  time    rates stacked by path, RTT, congestion window and queues of one run of each point, side by side;
          letters mark events
  lines   a metric over a swept key, with confidence intervals
  bars    the same with bars
  cdf     the share of objects, requests or messages that took at most this time; with --metric, of runs
"""
_SCALE = DeferredChoice("mptcplab.figure.axis:CHOSEN_SCALES")


def _check_single(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Return the option's only value. click itself would take the last one of several."""
    if len(given) > 1:
        hint = "draw a figure for each, or compare by several metrics with `mptcplab compare`"
        raise InputError(f"a figure is of one metric, and --metric is there {len(given)} times", hint=hint)
    return given[0] if given else None


def _level(_: click.Context, __: click.Parameter, given: str | None) -> tuple[float | None, str]:
    """Return the level, and the words for it."""
    if given is None:
        return None, ""
    number, *words = given.split("=", maxsplit=1)
    try:
        return float(number), "".join(words).strip()
    except ValueError:
        raise InputError(f"--level '{number}' is not a number", hint="write --level 38, or --level 38=goal") from None


@click.command(epilog=_FIGURE_EPILOG)
@click.argument("source", metavar="DIR|TABLE.csv", type=click.Path(path_type=Path))
@files_option(
    "File to write; .svg, .png or .pdf selects the format. Repeatable. Default: figure-KIND.svg, where you are."
)
@click.option(
    "--kind",
    type=DeferredChoice("mptcplab.figure.choice:KINDS"),
    help="Default: time for one point, lines over an axis of numbers, bars otherwise.",
)
@click.option(
    "--metric",
    multiple=True,
    callback=_check_single,
    metavar="[WORKLOAD:]NAME",
    help="Metric, as tables or JSON name it; of a table, its column. Default: what the workload is about, or the only "
    "column with numbers.",
)
@click.option(
    "--x",
    metavar="KEY",
    help="Swept key along the axis. Default: the one over which lines have most points; of a table, its first column.",
)
@click.option(
    "--by", metavar="KEY[,KEY...]", help="Swept keys whose values get curves or bars of their own. Default: all others."
)
@click.option(
    "--points", multiple=True, metavar="KEY=VALUE", help="Draw only points with this value of a swept key. Repeatable."
)
@click.option(
    "--workload",
    metavar="NAME[,NAME...]",
    help="Draw only these workloads. Over time there is one; the default is the first.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the runs over time. Default: the first of each point."
)
@click.option(
    "--panels",
    metavar="NAME[,NAME...]",
    help="Panels over time: rate, delay, rtt, cwnd, queue, rssi. Default: all with data.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=TEXT",
    help="Words for a swept key, one of its values, a workload or a metric, wherever the figure names it. Repeatable.",
)
@click.option(
    "--width", metavar="LENGTH", help="Width on paper: '8.6 cm', '3.4 in', '246 pt'. Default: as the contents need."
)
@click.option("--height", metavar="LENGTH", help="Height on paper. Default: as the width and the contents need.")
@click.option("--x-scale", type=_SCALE, help="Scale of the axis of numbers. Default: on which values are apart.")
@click.option("--y-scale", type=_SCALE, help="Scale of the metric's axis, with lines. Default: linear.")
@click.option(
    "--y-range", metavar="FROM:TO", help="Ends of the metric's axis, with lines, in its unit. Default: from 0 on."
)
@click.option(
    "--expected",
    multiple=True,
    metavar="COLUMN",
    help="Column of a table with what a model expects, drawn beside what was measured. Repeatable.",
)
@click.option(
    "--ignore",
    metavar="COLUMN[,COLUMN...]",
    help="Columns of a table that are not settings, such as other measured values.",
)
@click.option(
    "--level",
    callback=_level,
    metavar="NUMBER[=TEXT]",
    help="Mark this level of the metric across the plot, in its axis' unit; the note says what it is.",
)
@click.option("--title", help="Title of the figure. Default: the experiment's; '' for none.")
@click.option("--no-note", is_flag=True, help="Print the note below the figure in place of drawing it: for a caption.")
@defer_to("mptcplab.cli.results:figure")
def figure() -> None:
    """Draw the results in DIR as one figure, for a paper or a page.

    DIR is the results folder of `mptcplab run`, or of a table of `mptcplab reproduce`. Nothing is executed. The same
    results give the same file, byte for byte. TABLE.csv is any table with a line per run or per point: quantities of
    your own, another program's, or metrics.csv and table.csv in DIR. Its columns are then what swept keys and
    metrics are in DIR.
    """


# ``mptcplab compare``.

_COMPARE_EPILOG = """\b
Examples:
  mptcplab compare results/before results/after
  mptcplab compare results/cc --by transport.scheduler,transport.congestion_control
  mptcplab compare results/cc --by transport.scheduler --reference default
  mptcplab compare results/mix --by transport.scheduler --metric bulk:goodput --metric call:mos
  mptcplab compare results/before results/after --fail-if-different --margin 2
  mptcplab compare results/before results/after --columns scheduler,A,B,%,verdict --out table.tex --out all.csv

\b
The exit status is 0 after every comparison, whatever its result. With --fail-if-different it is 1 if a row differs by
the margin or more, with --fail-if-uncertain also if such a difference could have been missed. With either it is 2 if
no row could be compared.
"""


@click.command(epilog=_COMPARE_EPILOG)
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path), required=False)
@click.option(
    "--by",
    metavar="KEY[,KEY...]",
    help="Compare the values of this swept key within A, or the combinations of several keys: all pairs, best first.",
)
@click.option(
    "--reference", metavar="VALUE[,VALUE...]", help="Compare each value of --by with this one, instead of all pairs."
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="[WORKLOAD:]NAME",
    help="Metric to compare, of all workloads or of one, by its name in tables or in JSON: goodput, mos, outage. "
    "Repeatable. Default: goodput.",
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    metavar="PERCENT",
    default=MARGIN_PERCENT,
    show_default=True,
    help="Smallest difference that matters.",
)
@click.option("--fail-if-different", is_flag=True, help="Exit with status 1 if a row differs by the margin or more.")
@click.option(
    "--fail-if-uncertain", is_flag=True, help="Exit with status 1 if such a difference could have been missed."
)
@columns_option
@sort_option
@files_option("File to write, too: .csv has every number unrounded, .md and .tex have the printed tables. Repeatable.")
@json_option
@defer_to("mptcplab.cli.compare:compare")
def compare() -> None:
    """Test whether the results in folder B differ from those in folder A, or the values of a swept key within A.

    Rows are matched by their settings and workload. Runs with the same seeds are compared in pairs (Student's t), other
    runs as independent samples (Welch's t). All rows of all tables form one family of tests: the probability of any
    false alarm in it is at most 5 %, and the intervals belong to the corrected tests.
    """


# ``mptcplab serve``.

_SERVE_EPILOG = """\b
Examples:
  mptcplab serve                        the results in results/
  mptcplab serve results ~/course --port 0

\b
Exit status:
  0    ended by Ctrl-C or SIGTERM
  2    the input is invalid, or the port is in use
  3    Flask, the framework of the page, is not installed
"""


@click.command(epilog=_SERVE_EPILOG)
@click.argument("results", nargs=-1, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8642, help="Port on 127.0.0.1; 0 for any free port.")
@defer_to("mptcplab.cli.results:serve")
def serve() -> None:
    """Show the results folders in RESULTS on a page in the browser, which can also start experiments.

    A form chooses an example, rate and delay of each link, congestion control and scheduler, and shows the command that
    does the same. While the runs are executed, the page draws them.

    The page is for this machine only. Its address has a token, and other sites cannot reach it.
    """
