# SPDX-License-Identifier: MIT
"""Execution of points for the comparisons that show one reason each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from validation.fidelity import forms, sides

from mptcplab import api
from mptcplab.campaign.lab import CompletedRun
from mptcplab.scenario.load import SweepPoint


def last_point(name: str, side: str) -> tuple[SweepPoint, ...]:
    """Return the last point of a scenario's short form as a side executes it, which is what a reason is shown on."""
    form = forms.form_of(name, forms.files()[name], sides.SIDES[sides.REFERENCE].engine)
    return sides.SIDES[side].points(form)[-1:]


def execute_points(points: Sequence[SweepPoint], engine: str, *, seeds: int, folder: Path) -> list[CompletedRun]:
    """Return the runs of points with as many ``seeds``, all of which have a result; those in ``folder`` are kept.

    :raises LabError: if one fails.
    """
    return api.execute_runs(forms.runs_of(points, seeds), folder, jobs=1, engine=engine)
