# SPDX-License-Identifier: MIT
"""One point of a sweep, by its number or by values of swept keys."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mptcplab.errors import InputError
from mptcplab.metrics.named import swept_key
from mptcplab.metrics.points import quoted, short_names
from mptcplab.scenario.document import nearest
from mptcplab.scenario.load import Point

#: So many points are listed in a hint.
_FEW = 4


def chosen_point(points: Sequence[Point], wanted: Sequence[str]) -> Point:
    """Return the point with a number, or with the values of swept keys that ``wanted`` gives.

    :raises InputError: if no point is meant, or more than one.
    """
    if not wanted:
        return points[0]
    if len(wanted) == 1 and "=" not in wanted[0]:
        return _numbered(points, wanted[0])
    left = list(points)
    for text in wanted:
        left = _with_value(points, left, text)
    if not left:
        raise InputError(f"--point: no point has all of {', '.join(wanted)}", hint="see `mptcplab show FILE`")
    if len(left) > 1:
        raise InputError(f"--point: {len(left)} points have {', '.join(wanted)}", hint=_apart(points, left))
    return left[0]


def _apart(points: Sequence[Point], left: Sequence[Point]) -> str:
    """Return how to choose one of the points that are ``left``: by the keys in which they differ, or by numbers."""
    differ = [key for key in left[0].settings if len({one.settings.get(key) for one in left}) > 1]
    if not differ:
        numbers = (f"--point {points.index(one) + 1}" for one in left[:_FEW])
        return f"use a number: {' or '.join(numbers)}"
    names = short_names(list(left[0].settings))
    lines = [f"{names[key]} = {', '.join(_values(left, key))}" for key in differ]
    return f"add --point KEY=VALUE for {'; and for '.join(lines)}"


def _values(points: Sequence[Point], key: str) -> list[str]:
    return [quoted(one) for one in dict.fromkeys(one.settings[key] for one in points)]


def _numbered(points: Sequence[Point], text: str) -> Point:
    if not text.strip().isdecimal():
        hint = "give its number, as --point 2, or a value of a swept key, as --point KEY=VALUE"
        raise InputError(f"--point: '{text}' is not a point", hint=hint)
    number = int(text)
    if not 1 <= number <= len(points):
        hint = "`mptcplab show FILE` lists them in the order of their numbers"
        raise InputError(f"--point: there is no point '{number}': the sweep has {len(points)}", hint=hint)
    return points[number - 1]


def _with_value(points: Sequence[Point], left: Sequence[Point], text: str) -> list[Point]:
    name, equals, value = text.partition("=")
    if not equals:
        message = f"--point: the number '{text}' cannot be combined with another --point"
        raise InputError(message, hint="give one number, or values of keys only")
    key = swept_key(name.strip(), list(dict.fromkeys(key for one in points for key in one.settings)))
    values = list(dict.fromkeys(one.settings[key] for one in points if key in one.settings))
    if value.strip() not in values:
        near = nearest(value.strip(), values)
        meant = shlex.quote(f"{name.strip()}={near}")
        hint = f"did you mean --point {meant}?" if near else f"use one of {', '.join(map(quoted, values))}"
        raise InputError(f"--point: no point has {key} = {value.strip()}", hint=hint)
    return [one for one in left if one.settings.get(key) == value.strip()]
