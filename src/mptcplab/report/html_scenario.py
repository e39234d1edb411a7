# SPDX-License-Identifier: MIT
"""Write the resolved scenario of a recording as a scenario file that runs."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from mptcplab.errors import LabError
from mptcplab.metrics.manifest import read_label, read_links, read_nodes, read_scenario
from mptcplab.node.registry import kind_of
from mptcplab.recording.record import REPEATED, Recording
from mptcplab.report.scenario_toml import leave_to_traces, scenario_toml, tables_without_defaults
from mptcplab.report.traces import trace_steps
from mptcplab.scenario.schema import Scenario
from mptcplab.workload.recorded import read_workloads


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
        raise LabError(f"the manifest of {recording.folder} has no scenario", hint=REPEATED)
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
