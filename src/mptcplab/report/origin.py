# SPDX-License-Identifier: MIT
"""The origin of results: the resolved scenario as a file that runs, and the commands that make them again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from mptcplab.errors import LabError
from mptcplab.metrics.manifest import read_label, read_links, read_nodes, read_scenario
from mptcplab.node.registry import kind_of
from mptcplab.recording.record import REPEAT_HINT, Recording
from mptcplab.report.network import trace_steps
from mptcplab.report.scenario_toml import leave_to_traces, scenario_toml, tables_without_defaults
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.recorded import read_workloads

if TYPE_CHECKING:
    from mptcplab.results import Results


# Write the resolved scenario of a recording as a scenario file that runs.


def to_toml(recording: Recording, *, title: str) -> str:
    """Return the run's point and seed as a scenario file, without defaults and presets."""
    scenario = {"title": title.strip() or "untitled", **_drop_none(scenario_of(recording))}
    try:
        tables = tables_without_defaults(Scenario.model_validate(scenario))
    except ValidationError:  # recorded by a version with other keys: unchanged
        tables = scenario
    leave_to_traces(tables, trace_steps(recording))
    return scenario_toml(tables, first={"title": tables.pop("title"), "seed": read_label(recording).seed})


def scenario_of(recording: Recording) -> dict[str, Any]:
    """Return the resolved scenario in the order of its file, which determines addresses; manifests sort by name."""
    scenario = read_scenario(recording)
    if scenario is None:
        raise LabError(f"the manifest of {recording.folder} has no scenario", hint=REPEAT_HINT)
    names: dict[str, list[str]] = {
        "links": list(read_links(recording)),
        "workloads": [workload.name for workload in read_workloads(recording)],
    }
    for node in read_nodes(recording).values():
        names.setdefault(kind_of(node.kind).table, []).append(node.name)
    return {**scenario, **{key: {name: scenario[key][name] for name in order} for key, order in names.items()}}


def _drop_none(value: Any) -> Any:
    """Return ``value`` without keys that are None: TOML has no null."""
    if isinstance(value, dict):
        return {key: _drop_none(below) for key, below in value.items() if below is not None}
    if isinstance(value, (list, tuple)):
        return [_drop_none(below) for below in value]
    return value


# The commands that make the results of a folder again, all or a single run, in the same folder.


def default_folder(file: Path) -> Path:
    """Return where ``mptcplab run`` writes the results of a scenario without ``--out``."""
    return Path("results") / file.stem


def run_command(results: Results) -> list[str]:
    """Return ``mptcplab run FILE --set ... --out ...`` as it was called; empty if the folder does not name the file."""
    file = results.stored.file
    if not file:
        return []
    words = ["mptcplab", "run", file]
    for change in results.changes:
        key, _, value = change.partition(" = ")
        words += ["--set", f"{key}={value}"]
    return [*words, *_output_option(results.folder, Path(file))]


def _output_option(folder: Path, file: Path) -> list[str]:
    """Return ``--out FOLDER``; nothing if ``mptcplab run`` would write there without it.

    Without it, the command would begin from scratch in the default folder. The folder is as the user named it if
    ``file`` can be found from the same place. Otherwise the command runs elsewhere, and needs the whole path.
    """
    whole = folder.resolve()
    if whole == default_folder(file).resolve():
        return []
    return ["--out", str(folder if file.exists() and not file.is_absolute() else whole)]


def whole_command(results: Results, command: Sequence[str]) -> str:
    """Return the command line that makes all runs, and continues if some are missing."""
    return shlex.join([*command, *(_seed_options(results) if results.incomplete else _repeats(results))])


def single_run(command: Sequence[str], settings: dict[str, str], seed: int) -> str:
    """Return the command that repeats a single run."""
    words = [*command, "--seed", str(seed), "--repeats", "1"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    return shlex.join(words)


def _seed_options(results: Results) -> list[str]:
    """Return the seeds of a sweep that is incomplete, as options: the recorded ones are not all."""
    given = (("--seed", results.stored.seed), ("--repeats", results.stored.repeats))
    return [word for option, value in given if value is not None for word in (option, str(value))]


def _repeats(results: Results) -> list[str]:
    """Return seeds as options of the command; if points differ in their number, the scenario determines it."""
    failed = results.stored.failed or ()
    tried = [{*row.seeds, *(run.seed for run in failed if run.settings == row.settings)} for row in results.rows]
    seeds = set().union(*tried)
    same = all(items == seeds for items in tried)
    words = ["--seed", str(min(seeds))] if seeds else []
    return [*words, "--repeats", str(len(seeds))] if same and seeds else words
