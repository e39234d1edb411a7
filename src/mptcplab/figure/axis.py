# SPDX-License-Identifier: MIT
"""The axis of a swept key: quantities of one kind stand at their values, names side by side.

Figures of the command and of the report ask the same function, so that one sweep looks alike in both.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, get_args

from mptcplab.errors import InputError
from mptcplab.units import CpuTime, Duration, Packets, Probability, Rate, Size, UnitError

Scale = Literal["linear", "log", "even"]
#: The scales that a user can choose.
ChosenScale = Literal["linear", "log"]
CHOSEN_SCALES: tuple[ChosenScale, ...] = get_args(ChosenScale)
#: Keys whose values are names, though versions look like numbers.
NAMES = frozenset({"kernel"})
#: What the label of an axis says about its scale.
_WORDS = {"linear": "", "log": " (logarithmic)", "even": " (not to scale)"}
#: Two values of a scale have room for their labels side by side if they are not closer than the first part of the axis,
#: and still for points that a reader can tell apart if not closer than the second. Evenly spread ones always have: they
#: are never closer than this part of the mean distance.
_ROOMY, _CLOSEST, _EVENLY = 1 / 14, 1 / 24, 0.7
#: A number with a unit that the lab does not know. "5G" and "0.1.5" are names.
_WITH_UNIT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s+(\D+)")
#: Readers of quantities, each in a readable unit.
_READERS: tuple[Callable[[str], float], ...] = (
    lambda text: Rate.parse(text) / 1e6,
    lambda text: Duration.parse(text) / 1e6,
    lambda text: CpuTime.parse(text) / 1e9,
    lambda text: float(Size.parse(text)),
    lambda text: Probability.parse(text) / 1e7,
    lambda text: float(Packets.parse(text)),
    float,
)


@dataclass(frozen=True)
class Axis:
    """A swept key. ``numbers`` are its values on the axis, if all are quantities of one kind.

    ``scale`` "even" means that the values are too unevenly spread for either scale: their positions are 0, 1, 2, ...
    """

    key: str
    name: str
    labels: tuple[str, ...]
    numbers: tuple[float, ...] | None
    scale: Scale = "linear"

    @property
    def label(self) -> str:
        """The name, and what a reader has to know about the scale."""
        return f"{self.name}{_WORDS[self.scale]}"

    @property
    def places(self) -> tuple[float, ...]:
        """Where the values stand, as parts of the way: logarithms if that is the scale; 0, 1, 2, ... for names."""
        if self.numbers is None:
            return tuple(map(float, range(len(self.labels))))
        return tuple(map(math.log10, self.numbers)) if self.scale == "log" else self.numbers

    def to_json(self) -> dict[str, Any]:
        """Return JSON data for the page's script."""
        return {"name": self.name, "labels": self.labels, "numbers": self.numbers, "scale": self.scale}


def axis_of(
    key: str,
    name: str,
    labels: Sequence[str],
    *,
    values: Sequence[str] = (),
    named: bool = False,
    scale: ChosenScale | None = None,
    room: float = 0.0,
) -> Axis:
    """Return the axis of a key; ``values`` come from the scenario if ``labels`` are the user's words for them.

    With ``named`` they are names even if they look like numbers, and ``scale`` is the user's choice. ``room`` is the
    part of the axis that the points of one value take side by side.
    :raises InputError: if the values have no such scale.
    """
    numbers = None if named or key in NAMES else _numbers(values or labels)
    if scale is not None:
        _check(name, values or labels, numbers, scale)
        return Axis(key, name, tuple(labels), numbers, scale)
    if numbers is None:
        return Axis(key, name, tuple(labels), None)
    item = _choose_scale(numbers, room)
    if item == "even":
        ordered = sorted(numbers)
        numbers = tuple(float(ordered.index(number)) for number in numbers)
    return Axis(key, name, tuple(labels), numbers, item)


def are_numbers(key: str, values: Sequence[str]) -> bool:
    """Return whether all values of a key are quantities of one kind."""
    return axis_of(key, "", values).numbers is not None


def _check(name: str, values: Sequence[str], numbers: Sequence[float] | None, scale: ChosenScale) -> None:
    if numbers is None:
        raise InputError(
            f"the values of {name or 'this axis'} are not numbers of one quantity, so that it has no scale",
            hint="remove --x-scale, or choose another key with --x",
        )
    if scale == "log" and min(numbers) <= 0:
        value = values[numbers.index(min(numbers))]
        raise InputError(f"a logarithmic axis has no place for {name} = {value}", hint="use --x-scale linear")


def _numbers(labels: Sequence[str]) -> tuple[float, ...] | None:
    """Return the labels as quantities of one kind, or None if they are words."""
    for read in _READERS:
        with contextlib.suppress(UnitError, ValueError):
            values = tuple(read(label) for label in labels)
            # "inf" is a word for no limit, and has no place on an axis.
            return values if all(map(math.isfinite, values)) else None
    parts = [_WITH_UNIT.fullmatch(label) for label in labels]
    units = {part[2].strip() for part in parts if part}
    return tuple(float(part[1]) for part in parts if part) if None not in parts and len(units) == 1 else None


def _choose_scale(numbers: Sequence[float], room: float) -> Scale:
    """Return the scale on which the values can be told apart; linear if that is as good as logarithmic."""
    logarithms = [math.log(number) for number in numbers] if min(numbers) > 0 else None
    for closest in (max(_ROOMY, room), _ROOMY, _CLOSEST):
        if _is_spread_out(numbers, closest):
            return "linear"
        if logarithms is not None and _is_spread_out(logarithms, closest):
            return "log"
    return "even"


def _is_spread_out(numbers: Sequence[float], closest: float) -> bool:
    """Return whether no two are closer than a part of the axis, or all are spread about evenly."""
    return smallest_gap(numbers) >= min(closest, _EVENLY / max(1, len(numbers) - 1)) * (max(numbers) - min(numbers))


def smallest_gap(numbers: Sequence[float]) -> float:
    """Return the smallest difference of two numbers; infinity for a single one."""
    return min((right - left for left, right in pairwise(sorted(numbers))), default=math.inf)
