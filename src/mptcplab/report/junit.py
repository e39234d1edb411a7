# SPDX-License-Identifier: MIT
"""Results as JUnit XML, the form in which services for continuous integration read tests.

The form has no standard. This is the part that Jenkins, GitLab and pytest agree on: ``testsuites``, ``testsuite``,
``testcase``, and in that at most one of ``failure``, ``error`` and ``skipped``, and then ``system-out``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree

from mptcplab.files import report_write_errors, write_text

if TYPE_CHECKING:
    from mptcplab.campaign.lab import CompletedRun
    from mptcplab.metrics.rows import ResultRow

Verdict = Literal["passed", "failure", "error", "skipped"]

#: Characters that XML 1.0 cannot have, not even as references: output of programs may contain them.
_FORBIDDEN = re.compile("[^\\t\\n\\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Case:
    """One test. ``message`` is the reason of a verdict other than ``passed``; ``details`` explain it."""

    name: str
    verdict: Verdict = "passed"
    message: str = ""
    details: str = ""
    seconds: float | None = None
    """The duration; None if it is not known."""
    output: str = ""
    """The output of the test, whatever its verdict."""


@dataclass(frozen=True)
class Suite:
    """Tests that belong together, in the order in which they are shown."""

    name: str
    cases: tuple[Case, ...]
    seconds: float | None = None


def to_junit(name: str, suites: Sequence[Suite]) -> str:
    """Return the document of ``suites``; ``name`` is the prefix of each test's class."""
    root = ElementTree.Element("testsuites", {"name": _clean(name), **_counts(suites)})
    for suite in suites:
        attributes = {"name": _clean(suite.name), **_counts([suite]), **_time(suite.seconds)}
        element = ElementTree.SubElement(root, "testsuite", attributes)
        for case in suite.cases:
            _add(element, f"{name}.{suite.name}", case)
    ElementTree.indent(root)
    return f"{ElementTree.tostring(root, encoding='unicode', xml_declaration=False)}\n"


def write_junit(file: Path, name: str, suites: Sequence[Suite]) -> None:
    """Write ``suites`` to a file. :raises LabError: if it cannot be written."""
    with report_write_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, to_junit(name, suites))


def experiment_suite(title: str, completed: Sequence[CompletedRun], rows: Sequence[ResultRow] = ()) -> Suite:
    """Return the runs of an experiment as tests. A run fails if it did not come to its end.

    The output of each has the warnings and reasons in the ``rows`` of its point.
    """
    cases = []
    for run in completed:
        of_point = (row for row in rows if row.settings == run.run.point.settings)
        output = "\n".join(line for row in of_point for line in _notes(row))
        case = Case(run.run.label, seconds=run.wall_seconds, output=output)
        if run.error is not None:
            case = replace(case, verdict="failure", message=run.error.message, details=run.error.hint or "")
        cases.append(case)
    return Suite(title, tuple(cases))


def _notes(row: ResultRow) -> Iterator[str]:
    for word, texts in (("Warning", row.warnings), ("Reason", row.notes)):
        yield from (f"{row.workload}: {word}: {text}." for text in texts)


def _add(parent: ElementTree.Element, class_name: str, case: Case) -> None:
    attributes = {"classname": _clean(class_name), "name": _clean(case.name), **_time(case.seconds)}
    element = ElementTree.SubElement(parent, "testcase", attributes)
    if case.verdict != "passed":
        reason = ElementTree.SubElement(element, case.verdict, {"message": _clean(case.message)})
        reason.text = _clean(case.details) or None
    if case.output:
        ElementTree.SubElement(element, "system-out").text = _clean(case.output)


def _counts(suites: Sequence[Suite]) -> dict[str, str]:
    counts = Counter(case.verdict for suite in suites for case in suite.cases)
    return {
        "tests": str(counts.total()),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }


def _time(seconds: float | None) -> dict[str, str]:
    return {} if seconds is None else {"time": f"{seconds:.3f}"}


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
