# SPDX-License-Identifier: MIT
"""Render a :class:`~mptcplab.report.html_model.ReportPage` as one self-contained HTML file, which loads nothing.

plotly.js draws a figure when it comes into view. Until then the library and the data are inert text, so that a page
with thousands of numbers opens at once. The page's content security policy has the hashes of its two scripts: nothing
else can run or load.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup, escape

import mptcplab
from mptcplab.kernel.config import clock_text
from mptcplab.report.html_model import ReportPage

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
    import jinja2  # late: only a report needs it

    loader = jinja2.PackageLoader("mptcplab.report")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"breakable": _insert_breaks, "prose": _prose}
    script, library = _read_template("report.js"), _plotly()
    data = [
        [drawing.data | {"kind": drawing.kind} for drawing in experiment.drawings] for experiment in report.experiments
    ]
    data.append([drawing.data | {"kind": drawing.kind} for drawing in report.pictures])
    times = sorted(report.times) or ["virtual"]
    return environment.get_template("report.html.j2").render(
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
