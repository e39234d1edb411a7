# SPDX-License-Identifier: MIT
"""``mptcplab fit``."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from mptcplab.api.lacks import check_machine
from mptcplab.campaign.failures import check_failures, install_command, repeat_command
from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.sweep import RunOptions, execute
from mptcplab.cli.common import console, print_table
from mptcplab.cli.progress import ProgressPrinter
from mptcplab.errors import InputError, LabError, reason
from mptcplab.files import write_text
from mptcplab.fit.advise import Advice, Change, Outcome, list_changes, rank, sample_changes
from mptcplab.fit.beside import ComparedQuantity, compare, outcome_of
from mptcplab.fit.estimate import Estimate, format_rate, format_share, format_time
from mptcplab.fit.observation import Observation, observe
from mptcplab.fit.twin import MARK, build_twin
from mptcplab.fit.typed import Direction, TypedLine, complete_lines, line_of, parse_line, read_typed
from mptcplab.kernel.algorithms import congestion_controls, schedulers
from mptcplab.report.run_commands import default_folder
from mptcplab.report.table import Table, number_columns
from mptcplab.scenario.load import Experiment, Run, SweepPoint, load
from mptcplab.scenario.overrides import override
from mptcplab.scenario.writing import uncomment, write_scenario

_SETTING = "change"
UNCHANGED = "none"


def fit(
    files: tuple[Path, ...],
    lines: tuple[str, ...],
    direction: Direction,
    out: Path,
    repeats: int,
    no_run: bool,
    advise: bool,
    tried: tuple[str, ...],
    sample: int | None,
    jobs: int | None,
    engine: str,
    cluster: str | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Write the twin of what ``files`` and ``lines`` say, run it, and try changes of it."""
    _check_options(no_run=no_run, advise=advise, tried=tried, sample=sample)
    observation = _observation(files, [parse_line(text) for text in lines], direction)
    names = {"controls": sorted(congestion_controls()), "schedulers": sorted(schedulers())}
    commented = build_twin(observation, controls=names["controls"], schedulers=names["schedulers"])
    _write(out, write_scenario({**commented, "repeats": repeats}, heading=f"{MARK}\n{_limits(observation)}"))
    document: dict[str, Any] = {"scenario": str(out), "lines": [_line_document(line) for line in observation.lines]}
    if not as_json:
        print_table(_lines_table(observation))
        click.echo(f"Written: {out}")
    if not no_run:
        tables = uncomment(commented)
        changes: list[Change] = []
        if advise:
            changes = [*list_changes(observation, tables, names), *(_typed_change(text) for text in tried)]
            changes += sample_changes(observation, tables, names, sample) if sample else []
        outcomes = run_changes(out, tables, changes, repeats, RunOptions(jobs, fresh, cluster, engine))
        before = outcomes.pop(UNCHANGED)
        comparisons = compare(observation, before)
        document["beside"] = [_comparison_document(row) for row in comparisons]
        advice = rank(before, outcomes) if outcomes else []
        document["advice"] = [_advice_document(row) for row in advice]
        if not as_json:
            _show_results(observation, before, comparisons, advice, repeats)
    if as_json:
        click.echo(json.dumps(document))


def _check_options(*, no_run: bool, advise: bool, tried: Sequence[str], sample: int | None) -> None:
    if no_run and advise:
        raise InputError("--no-run and --advise exclude each other", hint="leave out --no-run: changes have to run")
    if not advise and (tried or sample):
        option = "--try" if tried else "--sample"
        raise InputError(f"{option} does nothing without --advise", hint="add --advise")


def _observation(files: Sequence[Path], typed: Sequence[TypedLine], direction: Direction) -> Observation:
    """Return what all files and options say together."""
    collections = [file for file in files if file.suffix != ".toml"]
    all_typed = [*typed, *(line for file in files if file.suffix == ".toml" for line in read_typed(file))]
    names = [line.name for line in all_typed]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"line '{twice}' is described twice", hint="leave one out")
    if not collections:
        if not all_typed:
            hint = "name what `mptcplab collect` gathered, or describe lines with --line; see mptcplab fit --help"
            raise InputError("there is nothing to fit", hint=hint)
        lines = tuple(line_of(line, direction) for line in all_typed)
        return Observation(name=", ".join(names), lines=lines)
    observation = observe(collections)
    lines_now, unknown = complete_lines(observation.lines, all_typed)
    if unknown:
        known = ", ".join(line.name for line in observation.lines)
        raise InputError(f"the files show no line '{unknown[0].name}'", hint=f"their lines are {known}")
    return replace(observation, lines=tuple(lines_now))


def _write(out: Path, text: str) -> None:
    """Write the scenario, unless the file is somebody's own."""
    try:
        if out.exists() and MARK not in out.read_text(errors="replace").partition("\n")[0]:
            raise InputError(f"{out} exists, and mptcplab fit did not write it", hint="choose another file with --out")
        write_text(out, text)
    except OSError as error:
        raise InputError(f"cannot write {out}: {reason(error)}", hint="choose another file with --out") from error


def _limits(observation: Observation) -> str:
    """Return what the twin does not know, for its heading."""
    unknown = [
        f"{noun} of {line.name}"
        for line in observation.lines
        for noun, estimate in (
            ("rate", line.rate),
            ("round trip", line.rtt),
            ("queue", line.queue),
            ("loss", line.loss),
        )
        if not estimate.is_known
    ]
    return (
        f"Not identified: {', '.join(unknown)}." if unknown else "All rates, round trips, queues and losses are known."
    )


def _typed_change(text: str) -> Change:
    setting = override(text)
    return Change(setting.name + " " + str(setting.value), ((setting.name, setting.value),))


def run_changes(
    out: Path, tables: Mapping[str, Any], changes: Sequence[Change], repeats: int, running: RunOptions
) -> dict[str, list[Outcome]]:
    """Run the scenario in ``out``, whose plain tables are ``tables``, and every change of it; return their outcomes.

    They are by the words of the change; the unchanged scenario is ``UNCHANGED``.
    :raises LabError: if a run failed.
    """
    experiment = load(out, repeats=repeats)
    points = [SweepPoint({_SETTING: UNCHANGED}, experiment.points[0].scenario)]
    with tempfile.TemporaryDirectory(prefix="mptcplab-fit-") as scratch:
        for number, change in enumerate(changes):
            points += _changed_point(Path(scratch) / f"change{number}.toml", tables, change)
    rounds = Rounds(experiment, points)
    install = install_command([str(out)], (), engine=running.engine)
    check_machine(rounds.first(), running, install)
    with ProgressPrinter() as printer:
        done = execute(rounds, default_folder(out), running, progress=printer.show, warn=printer.warn)
    check_failures(done, lambda run: _repeat(out, run), default_folder(out))
    return _outcomes(experiment, done)


def _repeat(out: Path, run: Run) -> str:
    return repeat_command(out, (), None, Run(SweepPoint({}, run.point.scenario), run.repeat, run.seed))


def _changed_point(file: Path, tables: Mapping[str, Any], change: Change) -> list[SweepPoint]:
    """Return the point of a change; none, with a note, if the scenario does not allow it."""
    file.write_text(write_scenario(change.apply(tables)))
    try:
        return [SweepPoint({_SETTING: change.words}, load(file).points[0].scenario)]
    except LabError as error:
        about = getattr(error, "about", error.message)
        console(stderr=True).print(f"Not tried: {change.words}: {about}", style="yellow", markup=False, soft_wrap=True)
        return []


def _outcomes(experiment: Experiment, done: Sequence[CompletedRun]) -> dict[str, list[Outcome]]:
    outcomes: dict[str, list[Outcome]] = {}
    for run in done:
        recording = run.recording
        assert run.result is not None, experiment.name
        assert recording is not None, experiment.name
        outcomes.setdefault(run.run.point.settings[_SETTING], []).append(outcome_of(run.result, recording))
    return outcomes


# -- what is printed


def _lines_table(observation: Observation) -> Table:
    def cell(estimate: Estimate, text: str) -> str:
        if estimate.kind == "bound":
            return f"{'<=' if estimate.is_upper else '>='} {text}"
        return f"{text} (assumed)" if estimate.kind == "assumed" else text

    rows, notes = [], []
    for line in observation.lines:
        queue = f"{format_time(line.queue.value)}, {line.queue_packets:.3g} packets"
        rows.append(
            (
                line.name,
                f"{line.sender} to {line.receiver}",
                cell(line.rate, format_rate(line.rate.value)),
                cell(line.rtt, format_time(line.rtt.value)),
                cell(line.queue, queue),
                cell(line.loss, format_share(line.loss.value)),
            )
        )
        for noun, estimate, form in (
            ("rate", line.rate, format_rate),
            ("round trip", line.rtt, format_time),
            ("queue", line.queue, format_time),
            ("loss", line.loss, format_share),
        ):
            notes.append(f"{noun} of {line.name} {estimate.origin(form)}.")
    columns = ("line", "payload", *number_columns("rate", "round trip", "queue", "random loss"))
    return Table.build(f"Lines of {observation.name}", columns, rows, notes)


def _show_results(
    observation: Observation,
    before: Sequence[Outcome],
    comparisons: Sequence[ComparedQuantity],
    advice: Sequence[Advice],
    repeats: int,
) -> None:
    if comparisons:
        print_table(_beside_table(comparisons, repeats))
    else:
        mean = sum(outcome.goodput_bps for outcome in before) / len(before)
        click.echo(
            f"Goodput of the twin of {observation.name}: {format_rate(mean)}. No transfer was observed beside it."
        )
    if advice:
        print_table(_advice_table(advice))


def _beside_table(comparisons: Sequence[ComparedQuantity], repeats: int) -> Table:
    rows = (
        (
            row.quantity,
            row.format(row.observed),
            f"{row.format(row.twin)} ({row.format(max(row.low, 0.0))} to {row.format(row.high)})",
            f"{100 * row.difference:+.1f} {'points' if row.is_share else '%'}",
        )
        for row in comparisons
    )
    columns = ("quantity", *number_columns("observed", "twin (95 % interval)", "difference"))
    note = f"The twin ran with {repeats} {'seed' if repeats == 1 else 'seeds'}. The observation is one transfer."
    return Table.build("The twin beside the observation", columns, rows, [note])


def _advice_table(advice: Sequence[Advice]) -> Table:
    rows = (
        (
            row.words,
            f"{100 * row.gain:+.1f} %",
            f"{100 * row.low:+.1f} to {100 * row.high:+.1f} %",
            "" if row.rtt_change_s is None else f"{1000 * row.rtt_change_s:+.1f} ms",
            row.verdict,
        )
        for row in advice
    )
    columns = ("change", *number_columns("goodput", "95 % interval", "round trip under load"), "verdict")
    note = "The intervals hold for all changes at the same time (Bonferroni). Runs are compared in pairs of one seed."
    return Table.build("Changes of the twin, the most useful first", columns, rows, [note])


def _line_document(line: Any) -> dict[str, Any]:
    values = {"rate_bps": line.rate, "rtt_s": line.rtt, "queue_s": line.queue, "loss": line.loss}
    estimates = {
        name: {
            "value": float(estimate.value),
            "kind": estimate.kind,
            "low": None if estimate.low is None else float(estimate.low),
            "high": None if estimate.high is None else float(estimate.high),
            "samples": estimate.samples,
            "method": estimate.method,
        }
        for name, estimate in values.items()
    }
    return {"name": line.name, "sender": line.sender, "receiver": line.receiver, **estimates}


def _comparison_document(row: ComparedQuantity) -> dict[str, Any]:
    return {
        "quantity": row.quantity,
        "observed": float(row.observed),
        "twin": row.twin,
        "low": row.low,
        "high": row.high,
        "difference": float(row.difference),
    }


def _advice_document(row: Advice) -> dict[str, Any]:
    return {**vars(row), "verdict": row.verdict}
