# SPDX-License-Identifier: MIT
"""Quantities as ``tc`` writes them (tc(8), "PARAMETERS"), as texts of the scenario language.

``tc`` has traps: a rate in ``mbps`` is in bytes per second, a time without unit is in microseconds, and ``k`` of a
size is 1024 bytes.
"""

from __future__ import annotations

import re
from fractions import Fraction

from mptcplab.units import Duration, Probability, Rate, Size

_NUMBER = re.compile(r"(?P<number>\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?P<unit>[A-Za-z%]*)")
_DECIMAL, _BINARY = (1, 10**3, 10**6, 10**9, 10**12), (1, 2**10, 2**20, 2**30, 2**40)
_RATES = {
    **{f"{prefix}bit": factor for prefix, factor in zip(("", "k", "m", "g", "t"), _DECIMAL, strict=True)},
    **{f"{prefix}ibit": factor for prefix, factor in zip("kmgt", _BINARY[1:], strict=True)},
    **{f"{prefix}bps": 8 * factor for prefix, factor in zip(("", "k", "m", "g", "t"), _DECIMAL, strict=True)},
    **{f"{prefix}ibps": 8 * factor for prefix, factor in zip("kmgt", _BINARY[1:], strict=True)},
    "": 1,
}
_TIMES = {
    **dict.fromkeys(("s", "sec", "secs"), 10**9),
    **dict.fromkeys(("ms", "msec", "msecs"), 10**6),
    **dict.fromkeys(("us", "usec", "usecs", ""), 10**3),
    **dict.fromkeys(("ns", "nsec", "nsecs"), 1),
}
_SIZES = {
    **dict.fromkeys(("b", ""), Fraction(1)),
    **{name: Fraction(1024) for name in ("k", "kb")},
    **{name: Fraction(1024**2) for name in ("m", "mb")},
    **{name: Fraction(1024**3) for name in ("g", "gb")},
    **{f"{prefix}bit": Fraction(factor, 8) for prefix, factor in zip("kmg", _BINARY[1:4], strict=True)},
}
_MAX = 2**62


def _value(text: str, units: dict[str, int] | dict[str, Fraction]) -> int | None:
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"].lower() not in units:
        return None
    value = int(Fraction(match["number"]) * units[match["unit"].lower()])
    return value if value < _MAX else None


def read_rate(text: str) -> Rate | None:
    """Return a rate of ``tc``; None if it is none."""
    value = _value(text, _RATES)
    return None if value is None else Rate(value)


def read_time(text: str) -> Duration | None:
    """Return a time of ``tc``; None if it is none."""
    value = _value(text, _TIMES)
    return None if value is None else Duration(value)


def read_size(text: str) -> Size | None:
    """Return a size of ``tc``, also in its form ``BYTES/MTU``; None if it is none."""
    value = _value(text.partition("/")[0], _SIZES)
    return None if value is None else Size(value)


def read_percent(text: str) -> Probability | None:
    """Return a percentage, with or without its sign; None if it is none, or above 100 %."""
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"] not in ("", "%"):
        return None
    value = int(Fraction(match["number"]) * 10**7)
    return Probability(value) if value <= 10**9 else None


def read_share(text: str) -> Probability | None:
    """Return a probability from 0 to 1, without a sign; None if it is none."""
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"]:
        return None
    value = int(Fraction(match["number"]) * 10**9)
    return Probability(value) if value <= 10**9 else None


def read_count(text: str) -> int | None:
    """Return a whole number; None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None


def rate_of_mbit(number: float) -> Rate | None:
    """Return a rate of a number in Mbit/s; None if it is not a possible rate."""
    value = _scale(number, 10**6)
    return None if value is None else Rate(value)


def time_of_ms(number: float) -> Duration | None:
    """Return a time of a number in milliseconds; None if it is not a possible time."""
    value = _scale(number, 10**6)
    return None if value is None else Duration(value)


def share_of_percent(number: float) -> Probability | None:
    """Return a probability of a number in percent; None if it is not a possible one."""
    value = _scale(number, 10**7)
    return None if value is None or value > 10**9 else Probability(value)


def _scale(number: float, factor: int) -> int | None:
    if not 0 <= number < 10**9:
        return None
    return round(Fraction(str(number)) * factor)
