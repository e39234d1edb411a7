# SPDX-License-Identifier: MIT
"""Make the twin of a real network, run it beside what was observed, and try changes of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mptcplab.api.experiments import check_machine
from mptcplab.api.sources import Changes, override_texts
from mptcplab.campaign.failures import check_failures, install_command, repeat_command
from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.sweep import Report, RunOptions, Warn, execute, ignore
from mptcplab.engine.defaults import DEFAULT_ENGINE
from mptcplab.errors import InputError, LabError, reason
from mptcplab.files import list_paths, write_text
from mptcplab.fit.advise import (
    Advice,
    Algorithms,
    Change,
    ComparedQuantity,
    TransferOutcome,
    compare,
    list_changes,
    outcome_of,
    parse_change,
    rank,
    sample_changes,
)
from mptcplab.fit.observation import Observation, observe_all
from mptcplab.fit.tables import advice_table, beside_table, lines_table
from mptcplab.fit.twin import MARK, REPEATS, build_twin, limits_text
from mptcplab.fit.typed import Direction, parse_line
from mptcplab.kernel.data import congestion_controls, schedulers
from mptcplab.report.origin import default_folder
from mptcplab.report.table import Table
from mptcplab.scenario.load import Experiment, Run, SweepPoint, load
from mptcplab.scenario.writing import uncomment, write_scenario

#: The setting of points that names the change, and its value for the unchanged twin.
_SETTING = "change"
UNCHANGED = "none"


@dataclass(frozen=True)
class Twin:
    """A scenario made of an observation: ``file`` has it, ``tables`` are its plain tables.

    ``algorithms`` are the lab's, of which changes are made.
    """

    observation: Observation
    file: Path
    tables: Mapping[str, Any]
    repeats: int
    algorithms: Algorithms

    @property
    def table(self) -> Table:
        """The lines with their estimates, and notes on where these come from."""
        return lines_table(self.observation)

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab fit --no-run --json``."""
        return {
            "scenario": str(self.file),
            "lines": [line.to_json() for line in self.observation.lines],
            "signs": list(self.observation.signs),
        }

    def list_changes(self, *, tried: Changes = (), sample: int | None = None) -> list[Change]:
        """Return the changes that may help, the changes in ``tried``, and ``sample`` combinations of the first.

        ``tried`` has keys of the scenario with values, as ``set`` of :func:`mptcplab.api.load`; each is a change.

        :raises InputError: if ``tried`` is wrong.
        """
        changes = list_changes(self.observation, self.tables, self.algorithms)
        words = {change.words for change in changes}
        for change in map(parse_change, override_texts(tried)):
            if change.words in words:
                raise InputError(f"'{change.words}' is tried already", hint="name each change once")
            words.add(change.words)
            changes.append(change)
        return changes + (sample_changes(self.observation, self.tables, self.algorithms, sample) if sample else [])


@dataclass(frozen=True)
class TwinOutcome:
    """The runs of a twin. ``comparisons`` set them beside the observation; empty if no transfer was observed.

    ``advice`` has the changes that were tried, the most useful first.
    """

    twin: Twin
    runs: tuple[TransferOutcome, ...]
    comparisons: tuple[ComparedQuantity, ...]
    advice: tuple[Advice, ...]

    @property
    def goodput_bps(self) -> float:
        """The mean goodput of the unchanged twin, in bit/s."""
        return sum(run.goodput_bps for run in self.runs) / len(self.runs)

    @property
    def document(self) -> dict[str, Any]:
        """The JSON document of ``mptcplab fit --json``."""
        return {
            **self.twin.document,
            "beside": [row.to_json() for row in self.comparisons],
            "advice": [row.to_json() for row in self.advice],
        }

    def tables(self) -> list[Table]:
        """Return the tables of comparisons and of advice, without empty ones."""
        beside = [beside_table(self.comparisons, self.twin.repeats)] if self.comparisons else []
        return beside + ([advice_table(self.advice)] if self.advice else [])


def fit(
    files: str | Path | Iterable[str | Path] = (),
    *,
    lines: str | Iterable[str] = (),
    direction: Direction = "down",
    out: str | Path = "twin.toml",
    repeats: int = REPEATS,
) -> Twin:
    """Write the scenario of what was observed on real machines, as ``mptcplab fit --no-run``.

    ``files`` are what the script of ``mptcplab collect`` wrote, captures, texts with outputs of ``ss``, ``ip`` and
    ``sysctl``, and TOML files with typed lines. ``lines`` are texts such as ``"lte: 40 Mbit/s down, ping 45 ms"``:
    they describe lines, or add values to lines in the files. ``direction`` is the payload's, for typed lines.
    ``out`` is the file of the scenario, which has ``repeats`` runs. Nothing is run: :func:`run_twin` does that.

    :raises InputError: if a file cannot be read or shows no line, if ``out`` exists and is not a twin, or if an
        argument is out of its range.
    :raises MissingError: if there are captures, and tshark is not installed.
    """
    if repeats < 1:
        raise InputError(f"{repeats} runs of the twin are not possible", hint="give at least 1 as repeats")
    typed = [lines] if isinstance(lines, str) else lines
    observation = observe_all(list_paths(files, can_be_empty=True), [parse_line(text) for text in typed], direction)
    algorithms = Algorithms(sorted(congestion_controls()), sorted(schedulers()))
    commented = build_twin(observation, controls=algorithms.congestion_controls, schedulers=algorithms.schedulers)
    heading = f"{MARK}\n{limits_text(observation)}"
    _write(Path(out), write_scenario({**commented, "repeats": repeats}, heading=heading))
    return Twin(observation, Path(out), uncomment(commented), repeats, algorithms)


def run_twin(
    twin: Twin,
    changes: Sequence[Change] = (),
    *,
    jobs: int | None = None,
    engine: str = DEFAULT_ENGINE,
    cluster: str | None = None,
    fresh: bool = False,
    progress: Report = ignore,
    warn: Warn = ignore,
) -> TwinOutcome:
    """Run a twin and ``changes`` of it with the same seeds, and set the twin beside the observation.

    :meth:`Twin.list_changes` has the changes that may help. A change that the scenario does not allow is left out, with
    a warning. The other arguments are as for :func:`mptcplab.api.run`. Recordings are in ``results/NAME``.

    :raises MissingError: if this machine lacks something. :raises LabError: if a run failed.
    :raises KeyboardInterrupt: if a signal interrupts the runs.
    """
    options = RunOptions(jobs, fresh, cluster, engine)
    outcomes = run_changes(twin.file, twin.tables, changes, twin.repeats, options, progress=progress, warn=warn)
    before = outcomes.pop(UNCHANGED)
    advice = rank(before, outcomes) if outcomes else []
    return TwinOutcome(twin, tuple(before), tuple(compare(twin.observation, before)), tuple(advice))


def run_changes(
    file: Path,
    tables: Mapping[str, Any],
    changes: Sequence[Change],
    repeats: int,
    options: RunOptions,
    *,
    progress: Report = ignore,
    warn: Warn = ignore,
) -> dict[str, list[TransferOutcome]]:
    """Run the scenario in ``file``, whose plain tables are ``tables``, and every change of it; return their outcomes.

    They are by the words of the change; the unchanged scenario is ``UNCHANGED``.
    :raises MissingError: if this machine lacks something. :raises LabError: if a run failed.
    """
    experiment = load(file, repeats=repeats)
    points = [SweepPoint({_SETTING: UNCHANGED}, experiment.points[0].scenario)]
    with tempfile.TemporaryDirectory(prefix="mptcplab-fit-") as scratch:
        for number, change in enumerate(changes):
            points += _changed_point(Path(scratch) / f"change{number}.toml", tables, change, warn)
    rounds = Rounds(experiment, points)
    check_machine(rounds.first(), options, install_command([str(file)], (), engine=options.engine))
    done = execute(rounds, default_folder(file), options, progress=progress, warn=warn)
    check_failures(done, lambda run: _repeat(file, run), default_folder(file))
    return _outcomes(experiment, done)


def _write(out: Path, text: str) -> None:
    """Write the scenario, unless the file is somebody's own."""
    try:
        if out.exists() and MARK not in out.read_text(errors="replace").partition("\n")[0]:
            raise InputError(f"{out} exists, and mptcplab fit did not write it", hint="choose another file with --out")
        write_text(out, text)
    except OSError as error:
        raise InputError(f"cannot write {out}: {reason(error)}", hint="choose another file with --out") from error


def _repeat(file: Path, run: Run) -> str:
    return repeat_command(file, (), None, Run(SweepPoint({}, run.point.scenario), run.repeat, run.seed))


def _changed_point(file: Path, tables: Mapping[str, Any], change: Change, warn: Warn) -> list[SweepPoint]:
    """Return the point of a change; none, with a warning, if the scenario does not allow it."""
    file.write_text(write_scenario(change.apply(tables)))
    try:
        return [SweepPoint({_SETTING: change.words}, load(file).points[0].scenario)]
    except LabError as error:
        about = getattr(error, "about", error.message)
        warn(f"Not tried: {change.words}: {about}")
        return []


def _outcomes(experiment: Experiment, done: Sequence[CompletedRun]) -> dict[str, list[TransferOutcome]]:
    outcomes: dict[str, list[TransferOutcome]] = {}
    for run in done:
        recording = run.recording
        assert run.result is not None, experiment.name
        assert recording is not None, experiment.name
        outcomes.setdefault(run.run.point.settings[_SETTING], []).append(outcome_of(run.result, recording))
    return outcomes
