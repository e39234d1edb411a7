# SPDX-License-Identifier: MIT
"""A results folder: which of its recordings belong to the experiment, and their data frames."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, LabError
from mptcplab.lazy import pl
from mptcplab.metrics.kept import cached_result
from mptcplab.metrics.links import LINKS
from mptcplab.metrics.radios import RADIO_LINKS
from mptcplab.metrics.rows import ResultRow, Settings, rows_of
from mptcplab.metrics.stored import WRONG, StoredResults
from mptcplab.recording.damage import report_damage
from mptcplab.recording.record import Recording
from mptcplab.results import frames
from mptcplab.results.frames import RecordedRun

#: The hint if files of a results folder have contents that mptcplab does not write.
DAMAGED_RESULTS = "a file in it is damaged: run its scenario again with --fresh"
#: The recordings below a results folder.
_MANIFESTS = "runs/*/manifest.json"
#: What a sweep writes of itself while it works: what results.json has, without rows, and how many runs it will have.
PARTIAL = "partial.json"
_RUN_HINT = "name the folder that `mptcplab run FILE --out DIR` wrote"


@dataclass(frozen=True)
class ExecutingHost:
    """The machine that executed a run: its kernel, architecture and number of CPUs, or the name of a worker."""

    kernel: str = "?"
    machine: str = "?"
    cpus: str = "?"
    worker: str = ""

    @property
    def text(self) -> str:
        """The machine for readers."""
        return f"Linux {self.kernel}, {self.machine}, {self.cpus} CPUs"


@dataclass(frozen=True)
class LoggedRun:
    """A line of log.jsonl, which ``campaign/store.py`` writes: a run's identity, when it was executed, and where.

    ``wall_seconds`` is how long that took, None if the line does not say.
    """

    run: str
    when: str
    host: ExecutingHost
    wall_seconds: float | None

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> LoggedRun:
        """Return the line. :raises TypeError: and other errors of :data:`mptcplab.metrics.stored.WRONG`."""
        wall_seconds, when = line.get("wall_seconds"), line.get("when", "")
        entry = line.get("host", {})
        host = ExecutingHost(**{key.name: str(entry[key.name]) for key in fields(ExecutingHost) if key.name in entry})
        if not isinstance(line["run"], str) or not isinstance(when, str):
            raise TypeError("the run and its time are texts")
        return cls(line["run"], when, host, None if wall_seconds is None else float(wall_seconds))


@dataclass(frozen=True)
class Results:
    """The contents of a results folder. Open one with :func:`open_results`.

    ``recorded`` has the runs of the experiment that was written last, by point and seed. ``stored`` is the content of
    its results.json, or its partial.json if it is incomplete; empty if there is neither, and then it
    ``is_unfinished``. ``log`` has a line per execution.

    ``damaged`` names recordings that could not be read, with the error. ``others`` counts recordings that do not belong
    to the experiment, ``older`` those with settings and seed of another that is shown (made with another kernel,
    another program or other keys), and ``absent`` the runs that results.json names and that are missing.
    """

    folder: Path
    recorded: tuple[RecordedRun, ...]
    stored: StoredResults
    log: tuple[LoggedRun, ...]
    damaged: tuple[str, ...] = ()
    others: int = 0
    older: int = 0
    absent: int = 0
    is_unfinished: bool = False

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """The recordings of the runs."""
        return tuple(run.recording for run in self.recorded)

    @property
    def title(self) -> str:
        """The experiment's title; the folder's name if it is unknown."""
        return self.stored.title or self.folder.resolve().name

    @property
    def incomplete(self) -> str:
        """``incomplete: 18 of 30 runs`` if the sweep was interrupted or is still running; else empty."""
        planned = self.stored.planned
        return f"incomplete: {len(self.recorded)} of {planned}" if planned else ""

    @property
    def changes(self) -> tuple[str, ...]:
        """The keys that ``--set`` changed, with their values: ``links.link2.delay = 30 ms``."""
        return self.stored.changed

    @property
    def question(self) -> str:
        """The question that the experiment should answer; may be empty."""
        return self.stored.question

    @cached_property
    def rows(self) -> list[ResultRow]:
        """The rows of the experiment's table, as ``mptcplab run`` prints them."""
        return rows_of(run.result for run in self.recorded)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run and workload: settings, seed, metrics, share of each path."""
        return frames.build_runs_frame(self.recorded)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per point and workload: means and the bounds of their 95 % confidence intervals (Student's t)."""
        return frames.build_table_frame(self.rows)

    @cached_property
    def subflows(self) -> pl.DataFrame:
        """Samples of every subflow (TCP_INFO) of all runs; ``path`` is the sender's and the receiver's link."""
        return self._read("subflows", frames.build_subflows_frame)

    @cached_property
    def connections(self) -> pl.DataFrame:
        """Samples of every connection (payload, MPTCP_INFO) of all runs."""
        return self._read("connections", frames.build_connections_frame)

    @cached_property
    def queues(self) -> pl.DataFrame:
        """Samples of the queues of all directions of links with a rate."""
        return self._read("queues", frames.build_queues_frame)

    @cached_property
    def objects(self) -> pl.DataFrame:
        """One row per object of ``web`` and per file of ``http`` and ``ftp``: how long it took."""
        return self._read("objects", partial(frames.build_items_frame, noun="objects"))

    @cached_property
    def requests(self) -> pl.DataFrame:
        """One row per answered request of ``requests``."""
        return self._read("requests", partial(frames.build_items_frame, noun="requests"))

    @cached_property
    def messages(self) -> pl.DataFrame:
        """One row per message of ``stream`` and per packet of ``voip`` that arrived."""
        return self._read("messages", partial(frames.build_items_frame, noun="messages"))

    @cached_property
    def calls(self) -> pl.DataFrame:
        """One row per run and call: delay, loss and quality."""
        return frames.build_calls_frame(self.recorded)

    @cached_property
    def events(self) -> pl.DataFrame:
        """One row per change of the network."""
        return self._read("events", frames.build_events_frame)

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per run, link and direction: the counters at the end of the run."""
        return frames.build_scope_frame(LINKS, self.recorded)

    @cached_property
    def radios(self) -> pl.DataFrame:
        """Samples of all radios over time: RSSI, bytes, retries, rates."""
        return self._read("radio samples", frames.build_radios_frame)

    @cached_property
    def radio_links(self) -> pl.DataFrame:
        """One row per run, radio link and access point: mean RSSI, and counters from time zero."""
        return frames.build_scope_frame(RADIO_LINKS, self.recorded)

    @cached_property
    def associations(self) -> pl.DataFrame:
        """One row per association, roam and disassociation."""
        return self._read("associations", frames.build_associations_frame)

    def select_experiment(self) -> Results:
        """Return the runs in results.json, in its order; of several with the same settings and seed, the newest."""
        return _select_runs(self)

    def _read(self, name: str, make: Callable[[Sequence[RecordedRun]], pl.DataFrame]) -> pl.DataFrame:
        with report_damage(f"the {name} in {self.folder} cannot be read", hint=DAMAGED_RESULTS):
            return make(self.recorded)


def open_results(folder: str | Path) -> Results:
    """Open the folder that ``mptcplab run`` wrote.

    :raises InputError: if there are no runs in it. :raises LabError: if its results.json is damaged.
    """
    return open_every(Path(folder)).select_experiment()


def open_every(folder: Path) -> Results:
    """Open all recordings of a folder, of any experiment. :raises InputError: if there are none."""
    runs, damaged = _read_runs(folder)
    if not runs and not damaged:
        above = next((up for up in (folder.parent, folder.parent.parent) if any(up.glob(_MANIFESTS))), None)
        hint = f"did you mean {above}?" if above is not None and above != folder else _RUN_HINT
        raise InputError(f"{folder} has no recorded runs", hint=hint)
    if not runs:
        raise LabError(
            f"none of the recordings in {folder} can be read: {damaged[0]}", hint="run it again, with --fresh"
        )
    log = tuple(read_log(folder / "log.jsonl"))
    stored = _read_stored(folder / "results.json") or _read_stored(folder / PARTIAL)
    is_unfinished = stored is None
    return Results(folder, tuple(runs), stored or StoredResults(), log, tuple(damaged), is_unfinished=is_unfinished)


def _select_runs(results: Results) -> Results:
    """Select the runs that results.json names, in its order, or the last executed of each point and seed."""
    by_name = {run.result.identity: run for run in results.recorded}
    # Another experiment may have recorded the run, under keys of its own sweep.
    named = {name: tuple(row.settings.items()) for row in results.stored.rows for name in row.runs}
    if named:
        chosen = [_with_settings(by_name[name], settings) for name, settings in named.items() if name in by_name]
        others, absent = len(by_name) - len(chosen), len(named) - len(chosen)
        return replace(results, recorded=tuple(chosen), others=others, absent=absent)
    newest = {line.run: number for number, line in enumerate(results.log)}
    alike: dict[tuple[Settings, int], list[RecordedRun]] = {}
    for run in sorted(results.recorded, key=lambda run: (newest.get(run.result.identity, -1), run.key)):
        alike.setdefault(run.key, []).append(run)
    chosen = [some[-1] for some in alike.values()]
    return replace(results, recorded=tuple(chosen), older=len(results.recorded) - len(chosen))


def _with_settings(run: RecordedRun, settings: Settings) -> RecordedRun:
    return replace(run, result=replace(run.result, settings=settings))


def _read_runs(folder: Path) -> tuple[list[RecordedRun], list[str]]:
    """Return every run that can be read and measured, and the errors of the others."""
    if not folder.is_dir():
        beside = [path.name for path in folder.parent.glob("*") if any(path.glob(_MANIFESTS))]
        near = difflib.get_close_matches(folder.name, beside, n=1)
        hint = f"did you mean {folder.parent / near[0]}?" if near else _RUN_HINT
        raise InputError(f"{folder} is not a folder", hint=hint)
    runs, damaged = [], []
    for manifest in sorted(folder.glob(_MANIFESTS)):
        recording = Recording(manifest.parent)
        try:
            runs.append(RecordedRun(recording, cached_result(recording)))
        except LabError as error:
            damaged.append(f"{manifest.parent.name}: {error.message}")
    return runs, damaged


def _read_stored(file: Path) -> StoredResults | None:
    """Return the content of results.json; None if a sweep was interrupted before it was written.

    :raises LabError: if it is damaged.
    """
    try:
        document = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    with report_damage(f"{file} is damaged", hint=DAMAGED_RESULTS):
        return StoredResults.from_json(document) if document else None


def read_log(file: Path) -> Iterator[LoggedRun]:
    """Yield when and where runs were executed; a line that a killed process left incomplete is skipped."""
    for line in file.read_text(errors="replace").splitlines() if file.exists() else ():
        try:
            yield LoggedRun.from_json(json.loads(line))
        except WRONG:
            continue
