# SPDX-License-Identifier: MIT
"""The HTML report of a results folder, which holds an experiment, a study, or several studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mptcplab.files import write_text
from mptcplab.metrics.rows import RunResult
from mptcplab.recording.damage import report_damage
from mptcplab.report.html import ReportPage, to_html
from mptcplab.report.html_build import build_experiment
from mptcplab.results import DAMAGED_RESULTS, open_every
from mptcplab.study.pages import scoreboard_report, study_folders, study_report


def build_report(folder: Path, *, known: Mapping[str, RunResult] | None = None) -> ReportPage:
    """Return the report of a results folder. ``known`` has runs that were measured already, by identity.

    :raises InputError: if it has no recordings. :raises LabError: if a file in it is damaged.
    """
    with report_damage(f"cannot report on {folder}", hint=DAMAGED_RESULTS):
        if study_folders(folder):
            return scoreboard_report(folder, known=known)
        page = study_report(folder, known=known)
        if page is not None:
            return page
    results = open_every(folder)
    with report_damage(f"cannot report on {folder}", hint=DAMAGED_RESULTS):
        section = build_experiment(results.select_experiment())
        return ReportPage(section.title, (section,))


def write_report(folder: Path, file: Path, *, known: Mapping[str, RunResult] | None = None) -> ReportPage:
    """Build the report of ``folder`` and write it to ``file``."""
    report = build_report(folder, known=known)
    write_text(file, to_html(report))
    return report
