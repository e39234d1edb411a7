# SPDX-License-Identifier: MIT
"""The form: which experiments the page can start, and the command of each.

An experiment is one of our examples with other values of a few keys. Every field has a type and bounds, and the command
is made of the checked values. Nothing that a browser sends becomes part of a command as it is.
"""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mptcplab.errors import InputError
from mptcplab.kernel.data import congestion_controls, schedulers
from mptcplab.scenario.examples import MARK, find_example, list_examples
from mptcplab.scenario.load import Experiment, load
from mptcplab.scenario.schema import Scenario

#: Examples that are little more than a preset of a topology, in the words of the form.
PRESETS = {"two-paths": "Two disjoint paths", "shared-bottleneck": "A shared bottleneck"}
DEFAULT_BASE = "two-paths"
#: The value of a choice that leaves the example's own.
AS_IT_IS = ""
PROTOCOLS = ("mptcp", "tcp")
MAX_REPEATS = 10
#: Bounds of the sliders: Mbit/s, and ms in one direction.
RATE_BOUNDS, DELAY_BOUNDS = (0.1, 1000.0), (0.0, 500.0)
#: A slider reaches at least so far, and to twice its own value.
_RATE_END, _DELAY_END = 100.0, 200.0
_MAX_DIGITS = 12
_NS_PER_MS, _BITS_PER_MBIT = 1_000_000, 1_000_000
#: The folder of results of the page, in the first folder that the user has named.
LIVE = "live"
_KEY_CHARS = 10


@dataclass(frozen=True)
class Slider:
    """One value of a link: ``quantity`` is its key in the scenario, ``value`` the example's own."""

    link: str
    quantity: str
    unit: str
    value: float
    end: float
    bounds: tuple[float, float]
    swept: bool

    @property
    def field(self) -> str:
        """The name of the field in the form."""
        return f"{self.quantity}:{self.link}"

    @property
    def key(self) -> str:
        """The key of the scenario."""
        return f"links.{self.link}.{self.quantity}"


@dataclass(frozen=True)
class OfferedExample:
    """An example as the form offers it: its sliders, and how often it repeats its runs."""

    name: str
    title: str
    question: str
    sliders: tuple[Slider, ...]
    repeats: int

    @property
    def source(self) -> str:
        """The argument of commands in place of a file."""
        return f"{MARK}{self.name}"


@dataclass(frozen=True)
class Request:
    """A checked form: the example, and the keys that it changes."""

    base: OfferedExample
    overrides: tuple[str, ...]
    repeats: int | None
    #: The values of the fields as numbers and words, also values that change nothing.
    values: Mapping[str, float | str]

    @property
    def words(self) -> list[str]:
        """The command and its arguments, without the results folder."""
        words = ["run", self.base.source]
        for override in self.overrides:
            words += ["--set", override]
        return [*words, *(["--repeats", str(self.repeats)] if self.repeats is not None else [])]

    def folder(self, root: Path) -> Path:
        """Return the results folder: the same for the same request."""
        digest = hashlib.sha256("\0".join(self.words).encode()).hexdigest()[:_KEY_CHARS]
        return root / LIVE / f"{self.base.name.replace('/', '-')}-{digest}"

    def command(self, root: Path) -> str:
        """Return the command line that does the same in a terminal, in the folder in which the server was started."""
        folder, here = self.folder(root), Path.cwd()
        shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
        return shlex.join(["mptcplab", *self.words, "--out", str(shown)])

    def load(self) -> Experiment:
        """Return the experiment. :raises InputError: if the values do not fit together."""
        return load(find_example(self.base.name), overrides=self.overrides, repeats=self.repeats)


@lru_cache(maxsize=1)
def base_names() -> dict[str, str]:
    """Return the titles of the examples that the form offers, by name: the presets first, studies not among them."""
    examples = {example.name: example for example in list_examples() if "/" not in example.name}
    others = {name: example.title for name, example in examples.items() if name not in PRESETS}
    return {**{name: words for name, words in PRESETS.items() if name in examples}, **others}


@lru_cache(maxsize=64)
def find_base(name: str) -> OfferedExample:
    """Return the example ``name``. :raises InputError: if the form does not offer it."""
    if name not in base_names():
        raise InputError("there is no such example", hint="choose one of the list")
    experiment = load(find_example(name))
    scenario = experiment.points[0].scenario
    sliders = tuple(_sliders(scenario, set(experiment.points[0].settings)))
    return OfferedExample(name, experiment.title, experiment.question, sliders, experiment.repeats)


def _sliders(scenario: Scenario, swept: set[str]) -> Iterator[Slider]:
    """Yield the two sliders of each link that has one rate and one delay for both directions."""
    for name, link in scenario.links.items():
        forward, backward = link.forward, link.backward
        same = forward.rate == backward.rate and forward.delay == backward.delay
        if link.radio is not None or forward.trace is not None or backward.trace is not None or not same:
            continue
        if forward.rate is None:
            continue
        rate = int(forward.rate) / _BITS_PER_MBIT
        delay = int(forward.delay or 0) / _NS_PER_MS
        # A scenario is refused if a delay is less than its jitter.
        jitter = max(int(direction.jitter or 0) for direction in (forward, backward)) / _NS_PER_MS
        delay_bounds = (max(DELAY_BOUNDS[0], jitter), DELAY_BOUNDS[1])
        for quantity, unit, value, end, bounds in (
            ("rate", "Mbit/s", rate, _RATE_END, RATE_BOUNDS),
            ("delay", "ms", delay, _DELAY_END, delay_bounds),
        ):
            top = min(max(end, 2 * value), max(bounds[1], value))
            yield Slider(name, quantity, unit, value, top, bounds, f"links.{name}.{quantity}" in swept)


def read_form(fields: Mapping[str, str]) -> Request:
    """Return what the fields of the form ask for; fields that are missing leave the example's own values.

    :raises InputError: for a field that the form does not have, and for a value that it does not offer.
    """
    base = find_base(fields.get("base", DEFAULT_BASE))
    sliders = {slider.field: slider for slider in base.sliders}
    known = {"base", "protocol", "congestion_control", "scheduler", "repeats", *sliders}
    if set(fields) - known:
        raise InputError("the form has no such field", hint="load the page again")
    overrides: list[str] = []
    values: dict[str, float | str] = {}
    for name, slider in sliders.items():
        if name in fields:
            value = _number(fields[name], slider.bounds, f"{slider.quantity} of {slider.link}", slider.value)
            values[name] = value
            if value != slider.value:
                overrides.append(f"{slider.key}={_plain(value)} {slider.unit}")
    for name, choices in choices_of().items():
        word = fields.get(name, AS_IT_IS)
        if word not in (AS_IT_IS, *choices):
            raise InputError(f"unknown {name.replace('_', ' ')}", hint="choose one of the list")
        values[name] = word
        if word != AS_IT_IS:
            overrides.append(f"transport.{name}={word}")
    repeats = None
    if "repeats" in fields:
        repeats = int(_number(fields["repeats"], (1, MAX_REPEATS), "number of repeats", base.repeats))
        values["repeats"] = repeats
    return Request(base, tuple(overrides), repeats if repeats != base.repeats else None, values)


def choices_of() -> dict[str, tuple[str, ...]]:
    """Return the values that the form offers for keys of the transport, by key."""
    return {
        "protocol": PROTOCOLS,
        "congestion_control": tuple(sorted(congestion_controls())),
        "scheduler": tuple(sorted(schedulers())),
    }


def _number(text: str, bounds: tuple[float, float], name: str, default: float) -> float:
    """Return the number of a field. The example's own value is always allowed."""
    low, high = bounds
    try:
        value = float(text) if len(text) <= _MAX_DIGITS and text.isascii() else math.nan
    except ValueError:
        value = math.nan
    if value == default:
        return value
    if not low <= value <= high:
        raise InputError(f"the {name} is not a number from {low:g} to {high:g}", hint="use the slider")
    return value


def _plain(value: float) -> str:
    """Return a number as people write it."""
    return f"{round(value, 3):g}" if value < 10**5 else str(round(value))
