# SPDX-License-Identifier: MIT
"""Check a study's parameters against its scenarios: every table has the value in the study's data, or varies it.

The runs that should show a named reason have its setting.

Scenarios are compared as resolved, with defaults and presets, so that the notation of a value does not matter.
``transport.X`` is the key of every host, and a key of a link is the key of both directions.
"""

from __future__ import annotations

import fnmatch
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from mptcplab.errors import LabError
from mptcplab.node.registry import NODE_KINDS
from mptcplab.scenario.document import is_index, split_key
from mptcplab.scenario.load import Experiment, load
from mptcplab.scenario.schema import Scenario
from mptcplab.study.library import SelectedTable
from mptcplab.study.measurement import fits
from mptcplab.study.parts import Cells, NamedReason, Parameter, ParameterChoice, ReasonRuns

#: A key of the whole file, which resolved scenarios do not have.
REPEATS = "repeats"
#: A value that scenarios leave to the kernel.
DEFAULT = "default"
_LINK_KEYS = ("forward", "backward", "between", "shape", "addresses", "mtu", "radio")
#: Tables with any keys. The kernel has its own value for keys that a scenario does not set.
_OPEN = ("sysctl",)
Path = tuple[str | int, ...]


@dataclass(frozen=True)
class ParameterUse:
    """A parameter in one table. ``values`` are from its resolved scenarios; none if it is not a scenario key.

    There are several values if the points of the table, or the links and hosts that the key matches, have several.
    """

    parameter: Parameter
    choice: ParameterChoice
    values: tuple[str, ...]
    as_declared: bool


def parameters_of(selected: SelectedTable) -> list[Parameter]:
    """Return the parameters of a table: for a table of the source, all that do not exclude it."""
    is_of_source = selected.table.is_of_the_source
    return [
        parameter
        for parameter in selected.study.parameters
        if parameter.is_about(selected.number, is_of_source=is_of_source)
    ]


def compare_parameters(selected: SelectedTable) -> list[ParameterUse]:
    """Compare every parameter of a table with its scenarios. :raises LabError: if a scenario has no such key."""
    experiment = load(selected.scenario)
    dumped = [_to_json(point.scenario) for point in experiment.points]
    return [_use(selected, parameter, experiment, dumped) for parameter in parameters_of(selected)]


def check(tables: Sequence[SelectedTable]) -> None:
    """Compare the study's parameters and the settings of its reasons with the scenarios of ``tables``.

    :raises LabError: if a table has another value than the study's data.
    """
    for selected in tables:
        check_reasons(selected)
        for use in compare_parameters(selected):
            if not use.as_declared:
                raise _damage_error(
                    selected, f"{use.parameter.name} should be {use.choice.value}, but is {', '.join(use.values)}"
                )


def check_reasons(selected: SelectedTable) -> None:
    """Compare the runs of a table that should show named reasons with the settings of these.

    :raises LabError: if a run has another setting.
    """
    for reason in selected.study.reasons:
        for runs in reason.runs:
            if runs.table == selected.number:
                _check_runs(selected, reason, runs)


def _check_runs(selected: SelectedTable, reason: NamedReason, runs: ReasonRuns) -> None:
    points = [point for point in load(selected.scenario).points if _is_among(selected, runs, point.settings)]
    if not points:
        raise _damage_error(selected, f"no run is of the cells that reason '{reason.name}' names", section="reasons")
    for dumped in (_to_json(point.scenario) for point in points):
        for key in runs.key:
            paths = _paths_of(dumped, key)
            if not paths:
                problem = f"its scenario has no key {key}, which reason '{reason.name}' names"
                raise _damage_error(selected, problem, section="reasons")
            values = {_text(_lookup(dumped, path)) for path in paths}
            other = values - {_resolve_value(selected, dumped, path, reason.value) for path in paths}
            if other:
                problem = f"reason '{reason.name}' should have {key} = {reason.value}, but has {min(other)}"
                raise _damage_error(selected, problem, section="reasons")


def _is_among(selected: SelectedTable, cells: Cells, settings: Mapping[str, str]) -> bool:
    """Return whether a point of a scenario is measured for one of the cells."""
    table = selected.table
    columns = [table.columns[name] for name in cells.columns or table.columns if table.columns[name].ratio is None]
    is_row = not cells.rows or settings.get(table.along) in cells.rows
    return is_row and any(fits(table, column, settings, any_workload=True) for column in columns)


def _use(
    selected: SelectedTable, parameter: Parameter, experiment: Experiment, dumped: Sequence[dict[str, Any]]
) -> ParameterUse:
    choice = parameter.choice(selected.number)
    if not parameter.key:
        return ParameterUse(parameter, choice, (), as_declared=True)
    if parameter.key == (REPEATS,):
        return ParameterUse(
            parameter, choice, (str(experiment.repeats),), as_declared=choice.value == str(experiment.repeats)
        )
    entries: dict[str, None] = {}
    as_declared = True
    for key in parameter.key:
        paths = _paths_of(dumped[0], key)
        if not paths:
            raise _damage_error(selected, f"its scenario has no key {key}, which parameter {parameter.name} names")
        resolved = {_text(_lookup(entry, path)): None for entry in dumped for path in paths}
        # A varied parameter is not compared: its value need not even be possible there.
        as_declared &= len(resolved) > 1 or all(
            _resolve_value(selected, dumped[0], path, choice.value) in resolved for path in paths
        )
        entries |= resolved
    values = tuple(DEFAULT if text == "null" else text for text in entries)
    return ParameterUse(parameter, choice, values, as_declared)


def _damage_error(selected: SelectedTable, problem: str, section: str = "parameters") -> LabError:
    hint = f"see [[{section}]] in {selected.folder / 'study.toml'} and {selected.scenario.name}"
    return LabError(
        f"the data of study '{selected.folder.name}' is damaged: table {selected.number}: {problem}", hint=hint
    )


def _to_json(scenario: Scenario) -> dict[str, Any]:
    return scenario.model_dump(mode="json", by_alias=True)


def spread(key: Sequence[str | int]) -> list[Path]:
    """Return the key's forms in a resolved scenario, one per table that may have it."""
    if key and key[0] == "transport":
        return [(kind.table, "*", *key) for kind in NODE_KINDS.values() if kind.shares_transport]
    if len(key) > 2 and key[0] == "links" and key[2] not in _LINK_KEYS:
        return [(*key[:2], "*ward", *key[2:])]
    return [tuple(key)]


def _paths_of(dumped: dict[str, Any], key: str) -> list[Path]:
    """Return where a resolved scenario has a key with wildcards."""
    return [path for form in spread(split_key(key) or ()) for path in _paths(dumped, form)]


def _paths(values: Any, key: Path, before: Path = ()) -> Iterator[Path]:
    """Yield the paths that a key with wildcards matches."""
    if not key:
        yield before
    elif isinstance(values, dict):
        for name in values:
            if fnmatch.fnmatchcase(name, str(key[0])):
                yield from _paths(values[name], key[1:], (*before, name))
        if before and before[-1] in _OPEN and str(key[0]) not in values:
            yield (*before, *key)
    elif isinstance(values, list) and is_index(str(key[0])) and int(key[0]) < len(values):
        yield from _paths(values[int(key[0])], key[1:], (*before, int(key[0])))


def _lookup(values: Any, path: Path) -> Any:
    for part in path:
        if isinstance(values, dict) and part not in values:
            return None
        values = values[part]
    return values


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _resolve_value(selected: SelectedTable, dumped: dict[str, Any], path: Path, value: str) -> str:
    """Return the value in the notation of resolved scenarios."""
    if value == DEFAULT and _lookup(dumped, path[:-1]).get(path[-1]) is None:
        return "null"
    changed = json.loads(json.dumps(dumped))
    _lookup(changed, path[:-1])[path[-1]] = None if value == DEFAULT else _parse_literal(value)
    try:
        return _text(_lookup(_to_json(Scenario.model_validate(changed)), path))
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise _damage_error(selected, f"{'.'.join(map(str, path))} cannot be {value} ({message})") from error


def _parse_literal(text: str) -> Any:
    """Parse numbers, true, false and lists as in TOML; everything else is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text
