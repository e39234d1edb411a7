# SPDX-License-Identifier: MIT
"""``mptcplab figure``: a static figure from any results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mptcplab.cli.common import console
from mptcplab.cli.options import files_option, listed
from mptcplab.errors import InputError, reason

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
  cdf     the share of objects, requests or messages that took at most so long; with --metric, of runs
"""
#: Formats of files, kinds of figures and scales of axes, written here because their modules take long to load.
_SUFFIXES = (".svg", ".png", ".pdf")
_KINDS = ("time", "lines", "bars", "cdf")
_SCALES = ("linear", "log")


def _only(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> str | None:
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
        raise InputError(f"--level '{number}' is no number", hint="write --level 38, or --level 38=goal") from None


@click.command(epilog=_EPILOG)
@click.argument("source", metavar="DIR|TABLE.csv", type=click.Path(path_type=Path))
@files_option(
    "File to write; .svg, .png or .pdf selects the format. Repeatable. Default: figure-KIND.svg, where you are."
)
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    help="Default: time for one point, lines over an axis of numbers, bars otherwise.",
)
@click.option(
    "--metric",
    multiple=True,
    callback=_only,
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
@click.option(
    "--x-scale", type=click.Choice(_SCALES), help="Scale of the axis of numbers. Default: on which values are apart."
)
@click.option("--y-scale", type=click.Choice(_SCALES), help="Scale of the metric's axis, with lines. Default: linear.")
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
    help="Columns of a table that are no settings, as other values that were measured.",
)
@click.option(
    "--level",
    callback=_level,
    metavar="NUMBER[=TEXT]",
    help="Mark this level of the metric across the plot, in its axis' unit; the note says what it is.",
)
@click.option("--title", help="Title of the figure. Default: that of the experiment; '' for none.")
@click.option("--no-note", is_flag=True, help="Print the note below the figure in place of drawing it: for a caption.")
def figure(
    source: Path,
    files: tuple[Path, ...],
    points: tuple[str, ...],
    labels: tuple[str, ...],
    expected: tuple[str, ...],
    level: tuple[float | None, str],
    no_note: bool,
    **options: Any,
) -> None:
    """Draw the results in DIR as one figure, for a paper or a page.

    DIR is the results folder of `mptcplab run`, or of a table of `mptcplab reproduce`. Nothing is executed. The same
    results give the same file, byte for byte. TABLE.csv is any table with a line per run or per point: quantities of
    your own, another program's, or those of metrics.csv and table.csv in DIR. Its columns are then what swept keys and
    metrics are in DIR.
    """
    for file in files:
        if file.suffix.lower() not in _SUFFIXES:
            raise InputError(f"{file} does not end with the suffix of a format", hint=f"use {', '.join(_SUFFIXES)}")
    # Late, since the libraries behind it take long to load.
    from mptcplab.figure import Choice, drawn, drawn_table, read_table
    from mptcplab.results import open_results

    choice = Choice(
        points=tuple(_pair(text, "--points KEY=VALUE") for text in points),
        labels=tuple(_pair(text, "--label NAME=TEXT") for text in labels),
        by=tuple(listed(options.pop("by"))),
        panels=tuple(listed(options.pop("panels"))),
        workloads=tuple(listed(options.pop("workload"))),
        expected=expected,
        level=level[0],
        level_words=level[1],
        ignored=tuple(listed(options.pop("ignore"))),
        note=not no_note,
        **options,
    )
    is_table = source.suffix.lower() == ".csv" and not source.is_dir()
    made = drawn_table(read_table(source), choice) if is_table else drawn(open_results(source), choice)
    for file in files or (Path(f"figure-{made.kind}.svg"),):
        try:
            made.write(file)
        except OSError as error:
            raise InputError(
                f"{file} cannot be written: {reason(error)}", hint="name another file with --out"
            ) from error
        console().print(f"{file}: {made.shows}", markup=False, soft_wrap=True)
    if no_note:
        console().print(f"Note: {made.note}", markup=False, highlight=False, soft_wrap=True)


def _pair(text: str, form: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise InputError(f"'{text}' is not a key with a value", hint=f"write {form}")
    return key.strip(), value.strip()
