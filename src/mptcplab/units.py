# SPDX-License-Identifier: MIT
"""Quantities as people write them, integers inside.

A scenario says ``"100 Mbit/s"``, ``"20 ms"``, ``"0.5 %"`` or ``"64 KiB"``. Inside, a rate is a whole number of
bit/s, a time of nanoseconds, a size of bytes, a probability of parts per billion. Text that would lose precision
is refused instead of rounded, and every type writes itself back as text that reads as the same value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

_QUANTITY = re.compile(r"\s*([+-]?\d+(?:_\d+)*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)\s*([^\d\s].*?)?\s*\Z")
_LARGEST = 2**63 - 1


class UnitError(ValueError):
    """A quantity that cannot be read; the message says why, ``hint`` how to write it."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Quantity(int):
    """A whole, non-negative number of the smallest unit of its kind.

    Subclasses name their units, smallest first; several spellings may share a factor and the first one is used
    for writing. :raises UnitError: from :meth:`parse` when the text is no such quantity.
    """

    noun: ClassVar[str]
    example: ClassVar[str]
    units: ClassVar[dict[str, int]]
    #: Units that people mix up with ours, and what to tell them.
    mistaken: ClassVar[dict[str, str]] = {}
    largest: ClassVar[int] = _LARGEST

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read ``text`` such as ``cls.example``."""
        if isinstance(text, cls):
            return text
        if isinstance(text, bool) or not isinstance(text, str):
            raise UnitError(f"a {cls.noun} needs a unit", hint=f'write it as text with a unit, like "{cls.example}"')
        match = _QUANTITY.match(text)
        if match is None:
            raise UnitError(f"is not a {cls.noun}", hint=f'write a number and a unit, like "{cls.example}"')
        number, unit = match.groups()
        return cls._checked(Decimal(number.replace("_", "")) * cls._factor(unit))

    @classmethod
    def _factor(cls, unit: str | None) -> int:
        if unit is None:
            raise UnitError(f"a {cls.noun} needs a unit", hint=f'for example "{cls.example}"')
        if unit in cls.units:
            return cls.units[unit]
        known = ", ".join(_first_spellings(cls.units))
        raise UnitError(f"'{unit}' is not a unit of a {cls.noun}", hint=cls.mistaken.get(unit, f"use one of {known}"))

    @classmethod
    def _checked(cls, value: Decimal) -> Self:
        smallest = next(iter(cls.units))
        if value < 0:
            raise UnitError(f"a {cls.noun} cannot be negative", hint=f'for example "{cls.example}"')
        if value > cls.largest:
            raise UnitError(f"is more than the largest {cls.noun}, {cls(cls.largest)}", hint="use a smaller value")
        if value != int(value):
            raise UnitError(f"is finer than the resolution of 1 {smallest}", hint=f"round it to a whole {smallest}")
        return cls(int(value))

    def __str__(self) -> str:
        """The shortest text that reads as the same value."""
        best = f"{int(self)} {next(iter(self.units))}"
        for unit in _first_spellings(self.units):
            number = Decimal(int(self)) / self.units[unit]
            text = f"{number:f} {unit}" if number == number.quantize(Decimal("0.001")) else best
            if number >= 1 and len(text) <= len(best):
                best = text
        return best

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda text: as_pydantic(cls.parse, text),
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return {"type": "string", "title": cls.noun, "examples": [cls.example]}


def as_pydantic(parse: Any, text: object) -> Any:
    """Call ``parse`` so that pydantic reports a :class:`UnitError` with its hint."""
    try:
        return parse(text)
    except UnitError as error:
        context = {"text": str(error), "hint": error.hint}
        raise PydanticCustomError("unit", "{text}", context) from error


def _first_spellings(units: dict[str, int]) -> list[str]:
    seen: dict[int, str] = {}
    for name, factor in units.items():
        seen.setdefault(factor, name)
    return list(seen.values())


class Rate(Quantity):
    """Bits per second, on the wire (with all headers) unless a docstring says goodput."""

    noun = "rate"
    example = "100 Mbit/s"
    units: ClassVar[dict[str, int]] = {
        "bit/s": 1, "bps": 1, "bit": 1,
        "kbit/s": 10**3, "kbps": 10**3, "kbit": 10**3,
        "Mbit/s": 10**6, "Mbps": 10**6, "Mbit": 10**6,
        "Gbit/s": 10**9, "Gbps": 10**9, "Gbit": 10**9,
    }  # fmt: skip
    mistaken: ClassVar[dict[str, str]] = {
        "MB/s": "rates are in bits: 1 MB/s is 8 Mbit/s",
        "kB/s": "rates are in bits: 1 kB/s is 8 kbit/s",
        "mbit/s": "a small m is milli: write Mbit/s",
        "mbit": "a small m is milli: write Mbit/s",
        "mbps": "a small m is milli: write Mbit/s",
        "M": "write Mbit/s",
        "G": "write Gbit/s",
    }


class Duration(Quantity):
    """Nanoseconds."""

    noun = "time"
    example = "20 ms"
    units: ClassVar[dict[str, int]] = {
        "ns": 1,
        "us": 10**3, "µs": 10**3, "μs": 10**3,
        "ms": 10**6,
        "s": 10**9, "sec": 10**9,
        "min": 60 * 10**9,
        "h": 3600 * 10**9,
    }  # fmt: skip
    mistaken: ClassVar[dict[str, str]] = {"m": "write min for minutes or ms for milliseconds"}

    @property
    def seconds(self) -> float:
        """The same as a number of seconds."""
        return int(self) / 1e9

    @property
    def decimal_seconds(self) -> str:
        """The same as exact decimal text, for command lines that take seconds."""
        return format((Decimal(int(self)) / 10**9).normalize(), "f")


class Size(Quantity):
    """Bytes; kB, MB, GB are powers of 1000 and KiB, MiB, GiB powers of 1024."""

    noun = "size"
    example = "64 KiB"
    units: ClassVar[dict[str, int]] = {
        "B": 1, "byte": 1, "bytes": 1,
        "kB": 10**3, "KB": 10**3,
        "KiB": 2**10,
        "MB": 10**6,
        "MiB": 2**20,
        "GB": 10**9,
        "GiB": 2**30,
        "TB": 10**12,
    }  # fmt: skip
    mistaken: ClassVar[dict[str, str]] = {
        "kbit": "sizes are in bytes: 8 kbit is 1 kB",
        "Mbit": "sizes are in bytes: 8 Mbit is 1 MB",
        "k": "write kB (1000 bytes) or KiB (1024 bytes)",
        "M": "write MB (1000^2 bytes) or MiB (1024^2 bytes)",
        "G": "write GB (1000^3 bytes) or GiB (1024^3 bytes)",
    }


class Probability(Quantity):
    """Parts per billion."""

    noun = "probability"
    example = "0.5 %"
    units: ClassVar[dict[str, int]] = {"ppb": 1, "ppm": 1000, "%": 10**7}
    largest = 10**9

    @property
    def fraction(self) -> float:
        """The same as a number from 0 to 1."""
        return int(self) / 1e9

    @property
    def percent_text(self) -> str:
        """Exact decimal percent without the sign, for ``tc``."""
        return format((Decimal(int(self)) / 10**7).normalize(), "f")


@dataclass(frozen=True)
class QueueLength:
    """How much a bottleneck's queue holds: packets, bytes, or the time that the link's rate takes to send it."""

    packets: int | None = None
    size: Size | None = None
    time: Duration | None = None

    example: ClassVar[str] = "100 packets"
    _unit_hint: ClassVar[str] = 'write packets, bytes or time: "100 packets", "64 KiB" or "50 ms"'

    @classmethod
    def parse(cls, text: object) -> QueueLength:
        """Read ``"100 packets"``, ``"64 KiB"`` or ``"50 ms"``. :raises UnitError: for anything else, and for zero."""
        if isinstance(text, cls):
            return text
        match = _QUANTITY.match(text) if isinstance(text, str) else None
        if match is None or match[2] is None:
            raise UnitError("a queue length needs a unit", hint=cls._unit_hint)
        length = cls._of(match[1], match[2], str(text))
        if not (length.packets or length.size or length.time):
            raise UnitError("a queue cannot be empty", hint="a link needs room for at least one packet")
        return length

    @classmethod
    def _of(cls, number: str, unit: str, text: str) -> QueueLength:
        if unit in ("packet", "packets", "pkt", "pkts", "p"):
            if not number.replace("_", "").isdigit():
                raise UnitError("packets come in whole numbers", hint='for example "100 packets"')
            if int(number) > 10**6:
                raise UnitError("is more than the largest queue, 1000000 packets", hint="use a smaller value")
            return cls(packets=int(number))
        if unit in Duration.units:
            return cls(time=Duration.parse(text))
        if unit in Size.units:
            return cls(size=Size.parse(text))
        raise UnitError(f"'{unit}' is not a unit of a queue length", hint=cls._unit_hint)

    def __str__(self) -> str:
        if self.packets is not None:
            return f"{self.packets} packets"
        return str(self.size if self.size is not None else self.time)

    def bytes_at(self, rate: Rate) -> int | None:
        """The limit in bytes on a link of ``rate``, or None when it is counted in packets."""
        if self.size is not None:
            return int(self.size)
        if self.time is not None:
            return int(self.time) * int(rate) // (8 * 10**9)
        return None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda text: as_pydantic(cls.parse, text),
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return {"type": "string", "title": "queue length", "examples": [cls.example, "64 KiB", "50 ms"]}
