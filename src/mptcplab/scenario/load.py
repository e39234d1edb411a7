# SPDX-License-Identifier: MIT
"""From a scenario file to an experiment: every point of the sweep, typed and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mptcplab.errors import InputError
from mptcplab.scenario import preset, sweep
from mptcplab.scenario.check import check
from mptcplab.scenario.document import Document, Table, lookup, read, split_key
from mptcplab.scenario.explain import first_error
from mptcplab.scenario.place import KeyPath, Place
from mptcplab.scenario.schema import Direction, Scenario

_MOST_REPEATS = 10_000
#: Keys that --set may change and that concern the file as a whole, not one point.
_WHOLE_FILE = ("seed", "repeats")


@dataclass(frozen=True)
class Point:
    """One point of a sweep. ``settings`` are its swept keys and values, in the order of the axes, as labels."""

    settings: dict[str, str]
    scenario: Scenario


@dataclass(frozen=True)
class Run:
    """One point with one seed: what an engine executes. Points share seeds, so that they can be compared in pairs."""

    point: Point
    repeat: int
    seed: int

    @property
    def label(self) -> str:
        """For progress lines and errors."""
        settings = ", ".join(f"{key.rsplit('.', 1)[-1]} {value}" for key, value in self.point.settings.items())
        return f"{settings or 'run'}, seed {self.seed}"


@dataclass(frozen=True)
class Experiment:
    """All of one scenario file."""

    file: Path
    name: str
    title: str
    question: str
    points: tuple[Point, ...]
    repeats: int
    seed: int

    @property
    def runs(self) -> list[Run]:
        """Every point with every seed; repeats of a point stand together."""
        return [
            Run(point=point, repeat=repeat, seed=self.seed + repeat)
            for point in self.points
            for repeat in range(self.repeats)
        ]


def load(
    file: Path, *, overrides: Sequence[str] = (), seed: int | None = None, repeats: int | None = None
) -> Experiment:
    """Read, expand and check a scenario file.

    ``overrides`` are ``key=value`` texts as the command line takes them.
    :raises InputError: with file, line, key, value and a hint.
    """
    document = read(file)
    fixed = tuple(_override(text) for text in overrides)
    sweep.apply(document, tuple(setting for setting in fixed if setting.pattern[0] in _WHOLE_FILE))
    first_seed = _whole(document, "seed", 1, 0, 2**63 - 1) if seed is None else seed
    count = _whole(document, "repeats", 1, 1, _MOST_REPEATS) if repeats is None else repeats
    for key in ("seed", "repeats"):
        document.tables.pop(key, None)
    fixed = tuple(setting for setting in fixed if setting.pattern[0] not in _WHOLE_FILE)
    choices = sweep.take_choices(document, without={setting.name for setting in fixed})
    points = tuple(_point(document, fixed, choice) for choice in choices)
    scenario = points[0].scenario
    return Experiment(file, file.stem, scenario.title, scenario.question, points, count, first_seed)


def _override(text: str) -> sweep.Setting:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text}: has no '='", hint="write --set links.line1.rate='10 Mbit/s'")
    pattern = split_key(key.strip())
    return sweep.Setting(pattern, _literal(value.strip()), Place(Path("--set"), 0, pattern))


def _literal(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else text


def _whole(document: Document, key: str, default: int, least: int, most: int) -> int:
    value = document.tables.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise document.error((key,), "is not a whole number in range", hint=f"use a number from {least} to {most}")
    return value


def _point(document: Document, fixed: sweep.Choice, choice: sweep.Choice) -> Point:
    at_point = document.copy()
    settings = fixed + choice
    sweep.apply(at_point, tuple(setting for setting in settings if setting.pattern[0] == "topology"))
    _lay_over_preset(at_point)
    sweep.apply(at_point, tuple(setting for setting in settings if setting.pattern[0] != "topology"))
    _spread_links(at_point)
    _spread_transport(at_point)
    try:
        scenario = Scenario.model_validate(at_point.tables)
    except ValidationError as error:
        raise first_error(at_point, error) from error
    check(at_point, scenario)
    return Point({setting.name: setting.text for setting in choice}, scenario)


def _lay_over_preset(document: Document) -> None:
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
        said = document.tables.get(kind, {})
        if not isinstance(said, dict):
            raise document.error((kind,), "is not a table", hint=f"write [{kind}.NAME]")
        for name, made in names.items():
            if not isinstance(said.get(name, {}), dict):
                raise document.error((kind, name), "is not a table", hint=f"write [{kind}.{name}]")
            names[name] = {**made, **said.get(name, {})}
            document.places.setdefault((kind, name), place)
        document.tables[kind] = {**names, **said, **names}


def _spread_links(document: Document) -> None:
    """Keys of a link that belong to a direction hold for both; ``forward`` and ``backward`` may differ."""
    links = document.tables.get("links")
    for name, link in links.items() if isinstance(links, dict) else ():
        if not isinstance(link, dict):
            continue
        shared = {key: link.pop(key) for key in Direction.model_fields if key in link}
        for side in ("forward", "backward"):
            own = link.get(side, {})
            if isinstance(own, dict) and shared:
                _inherit(document, ("links", name, side), shared, ("links", name))


def _spread_transport(document: Document) -> None:
    """``[transport]`` holds for every host; a host's own table is laid over it."""
    transport = document.tables.pop("transport", None)
    hosts = document.tables.get("hosts")
    if transport is None or not isinstance(hosts, dict):
        return
    if not isinstance(transport, dict):
        document.tables["transport"] = transport
        raise document.error(("transport",), "is not a table", hint="write [transport]")
    for name, host in hosts.items():
        if isinstance(host, dict) and isinstance(host.get("transport", {}), dict):
            _inherit(document, ("hosts", name, "transport"), transport, ("transport",))


def _inherit(document: Document, path: KeyPath, shared: Table, source: KeyPath) -> None:
    own = lookup(document.tables, path) or {}
    for key, value in shared.items():
        if key not in own:
            document.graft((*path, key), (*source, key), value)
        elif isinstance(own[key], dict) and isinstance(value, dict):
            _inherit(document, (*path, key), value, (*source, key))
