# SPDX-License-Identifier: MIT
"""Load a scenario file: every point of the sweep, typed and checked."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from mptcplab.errors import Mistake
from mptcplab.node.transport import WEIGHTED_SCHEDULERS, Transport
from mptcplab.node.weights import uses_weights
from mptcplab.scenario import axes, copies, preset, sweep
from mptcplab.scenario.check import check
from mptcplab.scenario.deprecated import rename_keys
from mptcplab.scenario.document import (
    Document,
    ScenarioError,
    Table,
    is_wildcard,
    join_key,
    lookup,
    suggest_name,
    toml,
)
from mptcplab.scenario.explain import first_error
from mptcplab.scenario.extends import read
from mptcplab.scenario.keys import WrittenLink, find_meant_key
from mptcplab.scenario.link_presets import expand_presets
from mptcplab.scenario.named_files import NamedFiles
from mptcplab.scenario.network import Network
from mptcplab.scenario.overrides import override
from mptcplab.scenario.place import SET, KeyPath, SourcePlace
from mptcplab.scenario.read_traces import read_traces
from mptcplab.scenario.repeats import MAX_REPEATS, Repeats
from mptcplab.scenario.replaced import with_replaced
from mptcplab.scenario.schema import Scenario
from mptcplab.scenario.shared import Idle, note_link_presets, share_link_keys, share_transport
from mptcplab.scenario.sources import read_sources

_MAX_SEED = 10**18
#: Keys of the file as a whole, not of one point, with the range of each.
_WHOLE_FILE = {"seed": (0, _MAX_SEED), "repeats": (1, MAX_REPEATS)}
#: Tables that are expanded to others, whose keys a sweep can then vary.
_EXPANDED = ("copies", "topology")
#: The last part of a key; with the list, if it is a member's number.
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
class Unavailable:
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
    """A loaded scenario file. ``changes`` are the keys that the command line has set, ``overrides`` the texts for it.

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
    unavailable: tuple[Unavailable, ...] = ()
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
    In ``real_time``, everything takes time; in virtual time, a workload must end although only its packets do.
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
) -> sweep.Setting | None:
    """Return the setting of the command line without which there is no ``error`` in the file; None if none is alone."""
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
    settings += [_option(key, value) for key, value in (("seed", seed), ("repeats", repeats)) if value is not None]
    sweep.apply(document, [setting for setting in settings if setting.pattern[0] in _WHOLE_FILE])
    until = _take_until(document)
    whole_file = {key: _take_whole(document, key) for key in _WHOLE_FILE}
    fixed = tuple(setting for setting in settings if setting.pattern[0] not in _WHOLE_FILE)
    fixed = tuple(axes.take_axes(document, fixed))
    choices = sweep.take_choices(document, fixed=fixed)
    try:
        points, unavailable = _points(document, choices, fixed, real_time)
        point_of = partial(_point, document, fixed=fixed, real_time=real_time)
        replaced = tuple(with_replaced(document, choices[0], lambda choice: point_of(choice)[0].scenario))
    except ScenarioError as error:
        axes.explain_list(document, error, fixed)
        raise
    _refuse_same(document, points)
    _refuse_idle_weights(document, points)
    scenario = points[0].scenario
    title, question = scenario.title, scenario.question
    changes = tuple(_change(setting) for setting in settings if setting.pattern[0] not in _WHOLE_FILE)
    repeats, seed = until.max if until else whole_file["repeats"], whole_file["seed"]
    texts = (title, question)
    return Experiment(
        file, file.stem, *texts, points, repeats, seed, changes, until, unavailable, replaced, tuple(overrides)
    )


def _change(setting: sweep.Setting) -> str:
    """Return a setting in one line, from which the option that made it can be written."""
    return f"{setting.name} = {setting.value if isinstance(setting.value, str) else toml(setting.value)}"


def _option(key: str, value: int) -> sweep.Setting:
    return sweep.Setting((key,), value, SourcePlace(Path(f"--{key}"), 0, (key,)))


def _take_until(document: Document) -> Repeats | None:
    """Remove ``repeats`` from the file and return it if it is a table; None if it is a number or missing."""
    table = document.tables.get("repeats")
    if not isinstance(table, dict):
        return None
    try:
        repeats = Repeats.model_validate(table)
    except ValidationError as error:
        raise first_error(document, error, below=("repeats",)) from error
    document.tables.pop("repeats")
    return repeats


def _take_whole(document: Document, key: str) -> int:
    """Remove ``key`` from the file and return its value, 1 by default."""
    lower, upper = _WHOLE_FILE[key]
    value = document.tables.get(key, 1)
    if isinstance(value, bool) or not isinstance(value, int):
        also = ', or repeats = { until = "2 %", max = 30 }' if key == "repeats" else ""
        hint = f"write for example {key} = 1{also}"
        raise document.error((key,), "is not a whole number", hint=hint, kind=Mistake.TYPE)
    if not lower <= value <= upper:
        hint = f"use a whole number from {lower} to {upper}"
        raise document.error((key,), "is out of range", hint=hint, kind=Mistake.VALUE)
    document.tables.pop(key, None)
    return value


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


def _refuse_idle_weights(document: Document, points: Sequence[SweepPoint]) -> None:
    """Refuse weights that no scheduler uses. If the scheduler is swept, one scheduler that uses them is enough."""
    nodes = points[0].scenario.nodes
    for path in (("transport",), *((node.table, name, "transport") for name, node in nodes.items())):
        weights: KeyPath = (*path, "weights")
        if not lookup(document.tables, weights):
            continue
        if not any(_any_connects(point.scenario, only=path[1:2]) for point in points):
            hint = f"remove them, or let a workload begin or end at '{path[1]}'"
            raise document.error(weights, "do nothing on a node without connections", hint=hint, kind=Mistake.IDLE)
        if not any(_any_uses_weights(point.scenario, only=path[1:2]) for point in points):
            named = " or ".join(f'scheduler = "{name}"' for name in WEIGHTED_SCHEDULERS)
            hint = f"add {named} to [{join_key(path)}]"
            raise document.error(weights, "do nothing with this scheduler", hint=hint, kind=Mistake.IDLE)


def _any_connects(scenario: Scenario, *, only: Sequence[str]) -> bool:
    """Return whether any node, or one of ``only`` if given, opens or accepts connections."""
    network = Network(scenario)
    return any(network.context_of(name).workloads for name in only or scenario.nodes)


def _any_uses_weights(scenario: Scenario, *, only: Sequence[str]) -> bool:
    """Return whether any node, or one of ``only`` if given, has a scheduler that uses weights."""
    network, transports = Network(scenario), scenario.transports
    return any(
        uses_weights(network.context_of(name), transports[name]) for name in only or transports if name in transports
    )


def _points(
    document: Document, choices: Sequence[sweep.Choice], fixed: sweep.Choice, real_time: bool
) -> tuple[tuple[SweepPoint, ...], tuple[Unavailable, ...]]:
    """Return the points, and the points that are not available because the sweep varies the path manager."""
    pairs, unavailable = [], []
    for choice in choices:
        try:
            pairs.append(_point(document, choice, fixed, real_time))
        except ScenarioError as error:
            varies = any(setting.pattern[-1] == "path_manager" for setting in choice)
            if error.kind != Mistake.UNAVAILABLE or not varies:
                axes.explain_queue(error, choice)
                raise
            unavailable.append(Unavailable(_labels(choice), error.about))
            first = error
    if not pairs:
        raise first
    _refuse_idle([idle for _, idle in pairs])
    return tuple(point for point, _ in pairs), tuple(unavailable)


def _labels(choice: sweep.Choice) -> dict[str, str]:
    return {setting.name: setting.text for setting in choice if not setting.is_hidden}


def _point(document: Document, choice: sweep.Choice, fixed: sweep.Choice, real_time: bool) -> tuple[SweepPoint, Idle]:
    at_point = document.copy()
    settings = choice + fixed
    sweep.apply(at_point, [setting for setting in settings if setting.pattern[0] in _EXPANDED])
    _expand_copies(at_point)
    _expand_preset(at_point)
    sweep.apply(at_point, [setting for setting in settings if setting.pattern[0] not in _EXPANDED])
    rename_keys(at_point)
    idle = Idle()
    note_link_presets(at_point, idle)
    presets = expand_presets(at_point)
    share_link_keys(at_point, idle)
    read_traces(at_point, presets)
    read_sources(at_point)
    _check_transport(at_point)
    share_transport(at_point, idle)
    try:
        scenario = Scenario.model_validate(at_point.tables)
    except ValidationError as error:
        raise first_error(at_point, error) from error
    check(at_point, scenario, real_time=real_time)
    return SweepPoint(_labels(choice), scenario), idle


def _check_transport(document: Document) -> None:
    """Check the table that all nodes share, where an error has the key as the user wrote it."""
    try:
        Transport.model_validate(document.tables.get("transport", {}))
    except ValidationError as error:
        raise first_error(document, error, below=("transport",)) from error


def _refuse_idle(idles: Sequence[Idle]) -> None:
    """Refuse a shared key that does nothing at any point: it is overridden wherever it holds."""
    for key, error in idles[0].errors.items():
        if all(key in idle.errors for idle in idles):
            raise error


def _expand_copies(document: Document) -> None:
    """Replace ``[copies]`` by what it describes."""
    tables = document.tables.get("copies", {})
    if not isinstance(tables, dict):
        raise document.error(("copies",), "is not a table", hint="write [copies.NAME]", kind=Mistake.TYPE)
    made: set[KeyPath] = set()
    for name, table in tables.items():
        try:
            group = copies.Copies.model_validate(table)
        except ValidationError as error:
            raise first_error(document, error, below=("copies", name)) from error
        for number in range(1, group.count + 1):
            copies.expand(document, ("copies", name), number, made)
    document.tables.pop("copies", None)


def _expand_preset(document: Document) -> None:
    """Replace ``[topology]`` by its nodes and links; keys of the file take precedence."""
    table = document.tables.get("topology")
    if table is None:
        return
    try:
        topology = preset.Topology.model_validate(table)
    except ValidationError as error:
        raise first_error(document, error, below=("topology",)) from error
    document.tables.pop("topology")
    place = document.place(("topology",))
    for kind, names in preset.expand(topology).items():
        own_table = document.tables.get(kind, {})
        if not isinstance(own_table, dict):
            hint = f"write [{kind}.{next(iter(names), 'NAME')}]"
            raise document.error((kind,), "is not a table", hint=hint, kind=Mistake.TYPE)
        for name, made in names.items():
            if not isinstance(own_table.get(name, {}), dict):
                raise document.error((kind, name), "is not a table", hint=f"write [{kind}.{name}]", kind=Mistake.TYPE)
            names[name] = {**made, **own_table.get(name, {})}
            document.places.setdefault((kind, name), place)
        if kind == "links":
            _refuse_unknown_links(document, topology, own_table, names)
        document.tables[kind] = {**names, **own_table, **names}


def _is_between(key: str) -> bool:
    """Return whether ``key`` of a link is ``between``, misspelled or called otherwise."""
    return bool(difflib.get_close_matches("between", [key])) or find_meant_key(key, [WrittenLink]) == "between"


def _refuse_unknown_links(document: Document, topology: preset.Topology, own_entry: Table, made: Table) -> None:
    """Refuse links without ``between`` that the preset does not have."""
    for name, link in own_entry.items():
        if name in made or not isinstance(link, dict) or any(_is_between(key) for key in link):
            continue
        near = suggest_name(name, made, cutoff=0.8)
        hint = f"use one of its links, {', '.join(made)}, or add between = [...] for a link of your own"
        if is_wildcard(name):
            hint = f'use wildcards in [sweep] only: "links.{name}.KEY" = [VALUE]'
        elif near is not None and near.rstrip("0123456789") != name.rstrip("0123456789"):
            hint = f"did you mean `{near}`? A link of your own needs between = [...]"
        raise document.error(("links", name), f"is not part of {topology}", hint=hint, kind=Mistake.REFERENCE)
