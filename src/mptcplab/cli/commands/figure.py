# SPDX-License-Identifier: MIT
"""``mptcplab figure``: a static figure from any results folder."""

from __future__ import annotations

from pathlib import Path

import click

from mptcplab.cli.deferred import DeferredChoice, defer_to
from mptcplab.cli.options import files_option
from mptcplab.errors import InputError

_EPILOG = """\b
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


@click.command(epilog=_EPILOG)
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
@defer_to("mptcplab.cli.figure:figure")
def figure() -> None:
    """Draw the results in DIR as one figure, for a paper or a page.

    DIR is the results folder of `mptcplab run`, or of a table of `mptcplab reproduce`. Nothing is executed. The same
    results give the same file, byte for byte. TABLE.csv is any table with a line per run or per point: quantities of
    your own, another program's, or metrics.csv and table.csv in DIR. Its columns are then what swept keys and
    metrics are in DIR.
    """
