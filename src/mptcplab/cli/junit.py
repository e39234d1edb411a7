# SPDX-License-Identifier: MIT
"""Writes the results of a command as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mptcplab.cli.common import report_write_errors
from mptcplab.files import write_text
from mptcplab.report.junit import Case, Suite, to_junit

if TYPE_CHECKING:
    from mptcplab.campaign.lab import CompletedRun


def write_junit(file: Path, name: str, suites: Sequence[Suite]) -> None:
    """Write ``suites`` to a file. :raises LabError: if it cannot be written."""
    with report_write_errors(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, to_junit(name, suites))


def junit_suite(title: str, done: Sequence[CompletedRun]) -> Suite:
    """Return the runs of an experiment as tests. A run fails if it did not come to its end."""
    cases = []
    for run in done:
        case = Case(run.run.label, seconds=run.wall_seconds)
        if run.error is not None:
            case = Case(run.run.label, "failure", run.error.message, run.error.hint or "", run.wall_seconds)
        cases.append(case)
    return Suite(title, tuple(cases))
