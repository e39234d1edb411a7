# SPDX-License-Identifier: MIT
"""Studies measured without a lab: two made studies of two tables each, and tables of shipped studies."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click.testing
from tests.unit.results_folders import write_run

from mptcplab.campaign.lab import CompletedRun
from mptcplab.campaign.rounds import Rounds
from mptcplab.campaign.sweep import RunOptions
from mptcplab.cli.commands.experiments import reproduce
from mptcplab.errors import Exit, LabError, MissingError
from mptcplab.metrics.rows import result_rows, run_result
from mptcplab.recording.record import Recording
from mptcplab.report.table import write_json
from mptcplab.scenario.load import Run, load
from mptcplab.study.library import digest, file_stem, select, short_changes
from mptcplab.study.measurement import index_rows
from mptcplab.study.output import study_document
from mptcplab.study.verdict import JudgedTable, judge

SCENARIO = """
title = "made"
repeats = 3
topology = { preset = "disjoint-paths" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
links.link1.rate = "50 Mbit/s"
[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"links.link2.rate" = ["8 Mbit/s", "16 Mbit/s"]
"""
#: The made runs have a goodput of 45 and 15 Mbit/s on their lines, and 0.1 more with every other seed.
_STUDY = """
title = "t"
authors = "a"
year = 2020
where = "w"
test_bed = "b"
[tables.1]
title = "first"
place = "Table 1, p. 2"
tolerance = "5%"
why_tolerance = "as made"
published = { "8 Mbit/s" = { tcp = 45, mptcp = 70 }, "16 Mbit/s" = { tcp = 45, mptcp = 60 } }
because = [{ columns = ["mptcp"], rows = ["8 Mbit/s"], reason = "r" }]
[tables.more]
kind = "Evidence"
title = "second"
rows = ["8 Mbit/s", "16 Mbit/s"]
[[claims]]
text = "more"
table = "1"
of = "mptcp"
to = ["tcp"]
min = 1.2
why_bounds = "w"
"""
_COMMON = """scenario = "s.toml"
along = "links.link2.rate"
along_label = "rate"
unit = "Mbit/s"
columns = { tcp = "TCP", mptcp = "MPTCP" }
quick = { rows = ["8 Mbit/s"], repeats = 1, change = { "workloads.bulk.duration" = "1 s" } }
"""


def write_studies(folder: Path) -> None:
    """The studies ``made`` and ``other``, which are alike."""
    text = _STUDY
    for table in ("[tables.1]\n", "[tables.more]\n"):
        text = text.replace(table, f"{table}{_COMMON}")
    for name in ("made", "other"):
        (folder / name).mkdir(parents=True)
        (folder / name / "s.toml").write_text(f'question = "{name}"\n{SCENARIO}')
        (folder / name / "study.toml").write_text(text)


Fate = Callable[[Run], LabError | None]


class Labs:
    """Makes runs without a lab.

    ``fate`` says which fail, ``before`` what is raised instead of measuring a table, and ``lacks`` what is missing for
    the tables of a study, by the study's name.
    """

    def __init__(self) -> None:
        self.fate: Fate = lambda _: None
        self.before: Callable[[Rounds, Path], None] = lambda *_: None
        self.lacks: dict[str, list[MissingError]] = {}
        self._there: dict[tuple[Path, str, str], Recording] = {}

    @property
    def made(self) -> int:
        """How many runs were made; two tables of a study have the same."""
        return len(self._there)

    def find_missing(self, runs: Sequence[Run], *, engine: str, on_cluster: bool = False) -> list[MissingError]:
        """In place of :func:`mptcplab.campaign.failures.find_missing`."""
        assert engine == "virtual"
        assert not on_cluster
        return self.lacks.get(runs[0].point.scenario.question, [])

    def execute(self, rounds: Rounds, out: Path, _options: RunOptions, **_: object) -> list[CompletedRun]:
        """In place of :func:`mptcplab.campaign.sweep.execute`."""
        self.before(rounds, out)
        out.mkdir(parents=True, exist_ok=True)
        return rounds.sorted_runs(self._complete_run(run, out) for run in rounds.first())

    def _complete_run(self, run: Run, out: Path) -> CompletedRun:
        error = self.fate(run)
        if error is not None:
            return CompletedRun(run, error=error, wall_seconds=0.1)
        key = (out, run.label, run.point.scenario.model_dump_json())
        if key not in self._there:
            self._there[key] = write_run(out, run)
        recording = self._there[key]
        return CompletedRun(run, recording.folder, run_result(recording, tuple(run.point.settings.items())), None, 0.1)


def call(out: Path, *arguments: str) -> click.testing.Result:
    runner = click.testing.CliRunner()
    return runner.invoke(reproduce, [*arguments, "--out", str(out)], standalone_mode=False)


def run_to_end(out: Path, *arguments: str, status: Exit = Exit.DONE) -> click.testing.Result:
    """What is printed by a command that ends by itself."""
    result = call(out, *arguments)
    if result.exception is not None:
        raise result.exception
    assert result.return_value == status, result.output
    return result


def scoreboard(out: Path, name: str = "scoreboard") -> dict[str, dict[str, Any]]:
    document = json.loads((out / f"{name}.json").read_text())
    return {f"{table['study']}/{table['table']}": table for table in document["tables"]}


def second_fails(run: Run) -> LabError | None:
    wanted = run.seed == 2 and run.point.settings["transport.protocol"] == "mptcp"
    return LabError("it ended with status 1", hint="look") if wanted else None


def measure_table(folder: Path, name: str, *, repeats: int, quick: bool = False, **more: Any) -> JudgedTable:
    """What `mptcplab reproduce` leaves of a table, without running anything."""
    (selected,) = select(name)
    changes = short_changes(selected.table) if quick else []
    runs = load(selected.scenario, overrides=changes, repeats=repeats).runs
    recordings = [write_run(folder, run) for run in runs]
    judged = judge(selected, index_rows(selected, result_rows(recordings)), changes)
    known = [
        {"run": recording.folder.name, "seed": run.seed, "settings": run.point.settings}
        for recording, run in zip(recordings, runs, strict=True)
    ]
    document = study_document(judged, quick=quick) | {"runs": known, "failed": [], "form": digest(selected)} | more
    write_json(document, folder / f"{file_stem(f'table-{selected.number}', quick=quick)}.json")
    return judged
