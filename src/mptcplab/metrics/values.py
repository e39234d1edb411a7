# SPDX-License-Identifier: MIT
"""Measured values, and the points of a sweep, as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mptcplab.metrics.rows import ResultRow
    from mptcplab.stats import Interval


# Measured values as text: in a unit that suits, with three significant digits, or more where the interval needs them.
#
# A column has one unit, so that its cells can be compared at a glance.

IDENTICAL = "(identical)"
_SIGNIFICANT = 3
#: Digits of a half width, and how many decimals more than three significant digits of the mean they may take.
_OF_HALF_WIDTH, _MORE_DECIMALS = 2, 2
_MAX_DECIMALS = 12
#: A column of delays with a median below the first has the next smaller unit, unless a value there reaches the second.
_FEW, _MANY = 0.1, 10_000
#: The unit in which metrics of delays are. Other times, as of failures, are in s and stand beside each other in one
#: unit.
_OF_DELAYS = "ms"
#: The unit of recorded times; less than one was not measured.
_RESOLUTION = "ns"
_MIB, _GIB = 1 << 20, 1 << 30
#: Units of one quantity, each with its size, largest first.
_FAMILIES = (
    {"Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1.0},
    {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    {"GB": 1e9, "MB": 1e6, "kB": 1e3, "B": 1.0},
)


@dataclass(frozen=True)
class Unit:
    """The unit of a column. Values are in the metric's unit, and are multiplied by ``factor``.

    ``digits`` is the number of decimals if that is fixed.
    """

    name: str
    factor: float = 1.0
    digits: int | None = None

    def text(self, value: float) -> str:
        """Return the value with three significant digits, without its unit."""
        scaled = value * self.factor
        return f"{scaled:.{self._decimals(abs(scaled), None)}f}"

    def interval(self, interval: Interval) -> str:
        """Return ``87.3 ± 1.2``, only the value of a single run, or the value and ``(identical)``."""
        return self.with_spread(interval.mean, interval.half_width)

    def with_spread(self, value: float, half_width: float | None, *, sign: bool = False) -> str:
        """Return a value with its half width: the mean of several, or a difference, which has a ``sign``."""
        scaled = value * self.factor
        plus = "+" if sign and scaled > 0 else ""
        if not half_width:
            text = f"{plus}{scaled:.{self._decimals(abs(scaled), None)}f}"
            return text if half_width is None else f"{text} {IDENTICAL}"
        width = half_width * self.factor
        decimals = self._decimals(max(abs(scaled), width), width)
        shown = f"{width:.{decimals}f}"
        if float(shown) == 0:
            shown = f"<{10.0**-decimals:.{decimals}f}"
        return f"{plus}{scaled:.{decimals}f} ± {shown}"

    def _decimals(self, size: float, half_width: float | None) -> int:
        if self.digits is not None:
            return self.digits
        if self.name == _RESOLUTION:
            return 0
        lowest = _clamp_decimals(_SIGNIFICANT - 1 - _magnitude(size))
        if half_width is None:
            return lowest
        wanted = _OF_HALF_WIDTH - 1 - _magnitude(half_width)
        return min(max(wanted, lowest), lowest + _MORE_DECIMALS)


def choose_unit(unit: str, values: Iterable[float], *, digits: int | None = None) -> Unit:
    """Return the unit for a column: the largest of its quantity in which the largest value is at least 1.

    ``unit`` is the unit of the values. A unit of an unknown quantity is kept. Delays, which are in ms, take the next
    smaller unit if most of them would be less than a tenth: the longest alone does not decide.
    """
    sizes = sorted(abs(value) for value in values if value)
    candidates = units(unit)
    if len(candidates) == 1 or digits is not None or not sizes:
        return Unit(unit, digits=digits)
    at = next((at for at, candidate in enumerate(candidates) if sizes[-1] * candidate.factor >= 1), len(candidates) - 1)
    if unit == _OF_DELAYS and sizes[len(sizes) // 2] * candidates[at].factor < _FEW and at + 1 < len(candidates):
        smaller = candidates[at + 1]
        fits = sizes[-1] * smaller.factor < _MANY and sizes[len(sizes) // 2] * smaller.factor >= 1
        return smaller if fits else candidates[at]
    return candidates[at]


def units(unit: str) -> list[Unit]:
    """Return the units of a quantity measured in ``unit``, largest first; only ``unit`` if it has no others."""
    family = next((family for family in _FAMILIES if unit in family), {unit: 1.0})
    return [Unit(name, family[unit] / size) for name, size in family.items()]


def size_text(size: float) -> str:
    """Return a number of bytes as a text like ``2.35 MB``."""
    unit = choose_unit("B", (size,))
    return f"{unit.text(size)} {unit.name}"


def memory_text(size: float) -> str:
    """Return an amount of memory as a text like ``1.5 GiB``, or ``256 MiB`` if it is small."""
    return f"{size / _GIB:.4g} GiB" if size >= _GIB // 2 else f"{size / _MIB:.0f} MiB"


def duration_text(seconds: float) -> str:
    """Return a rounded text like ``40 s``, ``12 min`` or ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def percent(value: float, half_width: float | None = None) -> str:
    """Return a change in percent, with its sign."""
    return Unit("%").with_spread(value, half_width or None, sign=True)


def _magnitude(size: float) -> int:
    """Return the power of ten of a number's first digit; zero counts as 1."""
    return math.floor(math.log10(size)) if size > 0 else 0


def _clamp_decimals(decimals: int) -> int:
    return min(max(decimals, 0), _MAX_DECIMALS)


# How the points of a sweep are named: short titles of keys, settings as a line, the values of each axis.

_PARTS = re.compile(r"(\d+(?:\.\d+)?)")
#: The hosts of topology presets, whose workloads an experiment is about; and what a host's sockets use.
_USUAL_HOSTS = frozenset({"client", "server"})
_USED = [["transport", name] for name in ("protocol", "scheduler", "congestion_control")]


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Return column titles for swept keys: the last part, or more parts if two were equal; of a link all but
    ``links``.

    A number in a list is not a title: the part before it belongs to it. What a host beside ``client`` and ``server``
    uses has the host's name: ``protocol`` alone would seem to belong to the row's workload.
    """
    for length in range(1, 8):
        names = {key: _last_parts(key, length) for key in keys}
        if len(set(names.values())) == len(names):
            return names
    return {key: key for key in keys}


def point_text(settings: Mapping[str, str], names: Mapping[str, str] | None = None) -> str:
    """Return the swept keys and values of a point as one line; with ``names`` in place of the short ones, if any."""
    shown = names if names is not None else short_names(list(settings))
    return ", ".join(f"{shown[key]} {value}".strip() for key, value in settings.items())


def quote(value: str) -> str:
    """Return a value for a list with commas."""
    return f'"{value}"' if "," in value else value


def changed_keys_note(changes: Sequence[str]) -> str:
    """Return which keys the command line set, without a full stop; empty if none."""
    return f"Changed on the command line: {', '.join(changes)}" if changes else ""


def swept_values(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """Return the swept keys with their values in ``rows``, in the order of the sweep."""
    entries: dict[str, dict[str, None]] = {}
    for row in rows:
        for key, value in row.settings.items():
            entries.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in entries.items()}


def natural_order(text: str) -> list[tuple[float, str]]:
    """Return a key that orders names by the numbers inside them: ``#2`` before ``#10``."""
    return [(float(part), "") if number % 2 else (math.inf, part) for number, part in enumerate(_PARTS.split(text))]


def _last_parts(key: str, length: int) -> str:
    parts = key.split(".")
    if length == 1 and parts[2:] in _USED and parts[0] == "hosts" and parts[1] not in _USUAL_HOSTS:
        return f"{parts[1]}.{parts[-1]}"
    length += parts[-1].isdigit()
    return ".".join(parts[1:] if parts[0] == "links" else parts[-length:])


def determines(points: Iterable[Mapping[str, str]], keys: Sequence[str], other: str) -> bool:
    """Return whether ``keys`` determine the ``other`` key: equal values of them always have the same value of it."""
    texts: dict[tuple[str, ...], str] = {}
    pairs = ((tuple(point.get(key, "") for key in keys), point.get(other, "")) for point in points)
    return all(texts.setdefault(values, value) == value for values, value in pairs)
