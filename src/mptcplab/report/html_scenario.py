# SPDX-License-Identifier: MIT
"""A resolved scenario, as recordings hold it, written as a file that runs."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from mptcplab.node.registry import kind_of
from mptcplab.recording.record import Recording
from mptcplab.report.scenario_toml import known_tables, leave_to_traces, scenario_toml
from mptcplab.scenario.schema import Scenario


def to_toml(recording: Recording, *, title: str) -> str:
    """The run's point and seed as a scenario file: defaults are left out, and no preset is needed."""
    said = {"title": title.strip() or "untitled", **_without_none(scenario_of(recording))}
    try:
        tables = known_tables(Scenario.model_validate(said))
    except ValidationError:  # recorded by a version whose language was another: as it stands
        tables = said
    events = _plan(recording).get("events", ())
    leave_to_traces(tables, ((e["link"], e["direction"], e["value"]) for e in events if e["kind"] == "trace"))
    return scenario_toml(tables, first={"title": tables.pop("title"), "seed": recording.manifest["seed"]})


def _plan(recording: Recording) -> dict[str, Any]:
    try:
        plan: dict[str, Any] = json.loads((recording.folder / "plan.json").read_text())["plan"]
    except (OSError, ValueError, LookupError):
        return {}
    return plan


def scenario_of(recording: Recording) -> dict[str, Any]:
    """The resolved scenario in the order of its file, which decides addresses and routes; manifests sort by name."""
    scenario: dict[str, Any] = recording.manifest["facts"]["scenario"]
    described = recording.manifest
    names: dict[str, list[str]] = {
        "links": [link["name"] for link in described["links"]],
        "workloads": [workload["name"] for workload in described["workloads"]],
    }
    for node in described["nodes"]:
        names.setdefault(kind_of(node["kind"]).table, []).append(node["name"])
    return {**scenario, **{key: {name: scenario[key][name] for name in order} for key, order in names.items()}}


def _without_none(value: Any) -> Any:
    """TOML has no null; keys that say nothing are left out."""
    if isinstance(value, dict):
        return {key: _without_none(below) for key, below in value.items() if below is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(below) for below in value]
    return value
