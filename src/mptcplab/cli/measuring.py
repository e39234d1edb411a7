# SPDX-License-Identifier: MIT
"""Measure several tables one after the other. What goes wrong with one does not keep the others from being measured."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.cli.common import RunOptions, check_failures, console, default_jobs
from mptcplab.cli.jobs import TableJob
from mptcplab.cli.sweep import execute
from mptcplab.errors import LabError, MissingError
from mptcplab.plan.estimate import estimate_seconds
from mptcplab.plan.forecast import Forecast, duration_text
from mptcplab.study.measured import TableValues, index_results
from mptcplab.study.source import Source, Sources, in_measuring_order, needs


@dataclass(frozen=True)
class Outcome:
    """What came of one table. ``problem`` says why runs failed, or why there are none."""

    work: TableJob
    done: tuple[CompletedRun, ...]
    measured: TableValues
    problem: LabError | None = None

    @property
    def failed(self) -> list[CompletedRun]:
        """Runs without a result."""
        return [one for one in self.done if one.error is not None]

    @property
    def is_missing(self) -> bool:
        """Whether all that went wrong is that this machine lacks something."""
        errors = [self.problem, *(one.error for one in self.failed)]
        return self.problem is not None and all(isinstance(error, MissingError) for error in errors)

    @property
    def why_nothing(self) -> str:
        """Of a table without any value: what went wrong."""
        error = next((one.error for one in self.failed if one.error), self.problem)
        return lacks(error) if error is not None else ""


def lacks(error: LabError) -> str:
    """What went wrong, with what mends it if that is a command."""
    return f"{error.message} ({error.hint})" if isinstance(error, MissingError) and error.hint else error.message


def measure_all(works: Sequence[TableJob], out: Path, running: RunOptions) -> Iterator[tuple[Outcome, Sources]]:
    """Every table in its order, with all that was measured so far; what its texts quote was measured before it.

    :raises InputError: when nothing can be measured at all, since something that the user wrote is wrong.
    """
    by_name = {work.selected.name: work for work in works}
    outcomes: dict[str, Outcome] = {}
    found: dict[str, Source] = {}
    waiting = deque(works)
    ahead = _RemainingTime(works, running)
    for selected in in_measuring_order([work.selected for work in works]):
        work = by_name[selected.name]
        ahead.announce(work)
        outcome = outcomes[selected.name] = measure_one(work, out / selected.folder.name, running)
        found[selected.name] = Source(outcome.measured, work.changes)
        ahead.done(work, outcome.done)
        while waiting and {waiting[0].selected.name, *needs(waiting[0].selected, by_name)} <= found.keys():
            yield outcomes[waiting.popleft().selected.name], found


def measure_one(work: TableJob, folder: Path, running: RunOptions) -> Outcome:
    """One table, of which some runs may fail. :raises LabError: when the results folder cannot be used."""
    try:
        done = execute(Rounds(work.experiment, work.points), folder, running)
    except MissingError as error:
        return Outcome(work, (), {}, error)
    problem = None
    try:
        check_failures(done, work.repeating, folder, name=f"{work.file('failed')}.sh")
    except LabError as error:
        problem = error
    measured = index_results(work.selected, [one.result for one in done if one.result])
    if problem is None and not measured:
        problem = LabError("none of its runs has such a value", hint=f"see the recordings in {folder / 'runs'}")
    return Outcome(work, tuple(done), measured, problem)


class _RemainingTime:
    """How far, and about how long still, over all tables; told before each when there are several."""

    def __init__(self, works: Sequence[TableJob], running: RunOptions) -> None:
        self._count, self._of = 0, len(works)
        self._runs = [0, sum(len(work.runs) for work in works)]
        guesses = {id(point): estimate_seconds(point.scenario) for work in works for point in work.points}
        self._forecast = Forecast(guesses, jobs=running.jobs or default_jobs())
        for work in works:
            for point in work.points:
                self._forecast.add(id(point), work.experiment.repeats)

    def announce(self, work: TableJob) -> None:
        """What comes now."""
        self._count += 1
        if self._of < 2:
            return
        left = duration_text(self._forecast.remaining_seconds)
        runs = f"{self._runs[0]} of {self._runs[1]} runs done"
        text = f"[{self._count} of {self._of}] {work.selected.name}: {len(work.runs)} runs; {runs}, about {left} left"
        console(stderr=True).print(text, markup=False, soft_wrap=True)

    def done(self, work: TableJob, done: Sequence[CompletedRun]) -> None:
        """The table is measured; a run that was not made costs nothing more."""
        for one in done:
            self._forecast.done(id(one.run.point), one.wall_seconds)
        if not done:
            for run in work.runs:
                self._forecast.done(id(run.point), None)
        self._runs[0] += len(work.runs)
