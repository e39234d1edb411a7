# SPDX-License-Identifier: MIT
"""Build the sections of a report from results, and the notices above them. Nothing is run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from mptcplab.figure.axis import Axis
from mptcplab.figure.rates import widen_intervals
from mptcplab.figure.time_chart import PANELS, WITHOUT_ZERO, OverTime, RunColumn
from mptcplab.figure.timelines import MAX_LINES, timelines
from mptcplab.figure.words import event_marks
from mptcplab.kernel.config import clock_text, kernel_kind, kernel_text
from mptcplab.metrics.manifest import RecordedKernel, read_duration_ns, read_facts, read_gateways, read_label
from mptcplab.metrics.rows import ResultRow, Settings
from mptcplab.metrics.stored import FailedRun
from mptcplab.metrics.subflows import gateways_of
from mptcplab.metrics.values import point_text
from mptcplab.metrics.warnings import merge_similar_warnings
from mptcplab.recording.record import Recording
from mptcplab.report.html import Drawing, ExperimentSection, Notice, Repeat, ReportCommand, RunLine
from mptcplab.report.html_sweep import axes_of, sweep_drawing
from mptcplab.report.network import network_tables, with_traces, words_of
from mptcplab.report.notes import MIN_SEEDS, few_seeds_note, paired_notes
from mptcplab.report.origin import run_command, scenario_of, single_run, to_toml, whole_command
from mptcplab.report.radio_map import radio_map
from mptcplab.report.result_table import narrow_tables, page_tables
from mptcplab.report.table import Table, number
from mptcplab.report.topology import Picture, networks
from mptcplab.results import RecordedRun, Results
from mptcplab.workload.recorded import RecordedWorkload, read_workloads

# Notices above the results: warnings, and limits of what the results show.

_MAX_LISTED = 12


def list_notices(results: Results, rows: Sequence[ResultRow], command: Sequence[str]) -> tuple[Notice, ...]:
    """Return the notices of an experiment; ``command`` runs it, and is extended to run a part of it."""
    # If the folder does not list failed runs, missing seeds are reported instead.
    failed = results.stored.failed
    lost = _missing_seed_notices(rows, command) if failed is None else _failure_notices(failed, command)
    result = [
        *_incomplete_notices(results, command),
        *_row_notices(rows),
        *lost,
        *_folder_notices(results),
        *_spread(rows),
    ]
    return tuple(sorted(result, key=lambda notice: notice.level != "warning"))


def _incomplete_notices(results: Results, command: Sequence[str]) -> Iterator[Notice]:
    if results.incomplete:
        again = whole_command(results, command) if command else ""
        yield Notice("warning", f"The experiment is {results.incomplete}.", command=again)


def row_name(row: ResultRow, *, with_workload: bool) -> str:
    """Return a row's settings as one line."""
    parts = [point_text(row.settings)] if row.settings else []
    return ", ".join([*parts, row.workload] if with_workload or not parts else parts)


def _row_notices(rows: Sequence[ResultRow]) -> Iterator[Notice]:
    """Yield each warning of the rows once, with the rows that have it, and a warning about different kernels.

    Warnings that differ only in numbers are one, with their range.
    """
    for warning, names in _rows_by_text(rows, lambda row: row.warnings).items():
        yield Notice("warning", f"{warning[:1].upper()}{warning[1:]}.", _shorten(names))
    for reason, names in _rows_by_text(rows, lambda row: row.notes).items():
        yield Notice("note", f"Reason: {reason}.", _shorten(names))
    kernels = sorted({row.kernel_name for row in rows})
    if len(kernels) > 1 and not any("kernel" in row.settings for row in rows):
        yield Notice("warning", f"Rows were measured on different kernels: {'; '.join(kernels)}.")


def _rows_by_text(
    rows: Sequence[ResultRow], texts_of: Callable[[ResultRow], Sequence[str]]
) -> Mapping[str, Sequence[str]]:
    """Return the names of the rows that have a text, by texts. Texts that differ only in numbers are one."""
    several = len({row.workload for row in rows}) > 1
    merged = merge_similar_warnings(text for row in rows for text in texts_of(row))
    names: dict[str, list[str]] = {}
    for row in rows:
        for text in dict.fromkeys(merged[text] for text in texts_of(row)):
            names.setdefault(text, []).append(row_name(row, with_workload=several))
    return names


def _failure_notices(failed: Sequence[FailedRun], command: Sequence[str]) -> Iterator[Notice]:
    """Yield a warning about runs that failed, with their errors."""
    if not failed:
        return
    names = []
    for run in failed:
        point = point_text(run.settings)
        names.append(f"{point}{', ' if point else ''}seed {run.seed}: {run.error}")
    first, text = failed[0], f"{len(failed)} run{'s' if len(failed) > 1 else ''} failed; means are over the other runs."
    yield Notice("warning", text, _shorten(names), single_run(command, first.settings, first.seed) if command else "")


def _missing_seed_notices(rows: Sequence[ResultRow], command: Sequence[str]) -> Iterator[Notice]:
    """Yield a warning about points with fewer seeds than others: their runs failed, or the sweep was interrupted."""
    seeds = sorted({seed for row in rows for seed in row.seeds})
    gaps = {tuple(row.settings.items()): (row, [seed for seed in seeds if seed not in row.seeds]) for row in rows}
    lines = [(row, seed) for row, absent in gaps.values() for seed in absent]
    if not lines:
        return
    row, seed = lines[0]
    names = [f"{row_name(row, with_workload=False)}, seed {seed}" for row, seed in lines]
    runs = "run is" if len(lines) == 1 else "runs are"
    text = f"{len(lines)} {runs} missing: failed, or not yet executed. Means of these rows are over fewer seeds."
    yield Notice("warning", text, _shorten(names), single_run(command, row.settings, seed) if command else "")


def _folder_notices(results: Results) -> Iterator[Notice]:
    if results.damaged:
        count = len(results.damaged)
        noun = "recordings" if count > 1 else "recording"
        text = f"{count} {noun} could not be read and {'are' if count > 1 else 'is'} not included."
        yield Notice("warning", text, _shorten(results.damaged))
    if results.absent > len(results.damaged):
        text = f"{results.absent} recordings listed in the results are not in the folder: rows are over fewer runs."
        yield Notice("warning", text)
    if results.is_unfinished:
        text = "The folder has no results.json: the experiment did not finish, and its title and question are unknown."
        yield Notice("warning", text)
    if results.older:
        text = (
            f"{results.older} recordings have the settings and seed of others here, but were made with another kernel, "
            "other programs or other keys. The report uses the one executed last."
        )
        yield Notice("warning", text)
    if results.others:
        yield Notice("note", f"{results.others} recordings in this folder belong to other experiments.")


def _spread(rows: Sequence[ResultRow]) -> Iterator[Notice]:
    counts = [row.n for row in rows]
    if not counts:
        return
    fewest = min(counts)
    if max(counts) == 1:
        text = "Every point has a single run, so there are no intervals: the variation of the results is unknown."
        yield Notice("note", text)
    elif fewest == 1:
        yield Notice("note", f"{counts.count(1)} rows have a single run, and so no interval.")
    elif fewest < MIN_SEEDS:
        yield Notice("note", few_seeds_note(fewest))


def _shorten(names: Sequence[str]) -> tuple[str, ...]:
    """Return the first names, and the number of the others; the table marks all."""
    if len(names) <= _MAX_LISTED:
        return tuple(names)
    return (*names[: _MAX_LISTED - 1], f"and {len(names) - _MAX_LISTED + 1} more")


# Build the sections of a report from results. Nothing is run, and only files of the folder are read.

#: Numbers that time series may use in one page, and bounds of the number of values per curve.
_NUMBERS = 220_000
_MIN_VALUES, _MAX_VALUES = 24, 500
_MAX_POINTS = 1000
_MAX_RUN_LINES = 1000

#: When a section has figures over time: always, or only if events happen. The latter is for pages with many sections,
#: each of which gets a smaller part of the numbers.
TimeFigures = Literal["all", "events"]
_SHARE_OF_MANY = 4


def build_experiment(results: Results) -> ExperimentSection:
    """Return the section of a folder that ``mptcplab run`` wrote."""
    rows = results.rows
    command = run_command(results)
    *first, last = page_tables(results.title, rows, results.changes, unavailable=results.stored.unavailable)
    return build_section(
        results,
        anchor="experiment",
        title=results.title,
        question=results.question,
        tables=(*first, last.with_notes(*paired_notes(rows, results.folder))),
        figures=_sweep(rows),
        rows=rows,
        command=command,
        changes=results.changes,
        whole=(ReportCommand("the whole experiment", whole_command(results, command)),) if command else (),
    )


def build_section(
    results: Results,
    *,
    anchor: str,
    title: str,
    question: str,
    tables: tuple[Table, ...],
    figures: tuple[Drawing, ...],
    rows: Sequence[ResultRow],
    command: Sequence[str],
    whole: tuple[ReportCommand, ...],
    over_time: TimeFigures = "all",
    changes: Sequence[str] = (),
) -> ExperimentSection:
    """Return a section, with everything that does not depend on the source of its tables."""
    firsts = _first_of_each_point(results.recorded)
    scenarios = [_scenario_to_draw(run.recording) for run in firsts]
    wanted = over_time == "all" or any(event_marks(run.recording) for run in firsts)
    numbers = _NUMBERS if over_time == "all" else _NUMBERS // _SHARE_OF_MANY
    time_figures = _timelines(results, axes_of(rows), numbers) if wanted else ()
    return ExperimentSection(
        anchor=anchor,
        title=title,
        question=question,
        notices=list_notices(results, rows, command),
        pictures=(*networks(scenarios), *_map(firsts)),
        workloads=tuple(_workloads(firsts[0].recording)) if firsts else (),
        tables=tables,
        drawings=(*figures, *time_figures),
        repeat=_repeat(results, title, command, whole),
        provenance=tuple(_provenance(results)),
        network=_network(results, firsts),
        changes=tuple(changes),
        times=frozenset(row.time for row in rows),
    )


def _scenario_to_draw(recording: Recording) -> Mapping[str, Any]:
    """Return the scenario for the picture of its network."""
    scenario = scenario_of(recording)
    return {**scenario, "links": with_traces(scenario["links"], recording)}


def _map(firsts: Sequence[RecordedRun]) -> Iterator[Picture]:
    """Yield the map of the first run, if it has radios."""
    picture = radio_map(firsts[0].recording) if firsts else None
    if picture is not None:
        yield picture


def _network(results: Results, firsts: Sequence[RecordedRun]) -> tuple[Table, ...]:
    """Return the tables of the network's counters; the first run of each point has the configured values."""
    words = words_of((run.result, run.recording) for run in firsts)
    return narrow_tables(network_tables([run.result for run in results.recorded], words))


def _sweep(rows: Sequence[ResultRow]) -> tuple[Drawing, ...]:
    axes = axes_of(rows)
    return (sweep_drawing(rows, axes),) if axes else ()


def _first_of_each_point(runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    first: dict[Settings, RecordedRun] = {}
    for run in runs:
        first.setdefault(run.result.settings, run)
    return list(first.values())


def _workloads(recording: Recording) -> Iterator[str]:
    for workload in read_workloads(recording):
        through = [f", through gateway {gateway.name}" for gateway in gateways_of(recording, workload.name)]
        yield "".join((_workload(workload), *through))


def _workload(workload: RecordedWorkload) -> str:
    arrow = "→" if workload.ends.sender == workload.client else "←"
    return f"{workload.name}: {workload.kind}, {workload.client} {arrow} {workload.server}, {workload.goal}"


def _typical_runs(results: Results) -> list[RecordedRun]:
    """Return the run of every point whose goodput, summed over workloads, is closest to the point's median."""
    points: dict[Settings, list[tuple[float, RecordedRun]]] = {}
    for run in results.recorded:
        goodput = sum(measurement.goodput_bps for measurement in run.result.measured)
        points.setdefault(run.result.settings, []).append((goodput, run))
    chosen = []
    for runs in points.values():
        middle = statistics.median(goodput for goodput, _ in runs)
        chosen.append(min(runs, key=lambda run: abs(run[0] - middle))[1])
    return chosen


def _timelines(results: Results, axes: Sequence[Axis], numbers: int) -> tuple[Drawing, ...]:
    """Return figures of one run per point, with a selector per axis, in ``numbers`` values; none without samples."""
    typical = [run for run in _typical_runs(results) if run.recording.subflows.height]
    shown = typical[:_MAX_POINTS]
    if not shown:
        return ()
    # About two paths with goodput, RTT and window for every workload, each curve with times of its own.
    curves = sum(10 * len(run.result.measured) for run in shown)
    max_values = max(_MIN_VALUES, min(_MAX_VALUES, numbers // curves))
    lines = [
        [timeline for line in timelines(run.recording, max_values=max_values) for timeline in widen_intervals([line])]
        for run in shown
    ]
    charts = [[OverTime("", (RunColumn("", line),)) for line in of_one] for of_one in lines]
    points = [
        {
            "at": [axis.labels.index(run.settings[axis.key]) for axis in axes],
            "seed": run.result.seed,
            "run": run.result.identity,
            "workloads": [chart.to_json() for chart in of_one],
            "marks": [{"t": mark.time_s, "text": mark.text} for mark in event_marks(run.recording)],
        }
        for run, of_one in zip(shown, charts, strict=True)
    ]
    caption = _caption(
        points=len(typical),
        shown=len(shown),
        thinned=max_values if any(line.samples > max_values for of_one in lines for line in of_one) else 0,
        left_out=max((line.left_out for of_one in lines for line in of_one), default=0),
        several=len(results.recorded) > len(typical),
        marked=any(point["marks"] for point in points),
        with_gateways=any(read_gateways(run.recording) for run in shown),
        with_capacity=any(line.capacity for of_one in lines for line in of_one),
        with_delays=any(line.delays for of_one in lines for line in of_one),
    )
    with_data = {panel for of_one in charts for chart in of_one for panel in chart.shown}
    panels = tuple(panel for panel in PANELS if panel in with_data)
    names = list(dict.fromkeys(line.workload for of_one in lines for line in of_one))
    choices = [(axis.name, axis.labels) for axis in axes]
    choices += [("Workload", tuple(names))] if len(names) > 1 else []
    about = {
        panel: {"label": PANELS[panel].label, "unit": PANELS[panel].unit, "zero": panel not in WITHOUT_ZERO}
        for panel in panels
    }
    data = {"axes": len(axes), "workloads": names, "panels": about, "points": points}
    return (Drawing("timeline", "Over time", caption, data, panels, tuple(choices)),)


def _caption(
    *,
    points: int,
    shown: int,
    thinned: int,
    left_out: int,
    several: bool,
    marked: bool,
    with_gateways: bool,
    with_capacity: bool,
    with_delays: bool,
) -> str:
    parts = ["Time counts from time zero, at which the network is up."]
    if several:
        parts.append("Each point is shown by the run whose goodput is closest to the median of its seeds.")
    if marked:
        parts.append("Dotted lines mark events, which the first figure names.")
    if with_gateways:
        parts.append(
            "If a gateway carries a workload, subflows are those between its entry and exit, of all workloads together."
        )
    parts.append(
        "Received: payload of subflows, stacked. Data that arrived on two of them counts twice there; a thick line is "
        "the goodput then."
    )
    if with_capacity:
        parts.append(
            "Capacity: the payload that the paths of the workload could carry, where the rate of a link changes."
        )
    parts.append(
        "TCP counts data once it is in order, so a loss causes a dip and then a peak, which may exceed the rate of the "
        "link."
    )
    if with_delays:
        parts.append(
            "Delay: of the messages that were due in each interval of the curves. Marks: some of them were beyond the "
            "limit, or lost."
        )
    if thinned:
        parts.append(
            f"Curves have at most {thinned} values: rates are averaged over longer intervals, the other curves keep "
            "the minimum and the maximum of each interval."
        )
    if left_out:
        parts.append(f"RTT and congestion window: {MAX_LINES} subflows are shown, up to {left_out} more are left out.")
    if shown < points:
        parts.append(f"The first {shown} of {points} points are shown.")
    return " ".join(parts)


def _repeat(results: Results, title: str, command: Sequence[str], whole: tuple[ReportCommand, ...]) -> Repeat:
    shown = results.recorded[:_MAX_RUN_LINES]
    lines = tuple(
        RunLine(
            label=", ".join(run.settings.values()) or "run",
            seed=run.result.seed,
            goodput=", ".join(number(measurement.goodput_bps / 1e6) for measurement in run.result.measured),
            identity=run.result.identity,
            command=single_run(command, run.settings, run.result.seed) if command else "",
        )
        for run in shown
    )
    left_out = len(results.recorded) - len(shown)
    return Repeat(whole, _seeds(results), tuple(_files(results, title)), lines, left_out)


def _seeds(results: Results) -> str:
    seeds = sorted({run.result.seed for run in results.recorded})
    return f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else "".join(map(str, seeds))


def _files(results: Results, title: str) -> Iterable[tuple[str, str]]:
    """Yield the first point as a separate scenario file."""
    for run in results.recorded[:1]:
        label = point_text(run.settings)
        name = f"The resolved scenario{f' of the first point ({label})' if label else ''}"
        yield name, to_toml(run.recording, title=title)


def _provenance(results: Results) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield everything that the results depend on; several values if runs differ."""
    facts = [read_facts(recording) for recording in results.recordings]
    identities = {read_label(recording).identity for recording in results.recordings}
    log = [line for line in results.log if line.run in identities]
    yield "mptcplab", _distinct_texts(fact.mptcplab for fact in facts)
    for time in sorted({fact.kernel.time for fact in facts}):
        kernels = (fact.kernel for fact in facts if fact.kernel.time == time)
        yield kernel_kind(time), _distinct_texts(map(_kernel, kernels))
    yield "Engine", _distinct_texts(f"{fact.engine}: {clock_text(fact.kernel.time)}" for fact in facts)
    programs = (f"{name} {digest}" for fact in facts for name, digest in fact.programs.items())
    yield "Programs (name, digest of the file)", _distinct_texts(programs)
    libraries = (f"{name} {digest}" for fact in facts for name, digest in fact.libraries.items())
    yield "Libraries (name, digest of the file)", _distinct_texts(libraries)
    yield "Host", tuple(host.text for host in dict.fromkeys(line.host for line in log))
    times = sorted(line.when for line in log)
    yield "Executed (UTC)", (" to ".join(dict.fromkeys((times[0], times[-1]))),) if times else ()
    latest = {line.run: line for line in log}
    runs = len(results.recordings)
    known = [line.wall_seconds for line in latest.values() if line.wall_seconds is not None]
    wall = f", {sum(known):.1f} s of wall time (sum over {'runs' if len(known) == runs else f'{len(known)} of them'})"
    virtual = sum(map(read_duration_ns, results.recordings)) / 1e9
    yield "Time", (f"{runs} runs, {virtual:.1f} s on the engine's clock{wall if known else ''}",)


def _kernel(kernel: RecordedKernel) -> str:
    return f"{kernel_text(kernel.release, kernel.hz)}, build {kernel.key[:16]}"


def _distinct_texts(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, values)))
