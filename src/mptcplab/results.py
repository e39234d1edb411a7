# SPDX-License-Identifier: MIT
"""Open a results folder: its runs, samples and rows as data frames, for notebooks and for the report.

    from mptcplab.results import open_results

    results = open_results("results/two-paths")
    results.runs          # one line per run and workload: settings, seed, goodput, shares, warnings
    results.subflows      # every sample of every subflow, with the settings of its run as columns
    results.table         # the rows of the experiment's table: means and their intervals

Nothing is run, and nothing is written. The data frames are polars'; :func:`to_pandas` converts them to pandas. Names of
columns contain the units; samples have the kernel's names and units of TCP_INFO and MPTCP_INFO.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from mptcplab.errors import InputError, LabError, MissingError
from mptcplab.metrics.ends import ends_of
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.metrics.registry import BASIC, columns
from mptcplab.metrics.rows import ResultRow, RunResult, Settings, rows_of, run_result
from mptcplab.metrics.subflows import path_name
from mptcplab.recording.damage import reporting_damage
from mptcplab.recording.record import Recording

if TYPE_CHECKING:
    import pandas as pd

#: The hint if files of a results folder have contents that mptcplab does not write.
DAMAGED_RESULTS = "a file in it is damaged: run its scenario again with --fresh"
_RUN_HINT = "name the folder that `mptcplab run FILE --out DIR` wrote"


@dataclass(frozen=True)
class RecordedRun:
    """A recording and the values measured from it."""

    recording: Recording
    result: RunResult

    @property
    def settings(self) -> dict[str, str]:
        """Swept keys and values of the run's point."""
        return dict(self.result.settings)

    @property
    def key(self) -> tuple[Settings, int]:
        """Point and seed."""
        return self.result.settings, self.result.seed


@dataclass(frozen=True)
class Results:
    """The contents of a results folder. Open one with :func:`open_results`.

    ``recorded`` has the runs of the experiment that was written last, by point and seed. ``document`` is its
    results.json, empty if there is none. ``log`` has a line per execution.

    ``damaged`` names recordings that could not be read, with the error. ``others`` counts recordings that do not belong
    to the experiment, ``older`` those with settings and seed of another that is shown (made with another kernel,
    another program or other keys), and ``absent`` the runs that results.json names and that are missing.
    """

    folder: Path
    recorded: tuple[RecordedRun, ...]
    document: dict[str, Any]
    log: tuple[dict[str, Any], ...]
    damaged: tuple[str, ...] = ()
    others: int = 0
    older: int = 0
    absent: int = 0

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """The recordings of the runs."""
        return tuple(run.recording for run in self.recorded)

    @property
    def title(self) -> str:
        """The experiment's title; the folder's name if it is unknown."""
        return str(self.document.get("title") or self.folder.resolve().name)

    @property
    def question(self) -> str:
        """The question that the experiment should answer; may be empty."""
        return str(self.document.get("question") or "")

    @cached_property
    def rows(self) -> list[ResultRow]:
        """The rows of the experiment's table, as ``mptcplab run`` prints them."""
        return rows_of(run.result for run in self.recorded)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run and workload: settings, seed, goodput in Mbit/s, duration in s, share of each path."""
        return _frame(_run_row(run.result, one) for run in self.recorded for one in run.result.measured)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per point and workload: means and the ends of their 95 % confidence intervals (Student's t)."""
        return _frame(_table_row(row) for row in self.rows)

    @cached_property
    def subflows(self) -> pl.DataFrame:
        """Samples of every subflow (TCP_INFO) of all runs; ``path`` is the sender's and the receiver's link."""
        return self._samples("subflows", with_path=True)

    @cached_property
    def connections(self) -> pl.DataFrame:
        """Samples of every connection (payload, MPTCP_INFO) of all runs."""
        return self._samples("connections")

    def of_experiment(self) -> Results:
        """Return the runs in results.json, in its order; of several with the same settings and seed, the newest."""
        with reporting_damage(f"{self.folder / 'results.json'} is damaged", hint=DAMAGED_RESULTS):
            return _chosen(self)

    def _samples(self, name: str, *, with_path: bool = False) -> pl.DataFrame:
        with reporting_damage(f"the {name} in {self.folder} cannot be read", hint=DAMAGED_RESULTS):
            return self._joined(name, with_path=with_path)

    def _joined(self, name: str, *, with_path: bool) -> pl.DataFrame:
        frames = []
        for run in self.recorded:
            frame: pl.DataFrame = getattr(run.recording, name)
            if not frame.height:
                continue
            if with_path:
                frame = frame.with_columns(pl.Series("path", _paths(run.recording, frame)))
            labels = {key: pl.lit(value) for key, value in _labels(run.result).items()}
            frames.append(frame.select(*(value.alias(key) for key, value in labels.items()), pl.all()))
        return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def open_results(folder: str | Path) -> Results:
    """Open the folder that ``mptcplab run`` wrote.

    :raises InputError: if there are no runs in it. :raises LabError: if its results.json is damaged.
    """
    return open_every(Path(folder)).of_experiment()


def open_every(folder: Path) -> Results:
    """Open all recordings of a folder, of any experiment. :raises InputError: if there are none."""
    found, damaged = _recorded(folder)
    if not found and not damaged:
        raise InputError(f"{folder} has no recorded runs", hint=_RUN_HINT)
    if not found:
        raise LabError(
            f"none of the recordings in {folder} can be read: {damaged[0]}", hint="run it again, with --fresh"
        )
    log = tuple(log_lines(folder / "log.jsonl"))
    return Results(folder, tuple(found), _document(folder / "results.json"), log, tuple(damaged))


def _chosen(results: Results) -> Results:
    """Select the runs that results.json names, in its order, or the last executed of each point and seed."""
    by_name = {run.result.identity: run for run in results.recorded}
    named = list(dict.fromkeys(name for row in results.document.get("rows", ()) for name in row["runs"]))
    if named:
        chosen = [by_name[name] for name in named if name in by_name]
        others, absent = len(by_name) - len(chosen), len(named) - len(chosen)
        return replace(results, recorded=tuple(chosen), others=others, absent=absent)
    newest = {line.get("run"): number for number, line in enumerate(results.log)}
    alike: dict[tuple[Settings, int], list[RecordedRun]] = {}
    for run in sorted(results.recorded, key=lambda run: (newest.get(run.result.identity, -1), run.key)):
        alike.setdefault(run.key, []).append(run)
    chosen = [some[-1] for some in alike.values()]
    return replace(results, recorded=tuple(chosen), older=len(results.recorded) - len(chosen))


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Return the frame as a pandas data frame. :raises MissingError: if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingError("pandas is not installed", hint="pip install pandas, or use the polars frame") from error
    return pd.DataFrame(frame.to_dict(as_series=False), columns=frame.columns)


def subflow_path(row: dict[str, Any], addresses: dict[str, Any], *, sends: bool) -> str:
    """Return a subflow's path as tables name it, the sender's link first, from a sample of either side."""
    return path_name({"local": row["remote"], "remote": row["local"]} if sends else row, addresses)


def _paths(recording: Recording, subflows: pl.DataFrame) -> list[str]:
    addresses, ends = recording.manifest["addresses"], ends_of(recording)
    senders = {(one.sender, one.sending) for one in ends}
    columns = [name for name in ("node", "program", "local", "remote") if name in subflows.columns]
    return [
        subflow_path(row, addresses, sends=(row["node"], row.get("program")) in senders)
        for row in subflows.select(columns).iter_rows(named=True)
    ]


def _recorded(folder: Path) -> tuple[list[RecordedRun], list[str]]:
    """Return every run that can be read and measured, and the errors of the others."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint=_RUN_HINT)
    found, damaged = [], []
    for place in sorted((folder / "runs").glob("*/manifest.json")):
        recording = Recording(place.parent)
        try:
            found.append(RecordedRun(recording, run_result(recording)))
        except LabError as error:
            damaged.append(f"{place.parent.name}: {error.message}")
    return found, damaged


def _document(file: Path) -> dict[str, Any]:
    """Read results.json; empty if a sweep was interrupted before it was written."""
    try:
        document = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def log_lines(file: Path) -> Iterable[dict[str, Any]]:
    """Yield when and where runs were executed; a line that a killed process left incomplete is skipped."""
    for line in file.read_text(errors="replace").splitlines() if file.exists() else ():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and _is_logged(found):
            yield found


def _is_logged(line: dict[str, Any]) -> bool:
    """Return whether a line has the keys that readers use, with the right types."""
    seconds = [line[key] for key in ("wall_seconds", "virtual_seconds") if key in line]
    texts = [line.get("run"), line.get("when", "")]
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(second, (int, float)) for second in seconds)
        and isinstance(line.get("host", {}), dict)
    )


def _labels(result: RunResult) -> dict[str, Any]:
    return {"run": result.identity, **dict(result.settings), "seed": result.seed}


def _run_row(result: RunResult, measured: WorkloadMeasurement) -> dict[str, Any]:
    sockets = measured.sockets
    return {
        **_labels(result),
        "workload": measured.workload,
        **{name: measured.metrics.get(name) for name in BASIC},
        "mptcp": sockets.use.text,
        "congestion_control": ", ".join(sockets.congestion),
        "scheduler": measured.scheduler,
        "kernel": result.kernel,
        "hz": result.hz,
        "warnings": "; ".join(measured.warnings),
        **{name: measured.metrics[name] for name in columns([measured.metrics], hidden=True)},
        **{f"share {path}": share for path, share in sockets.shares.items()},
    }


def _table_row(row: ResultRow) -> dict[str, Any]:
    intervals: dict[str, float | None] = {}
    for name in dict.fromkeys((*BASIC, *row.metrics)):
        value = row.metrics.get(name)
        ends = (value.low, value.high) if value is not None and value.half_width is not None else (None, None)
        intervals[name] = value.mean if value is not None else None
        intervals[f"{name}_low"], intervals[f"{name}_high"] = ends
    return {
        **row.settings,
        "workload": row.workload,
        **intervals,
        "n": row.n,
        "mptcp": row.mptcp,
        "congestion_control": row.congestion,
        "scheduler": row.scheduler,
        "warnings": "; ".join(row.warnings),
        **{f"share {path}": share for path, share in row.shares.items()},
    }


def _frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as a frame; missing columns of a row are null."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False)
