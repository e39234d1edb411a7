# SPDX-License-Identifier: MIT
"""The report as one self-contained HTML file: its contents as plain data, and their rendering."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup, escape

import mptcplab
from mptcplab.kernel.config import clock_text
from mptcplab.report.table import Table
from mptcplab.report.topology import Picture

if TYPE_CHECKING:
    from jinja2 import Template

# The contents of a report as plain data, made from results and rendered as HTML elsewhere.


@dataclass(frozen=True)
class Notice:
    """A message above the results.

    A ``warning`` may invalidate a result, a ``note`` limits what it shows. ``where`` names the rows or runs that it is
    about; ``command`` may fix it.
    """

    level: Literal["warning", "note"]
    text: str
    where: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True)
class Drawing:
    """One interactive figure: its heading, its caption, and the data from which the page's script draws it.

    ``choices`` are the selectors above it: a name and the options.
    """

    kind: Literal["sweep", "lines", "timeline", "agreement", "beds"]
    title: str
    caption: str
    data: dict[str, Any]
    panels: tuple[str, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True)
class ReportCommand:
    """A command line, and the name of what it runs."""

    about: str
    line: str


@dataclass(frozen=True)
class RunLine:
    """One run in the list of all runs."""

    label: str
    seed: int
    goodput: str
    identity: str
    command: str


@dataclass(frozen=True)
class Repeat:
    """Commands and files that repeat the measurements. ``files`` are names and texts."""

    commands: tuple[ReportCommand, ...]
    seeds: str
    files: tuple[tuple[str, str], ...]
    runs: tuple[RunLine, ...]
    runs_left_out: int = 0


@dataclass(frozen=True)
class Fact:
    """One entry of a sheet. ``link`` is the anchor of its target, ``items`` are listed below its text."""

    name: str
    text: str
    link: str = ""
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class FactSheet:
    """All facts about one published value or one claim."""

    anchor: str
    title: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class ExperimentSection:
    """One experiment of a report. ``network`` has the tables of the counters of its links and hosts.

    ``changes`` are the keys that the command line set: title and question are the file's, without them.
    """

    anchor: str
    title: str
    question: str
    notices: tuple[Notice, ...]
    pictures: tuple[Picture, ...]
    workloads: tuple[str, ...]
    tables: tuple[Table, ...]
    drawings: tuple[Drawing, ...]
    repeat: Repeat
    provenance: tuple[tuple[str, tuple[str, ...]], ...]
    sheets: tuple[FactSheet, ...] = ()
    network: tuple[Table, ...] = ()
    changes: tuple[str, ...] = ()
    times: frozenset[str] = frozenset()
    """The kinds of clocks of its runs, see :attr:`mptcplab.metrics.rows.RunResult.time`."""

    @property
    def swept(self) -> bool:
        """True if a link's values differ between points."""
        return any(picture.swept for picture in self.pictures)


@dataclass(frozen=True)
class ScoreboardView:
    """The scoreboard of several studies, by study and by table.

    Counts in ``totals`` and ``table`` link to ``values``, which lists every value and every claim by class and links to
    their sheets; names of tables link to their sections. ``about`` describes each study and its test bed; ``left_out``
    says what is not on the page, and ``commands`` show it.
    """

    totals: Table
    table: Table
    summary: str
    values: tuple[Table, ...]
    about: tuple[tuple[str, str], ...]
    left_out: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class ReportPage:
    """One page. ``beds`` are tables about a study over possible test beds."""

    title: str
    experiments: tuple[ExperimentSection, ...]
    board: ScoreboardView | None = None
    pictures: tuple[Drawing, ...] = ()
    beds: tuple[Table, ...] = ()
    parameters: tuple[Table, ...] = ()

    @property
    def times(self) -> frozenset[str]:
        """The kinds of clocks of all its runs."""
        return frozenset[str]().union(*(experiment.times for experiment in self.experiments))


# Render a :class:`ReportPage` as one self-contained HTML file, which loads nothing.
#
# plotly.js draws a figure when it comes into view. Until then the library and the data are inert text, so that a page
# with thousands of numbers opens at once. The page's content security policy has the hashes of its two scripts:
# nothing else can run or load.

#: What holds for each kind of clock.
_OF_CLOCKS = {
    "virtual": (
        ("CPU cost", "Computation takes no virtual time, so the results do not include the CPU cost of MPTCP."),
        ("Scheduling on a host", "A program that becomes runnable runs at the same instant."),
    ),
    "instructions": (("CPU cost", "All nodes share one emulated CPU, whose instructions take 1 ns each."),),
    "machine": (
        ("CPU cost", "All nodes share the CPUs of a virtual machine, beside everything else that ran on its host."),
        ("Real time", "A run with the same seed does not repeat exactly."),
    ),
    "real": (
        ("CPU cost", "All nodes share the CPU of the machine that ran them, with everything else that ran there."),
        ("Real time", "A run with the same seed does not repeat exactly."),
    ),
}
#: The beginning of docs/limitations.md, shortened.
LIMITATIONS = (
    ("Network cards", "TSO, GSO and GRO are off; there are no driver queues and no byte queue limits."),
    ("Radios", "A link called lte or wifi is a cable with rate, delay, jitter and loss."),
    ("Other traffic", "Only the workloads of the scenario use the network."),
    ("Middleboxes", "Routers only forward, unless the scenario gives them a NAT or a middlebox."),
    ("Loss comes before the bottleneck", "It is random or in bursts; drops by the queue are additional."),
    (
        "Nothing is irregular by itself",
        "Without jitter or loss, senders at a full queue can synchronise, and their phase decides whose packets drop.",
    ),
    (
        "Coupled congestion controls are the lab's own",
        "LIA, OLIA, BALIA and wVegas are not in mainline Linux. These names, and the names of schedulers other than "
        "default, refer to the lab's implementations.",
    ),
)
#: In ``link2.delay``, ``congestion_control`` and ``access1>link1``, before the last word.
_PART_END = re.compile(r"(?<=[._>-])(?=[A-Za-z])")
#: Words in backticks, as messages for terminals have them.
_CODE = re.compile(r"`([^`\n]+)`")


def to_html(report: ReportPage) -> str:
    """Return the page."""
    script, library = _read_template("report.js"), _plotly()
    data = [
        [drawing.data | {"kind": drawing.kind} for drawing in experiment.drawings] for experiment in report.experiments
    ]
    data.append([drawing.data | {"kind": drawing.kind} for drawing in report.pictures])
    times = sorted(report.times) or ["virtual"]
    return _template().render(
        report=report,
        version=mptcplab.__version__,
        style=_read_template("report.css"),
        script=script,
        library=library,
        policy=f"'sha256-{_sha256(script)}' 'sha256-{_sha256(library)}'",
        data=_inert_json(data),
        limitations=(*(of_clock for time in times for of_clock in _OF_CLOCKS.get(time, ())), *LIMITATIONS),
        clocks=" or ".join(clock_text(time) for time in times),
    )


@cache
def _template() -> Template:
    """Return the template of the page. Compiling it takes longer than filling it in."""
    import jinja2  # late: only a report needs it

    loader = jinja2.PackageLoader("mptcplab.report")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"breakable": _insert_breaks, "prose": _prose}
    return environment.get_template("report.html.j2")


def _inert_json(data: Any) -> str:
    """Return JSON that cannot end the script element around it."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _read_template(name: str) -> str:
    return (resources.files("mptcplab.report") / "templates" / name).read_text("utf-8")


def _insert_breaks(text: str) -> Markup:
    """Return text whose long names may be broken over lines between their parts."""
    return Markup("<wbr>").join(_PART_END.split(text))


def _prose(text: str) -> Markup:
    """Return a sentence whose words in backticks are code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


@cache
def _plotly() -> str:
    """Return plotly.js, escaped for a script element."""
    text = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text("utf-8")
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
