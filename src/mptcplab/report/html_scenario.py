# SPDX-License-Identifier: MIT
"""A resolved scenario, as recordings hold it, written as a file that runs."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import ValidationError

from mptcplab.recording.record import Recording
from mptcplab.scenario.schema import Scenario

#: A list that tomli-w has spread over lines. Line ends in text are escaped, so that these can only be its own.
_SHORT_LIST = re.compile(r"= \[\n((?:    [^\n\[{ ]{1,40},\n){1,4})\]")


def to_toml(recording: Recording, *, title: str) -> str:
    """The run's point and seed as a scenario file: defaults are left out, and no preset is needed."""
    import tomli_w  # late: only a report writes TOML

    said = {"title": title.strip() or "untitled", **_without_none(scenario_of(recording))}
    try:
        known = Scenario.model_validate(said)
    except ValidationError:  # recorded by a version whose language was another: as it stands
        tables = said
    else:
        tables = known.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        tables["kernel"] = known.kernel
    _leave_to_traces(tables, _plan(recording))
    tables["links"] = {name: _joined(link) for name, link in tables["links"].items()}
    text = tomli_w.dumps({"title": tables.pop("title"), "seed": recording.manifest["seed"], **tables})
    return _SHORT_LIST.sub(lambda found: f"= [{' '.join(found[1].split())[:-1]}]", text)


def _plan(recording: Recording) -> dict[str, Any]:
    try:
        plan: dict[str, Any] = json.loads((recording.folder / "plan.json").read_text())["plan"]
    except (OSError, ValueError, LookupError):
        return {}
    return plan


def scenario_of(recording: Recording) -> dict[str, Any]:
    """The resolved scenario in the order of its file, which decides addresses and routes; manifests sort by name."""
    scenario: dict[str, Any] = recording.manifest["facts"]["scenario"]
    plan = _plan(recording)
    made = [step["argv"] for step in plan.get("setup", ()) if step["argv"][:4] == ["ip", "link", "add", "name"]]
    order = [*plan.get("nodes", ()), *(argv[4] for argv in made)]
    order += [program["name"].rpartition(".")[0] for program in plan.get("programs", ())]
    place = {name: number for number, name in reversed(list(enumerate(order)))}
    tables = ("hosts", "routers", "links", "workloads")
    ordered = {key: dict(sorted(scenario[key].items(), key=lambda item: place.get(item[0], 0))) for key in tables}
    return {**scenario, **ordered}


def _without_none(value: Any) -> Any:
    """TOML has no null; keys that say nothing are left out."""
    if isinstance(value, dict):
        return {key: _without_none(below) for key, below in value.items() if below is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(below) for below in value]
    return value


def _leave_to_traces(tables: dict[str, Any], plan: dict[str, Any]) -> None:
    """A direction with a trace must not say what the trace says."""
    for event in plan.get("events", ()):
        direction = tables["links"].get(event["link"], {}).get(event["direction"], {})
        if event["kind"] == "trace":
            for said in event["value"].split(", "):
                direction.pop(said.partition(" ")[0], None)


def _joined(link: dict[str, Any]) -> dict[str, Any]:
    """Equal directions written once."""
    forward, backward = link.get("forward", {}), link.get("backward", {})
    if forward != backward:
        return link
    return {**{key: value for key, value in link.items() if key not in ("forward", "backward")}, **forward}
