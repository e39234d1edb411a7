# SPDX-License-Identifier: MIT
"""Checks before the first run that this machine has the programs which the runs, and their results, need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mptcplab.capture.tshark import tshark_path
from mptcplab.engine.tools import find_program
from mptcplab.errors import MissingError
from mptcplab.guest.nodes import PATH_MANAGER
from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import Run
from mptcplab.steps import OURS


def check_programs(runs: Iterable[Run]) -> None:
    """Refuse a sweep of which a run would fail for want of a program.

    :raises MissingError: naming every program that is missing, and how to get it.
    """
    runs = list({id(run.point): run for run in runs}.values())
    errors = list(_missing(runs))
    if len(errors) > 1:
        also = [f"also: {error.message}\n    {error.hint}" for error in errors[1:]]
        raise MissingError(errors[0].message, hint="\n  ".join([errors[0].hint or "", *also]))
    if errors:
        raise errors[0]


def _missing(runs: Iterable[Run]) -> Iterator[MissingError]:
    """Yield one error for each way to get what ``runs`` lack: a package or a build may have several programs."""
    used = {name: None for run in runs for name in compile_plan(run.point.scenario, seed=run.seed).uses}
    hints: set[str | None] = set()
    for name in used:
        if name == PATH_MANAGER or name.startswith(OURS):
            continue
        try:
            find_program(name)
        except MissingError as error:
            if error.hint not in hints:
                yield error
            hints.add(error.hint)
    if any(one.statistics for run in runs for one in run.point.scenario.record.captures):
        try:
            tshark_path()
        except MissingError as error:
            message = f"{error.message}, which computes the statistics of captures"
            yield MissingError(message, hint=error.hint)
