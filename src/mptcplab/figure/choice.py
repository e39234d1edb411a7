# SPDX-License-Identifier: MIT
"""The user's choices for a figure: its options, and which of them change something in which kind of figure."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from mptcplab.errors import InputError
from mptcplab.figure.axis import CHOSEN_SCALES, ChosenScale
from mptcplab.figure.paper import Paper
from mptcplab.metrics.values import quote

Kind = Literal["time", "lines", "bars", "cdf"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: The kinds of figures that an option changes.
_KINDS_WITH: Mapping[str, tuple[Kind, ...]] = {
    "panels": ("time",),
    "seed": ("time",),
    "metric": ("lines", "bars", "cdf"),
    "x": ("lines", "bars"),
    "by": ("lines", "bars", "cdf"),
    "x_scale": ("lines", "cdf"),
    "y_scale": ("lines",),
    "y_range": ("lines",),
    "expected": ("lines", "bars"),
    "level": ("lines", "bars"),
}
#: Options of results that a table of the user's own does not have.
_OF_RESULTS = ("workloads", "seed", "panels")

#: As many models have signs that readers can distinguish.
MODELS = 3
#: How the options are given that have several parts.
_FORMS = {
    "by": '("scheduler",)',
    "workloads": '("download", "upload")',
    "expected": '("fluid model",)',
    "ignored": '("rtt",)',
    "panels": '("rate", "rtt")',
    "points": '(("delay", "10 ms"), ("delay", "80 ms"))',
    "labels": '(("mptcp", "both lines"),)',
}


@dataclass(frozen=True)
class FigureChoice:
    """The user's choices for a figure; each may be left open.

    ``metric`` may name its workload, as in ``call:mos``; ``workloads`` are drawn, all of them if it is empty.
    ``points`` are swept keys with the values to keep, ``labels`` swept keys, values, workloads or metrics with the
    words that stand for them in the figure. Keys may be given by their full or their short names. ``width`` and
    ``height`` are lengths on paper, such as ``8.6 cm``; each follows from the other if it is open. Scales of axes are
    ``linear`` or ``log``. Without ``note``, nothing stands below the figure: a caption has it. ``expected`` are columns
    of a table with what models expect, ``ignored`` names columns that are not settings. ``level`` is marked across
    the plot, as what ``level_words`` say, and ``y_range`` has the ends of the axis with the metric, both in its unit.

    One text may stand for a list of one, and a dictionary or one pair for pairs; the fields have tuples in any case.
    :raises InputError: for an unknown kind or scale, and for an invalid length or list.
    """

    kind: Kind | None = None
    metric: str | None = None
    x: str | None = None
    by: tuple[str, ...] = ()
    points: tuple[tuple[str, str], ...] = ()
    workloads: tuple[str, ...] = ()
    seed: int | None = None
    panels: tuple[str, ...] = ()
    title: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    width: str | None = None
    height: str | None = None
    x_scale: ChosenScale | None = None
    y_scale: ChosenScale | None = None
    y_range: tuple[float, float] | None = None
    note: bool = True
    expected: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    level: float | None = None
    level_words: str = ""

    def __post_init__(self) -> None:
        for option in ("by", "workloads", "panels", "expected", "ignored"):
            object.__setattr__(self, option, _names(option, getattr(self, option)))
        for option in ("points", "labels"):
            object.__setattr__(self, option, _pairs(option, getattr(self, option)))
        if self.kind is not None and self.kind not in KINDS:
            raise InputError(f"there is no kind of figure '{self.kind}'", hint=f"use one of {', '.join(KINDS)}")
        for scale in (self.x_scale, self.y_scale):
            if scale is not None and scale not in CHOSEN_SCALES:
                raise InputError(f"there is no scale '{scale}'", hint=f"use one of {', '.join(CHOSEN_SCALES)}")
        if len(self.expected) > MODELS:
            raise InputError(f"a figure has up to {MODELS} models", hint="draw a figure for each")
        if self.y_range is not None:
            object.__setattr__(self, "y_range", _range(self.y_range))
        if self.level is not None and not math.isfinite(self.level):
            raise InputError(f"--level {self.level} is not a position on an axis", hint="write a number")
        workload, colon, metric = (self.metric or "").rpartition(":")
        if colon and self.workloads not in ((), (workload,)):
            raise InputError(
                f"--metric {self.metric} and --workload name different workloads", hint="remove one of them"
            )
        if colon:
            object.__setattr__(self, "metric", metric)
            object.__setattr__(self, "workloads", (workload,))
        _ = self.paper

    @property
    def paper(self) -> Paper:
        """The size of the figure."""
        return Paper.parse(self.width, self.height)


def _names(option: str, given: object) -> tuple[str, ...]:
    """Return names, of which one may be given alone. :raises InputError: for anything else."""
    if given is None:
        return ()
    items = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (tuple, list)) else None
    if items is None or not all(isinstance(entry, str) for entry in items):
        raise InputError(f"{option} = {given!r} is not a list of names", hint=f"write {option}={_FORMS[option]}")
    return items


def _pairs(option: str, given: object) -> tuple[tuple[str, str], ...]:
    """Return pairs of texts, given as such, as a dictionary or as one pair. :raises InputError: for anything else."""
    item = list(given.items()) if isinstance(given, Mapping) else given
    if item is None:
        return ()
    if isinstance(item, (tuple, list)):
        if _is_pair(item):
            return ((item[0], item[1]),)
        if all(_is_pair(entry) for entry in item):
            return tuple((entry[0], entry[1]) for entry in item)
    raise InputError(f"{option} = {given!r} is not a list of pairs of texts", hint=f"write {option}={_FORMS[option]}")


def _range(given: object) -> tuple[float, float]:
    """Return the ends of an axis, given as two numbers or as in ``8:12``. :raises InputError: for anything else."""
    parts = given.split(":") if isinstance(given, str) else given
    if isinstance(parts, (tuple, list)) and len(parts) == 2:
        with contextlib.suppress(ValueError, TypeError):
            low, high = float(parts[0]), float(parts[1])
            if math.isfinite(low) and math.isfinite(high) and low < high:
                return low, high
    raise InputError(f"'{given}' is not a range of an axis", hint="write both ends, the lower one first: 8:12")


def _is_pair(given: object) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == 2 and all(isinstance(entry, str) for entry in given)


def values_hint(key: str, value: str, there: Sequence[str]) -> str:
    """Return the hint for a ``value`` of a key that is not among those ``there``."""
    parts = [part.strip() for part in value.split(",")]
    if len(parts) > 1 and all(part in there for part in parts):
        return f"give an option for each: {' '.join('--points ' + shlex.quote(f'{key}={part}') for part in parts)}"
    return f"use one of {', '.join(map(quote, there))}"


def check_of_results(choice: FigureChoice) -> None:
    """Refuse what only a table has. :raises InputError: if the choice has it."""
    for option, given in (("expected", choice.expected), ("ignore", choice.ignored)):
        if given:
            raise InputError(
                f"--{option} names columns of a table, and these are results",
                hint="write a table of your own, with the values expected beside those measured",
            )


def check_of_table(choice: FigureChoice) -> None:
    """Refuse what only results have. :raises InputError: for the first option of these."""
    if choice.workloads and choice.metric is not None:
        words = f"{choice.workloads[0]}:{choice.metric}"
        raise InputError(f"--metric {words} names a workload, and this is a table", hint="name a column")
    for option in _OF_RESULTS:
        if getattr(choice, option) not in (None, ()):
            name = option.removesuffix("s") if option == "workloads" else option
            raise InputError(f"--{name} is for results, and this is a table", hint=f"remove --{name}")
    if choice.kind == "time":
        raise InputError("a table has no runs over time", hint="use --kind lines, bars or cdf")


def check_options(choice: FigureChoice, kind: Kind) -> None:
    """Refuse options that change nothing in a figure of this kind. :raises InputError: for the first one."""
    for option, kinds in _KINDS_WITH.items():
        if kind in kinds or getattr(choice, option) in (None, ()):
            continue
        if kinds == ("time",):
            raise InputError(f"--{option} is for figures over time", hint="add --kind time")
        option = option.replace("_", "-")
        raise InputError(f"--{option} changes nothing in a figure of kind {kind}", hint="remove it, or --kind")
