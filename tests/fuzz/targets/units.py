# SPDX-License-Identifier: MIT
"""The parser of quantities."""

from __future__ import annotations

from collections.abc import Iterator

from mptcplab.errors import InputError
from mptcplab.units import Duration, Packets, Probability, Quantity, QueueLength, Rate, Size, UnitError

_KINDS: tuple[type[Quantity], ...] = (Rate, Duration, Size, Probability, Packets)
_ALL: tuple[type[Quantity] | type[QueueLength], ...] = (*_KINDS, QueueLength)
_WORDS = (
    "100 Mbit/s",
    "1.5 Gbit/s",
    "20 ms",
    "0.5 %",
    "64 KiB",
    "10 packets",
    "1e9 bit/s",
    "1_000 kB",
    "50 Mbps",
    "-1 s",
    "1e-9 s",
    "9223372036854775807 B",
    "1000",
    "0.000000001",
)


class UnitsTarget:
    """Text to quantities of every kind. A parsed value's text must parse to the same value."""

    name = "units"

    def seeds(self) -> Iterator[bytes]:
        """Yield one of each spelling."""
        for kind in _KINDS:
            yield from (f"1.5 {unit}".encode() for unit in kind.units)
        yield from (word.encode() for word in _WORDS)

    def read(self, data: bytes) -> None:
        """Parse the text as all kinds, and report the last refusal, since most text is of one kind only."""
        text = data.decode(errors="replace")
        refused: UnitError | None = None
        for kind in _ALL:
            try:
                value = kind.parse(text)
            except UnitError as error:
                refused = error
                continue
            assert kind.parse(str(value)) == value, f"{text!r} is {value!r}, written as {value}"
        if refused is not None:
            # A scenario reports the error like this, with the place in front.
            raise InputError(f"key: {refused}", hint=refused.hint) from refused
