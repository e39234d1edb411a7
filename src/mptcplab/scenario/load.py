# SPDX-License-Identifier: MIT
"""Load a scenario file: every point of the sweep, typed and checked.

A pipeline of functions, each from one value to the next, none of which changes what an earlier one made:

    file      -> Document    extends.read: the file with the files that it extends, and the place of each key
    Document  -> Sweep       sweep.read_sweep: what all points share, and what each sets over it
    a choice  -> Document    :func:`_write_point` and :data:`_STAGES`: one point, in the form of the models
    Document  -> Scenario    explain.validate: typed tables
    Scenario               check.check: constraints across tables
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mptcplab.errors import Mistake
from mptcplab.scenario.check import check
from mptcplab.scenario.deprecated import rename_keys
from mptcplab.scenario.document import Document, NamedFiles, ScenarioError
from mptcplab.scenario.expand import (
    expand_copies,
    expand_link_presets,
    expand_topology,
    find_ineffective,
    find_ineffective_keys,
    refuse_ineffective_keys,
    share_link_keys,
    share_transport,
)
from mptcplab.scenario.explain import validate
from mptcplab.scenario.extends import read
from mptcplab.scenario.nodes import refuse_ineffective_weights
from mptcplab.scenario.overrides import apply_axes, explain_list, explain_queue, override
from mptcplab.scenario.place import SET, KeyPath, SourcePlace
from mptcplab.scenario.read_traces import read_traces
from mptcplab.scenario.record import MAX_REPEATS, Repeats
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.sources import read_sources
from mptcplab.scenario.sweep import Choice, Setting, Sweep, apply, read_sweep, with_replaced
from mptcplab.scenario.writing import format_value

_MAX_SEED = 10**18
#: Keys of the file as a whole, not of one point, with the range of each.
_WHOLE_FILE = {"seed": (0, _MAX_SEED), "repeats": (1, MAX_REPEATS)}
#: Tables that stand for others, whose keys a sweep can then vary.
_EXPANDED = ("copies", "topology")
#: From what a file may write to what the models have.
_STAGES: tuple[Callable[[Document], Document], ...] = (
    expand_link_presets,
    share_link_keys,
    read_traces,
    read_sources,
    share_transport,
)
#: The last part of a key, plus the list's name if the key ends with an index.
_LAST_PART = re.compile(r"[^.]+(?:\.[0-9]+)?$")


@dataclass(frozen=True)
class SweepPoint:
    """One point of a sweep. ``settings`` has its swept keys and values as labels, in the order of the axes.

    A name stands for the keys of a zip whose positions have names.
    """

    settings: dict[str, str]
    scenario: Scenario

    @property
    def label(self) -> str:
        """The settings in one line, with the last part of each key if that is unambiguous."""
        short = {key: _LAST_PART.findall(key)[0] for key in self.settings}
        clear = len(set(short.values())) == len(short)
        return ", ".join(f"{short[key] if clear else key} {value}" for key, value in self.settings.items())


@dataclass(frozen=True)
class UnavailablePoint:
    """A point of a sweep over path managers that needs what its path manager lacks. It has no runs."""

    settings: dict[str, str]
    reason: str


@dataclass(frozen=True)
class Run:
    """One point with one seed, which an engine executes. Points share seeds, so that runs can be compared in pairs."""

    point: SweepPoint
    repeat: int
    seed: int

    @property
    def label(self) -> str:
        """A label for progress lines and errors."""
        return f"{self.point.label or 'run'}, seed {self.seed}"


def sum_estimates(runs: Iterable[Run], estimate: Callable[[Scenario], float]) -> float:
    """Return the sum of an estimate over ``runs``, each of which counts like all of its point."""
    counts = Counter(id(run.point) for run in runs)
    scenarios = {id(run.point): run.point.scenario for run in runs}
    return sum(count * estimate(scenarios[point]) for point, count in counts.items())


@dataclass(frozen=True)
class Experiment:
    """A loaded scenario file. ``changes`` are the ``KEY = VALUE`` that the command line has set, but for ``seed`` and
    ``repeats``; ``overrides`` are its texts.

    With ``until``, a point ends when its interval is narrow enough, and ``repeats`` is its maximum number of runs.
    ``unavailable`` are further points of the sweep, which cannot be run. ``replaced`` has scenarios that are only
    checked, each with a value of the file that the sweep replaces.
    """

    file: Path
    name: str
    title: str
    question: str
    points: tuple[SweepPoint, ...]
    repeats: int
    seed: int
    changes: tuple[str, ...] = ()
    until: Repeats | None = None
    unavailable: tuple[UnavailablePoint, ...] = ()
    replaced: tuple[Scenario, ...] = ()
    overrides: tuple[str, ...] = ()

    @property
    def runs(self) -> list[Run]:
        """Every point with every seed that it may need, point by point."""
        return [run for point in self.points for run in self.runs_of(point, 0, self.repeats)]

    def runs_of(self, point: SweepPoint, first: int, end: int) -> list[Run]:
        """Return the repeats from ``first`` up to, but not including, ``end`` of one point."""
        return [Run(point=point, repeat=repeat, seed=self.seed + repeat) for repeat in range(first, end)]


def load(
    file: Path,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    repeats: int | None = None,
    real_time: bool = False,
    named: NamedFiles | None = None,
) -> Experiment:
    """Read, expand and check a scenario file.

    ``named`` notes the files that it names, and may confine them to a folder.
    ``overrides`` are ``key=value`` texts from the command line; they take precedence over the file and its sweep.
    In virtual time only packets take time, so a workload must end by itself; with ``real_time``, this is not checked.
    :raises ScenarioError: with file, line, key, value and a hint.
    """
    try:
        return _load(file, overrides, seed, repeats, real_time, named)
    except ScenarioError as error:
        cause = _cause(file, error, overrides, real_time, named)
        if cause is None:
            raise
        message = f"leads to a mistake at {error.place}: {error.about}"
        raise ScenarioError(error.kind, cause.place, message, hint=str(error.hint), key=_change(cause)) from error


def _cause(
    file: Path, error: ScenarioError, overrides: Sequence[str], real_time: bool, named: NamedFiles | None
) -> Setting | None:
    """Return the setting of the command line without which there is no ``error``; None if no single one causes it."""
    if error.place.rank == SET or not error.place.line:
        return None
    for index, text in enumerate(overrides):
        try:
            _load(file, [*overrides[:index], *overrides[index + 1 :]], None, None, real_time, named)
        except ScenarioError:
            continue
        return override(text)
    return None


def _load(
    file: Path,
    overrides: Sequence[str],
    seed: int | None,
    repeats: int | None,
    real_time: bool,
    named: NamedFiles | None,
) -> Experiment:
    document = read(file, named)
    settings = [override(text) for text in overrides]
    options = [_option(key, value) for key, value in (("seed", seed), ("repeats", repeats)) if value is not None]
    of_points = [setting for setting in settings if setting.pattern[0] not in _WHOLE_FILE]
    of_file = [setting for setting in (*settings, *options) if setting.pattern[0] in _WHOLE_FILE]
    document = apply(document, of_file)
    until = _read_until(document)
    numbers = {key: _read_whole(document, key) for key in _WHOLE_FILE if key != "repeats" or until is None}
    sweep = read_sweep(*apply_axes(document.drop(*((key,) for key in _WHOLE_FILE)), of_points))
    try:
        points, unavailable = _points(sweep, real_time)
        replaced = tuple(with_replaced(sweep, lambda choice: _resolve(sweep, choice, real_time)[0].scenario))
    except ScenarioError as error:
        explain_list(sweep, error)
        raise
    refuse_ineffective_weights(sweep.document, [point.scenario for point in points])
    return Experiment(
        file=file,
        name=file.stem,
        title=points[0].scenario.title,
        question=points[0].scenario.question,
        points=points,
        repeats=until.max if until else numbers["repeats"],
        seed=numbers["seed"],
        changes=tuple(map(_change, of_points)),
        until=until,
        unavailable=unavailable,
        replaced=replaced,
        overrides=tuple(overrides),
    )


def _change(setting: Setting) -> str:
    """Return a setting in one line, from which the option that made it can be written."""
    return f"{setting.name} = {setting.value if isinstance(setting.value, str) else format_value(setting.value)}"


def _option(key: str, value: int) -> Setting:
    return Setting((key,), value, SourcePlace(Path(f"--{key}"), 0, (key,)))


def _read_until(document: Document) -> Repeats | None:
    """Return ``repeats`` if it is a table; None if it is a number or missing."""
    is_table = isinstance(document.tables.get("repeats"), dict)
    return validate(document, Repeats, ("repeats",)) if is_table else None


def _read_whole(document: Document, key: str) -> int:
    """Return the whole number ``key`` of the file, 1 by default."""
    lower, upper = _WHOLE_FILE[key]
    value = document.tables.get(key, 1)
    if isinstance(value, bool) or not isinstance(value, int):
        also = ', or repeats = { until = "2 %", max = 30 }' if key == "repeats" else ""
        hint = f"write for example {key} = 1{also}"
        raise document.error((key,), "is not a whole number", hint=hint, kind=Mistake.TYPE)
    if not lower <= value <= upper:
        hint = f"use a whole number from {lower} to {upper}"
        raise document.error((key,), "is out of range", hint=hint, kind=Mistake.VALUE)
    return value


def _points(sweep: Sweep, real_time: bool) -> tuple[tuple[SweepPoint, ...], tuple[UnavailablePoint, ...]]:
    """Return the points, and the points that are not available because the sweep varies the path manager.

    Most mistakes are of one value. So each value is tried before all combinations, which may be many thousands.
    """
    resolved: dict[int, tuple[SweepPoint, dict[KeyPath, ScenarioError]]] = {}
    unavailable: dict[int, ScenarioError] = {}
    every = tuple(range(len(sweep.choices)))
    for numbers in dict.fromkeys((sweep.first_uses, every)):
        for number in numbers:
            if number in resolved or number in unavailable:
                continue
            choice = sweep.choices[number]
            try:
                resolved[number] = _resolve(sweep, choice, real_time)
            except ScenarioError as error:
                varies = any(setting.pattern[-1] == "path_manager" for setting in choice)
                if error.kind != Mistake.UNAVAILABLE or not varies:
                    explain_queue(error, choice)
                    raise
                unavailable[number] = error
        known = [resolved[number] for number in numbers if number in resolved]
        ineffective = [keys for _, keys in known]
        if known and find_ineffective(ineffective):
            # What a point writes shows whether a key does nothing there, without the work of resolving it.
            refuse_ineffective_keys(
                ineffective
                if numbers == every
                else [find_ineffective_keys(_write_point(sweep, choice)) for choice in sweep.choices]
            )
        # After that, since a key that does nothing makes points the same.
        _refuse_same(sweep.document, [point for point, _ in known])
    if not resolved:
        raise unavailable[len(sweep.choices) - 1]
    lacking = (
        UnavailablePoint(_labels(sweep.choices[number]), unavailable[number].about) for number in sorted(unavailable)
    )
    return tuple(resolved[number][0] for number in sorted(resolved)), tuple(lacking)


def _labels(choice: Choice) -> dict[str, str]:
    return {setting.name: setting.text for setting in choice if not setting.is_hidden}


def _resolve(sweep: Sweep, choice: Choice, real_time: bool) -> tuple[SweepPoint, dict[KeyPath, ScenarioError]]:
    """Return one point of a sweep, and the keys that do nothing there."""
    written = _write_point(sweep, choice)
    document = written
    for stage in _STAGES:
        document = stage(document)
    scenario = validate(document, Scenario)
    check(document, scenario, real_time=real_time)
    return SweepPoint(_labels(choice), scenario), find_ineffective_keys(written)


def _write_point(sweep: Sweep, choice: Choice) -> Document:
    """Return the file that a user could have written for one point, without copies and topologies."""
    settings = choice + sweep.fixed
    document = apply(sweep.document, (setting for setting in settings if setting.pattern[0] in _EXPANDED))
    document = expand_topology(expand_copies(document))
    return rename_keys(apply(document, (setting for setting in settings if setting.pattern[0] not in _EXPANDED)))


def _refuse_same(document: Document, points: Sequence[SweepPoint]) -> None:
    """Refuse points that are the same: a swept key that changes nothing would count runs twice."""
    seen: dict[str, SweepPoint] = {}
    for point in points:
        first = seen.setdefault(point.scenario.model_dump_json(), point)
        if first is not point:
            key = next(key for key, value in point.settings.items() if first.settings[key] != value)
            message = f"gives the points '{first.label}' and '{point.label}' the same scenario"
            hint = "remove one of two equal values"
            if key.endswith(".preset"):
                hint = "remove the link's own rate, delay or trace, which override the preset"
            raise document.error(("sweep", key), message, hint=hint, kind=Mistake.IDLE)
