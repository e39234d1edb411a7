# SPDX-License-Identifier: MIT
"""An estimated value: its interval, how it was found, by how many samples, and whether it is only a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

#: *measured*: with an interval. *bound*: the evidence only shows that it is at least this (at most, if ``is_upper``).
#: *stated*: somebody typed it. *assumed*: nobody knows; the method says why this value.
Kind = Literal["measured", "bound", "stated", "assumed"]


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value in its unit (bit/s, s, bytes, or a probability). ``low`` and ``high`` are a 95 % interval, if known."""

    value: float
    kind: Kind
    method: str
    low: float | None = None
    high: float | None = None
    samples: int = 0
    is_upper: bool = False

    @property
    def is_known(self) -> bool:
        """True if the value itself is known."""
        return self.kind in ("measured", "stated")

    def to_json(self) -> dict[str, object]:
        """Return the value, its interval and how it was found, in its unit."""
        return {
            "value": float(self.value),
            "kind": self.kind,
            "low": None if self.low is None else float(self.low),
            "high": None if self.high is None else float(self.high),
            "samples": self.samples,
            "method": self.method,
        }

    def origin(self, format_value: Callable[[float], str]) -> str:
        """Return where the value comes from, with its interval, as a comment says it."""
        if self.kind == "stated":
            return f"stated: {self.method}"
        if self.kind == "assumed":
            return f"assumed: {self.method}"
        counted = f" ({self.samples} {'sample' if self.samples == 1 else 'samples'})" if self.samples else ""
        if self.kind == "bound":
            word = "upper" if self.is_upper else "lower"
            return f"not identifiable: {word} bound {format_value(self.value)}; {self.method}{counted}"
        interval = ""
        if self.low is not None and self.high is not None:
            interval = f", {format_value(self.low)} to {format_value(self.high)}"
        return f"measured: {self.method}{interval}{counted}"


def format_rate(bps: float) -> str:
    """Return a rate with three to four significant digits, in a unit of the scenario language."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= factor:
            return f"{float(f'{bps / factor:.4g}'):g} {unit}"
    return f"{round(bps)} bit/s"


def format_time(seconds: float) -> str:
    """Return a time in milliseconds, or microseconds if it is shorter than one, as the scenario language writes it."""
    if seconds >= 0.001:
        return f"{float(f'{seconds * 1000:.4g}'):g} ms"
    return f"{round(seconds * 1e6)} us"


def format_share(share: float) -> str:
    """Return a probability in percent with two significant digits."""
    return f"{float(f'{share * 100:.2g}'):g} %"
