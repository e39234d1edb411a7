# SPDX-License-Identifier: MIT
"""Select one point of a sweep by what a user names: its number, or values of swept keys."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mptcplab.errors import InputError
from mptcplab.metrics.named import swept_key
from mptcplab.metrics.values import quote, short_names
from mptcplab.scenario.document import suggest_name
from mptcplab.scenario.load import SweepPoint

#: The number of points that a hint lists.
_FEW = 4


def select_point(points: Sequence[SweepPoint], wanted: Sequence[str]) -> SweepPoint:
    """Return the point with a number, or with the values of swept keys, that ``wanted`` gives; by default the first.

    ``wanted`` is one number as text, counted from 1, or texts ``KEY=VALUE``.

    :raises InputError: if no point is meant, or more than one.
    """
    if not wanted:
        return points[0]
    if len(wanted) == 1 and "=" not in wanted[0]:
        return _point_by_number(points, wanted[0])
    left = list(points)
    for text in wanted:
        left = _with_value(points, left, text)
    if not left:
        raise InputError(f"--point: no point has all of {', '.join(wanted)}", hint="see `mptcplab show FILE`")
    if len(left) > 1:
        raise InputError(
            f"--point: {len(left)} points have {', '.join(wanted)}", hint=_describe_differences(points, left)
        )
    return left[0]


def _describe_differences(points: Sequence[SweepPoint], left: Sequence[SweepPoint]) -> str:
    """Return how to choose one of the points that are ``left``: by the keys in which they differ, or by numbers."""
    differ = [key for key in left[0].settings if len({point.settings.get(key) for point in left}) > 1]
    if not differ:
        numbers = (f"--point {points.index(point) + 1}" for point in left[:_FEW])
        return f"use a number: {' or '.join(numbers)}"
    names = short_names(list(left[0].settings))
    lines = [f"{names[key]} = {', '.join(_values(left, key))}" for key in differ]
    return f"add --point KEY=VALUE for {'; and for '.join(lines)}"


def _values(points: Sequence[SweepPoint], key: str) -> list[str]:
    return [quote(setting) for setting in dict.fromkeys(point.settings[key] for point in points)]


def _point_by_number(points: Sequence[SweepPoint], text: str) -> SweepPoint:
    if not text.strip().isdecimal():
        hint = "give its number, as --point 2, or a value of a swept key, as --point KEY=VALUE"
        raise InputError(f"--point: '{text}' is not a point", hint=hint)
    number = int(text)
    if not 1 <= number <= len(points):
        hint = "`mptcplab show FILE` lists them in the order of their numbers"
        raise InputError(f"--point: there is no point '{number}': the sweep has {len(points)}", hint=hint)
    return points[number - 1]


def _with_value(points: Sequence[SweepPoint], left: Sequence[SweepPoint], text: str) -> list[SweepPoint]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"--point: the number '{text}' cannot be combined with another --point"
        raise InputError(message, hint="give one number, or values of keys only")
    key = swept_key(name.strip(), list(dict.fromkeys(key for point in points for key in point.settings)))
    values = list(dict.fromkeys(point.settings[key] for point in points if key in point.settings))
    if value.strip() not in values:
        near = suggest_name(value.strip(), values)
        meant = shlex.quote(f"{name.strip()}={near}")
        hint = f"did you mean --point {meant}?" if near else f"use one of {', '.join(map(quote, values))}"
        raise InputError(f"--point: no point has {key} = {value.strip()}", hint=hint)
    return [point for point in left if point.settings.get(key) == value.strip()]
