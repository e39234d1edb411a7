# SPDX-License-Identifier: MIT
"""From results to what a report says. Pure: nothing is run, and only what the folder holds is read."""

from __future__ import annotations

import json
import shlex
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from mptcplab.kernel.config import kernel_text
from mptcplab.metrics.compare import paired_rows
from mptcplab.metrics.rows import ResultRow, Settings
from mptcplab.report.html_model import Axis, Command, Drawing, Experiment, Repeat, RunLine
from mptcplab.report.html_notices import notices, single_run
from mptcplab.report.html_scenario import scenario_of, to_toml
from mptcplab.report.html_series import MOST_LINES, marks, timelines
from mptcplab.report.html_sweep import axes_of, sweep_drawing
from mptcplab.report.network import network_tables, words_of
from mptcplab.report.paired import paired_notes
from mptcplab.report.table import Table, number, point_text, result_table
from mptcplab.report.topology import networks
from mptcplab.results import RecordedRun, Results

#: Numbers that time series may take in one page, and bounds of what one curve gets of it.
_NUMBERS = 220_000
_LEAST, _MOST = 24, 500
_MOST_POINTS = 1000
_MOST_RUN_LINES = 1000

#: When there are figures over time: always, or only if something happens to the network; then on a page with many
#: sections, so that each may take less of it.
OverTime = Literal["all", "events"]
_SHARE_OF_MANY = 4


def experiment(results: Results) -> Experiment:
    """The section of a folder that ``mptcplab run`` wrote."""
    rows = results.rows
    changes = [str(change) for change in results.document.get("changed", [])]
    command = run_command(results)
    table = result_table(results.title, rows, changes)
    return section(
        results,
        anchor="experiment",
        title=results.title,
        question=results.question,
        tables=(replace(table, notes=(*table.notes, *paired_notes(paired_rows(rows)))),),
        figures=_sweep(rows),
        rows=rows,
        command=command,
        whole=(Command("the whole experiment", shlex.join([*command, *_repeats(results)])),) if command else (),
    )


def section(
    results: Results,
    *,
    anchor: str,
    title: str,
    question: str,
    tables: tuple[Table, ...],
    figures: tuple[Drawing, ...],
    rows: Sequence[ResultRow],
    command: Sequence[str],
    whole: tuple[Command, ...],
    over_time: OverTime = "all",
) -> Experiment:
    """A section with everything that does not depend on where its tables come from."""
    firsts = _first_of_each_point(results.recorded)
    scenarios = [scenario_of(run.recording) for run in firsts]
    wanted = over_time == "all" or any(marks(run.recording) for run in firsts)
    numbers = _NUMBERS if over_time == "all" else _NUMBERS // _SHARE_OF_MANY
    time_figures = _timelines(results, axes_of(rows), numbers) if wanted else ()
    return Experiment(
        anchor=anchor,
        title=title,
        question=question,
        notices=notices(results, rows, command),
        pictures=tuple(networks(scenarios)),
        workloads=tuple(
            _workload(described) for described in (firsts[0].recording.manifest["workloads"] if firsts else ())
        ),
        tables=tables,
        drawings=(*figures, *time_figures),
        repeat=_repeat(results, title, command, whole),
        provenance=tuple(_provenance(results)),
        network=_network(results, firsts),
    )


def _network(results: Results, firsts: Sequence[RecordedRun]) -> tuple[Table, ...]:
    """What was counted; the first run of each point says what was asked for."""
    words = words_of((run.result, run.recording.manifest) for run in firsts)
    return network_tables([run.result for run in results.recorded], words)


def run_command(results: Results) -> list[str]:
    """``mptcplab run FILE --set ...`` as it was called; empty when the folder does not tell."""
    file = results.document.get("file")
    if not file:
        return []
    words = ["mptcplab", "run", str(file)]
    for change in results.document.get("changed", []):
        key, _, value = str(change).partition(" = ")
        words += ["--set", f"{key}={value}"]
    return words


def _repeats(results: Results) -> list[str]:
    """Seeds as the command line takes them; where points differ in their number, the scenario says how many."""
    failed = [(run["settings"], run["seed"]) for run in results.document.get("failed", [])]
    tried = [{*row.seeds, *(seed for at, seed in failed if at == row.settings)} for row in results.rows]
    seeds = set().union(*tried)
    same = all(one == seeds for one in tried)
    words = ["--seed", str(min(seeds))] if seeds else []
    return [*words, "--repeats", str(len(seeds))] if same and seeds else words


def _sweep(rows: Sequence[ResultRow]) -> tuple[Drawing, ...]:
    axes = axes_of(rows)
    return (sweep_drawing(rows, axes),) if axes else ()


def _first_of_each_point(runs: Iterable[RecordedRun]) -> list[RecordedRun]:
    first: dict[Settings, RecordedRun] = {}
    for run in runs:
        first.setdefault(run.result.settings, run)
    return list(first.values())


def _workload(load: dict[str, Any]) -> str:
    goal = " for ".join(str(load[key]) for key in ("size", "duration") if load.get(key))
    arrow = "→" if load["ends"]["sender"] == load["from"] else "←"
    several = f", {load['connections']} connections" if load.get("connections", 1) > 1 else ""
    return f"{load['name']}: {load['kind']}, {load['from']} {arrow} {load['to']}, {goal}{several}"


def _typical(results: Results) -> list[RecordedRun]:
    """Of every point the run whose goodput, over all workloads, is closest to the point's median."""
    points: dict[Settings, list[tuple[float, RecordedRun]]] = {}
    for run in results.recorded:
        goodput = sum(one.goodput_bps for one in run.result.measured)
        points.setdefault(run.result.settings, []).append((goodput, run))
    chosen = []
    for runs in points.values():
        middle = statistics.median(goodput for goodput, _ in runs)
        chosen.append(min(runs, key=lambda run: abs(run[0] - middle))[1])
    return chosen


def _timelines(results: Results, axes: Sequence[Axis], numbers: int) -> tuple[Drawing, ...]:
    """One run per point, with a selector for every axis, in so many numbers. Nothing when no run was sampled."""
    typical = [run for run in _typical(results) if run.recording.subflows.height]
    shown = typical[:_MOST_POINTS]
    if not shown:
        return ()
    # About two paths with goodput, RTT and window for every workload, each curve with times of its own.
    curves = sum(10 * len(run.result.measured) for run in shown)
    most = max(_LEAST, min(_MOST, numbers // curves))
    lines = [timelines(run.recording, most=most) for run in shown]
    points = [
        {
            "at": [axis.labels.index(run.settings[axis.key]) for axis in axes],
            "seed": run.result.seed,
            "run": run.result.identity,
            "workloads": [line.to_json() for line in of_one],
            "marks": marks(run.recording),
        }
        for run, of_one in zip(shown, lines, strict=True)
    ]
    caption = _caption(
        points=len(typical),
        shown=len(shown),
        thinned=most if any(line.samples > most for of_one in lines for line in of_one) else 0,
        left_out=max((line.left_out for of_one in lines for line in of_one), default=0),
        several=len(results.recorded) > len(typical),
        marked=any(point["marks"] for point in points),
    )
    panels = ("goodput", "rtt", "cwnd", *(["queue"] if any(line.queues for of in lines for line in of) else []))
    names = list(dict.fromkeys(line.workload for of_one in lines for line in of_one))
    choices = [(axis.name, axis.labels) for axis in axes]
    choices += [("Workload", tuple(names))] if len(names) > 1 else []
    data = {"axes": len(axes), "workloads": names, "points": points}
    return (Drawing("timeline", "Over time", caption, data, panels, tuple(choices)),)


def _caption(*, points: int, shown: int, thinned: int, left_out: int, several: bool, marked: bool) -> str:
    parts = ["Time counts from the moment at which the network is set up."]
    if several:
        parts.append("Of every point, the run whose goodput is closest to the median of its seeds.")
    if marked:
        parts.append("Dotted: when something happened to the network; the first figure says what.")
    parts.append("Goodput: payload that subflows received, data that was sent again on another subflow included.")
    parts.append("TCP counts data when it is in order: a loss makes a dip and then a peak, also above a line's rate.")
    if thinned:
        parts.append(
            f"At most {thinned} values per curve: goodput is averaged over longer stretches, the other figures keep "
            "the least and the largest sample of every stretch."
        )
    if left_out:
        parts.append(f"RTT and congestion window: {MOST_LINES} subflows are shown, up to {left_out} more are left out.")
    if shown < points:
        parts.append(f"The first {shown} of {points} points.")
    return " ".join(parts)


def _repeat(results: Results, title: str, command: Sequence[str], whole: tuple[Command, ...]) -> Repeat:
    shown = results.recorded[:_MOST_RUN_LINES]
    lines = tuple(
        RunLine(
            label=", ".join(run.settings.values()) or "run",
            seed=run.result.seed,
            goodput=", ".join(number(one.goodput_bps / 1e6) for one in run.result.measured),
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
    """The first point as a scenario file of its own."""
    for run in results.recorded[:1]:
        label = point_text(run.settings)
        name = f"The resolved scenario{f' of the first point ({label})' if label else ''}"
        yield name, to_toml(run.recording, title=title)


def _provenance(results: Results) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Everything that the results depend on; several values where runs differ."""
    facts = [recording.manifest["facts"] for recording in results.recordings]
    identities = {recording.manifest["identity"] for recording in results.recordings}
    log = [line for line in results.log if line.get("run") in identities]
    yield "mptcplab", _different(fact["mptcplab"] for fact in facts)
    yield "Lab kernel", _different(_kernel(fact["kernel"]) for fact in facts)
    yield "Engine", _different(f"{fact['engine']}: the lab kernel, in virtual time" for fact in facts)
    programs = (f"{name} {digest}" for fact in facts for name, digest in fact["programs"].items())
    yield "Programs (name, digest of the file)", _different(programs)
    libraries = (f"{name} {digest}" for fact in facts for name, digest in fact["libraries"].items())
    yield "Libraries (name, digest of the file)", _different(libraries)
    hosts = (json.dumps(line.get("host", {}), sort_keys=True) for line in log)
    yield "Host", tuple(_host(json.loads(host)) for host in _different(hosts))
    times = sorted(str(line.get("when", "")) for line in log)
    yield "Executed (UTC)", (" to ".join(dict.fromkeys((times[0], times[-1]))),) if times else ()
    latest = {line["run"]: line for line in log}
    runs = len(results.recordings)
    known = [float(line["wall_seconds"]) for line in latest.values() if "wall_seconds" in line]
    wall = f", {sum(known):.1f} s of wall time (sum over {'runs' if len(known) == runs else f'{len(known)} of them'})"
    virtual = sum(one.manifest["virtual_ns"] - one.manifest["zero_ns"] for one in results.recordings) / 1e9
    yield "Time", (f"{runs} runs, {virtual:.1f} s of virtual time{wall if known else ''}",)


def _kernel(fact: dict[str, Any]) -> str:
    return f"{kernel_text(fact['release'], fact.get('hz'))}, build {fact['key'][:16]}"


def _different(values: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, values)))


def _host(host: dict[str, Any]) -> str:
    return f"Linux {host.get('kernel', '?')}, {host.get('machine', '?')}, {host.get('cpus', '?')} CPUs"
