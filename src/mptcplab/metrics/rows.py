# SPDX-License-Identifier: MIT
"""Rows of a result: the runs of one point and workload, reduced to means with their intervals.

This takes three pure steps. :func:`run_result` extracts what rows need from a recording, so that a sweep of thousands
of runs does not keep their samples; :func:`group_runs` groups runs by point and workload; :func:`build_row` makes a
row of a group.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean
from typing import Any, TypeVar

from mptcplab.errors import LabError
from mptcplab.kernel.config import clock_text, kernel_text
from mptcplab.metrics.against_tcp import ComparedRun, benefits_over_tcp, hash_conditions, path_rates
from mptcplab.metrics.catalog.paths import OVER_TCP
from mptcplab.metrics.column import Column, Display, Scope, ScopeRow
from mptcplab.metrics.connections import FailedConnections, failed_in_runs
from mptcplab.metrics.delivery import WINDOW_S, compute_mean_jain_over_time, find_common_span_s
from mptcplab.metrics.evidence import RowReason, reasons_of_row
from mptcplab.metrics.gateways import text_of_all
from mptcplab.metrics.manifest import read_facts, read_label
from mptcplab.metrics.measure import WorkloadMeasurement, measure
from mptcplab.metrics.network import SCOPES, NetworkCounters, network_counters
from mptcplab.metrics.registry import IN_EVERY_ROW, METRICS, list_metric_names
from mptcplab.metrics.subflows import MptcpCounts, use_of_all
from mptcplab.metrics.warnings import merge_similar_warnings
from mptcplab.recording.damage import report_damage
from mptcplab.recording.record import REPEAT_HINT, Recording
from mptcplab.stats import Interval, jain_index, mean_interval, median_interval
from mptcplab.workload.recorded import client_program, read_programs, read_workloads

# Workloads of a run that began while an earlier one was still running.
#
# A `start` is fixed, but the end of a workload with a `size` is not: over a slow path it runs underneath those after
# it.

#: Workloads that overlap by less than this do not change each other's results: the last data may be a queue's.
TOLERANCE_S = 0.1
#: For each workload the others with an earlier `start`, and for which part of its time they were still running.
Earlier = Mapping[str, Mapping[str, float]]


def earlier_workloads(recording: Recording, measured: Sequence[WorkloadMeasurement]) -> Earlier:
    """Return which workloads have an earlier `start` than another, and during which part of its time they were running.

    Workloads with the same `start` are meant to run together, and are not among them. A workload runs from the start of
    its client to its last data.
    """
    starts_ns = {program.name: program.start_ns for program in read_programs(recording)}
    begins = {
        measurement.workload: start_ns / 1e9
        for measurement in measured
        if (start_ns := starts_ns.get(client_program(measurement.workload))) is not None
    }
    ends = {
        measurement.workload: begins[measurement.workload] + measurement.duration_s
        for measurement in measured
        if measurement.workload in begins
    }
    starts = {workload.name: int(workload.start) for workload in read_workloads(recording) if workload.name in begins}
    values = {
        later: {
            earlier: _part(begins[later], ends[later], ends[earlier]) if begins[earlier] < begins[later] else 0.0
            for earlier in starts
            if starts[earlier] < starts[later]
        }
        for later in starts
    }
    return {later: some for later, some in values.items() if some}


def _part(begin_s: float, end_s: float, until_s: float) -> float:
    """Return the part of the time of a workload that is before ``until_s``; 0 if that is within the tolerance."""
    both = min(end_s, until_s) - begin_s
    return both / (end_s - begin_s) if both > TOLERANCE_S else 0.0


_T = TypeVar("_T")
Settings = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RunResult:
    """The values of one run. ``settings`` are the swept keys and values of its point.

    ``jain`` is Jain's fairness index of the goodputs of its workloads, None unless several ran at the same time;
    ``jain_1s`` is the mean of the index over windows of one second.
    """

    settings: Settings
    seed: int
    identity: str
    kernel: str
    measured: tuple[WorkloadMeasurement, ...]
    jain: float | None = None
    jain_1s: float | None = None
    kernel_build: str = ""
    """The hash of the kernel's build; empty for a kernel that mptcplab did not build."""
    hz: int | None = None
    """Ticks of the kernel's timers per second; None if the recording predates this field."""
    time: str = "virtual"
    """The kind of the clock: "virtual", "instructions" of an emulated CPU, "machine" (a virtual one's) or "real"."""
    network: NetworkCounters = field(default_factory=NetworkCounters)
    """The counters of links, endpoints and middleboxes."""
    conditions: str = ""
    """The conditions that runs share with the runs of TCP beside them, see :mod:`mptcplab.metrics.against_tcp`."""
    earlier: Earlier = field(default_factory=dict)
    """Workloads that started before another."""
    path_rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The rates of the paths of each workload, see :func:`mptcplab.metrics.against_tcp.path_rates`."""


@dataclass(frozen=True)
class ResultRow:
    """One point of the sweep and one workload, over all repeats.

    ``metrics`` has the metrics that have a meaning for the workload, over the runs that have them, whose seeds are
    ``metric_seeds``; ``never`` has the seeds of the runs in which the measured event did not occur. ``samples`` has the
    single values of each metric, and ``runs`` the identities of the recordings, in the order of ``seeds``.
    """

    settings: dict[str, str]
    workload: str
    metrics: Mapping[str, Interval]
    mptcp: str
    counts: tuple[MptcpCounts, ...]
    shares: dict[str, float]
    congestion: str
    scheduler: str
    kernel: str
    seeds: tuple[int, ...]
    warnings: tuple[str, ...]
    samples: dict[str, tuple[float, ...]] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    metric_seeds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    hz: int | None = None
    time: str = "virtual"
    gateways: str = ""
    share_values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The share of each path, by run; ``share_seeds`` are the seeds of the runs whose shares are known."""
    share_seeds: tuple[int, ...] = ()
    never: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    overlaps: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The seeds of the runs in which an earlier workload was still running when this one began, by its name."""
    overlap_parts: Mapping[str, float] = field(default_factory=dict)
    """The part of this workload's time in which they were, mean over those runs."""
    reasons: tuple[RowReason, ...] = ()
    """Why it is as it is, where that is known."""
    conditions: str = ""
    """The conditions of its runs (:class:`RunResult`); empty if they are unknown or differ."""
    path_rates: Mapping[str, float] = field(default_factory=dict)
    """The configured rate in bit/s of each path of the workload whose rate is fixed and known."""
    failed: FailedConnections | None = None
    """The connections that failed, if any did."""

    @property
    def goodput_mbps(self) -> Interval:
        """The goodput, which every run has."""
        return self.metrics["goodput_mbps"]

    @property
    def n(self) -> int:
        """The number of runs."""
        return self.goodput_mbps.n

    @property
    def is_tcp(self) -> bool:
        """True if all connections were plain TCP from the beginning: a fallback does not count."""
        return self.mptcp == "no"

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the reasons that tables and reports show."""
        return tuple(reason.text for reason in self.reasons if reason.is_noted)

    @property
    def failed_text(self) -> str:
        """The connections that failed, for a cell; empty if none did."""
        return self.failed.text_in(self.n) if self.failed is not None else ""

    @property
    def known(self) -> dict[str, Interval | None]:
        """The metrics that some run has; a metric known to have no value in any run is None."""
        return {**dict.fromkeys(self.never), **self.metrics}

    @property
    def shown(self) -> dict[str, Interval | None]:
        """The metrics that have columns in a table of this row alone."""
        return {
            name: interval
            for name, interval in self.known.items()
            if interval is not None or METRICS[name].display.shown_without_values
        }

    @property
    def kernel_name(self) -> str:
        """The kernel's release with its timer frequency, for readers."""
        return kernel_text(self.kernel, self.hz)

    @property
    def measured_on(self) -> str:
        """The kernel and the kind of its clock, for readers of a figure."""
        return f"kernel {self.kernel_name}; {clock_text(self.time)}"

    def to_json(self) -> dict[str, Any]:
        """Return JSON data with units in the names."""
        return {
            "settings": self.settings,
            "workload": self.workload,
            **{name: self._metrics_document(name) for name in IN_EVERY_ROW},
            "metrics": {name: self._metrics_document(name) for name in list_metric_names([self.known], hidden=True)},
            "mptcp": self.mptcp,
            **({"gateways": self.gateways} if self.gateways else {}),
            "kernel_counts": [asdict(counts) for counts in self.counts],
            "shares": self.shares,
            "share_values": {
                "seeds": list(self.share_seeds),
                "paths": {k: list(v) for k, v in self.share_values.items()},
            },
            "congestion_control": self.congestion,
            "scheduler": self.scheduler,
            "kernel": self.kernel,
            "hz": self.hz,
            "time": self.time,
            "seeds": list(self.seeds),
            "runs": list(self.runs),
            "warnings": list(self.warnings),
            **({"reasons": [reason.to_json() for reason in self.reasons]} if self.reasons else {}),
            **({"connections": self.failed.to_json()} if self.failed is not None else {}),
            **(self._overlaps_document() if self.overlaps else {}),
        }

    def _overlaps_document(self) -> dict[str, Any]:
        seeds = {name: list(seeds) for name, seeds in self.overlaps.items()}
        return {"overlaps": seeds, "overlap_parts": dict(self.overlap_parts)}

    def seeds_of(self, metric: str) -> tuple[int, ...]:
        """Return the seeds of the runs that have a metric, in the order of its ``samples``."""
        return self.metric_seeds.get(metric, self.seeds if metric in IN_EVERY_ROW else ())

    def _metrics_document(self, name: str) -> dict[str, Any]:
        """Return a metric with the seeds of the runs that have it; for a metric in every row only if some runs lack it.

        The runs in which the measured event did not occur are ``never``.
        """
        seeds = self.seeds_of(name)
        of_seeds = {} if name in IN_EVERY_ROW and len(seeds) == len(self.seeds) else {"seeds": list(seeds)}
        never = {"never": list(self.never[name])} if name in self.never else {}
        return {**self._metric(name, self.metrics.get(name)), **of_seeds, **never}

    def _metric(self, name: str, interval: Interval | None) -> dict[str, Any]:
        if interval is None:
            return {"mean": None, "ci95_half_width": None, "n": 0, "values": []}
        document = interval.to_json()
        values = self.samples.get(name)
        if values:
            median = median_interval(values)
            bounds = None if median.low is None else [median.low, median.high]
            document |= {"median": median.value, "median_ci95": bounds, "values": list(values)}
        return document


#: What rows say of the sockets of their workload, beside metrics and shares.
SOCKET_TEXTS: tuple[Column[ResultRow], ...] = (
    Column(
        name="mptcp",
        definition="whether MPTCP was in use, and the number of subflows",
        type=str,
        display=Display(head="MPTCP in use"),
    ),
    Column(
        name="congestion_control",
        definition="congestion controls of the sockets that sent data",
        value=lambda row: row.congestion,
        type=str,
        display=Display(head="CC on sockets"),
    ),
    Column(
        name="scheduler",
        definition="scheduler of the sockets that sent data",
        type=str,
        display=Display(head="scheduler"),
    ),
)


@dataclass(frozen=True)
class FairnessRow:
    """Jain's index, mean over seeds, of the workloads of one point that ran at the same time."""

    settings: dict[str, str]
    jain: Interval
    jain_1s: Interval | None = None

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        document: dict[str, Any] = {"settings": self.settings, "jain_index": self.jain.to_json()}
        return document | ({"jain_index_1s": self.jain_1s.to_json()} if self.jain_1s is not None else {})


def run_result(recording: Recording, settings: Settings | None = None) -> RunResult:
    """Measure one run. ``settings`` default to those in its manifest.

    :raises LabError: if the recording is damaged, or a program's output is invalid.
    """
    message = f"the recording {recording.folder} is damaged"
    try:
        with report_damage(message, hint=REPEAT_HINT):
            return _run_result(recording, settings)
    except OSError as error:
        raise LabError(message, hint=f"{REPEAT_HINT} ({error.strerror}: {error.filename})") from error


def _run_result(recording: Recording, settings: Settings | None) -> RunResult:
    label, kernel = read_label(recording), read_facts(recording).kernel
    network = network_counters(recording)
    measured = tuple(measure(recording, network))
    together = find_common_span_s(recording)
    return RunResult(
        settings=label.settings if settings is None else settings,
        seed=label.seed,
        identity=label.identity,
        kernel=kernel.release,
        measured=measured,
        network=network,
        jain=jain_index([measurement.goodput_bps for measurement in measured]) if together else None,
        jain_1s=compute_mean_jain_over_time(recording, *together) if together else None,
        kernel_build=kernel.key,
        hz=kernel.hz,
        time=kernel.time,
        conditions=hash_conditions(recording),
        earlier=earlier_workloads(recording, measured),
        path_rates={measurement.workload: path_rates(recording, measurement.workload) for measurement in measured},
    )


def kernel_builds(results: Iterable[RunResult]) -> dict[str, str]:
    """Return the hash of the build of each kernel that executed some runs, by its release.

    Recordings know it, whatever executed the runs: this machine's lab kernel may have had no part in them.
    """
    return {result.kernel: result.kernel_build for result in results}


def result_rows(recordings: Iterable[Recording]) -> list[ResultRow]:
    """Return one row per point and workload, in the order in which the points first appear."""
    return rows_of(run_result(recording) for recording in recordings)


def rows_of(results: Iterable[RunResult]) -> list[ResultRow]:
    """Return one row per point and workload, in the order in which the points first appear."""
    return [build_row(members) for members in group_runs(_with_benefits_over_tcp(list(results))).values()]


def _with_benefits_over_tcp(results: Sequence[RunResult]) -> list[RunResult]:
    """Return ``results`` with the metric that follows from several runs. Only a workload that ran alone has it."""
    alone = [result for result in results if len(result.measured) == 1]
    benefits = benefits_over_tcp(
        [ComparedRun(result.settings, result.seed, result.measured[0], result.conditions) for result in alone]
    )
    return [
        _with_benefit_over_tcp(result, next(benefits)) if len(result.measured) == 1 else result for result in results
    ]


def _with_benefit_over_tcp(result: RunResult, benefit: float | None) -> RunResult:
    if benefit is None:
        return result
    (measured,) = result.measured
    return replace(result, measured=(replace(measured, metrics={**measured.metrics, OVER_TCP.name: benefit}),))


def group_runs(results: Iterable[RunResult]) -> dict[tuple[Settings, str], list[tuple[RunResult, WorkloadMeasurement]]]:
    """Group runs by point and workload."""
    groups: dict[tuple[Settings, str], list[tuple[RunResult, WorkloadMeasurement]]] = {}
    for result in results:
        for measured in result.measured:
            groups.setdefault((result.settings, measured.workload), []).append((result, measured))
    return groups


def build_row(members: Sequence[tuple[RunResult, WorkloadMeasurement]]) -> ResultRow:
    """Return the row of all runs of one point and workload."""
    first, all_measured = members[0][0], [measured for _, measured in members]
    known = [dict.fromkeys((*measured.metrics, *measured.never)) for measured in all_measured]
    shown = [*IN_EVERY_ROW, *list_metric_names(known, hidden=True)]
    never = {name: tuple(run.seed for run, measurement in members if name in measurement.never) for name in shown}
    shares = {run.seed: measurement.sockets.shares for run, measurement in members if measurement.sockets.shares}
    overlaps = _find_overlaps([(run.seed, run.earlier.get(measurement.workload, {})) for run, measurement in members])
    having = {
        name: [(run.seed, measurement.metrics[name]) for run, measurement in members if name in measurement.metrics]
        for name in shown
    }
    samples = {name: tuple(value for _, value in pairs) for name, pairs in having.items()}
    return ResultRow(
        settings=dict(first.settings),
        workload=all_measured[0].workload,
        metrics={name: mean_interval(values) for name, values in samples.items() if values},
        mptcp=use_of_all(measured.sockets.use for measured in all_measured).text,
        counts=tuple(measured.counts for measured in all_measured),
        gateways=text_of_all(measured.gateways for measured in all_measured),
        shares={path: sum(values) / len(values) for path, values in _shares_by_path(shares.values()).items()},
        share_values=_shares_by_path(shares.values()),
        share_seeds=tuple(shares),
        congestion=_common(", ".join(measured.sockets.congestion) for measured in all_measured),
        scheduler=_common(measured.scheduler for measured in all_measured),
        kernel=first.kernel,
        hz=first.hz,
        time=first.time,
        seeds=tuple(result.seed for result, _ in members),
        warnings=tuple(
            dict.fromkeys(
                merge_similar_warnings(
                    warning for measurement in all_measured for warning in measurement.warnings
                ).values()
            )
        ),
        samples=samples,
        metric_seeds={name: tuple(seed for seed, _ in pairs) for name, pairs in having.items()},
        runs=tuple(result.identity for result, _ in members),
        never={name: seeds for name, seeds in never.items() if seeds},
        overlaps={name: tuple(seeds) for name, seeds in overlaps.items()},
        reasons=reasons_of_row((run.seed, measured.reasons) for run, measured in members),
        overlap_parts={name: fmean(seeds.values()) for name, seeds in overlaps.items()},
        conditions=first.conditions if len({run.conditions for run, _ in members}) == 1 else "",
        path_rates=first.path_rates.get(all_measured[0].workload, {}),
        failed=failed_in_runs(measured.failures for measured in all_measured),
    )


def _find_overlaps(runs: Sequence[tuple[int, Mapping[str, float]]]) -> dict[str, dict[int, float]]:
    """Return in which seeds each of the earlier workloads was still running, if in any, and for which part."""
    names = dict.fromkeys(name for _, earlier in runs for name, part in earlier.items() if part)
    return {name: {seed: earlier[name] for seed, earlier in runs if earlier.get(name)} for name in names}


def fairness_rows(results: Iterable[RunResult]) -> list[FairnessRow]:
    """Return one row per point whose workloads ran at the same time."""
    run_results: dict[Settings, list[RunResult]] = {}
    for result in results:
        if result.jain is not None:
            run_results.setdefault(result.settings, []).append(result)
    rows = []
    for settings, members in run_results.items():
        over_time = [member.jain_1s for member in members if member.jain_1s is not None]
        whole = mean_interval([member.jain for member in members if member.jain is not None])
        rows.append(FairnessRow(dict(settings), whole, mean_interval(over_time) if over_time else None))
    return rows


def _common(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(texts))


def _shares_by_path(known: Collection[Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    """Return the share of each path in the runs whose shares are known; a path that such a run does not name has 0."""
    names = sorted({name for shares in known for name in shares})
    return {name: tuple(shares.get(name, 0.0) for shares in known) for name in names}


# Outages that are not what a failure interrupts: they begin long after it.

#: The metric, the times from the failure to it, and what begins with the failure.
OUTAGE, AFTER, INTERRUPTION = "outage_s", "outage_after_s", "interruption_s"
#: Such an outage is reported if it is longer than this, and longer by this factor than what the failure interrupts.
_WORTH_TELLING_S, _TIMES = 0.1, 1.5


def later_outages(row: ResultRow) -> list[float]:
    """Return when the outages of a row's runs begin that do so late, in seconds after the failure."""
    # Runs without an end of the outage have no such values: nothing later is known of them.
    after, outage, interruption = (
        dict(zip(row.seeds_of(name), row.samples.get(name, ()), strict=True)) for name in (AFTER, OUTAGE, INTERRUPTION)
    )
    return [
        after[seed]
        for seed in after.keys() & outage.keys() & interruption.keys()
        if after[seed] > WINDOW_S and outage[seed] > max(_WORTH_TELLING_S, _TIMES * interruption[seed])
    ]


# Counters of the network by the points of a sweep: means over seeds, and the single values.


def network_document(results: Sequence[RunResult]) -> dict[str, Any]:
    """Return the rows of all scopes as JSON data for results.json."""
    documents = {scope: [row.to_json() for row in scope_rows(scope, results)] for scope in SCOPES}
    return {scope.name: rows for scope, rows in documents.items() if rows or not scope.optional}


def scope_rows(scope: Scope[_T], results: Sequence[RunResult]) -> list[ScopeRow[_T]]:
    """Return the rows of a scope by point; an item has several rows if its keys differ between seeds."""
    groups: dict[tuple[Settings, Hashable], list[tuple[int, _T]]] = {}
    for result in results:
        for item in result.network.get(scope):
            groups.setdefault((result.settings, scope.identify(item)), []).append((result.seed, item))
    return [ScopeRow(scope, dict(settings), tuple(members)) for (settings, _), members in groups.items()]
