# SPDX-License-Identifier: MIT
"""One self-contained HTML file: it opens without a network, and asks for nothing.

:class:`~mptcplab.report.html_model.Report` -> HTML. The figures are drawn by plotly.js when they come
into view; until then it and their data are inert text, so that a page with thousands of numbers opens at once. The
page's own content security policy names the hashes of our two scripts: nothing else in it can run or load.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup

import mptcplab
from mptcplab.report.html_model import Report
from mptcplab.report.table import Table

#: The beginning of docs/limitations.md, shortened.
LIMITATIONS = (
    ("CPU cost", "Computing takes no virtual time: nothing here says how many cycles MPTCP needs."),
    ("Scheduling on a host", "A program that becomes runnable runs at the same instant."),
    ("Network cards", "TSO, GSO and GRO are off; there are no driver queues and no byte queue limits."),
    ("Radios", "A link called lte or wifi is a line with rate, delay, jitter and loss."),
    ("Other traffic", "Only the workloads of the scenario use the network."),
    ("Middleboxes", "Routers only forward, unless the scenario gives them a NAT or a middlebox."),
    ("Loss comes before the bottleneck", "At random or in bursts; drops by the queue come on top."),
    (
        "Nothing is irregular by itself",
        "Without jitter or loss, senders at a full queue can fall into step, and the phase decides who loses.",
    ),
    (
        "Coupled congestion controls are the lab's own",
        "LIA, OLIA, BALIA and wVegas are not in mainline Linux; their names, and those of schedulers other than "
        "default, mean the lab's implementations.",
    ),
)
#: Colours of a table's cells on a terminal, as classes of the style sheet.
_CLASSES = {"green": "good", "yellow": "fair", "bold red": "bad", "bold": "sum"}
#: In ``link2.delay``, ``congestion_control`` and ``access1>link1``, before the last word.
_PART_END = re.compile(r"(?<=[._>-])(?=[A-Za-z])")


def to_html(report: Report) -> str:
    """The page."""
    import jinja2  # late: only a report needs it

    loader = jinja2.PackageLoader("mptcplab.report")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"styles_of": _styles_of, "links_of": _links_of, "breakable": _breakable}
    script, library = _own("report.js"), _plotly()
    data = [[drawing.data | {"kind": drawing.kind} for drawing in one.drawings] for one in report.experiments]
    data.append([drawing.data | {"kind": drawing.kind} for drawing in report.pictures])
    return environment.get_template("report.html.j2").render(
        report=report,
        version=mptcplab.__version__,
        style=_own("report.css"),
        script=script,
        library=library,
        policy=f"'sha256-{_sha256(script)}' 'sha256-{_sha256(library)}'",
        data=_inert_json(data),
        limitations=LIMITATIONS,
    )


def _inert_json(data: Any) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _own(name: str) -> str:
    return (resources.files("mptcplab.report") / "templates" / name).read_text("utf-8")


def _breakable(text: str) -> Markup:
    """Text whose long names may be broken over lines where their parts end."""
    return Markup("<wbr>").join(_PART_END.split(text))


def _styles_of(table: Table) -> dict[tuple[int, int], str]:
    return {(row, column): _CLASSES.get(style, "") for row, column, style in table.styles}


def _links_of(table: Table) -> dict[tuple[int, int], str]:
    return {(row, column): anchor for row, column, anchor in table.links}


@cache
def _plotly() -> str:
    """plotly.js, as a script element can hold it."""
    text = (resources.files("plotly") / "package_data" / "plotly.min.js").read_text("utf-8")
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
