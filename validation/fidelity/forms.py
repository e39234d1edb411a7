# SPDX-License-Identifier: MIT
"""Short forms of scenarios that every engine can execute: representative points, less data, nothing of the lab's own.

A stock kernel in QEMU takes some 3 s of CPU time for a second of two lines of 100 Mbit/s, so the studies as published
would take weeks there. A short form keeps the network and the kind of its load, and cuts what repeats.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

from mptcplab.campaign.identity import resolve_scenario
from mptcplab.campaign.record import prepare_engines
from mptcplab.engine.stock.modules import SETTINGS_OF_LAB
from mptcplab.errors import LabError
from mptcplab.node.transport import Transport
from mptcplab.plan.estimate import RatedNetwork
from mptcplab.prebuilt import STUDY_DESCRIPTIONS
from mptcplab.scenario.load import Run, SweepPoint, load
from mptcplab.scenario.schema import Scenario
from mptcplab.units import Duration, Size

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "src" / "mptcplab" / "studies"
#: Payload of one run: some 14,000 packets.
_BUDGET_BYTES = 20e6
_SECOND = 10**9
#: Bounds of the time for which workloads send; the shorter one is also this many round trips.
_MIN_SECONDS, _MAX_SECONDS, _MIN_ROUND_TRIPS = 2.0, 10.0, 20
#: Schedulers of the lab are not in stock kernels, and lab kernels are chosen by the engine. Both are left out.
_NOT_COMPARED = ("scheduler", "kernel")
#: A setting that 6.12 does not have. It matters where handshakes get lost.
NEW_SETTING = "net.mptcp.syn_retrans_before_tcp_fallback"
#: Every point runs with the seeds from 1 to this, unless the command asks for another number.
SEEDS = 5
_FIRST_SEED = 1
#: Scenarios of which both ends of the sweep are compared: TCP beside MPTCP, and the slowest network beside the fastest.
_BOTH_ENDS = ("two-paths", "subramani2018/table-4.2", "subramani2018/table-4.6", "nguyen2014/rtt")


@dataclass(frozen=True)
class Form:
    """The short form of a scenario: its points, and what was changed. Without points, ``refused`` says why."""

    name: str
    title: str
    points: tuple[SweepPoint, ...]
    changes: tuple[str, ...]
    refused: str = ""

    @property
    def sized(self) -> set[str]:
        """The workloads whose duration is a result, because they send a given amount of data."""
        workloads = [item for point in self.points for item in point.scenario.workloads.items()]
        return {name for name, workload in workloads if getattr(workload, "size", None) is not None}

    @property
    def flows(self) -> set[str]:
        """The workloads that send as much as the network allows."""
        workloads = [item for point in self.points for item in point.scenario.workloads.items()]
        return {name for name, workload in workloads if workload.is_bulk}

    @property
    def digest(self) -> str:
        """The hash of everything that the runs of the form follow from, except engine, kernel and seeds."""
        return digest_of(self.points)


def digest_of(points: Iterable[SweepPoint]) -> str:
    """Return the hash of everything that runs of these points follow from, except engine, kernel and seeds."""
    runs = [Run(point, 0, _FIRST_SEED) for point in points]
    text = json.dumps([resolve_scenario(run, exclude_defaults=True) for run in runs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def files() -> dict[str, Path]:
    """Return the scenarios of the examples and of the studies by name, the most important ones first."""
    groups = (
        sorted((ROOT / "examples").glob("*.toml")),
        sorted(STUDIES.glob("*/table-*.toml")),
        [STUDIES / "nguyen2014" / f"{name}.toml" for name in ("rtt", "loss", "unequal-rtt", "unequal-loss")],
        sorted(file for file in (ROOT / "examples").glob("*/*.toml") if not _is_of_machines(file)),
        sorted(file for file in STUDIES.glob("*/*.toml") if file.name not in STUDY_DESCRIPTIONS),
    )
    return {_name_of(file): file for group in groups for file in group}


def _is_of_machines(file: Path) -> bool:
    """Return whether a file describes real machines, in place of a scenario."""
    return file.name == "inventory.toml" or file.parent.name == "steering"


def _name_of(file: Path) -> str:
    base = STUDIES if file.is_relative_to(STUDIES) else ROOT / "examples"
    return str(file.relative_to(base).with_suffix(""))


def form_of(name: str, file: Path, engine: str) -> Form:
    """Return the short form of a scenario, with the last point that ``engine`` can execute, and for some the first.

    At the end of a sweep its effect is usually the largest, and MPTCP is in use: TCP, the shorter delay and the smaller
    loss come first.
    :raises LabError: if the file is not a scenario.
    """
    experiment = load(file)
    candidates: dict[str, SweepPoint] = {}
    changes: dict[str, list[str]] = {}
    refusals: dict[str, None] = {}
    for point in experiment.points:
        short, changed = comparable(point.scenario)
        text = short.model_dump_json(by_alias=True, exclude={"title", "question"})
        candidates.setdefault(text, SweepPoint(_settings(point, short), short))
        changes.setdefault(text, changed)
    points = _ends(candidates.values(), engine, refusals)[0 if name in _BOTH_ENDS else -1 :]
    words = dict.fromkeys(word for text, point in candidates.items() if point in points for word in changes[text])
    return Form(name, experiment.title, points, tuple(words), "" if points else "; ".join(refusals))


def _settings(point: SweepPoint, short: Scenario) -> dict[str, str]:
    """Return the point's swept keys and values, without keys that the form does not have."""
    settings = {}
    for key, value in point.settings.items():
        table, *names = key.split(".")
        if key.rpartition(".")[2] in _NOT_COMPARED:
            continue
        if table == "workloads" and len(names) == 2 and names[1] in ("duration", "size") and "*" not in names[0]:
            value = str(getattr(short.workloads[names[0]], names[1]))
        settings[key] = value
    return settings


def _ends(points: Iterable[SweepPoint], engine: str, refusals: dict[str, None]) -> tuple[SweepPoint, ...]:
    every = list(points)
    first = next(_accept(every, engine, refusals), None)
    last = next(_accept(reversed(every), engine, refusals), None)
    if first is None or last is None:
        return ()
    return (first,) if last is first else (first, last)


def _accept(points: Iterable[SweepPoint], engine: str, refusals: dict[str, None]) -> Iterator[SweepPoint]:
    for point in points:
        if reason := refusal(point, engine):
            refusals[reason] = None
        else:
            yield point


def refusal(point: SweepPoint, engine: str) -> str:
    """Return why an engine cannot execute a point; empty if it can."""
    settings = {name for transport in point.scenario.transports.values() for name in transport.sysctl}
    if of_lab := sorted(name for name in settings if name.startswith(SETTINGS_OF_LAB)):
        return f"only the lab kernel has the setting {', '.join(of_lab)}"
    try:
        prepare_engines([Run(point, 0, _FIRST_SEED)], name=engine)
    except LabError as error:
        return error.message
    return ""


def comparable(scenario: Scenario) -> tuple[Scenario, list[str]]:
    """Return a scenario cut to what every engine can execute in a short time, and the changes in words."""
    changes: list[str] = []
    for change in (_without_algorithms, _without_kernel, _without_captures, _shorten):
        scenario, words = change(scenario)
        changes += words
    return scenario, changes


def _without_algorithms(scenario: Scenario) -> tuple[Scenario, list[str]]:
    named: dict[str, None] = {}

    def drop_size(part: Any) -> Any:
        new: dict[str, Any] = {}
        if part.scheduler is not None:
            named[f"scheduler `default` in place of `{part.scheduler}`"] = None
            new["scheduler"] = None
        if NEW_SETTING in getattr(part, "sysctl", {}):
            named[f"without `{NEW_SETTING}`"] = None
            new["sysctl"] = {name: value for name, value in part.sysctl.items() if name != NEW_SETTING}
        return part.model_copy(update=new)

    changed = with_transports(scenario, drop_size)
    workloads = {name: drop_size(workload) for name, workload in scenario.workloads.items()}
    words = [word for word in named if not word.endswith("of `default`")]
    return changed.model_copy(update={"workloads": workloads}), words


def with_transports(scenario: Scenario, change: Callable[[Transport], Transport]) -> Scenario:
    """Return the scenario with the transports of all nodes with sockets of their own changed."""
    tables: dict[str, Any] = {
        table: {
            name: node.model_copy(update={"transport": change(transport)})
            if (transport := node.own_transport)
            else node
            for name, node in nodes.items()
        }
        for table, nodes in scenario.node_tables.items()
    }
    return scenario.model_copy(update=tables)


def with_sysctl(scenario: Scenario, settings: Mapping[str, int]) -> Scenario:
    """Return the scenario with these ``settings`` of the kernel on all nodes with sockets of their own."""
    return with_transports(
        scenario, lambda transport: transport.model_copy(update={"sysctl": {**transport.sysctl, **settings}})
    )


def _without_kernel(scenario: Scenario) -> tuple[Scenario, list[str]]:
    default = type(scenario).model_fields["kernel"].default
    words = [f"not the kernel `{scenario.kernel}`"] if scenario.is_set("kernel") else []
    return scenario.model_copy(update={"kernel": default}), words


def _without_captures(scenario: Scenario) -> tuple[Scenario, list[str]]:
    if not scenario.record.captures:
        return scenario, []
    record = scenario.record.model_copy(update={"captures": ()})
    return scenario.model_copy(update={"record": record}), ["no captures"]


def _shorten(scenario: Scenario) -> tuple[Scenario, list[str]]:
    """Cut durations and sizes to the budget, counted from when all workloads and events have begun."""
    end_ns = _begun_ns(scenario) + round(_seconds(scenario) * _SECOND)
    sized = sum(getattr(workload, "size", None) is not None for workload in scenario.workloads.values())
    words, workloads = [], {}
    for name, workload in scenario.workloads.items():
        new: dict[str, Any] = {}
        if (duration := getattr(workload, "duration", None)) is not None:
            whole = max(1, ceil((end_ns - workload.start) / _SECOND)) * _SECOND
            new = {"duration": Duration(whole)} if whole < duration else {}
        elif (size := getattr(workload, "size", None)) is not None:
            most = Size(int(_BUDGET_BYTES / sized))
            new = {"size": most} if most < size else {}
        words += [f"`{name}.{key}` {value}" for key, value in new.items()]
        workloads[name] = workload.model_copy(update=new)
    return scenario.model_copy(update={"workloads": workloads}), words


def _begun_ns(scenario: Scenario) -> int:
    starts = [int(workload.start) for workload in scenario.workloads.values()]
    return max([*starts, *(int(event.at) for event in scenario.events)])


def _seconds(scenario: Scenario) -> float:
    network = RatedNetwork(scenario)
    bulk = [workload for workload in scenario.workloads.values() if workload.is_bulk]
    bps = sum(network.goodput_bps(workload) for workload in bulk)
    round_trip_s = max((path.rtt_s for workload in bulk for path in network.paths_of(workload)), default=0.0)
    least = max(_MIN_SECONDS, min(_MAX_SECONDS, _MIN_ROUND_TRIPS * round_trip_s))
    return min(_MAX_SECONDS, max(least, 8 * _BUDGET_BYTES / bps)) if bps else _MAX_SECONDS


def changed_points(form: Form, change: Any) -> tuple[SweepPoint, ...]:
    """Return the points of a form with another change of their scenarios."""
    return tuple(replace(point, scenario=change(point.scenario)) for point in form.points)


def runs_of(points: Sequence[SweepPoint], seeds: int) -> list[Run]:
    """Return every point with each of the first ``seeds`` seeds."""
    return [Run(point, repeat, _FIRST_SEED + repeat) for point in points for repeat in range(seeds)]
