# SPDX-License-Identifier: MIT
"""Data frames of runs: each row has the run, its swept keys and its seed, and most have the workload.

:mod:`mptcplab.results.columns` documents every column. A frame has all that are documented, null where unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from mptcplab.errors import MissingError
from mptcplab.lazy import install_command, pl
from mptcplab.metrics.column import Scope
from mptcplab.metrics.manifest import read_addresses
from mptcplab.metrics.measure import WorkloadMeasurement, items_of
from mptcplab.metrics.radios import radio_samples
from mptcplab.metrics.radios import read_associations as associations_of
from mptcplab.metrics.registry import IN_EVERY_ROW, list_metric_names
from mptcplab.metrics.rows import SOCKET_TEXTS, ResultRow, RunResult, Settings
from mptcplab.metrics.subflows import (
    Ends,
    SocketSample,
    ends_of,
    gateways_of,
    inner_of,
    inner_samples,
    read_samples,
    workload_samples,
)
from mptcplab.recording.record import Recording
from mptcplab.results.columns import CALL, FRAMES, type_of, types
from mptcplab.workload.recorded import read_workload

if TYPE_CHECKING:
    import pandas as pd


# One run of a results folder.


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


def to_pandas(frame: pl.DataFrame) -> pd.DataFrame:
    """Return the frame as a pandas data frame. :raises MissingError: if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        hint = f"use the polars frame, or {install_command(['pandas'])}"
        raise MissingError("pandas is not installed", hint=hint) from error
    return pd.DataFrame(frame.to_dict(as_series=False), columns=frame.columns)


def build_runs_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return one row per run and workload."""
    rows = (_run_row(run, measurement) for run in recorded for measurement in run.result.measured)
    return _complete("runs", recorded, _frame(rows))


def build_calls_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return one row per run and workload with a rating of the E-model."""
    rows = (
        {**_labels(run), "workload": measurement.workload, **{name: measurement.metrics.get(name) for name in CALL}}
        for run in recorded
        for measurement in run.result.measured
        if "mos" in measurement.metrics
    )
    return _complete("calls", recorded, _frame(rows))


def build_table_frame(rows: Iterable[ResultRow]) -> pl.DataFrame:
    """Return the rows of an experiment's table with the bounds of their intervals."""
    return _frame(_table_row(row) for row in rows)


def build_scope_frame(counted: Scope[Any], recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return one row per run and item of a scope, such as a direction of a link."""
    columns = (*counted.keys, *counted.numbers)
    rows = (
        {**_labels(run), **{column.name: column.compute(item) for column in columns}}
        for run in recorded
        for item in run.result.network.get(counted)
    )
    return _complete(counted.frame, recorded, _frame(rows))


def build_items_frame(recorded: Sequence[RecordedRun], noun: str) -> pl.DataFrame:
    """Return one row for each of the objects, requests or messages (``noun``) of all workloads."""

    def rows() -> Iterator[dict[str, Any]]:
        for run in recorded:
            for workload, item in items_of(run.recording).items():
                column = f"{'delay' if item.time == 'delay' else 'took'}_{item.unit}"
                if item.noun == noun:
                    for entry in item.items:
                        shown = {"number": entry.number, "begun_s": entry.begun_s, column: entry.took}
                        yield {**_labels(run), "workload": workload, **shown}

    return _complete(noun, recorded, _frame(rows()))


def build_events_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return one row per change of the network."""
    return _complete("events", recorded, _concatenate((run, run.recording.events) for run in recorded))


def build_queues_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return the samples of all queues."""
    return _complete("queues", recorded, _concatenate((run, run.recording.queues) for run in recorded))


def build_radios_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return the samples of all radios: what each has heard of each station, or of its access point."""
    rows = (
        {**_labels(run), **asdict(radio_sample)} for run in recorded for radio_sample in radio_samples(run.recording)
    )
    return _complete("radios", recorded, _frame(rows))


def build_associations_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return one row per association and its end, as each side saw it."""
    rows = (
        {**_labels(run), **asdict(association)} for run in recorded for association in associations_of(run.recording)
    )
    return _complete("associations", recorded, _frame(rows))


def build_connections_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return the samples of all connections, with their workloads."""
    frame = _concatenate((run, _with_programs(run.recording.connections)) for run in recorded)
    return _complete("connections", recorded, frame)


def build_subflows_frame(recorded: Sequence[RecordedRun]) -> pl.DataFrame:
    """Return the samples of all subflows, with their workloads and paths."""
    return _complete("subflows", recorded, _concatenate((run, _with_places(run.recording)) for run in recorded))


def _with_programs(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the workload of each sample, whose programs are called WORKLOAD.client and WORKLOAD.server."""
    if not frame.height:
        return frame
    return frame.with_columns(pl.col("program").str.replace(r"\.[^.]*$", "").alias("workload"))


def _with_places(recording: Recording) -> pl.DataFrame:
    """Add the workload of each subflow, and its path. A subflow of no workload has none, such as a tunnel's."""
    frame = recording.subflows
    if not frame.height:
        return frame
    names = [name for name in ("node", "program", "conn", "local", "remote") if name in frame.columns]
    sockets = list(read_samples(frame.select(names).unique(maintain_order=True)))
    owners = _owners(recording, sockets)
    senders = {(ends.sender, ends.sending) for ends in ends_of(recording)}
    addresses = read_addresses(recording)
    known: list[list[Any]] = []
    for socket in sockets:
        is_sender = (socket.node, socket.program) in senders
        path = socket.path(addresses, is_sender=is_sender)
        known.append([*(getattr(socket, name) for name in names), owners.get(socket), path])
    schema = {name: frame.schema[name] for name in names} | {"workload": pl.String, "path": pl.String}
    places = pl.DataFrame(known, schema=schema, orient="row")
    return frame.join(places, on=names, how="left", nulls_equal=True, maintain_order="left")


def _owners(recording: Recording, sockets: Sequence[SocketSample]) -> dict[SocketSample, str]:
    """Return the workload of each subflow: by its program, or by the ports of the workload or of its gateway."""
    owners: dict[SocketSample, str] = {}
    for ends in ends_of(recording):
        for node, program in ((ends.sender, ends.sending), (ends.receiver, ends.receiving)):
            of_program = [socket for socket in sockets if socket.node == node and socket.program == program]
            for socket in workload_samples(of_program, recording, ends, node, program):
                owners.setdefault(socket, ends.workload)
        for socket in _carried_sockets(recording, ends, sockets):
            owners.setdefault(socket, ends.workload)
    return owners


def _carried_sockets(recording: Recording, ends: Ends, sockets: Sequence[SocketSample]) -> Iterator[SocketSample]:
    for gateway in gateways_of(recording, ends.workload):
        inner = inner_of(gateway, ends, read_workload(recording, ends.workload).client)
        for node in (inner.sender, inner.receiver):
            of_node = [socket for socket in sockets if socket.node == node and socket.program is None]
            yield from inner_samples(of_node, inner, read_addresses(recording))


def _concatenate(parts: Iterable[tuple[RecordedRun, pl.DataFrame]]) -> pl.DataFrame:
    """Return the frames of all runs as one; each row begins with the labels of its run, and its workload if known."""
    frames = []
    for run, frame in parts:
        if frame.height:
            labels = [pl.lit(value).alias(key) for key, value in _labels(run).items()]
            first = [name for name in ("workload", "path") if name in frame.columns]
            frames.append(frame.select(*labels, *first, pl.exclude(first) if first else pl.all()))
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()


def _labels(run: RecordedRun) -> dict[str, Any]:
    return {"run": run.result.identity, **run.settings, "seed": run.result.seed}


def _run_row(run: RecordedRun, measured: WorkloadMeasurement) -> dict[str, Any]:
    sockets = measured.sockets
    return {
        **_labels(run),
        "workload": measured.workload,
        **{name: measured.metrics.get(name) for name in IN_EVERY_ROW},
        "mptcp": sockets.use.text,
        "congestion_control": ", ".join(sockets.congestion),
        "scheduler": measured.scheduler,
        "kernel": run.result.kernel,
        "hz": run.result.hz,
        "warnings": "; ".join(measured.warnings),
        **{name: measured.metrics[name] for name in list_metric_names([measured.metrics], hidden=True)},
        **{f"share {path}": share for path, share in sockets.shares.items()},
    }


def _table_row(row: ResultRow) -> dict[str, Any]:
    intervals: dict[str, float | None] = {}
    for name in dict.fromkeys((*IN_EVERY_ROW, *row.known)):
        value = row.metrics.get(name)
        ends = (value.low, value.high) if value is not None and value.half_width is not None else (None, None)
        intervals[name] = value.mean if value is not None else None
        intervals[f"{name}_low"], intervals[f"{name}_high"] = ends
    return {
        **row.settings,
        "workload": row.workload,
        **intervals,
        "n": row.n,
        **{text.name: text.compute(row) for text in SOCKET_TEXTS},
        "warnings": "; ".join(row.warnings),
        **{f"share {path}": share for path, share in row.shares.items()},
    }


def _complete(name: str, recorded: Sequence[RecordedRun], frame: pl.DataFrame) -> pl.DataFrame:
    """Return ``frame`` with all documented columns of the frame ``name``, in their types; missing ones are null.

    Other columns stay as they are.
    """
    documented = types(name)
    if not frame.width:
        keys = dict.fromkeys((key for run in recorded for key in run.settings), pl.String)
        return pl.DataFrame(schema={"run": documented["run"], **keys, **documented})
    known = [column for column in frame.columns if column in documented or column in FRAMES[name]]
    return frame.with_columns(
        *(pl.col(column).cast(type_of(name, column)) for column in known),
        *(pl.lit(None, kind).alias(column) for column, kind in documented.items() if column not in frame.columns),
    )


def _frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return rows as a frame; missing columns of a row are null."""
    rows = list(rows)
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False)
