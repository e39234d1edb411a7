# SPDX-License-Identifier: MIT
"""Requirements that the results of an experiment have to meet: ``mptcplab run --require``.

``mptcp`` requires that each workload that asks for MPTCP uses it, bulk data on all paths; ``connections`` that none
fails. ``goodput_mbps >= 20`` is a bound for the mean of a metric, in the unit of its name in results.json;
``bulk:goodput_mbps >= 20`` is about one workload. Each requirement is checked for each row of the table that it is
about.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from mptcplab.errors import InputError
from mptcplab.metrics.named import OTHER_WORDS, named_metrics
from mptcplab.metrics.registry import METRICS, list_metric_names
from mptcplab.metrics.rows import ResultRow, RunResult, group_runs
from mptcplab.metrics.values import point_text
from mptcplab.report.junit import Case, Suite
from mptcplab.scenario.document import suggest_name

_MPTCP, _CONNECTIONS = "mptcp", "connections"
#: Metrics that a run has only if a connection failed: without them a bound is met, not without a row to check.
_OF_FAILED_CONNECTIONS = ("failed_connections", "failed_after_s")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_BOUND = re.compile(
    r"\s*(?:(?P<workload>[^:<>=\s]+):)?(?P<metric>[^:<>=\s]+)\s*(?P<comparison>[<>]=?)\s*"
    r"(?P<value>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*"
)


@dataclass(frozen=True)
class Bound:
    """A bound for the mean of a metric over the seeds of a row, in the unit of its name in JSON.

    ``workload`` is the workload that it is about, None for all that have the metric.
    """

    metric: str
    comparison: str
    value: float
    workload: str | None = None

    @property
    def text(self) -> str:
        """The requirement as users type it."""
        prefix = f"{self.workload}:" if self.workload else ""
        return f"{prefix}{self.metric} {self.comparison} {self.value:g}"

    def fault(self, row: ResultRow) -> str | None:
        """Return how a row violates the bound, empty if it meets it; None if the bound is not about the row."""
        if self.metric not in row.known or self.workload not in (None, row.workload):
            return None
        interval = row.metrics.get(self.metric)
        if never := row.never.get(self.metric):
            return f"{self.metric} has no value in {len(never)} of {row.n} runs ({_seeds_text(never)})"
        if interval is None or _COMPARISONS[self.comparison](interval.mean, self.value):
            return ""
        return f"{self.metric} is {interval.mean:.6g}" + (f", the mean of {interval.n} runs" if interval.n > 1 else "")


@dataclass(frozen=True)
class MptcpUsed:
    """The requirement that each workload which asks for MPTCP uses it, and bulk data all of its paths."""

    text: str = _MPTCP


@dataclass(frozen=True)
class ConnectionsHold:
    """The requirement that no connection of any workload fails."""

    text: str = _CONNECTIONS

    @staticmethod
    def fault(row: ResultRow) -> str:
        """Return which connections of a row failed, empty if none did."""
        return f"failed connections: {row.failed_text}" if row.failed is not None else ""


Requirement = Bound | MptcpUsed | ConnectionsHold


@dataclass(frozen=True)
class RequirementVerdict:
    """A requirement and a row, ``place``: ``scheduler blest, bulk``. ``fault`` is empty if the row meets it."""

    requirement: Requirement
    place: str
    fault: str

    @property
    def sentence(self) -> str:
        """The requirement, the row, and how the row violates it."""
        return f"{self.requirement.text} is violated{f' by {self.place}' if self.place else ''}: {self.fault}"


def parse_requirement(text: str, workloads: Collection[str]) -> Requirement:
    """Return the requirement that a user typed. ``workloads`` are the scenario's.

    :raises InputError: if it has another form, or names an unknown metric or workload.
    """
    if text.strip() == _MPTCP:
        return MptcpUsed()
    if text.strip() == _CONNECTIONS:
        return ConnectionsHold()
    match = _BOUND.fullmatch(text)
    if match is None:
        hint = "use mptcp, connections, or a metric, >=, <=, > or <, and a number: 'goodput_mbps >= 20'"
        raise InputError(f"--require: '{text}' is not a requirement", hint=hint)
    metric, workload = match["metric"], match["workload"]
    if metric not in METRICS:
        raise InputError(f"--require: there is no metric '{metric}' in results.json", hint=_metric_hint(metric))
    if metric in _OF_FAILED_CONNECTIONS:
        message = f"--require: '{metric}' exists only in runs in which a connection failed"
        raise InputError(message, hint="--require connections demands that none fails")
    if METRICS[metric].by_path:
        raise InputError(f"--require: '{metric}' has a value for each path", hint="only metrics of a workload can do")
    if workload is not None and workload not in workloads:
        raise InputError(f"--require: there is no workload '{workload}'", hint=f"use one of {', '.join(workloads)}")
    return Bound(metric, match["comparison"], float(match["value"]), workload)


def _metric_hint(name: str) -> str:
    near = suggest_name(name, (metric for metric in METRICS if not METRICS[metric].by_path))
    names = named_metrics(name) or OTHER_WORDS.get(name.casefold()) or ([near] if near else [])
    if names:
        return f"did you mean {' or '.join(f'`{text}`' for text in names)}?"
    return "the names are in results.json: goodput_mbps, duration_s, the keys of `metrics`"


def check_requirements(
    requirements: Sequence[Requirement], rows: Sequence[ResultRow], results: Sequence[RunResult]
) -> list[RequirementVerdict]:
    """Return a verdict for each requirement and row that it is about.

    ``results`` are the runs of the rows. A requirement that is about no row is violated.
    """
    verdicts: list[RequirementVerdict] = []
    for requirement in requirements:
        if isinstance(requirement, Bound):
            faults = [(_place(row), fault) for row in rows if (fault := requirement.fault(row)) is not None]
            lack = f"no row has it; there are {', '.join(_metrics_of(rows, requirement.workload))}"
        elif isinstance(requirement, ConnectionsHold):
            faults, lack = [(_place(row), requirement.fault(row)) for row in rows], "there is no row"
        else:
            faults, lack = list(_mptcp_faults(results)), "no workload asked for MPTCP"
        verdicts += [RequirementVerdict(requirement, place, fault) for place, fault in faults or [("", lack)]]
    return verdicts


def requirements_suite(title: str, verdicts: Sequence[RequirementVerdict]) -> Suite:
    """Return verdicts as tests, to follow the tests of the experiment's runs."""
    cases = (
        Case(
            f"{verdict.requirement.text}{f' ({verdict.place})' if verdict.place else ''}",
            "failure" if verdict.fault else "passed",
            verdict.fault,
        )
        for verdict in verdicts
    )
    return Suite(f"{title}: requirements", tuple(cases))


def _mptcp_faults(results: Sequence[RunResult]) -> Iterator[tuple[str, str]]:
    """Yield each point and workload that asked for MPTCP with how its runs differ from that, empty if they do not."""
    for members in group_runs(results).values():
        faults: dict[str, list[int]] = {}
        asked = False
        for result, measured in members:
            asked |= measured.mptcp_faults is not None
            for fault in measured.mptcp_faults or ():
                faults.setdefault(fault, []).append(result.seed)
        if asked:
            first, workload = members[0]
            texts = (f"{fault} ({_seeds_text(seeds)})" for fault, seeds in faults.items())
            yield _place_text(dict(first.settings), workload.workload), "; ".join(texts)


def _metrics_of(rows: Sequence[ResultRow], workload: str | None) -> list[str]:
    of_workload = [row for row in rows if workload in (None, row.workload)]
    in_every_row = [name for name, metric in METRICS.items() if metric.in_every_row]
    return [*in_every_row, *list_metric_names((row.known for row in of_workload), hidden=True)]


def _place(row: ResultRow) -> str:
    return _place_text(row.settings, row.workload)


def _place_text(settings: dict[str, str], workload: str) -> str:
    return ", ".join(filter(None, [point_text(settings), workload]))


def _seeds_text(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
