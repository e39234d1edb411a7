# SPDX-License-Identifier: MIT
"""Quantities: text with a unit in files, integers in memory.

A scenario has ``"100 Mbit/s"``, ``"20 ms"``, ``"0.5 %"`` or ``"64 KiB"``. In memory, a rate is a whole number of bit/s,
a time of nanoseconds, a size of bytes, a probability of parts per billion. Text that would lose precision is refused
rather than rounded, and the text form of every value parses to the same value.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

_NUMBER = r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?"
_COMMA = re.compile(r"\s*([+-]?[0-9]+),([0-9]+\s*[^\s,]*(?:\s*[^\s,]+)?)\s*")
_QUANTITY = re.compile(rf"([+-]?{_NUMBER})\s*([^0-9\s].*)?")
_BYTES = re.compile(r"(\w+?) ?bytes?", re.IGNORECASE)
#: The prefixes of sizes in words, by their signs.
_PREFIXES = {
    "k": "kilo", "M": "mega", "G": "giga", "T": "tera", "Ki": "kibi", "Mi": "mebi", "Gi": "gibi",
}  # fmt: skip
_MAX_TEXT = 64
#: How many quantities, and how many of their texts, are kept.
_KEPT = 4096
_MAX_VALUE = 2**63 - 1


class UnitError(ValueError):
    """A quantity that cannot be parsed: the message has the reason, ``hint`` the remedy."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Quantity(int):
    """A whole, non-negative number of the smallest unit of its kind.

    Subclasses name their units, smallest first; several spellings may share a factor, of which output uses the first.
    :raises UnitError: from :meth:`parse` if the text is not such a quantity.
    """

    noun: ClassVar[str]
    example: ClassVar[str]
    units: ClassVar[dict[str, int]]
    #: Likely units of a bare number, for hints.
    probable: ClassVar[tuple[str, ...]]
    #: Common wrong units, each with a hint.
    mistaken: ClassVar[dict[str, str]] = {}
    largest: ClassVar[int] = _MAX_VALUE
    #: The smallest number of a unit for which output uses it.
    min_written: ClassVar[Decimal] = Decimal(1)

    @classmethod
    def parse(cls, text: object) -> Self:
        """Parse ``text`` such as ``cls.example``."""
        if isinstance(text, cls):
            return text
        # The points of a sweep have the same texts.
        return cls._parse_once(text) if isinstance(text, str) else cls._parse(text)

    @classmethod
    @lru_cache(_KEPT)
    def _parse_once(cls, text: str) -> Self:
        return cls._parse(text)

    @classmethod
    def _parse(cls, text: object) -> Self:
        if isinstance(text, (int, float)) and not isinstance(text, bool):
            raise UnitError(f"a {cls.noun} needs a unit", hint=cls._unit_hint(str(text)))
        _refuse_comma(text)
        split = _split_quantity(text)
        if split is None:
            raise UnitError(f"is not a {cls.noun}", hint=f'write a number and a unit, like "{cls.example}"')
        number, unit = split
        if unit is not None and unit.startswith("/"):
            cls._refuse_pair(unit[1:])
        if unit is None:
            raise UnitError(f"a {cls.noun} needs a unit", hint=cls._unit_hint(number))
        return cls._from_fraction(Fraction(number) * cls._factor(unit, number))

    @classmethod
    def _refuse_pair(cls, rest: str) -> None:
        """Refuse ``10/50 Mbit/s``, two values of which each is for one direction."""
        other = _split_quantity(rest.strip())
        if other is not None and other[1] in cls.units:
            hint = (
                f"write two keys: in a preset backward.{cls.noun} is the download and forward.{cls.noun} the upload; "
                "elsewhere, forward is from the first node of `between` to the second"
            )
            raise UnitError(f"is two values of a {cls.noun}", hint=hint)

    @classmethod
    def _unit_hint(cls, number: str) -> str:
        """Return the hint for a bare ``number``."""
        if len(number) > 9 or re.fullmatch(r"[0-9]+(\.[0-9]+)?", number) is None:
            return f'write for example "{cls.example}"'
        choices = " or ".join(f'"{number} {unit}"' for unit in cls.probable)
        return f"write a number and a unit, like {choices}"

    @classmethod
    def _factor(cls, unit: str, number: str) -> int:
        if unit in cls.units:
            return cls.units[unit]
        hint = cls.mistaken.get(unit) or _suggest_unit(unit, cls.units, number)
        known = ", ".join(_first_spellings(cls.units))
        raise UnitError(f"'{unit}' is not a unit of a {cls.noun}", hint=hint or f"use one of {known}")

    @classmethod
    def _from_fraction(cls, value: Fraction) -> Self:
        smallest = next(iter(cls.units))
        if value < 0:
            raise UnitError(f"a {cls.noun} cannot be negative", hint=f'write for example "{cls.example}"')
        if value > cls.largest:
            raise UnitError(f"is more than the largest {cls.noun}, {cls(cls.largest)}", hint="use a smaller value")
        if value.denominator != 1:
            raise UnitError(f"is not a whole number of {smallest}", hint=f"round it to whole {smallest}")
        return cls(int(value))

    def __str__(self) -> str:
        """Return the shortest text that parses to the same value."""
        return self._write_once(int(self))

    @classmethod
    @lru_cache(_KEPT)
    def _write_once(cls, value: int) -> str:
        best = f"{value} {next(iter(cls.units))}"
        for unit in _first_spellings(cls.units):
            number = Decimal(value) / cls.units[unit]
            text = f"{number:f} {unit}" if number == number.quantize(Decimal("0.001")) else best
            if number >= cls.min_written and len(text) <= len(best):
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
        return {**text_schema(cls.noun, cls.units), "examples": [cls.example]}


def text_schema(noun: str, units: Iterable[str]) -> dict[str, Any]:
    """Return the JSON Schema of a number and one of ``units``, for editors; it accepts values out of range."""
    choices = "|".join(map(re.escape, units))
    # A minus sign is accepted only before zero.
    pattern = rf"^\s*(\+?{_NUMBER}|-[0_.]+(?:[eE][+-]?[0-9]{{1,3}})?)\s*({choices})\s*$"
    return {"type": "string", "title": noun, "pattern": pattern, "maxLength": _MAX_TEXT}


def as_pydantic(parse: Any, text: object) -> Any:
    """Call ``parse``, and turn a :class:`UnitError` into an error that pydantic reports with its hint."""
    try:
        return parse(text)
    except UnitError as error:
        context = {"text": str(error), "hint": error.hint}
        raise PydanticCustomError("unit", "{text}", context) from error


def _refuse_comma(text: object) -> None:
    """Refuse a number with a decimal comma, as several languages write it."""
    match = _COMMA.fullmatch(text) if isinstance(text, str) and len(text) <= _MAX_TEXT else None
    if match is not None:
        raise UnitError("has a decimal comma", hint=f'write a decimal point: "{match[1]}.{match[2]}"')


def _split_quantity(text: object) -> tuple[str, str | None] | None:
    """Return number and unit of ``text``, without blanks and underscores; None if it does not begin with a number."""
    match = _QUANTITY.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= _MAX_TEXT else None
    if match is None or not (match[2] or "").isprintable():
        return None
    return match[1].replace("_", ""), match[2]


def _suggest_unit(unit: str, known: dict[str, int], number: str) -> str | None:
    """Return a hint if ``unit`` resembles a known one."""
    # ``Mbytes`` and ``megabytes`` resemble ``bytes`` most, a millionth of what they are.
    words = _BYTES.fullmatch(unit)
    short = next((name for name in known if words and _has_prefix(name, words[1])), None)
    if short is not None:
        return f'write "{number} {short}"'
    for name in known:
        if name.casefold() == unit.casefold():
            return f"write {name}"
    near = difflib.get_close_matches(unit, known, n=1, cutoff=0.7)
    return f"write {near[0]}" if near else None


def _has_prefix(unit: str, prefix: str) -> bool:
    """Return whether ``unit`` is bytes with this prefix, which may be in words and in whatever case."""
    sign = unit.removesuffix("B")
    return sign not in ("", unit) and prefix.casefold() in (sign.casefold(), _PREFIXES.get(sign))


def _first_spellings(units: dict[str, int]) -> list[str]:
    seen: dict[int, str] = {}
    for name, factor in units.items():
        seen.setdefault(factor, name)
    return list(seen.values())


class Rate(Quantity):
    """Bits per second, with all headers unless a docstring names goodput."""

    noun = "rate"
    example = "100 Mbit/s"
    probable = ("Mbit/s",)
    units: ClassVar[dict[str, int]] = {
        "bit/s": 1, "bps": 1, "bit": 1,
        "kbit/s": 10**3, "kbps": 10**3, "kbit": 10**3,
        "Mbit/s": 10**6, "Mbps": 10**6, "Mbit": 10**6,
        "Gbit/s": 10**9, "Gbps": 10**9, "Gbit": 10**9,
    }  # fmt: skip
    mistaken: ClassVar[dict[str, str]] = {
        "B/s": "write rates in bits: 1 B/s is 8 bit/s",
        "kB/s": "write rates in bits: 1 kB/s is 8 kbit/s",
        "MB/s": "write rates in bits: 1 MB/s is 8 Mbit/s",
        "MBps": "write rates in bits: 1 MB/s is 8 Mbit/s",
        "GB/s": "write rates in bits: 1 GB/s is 8 Gbit/s",
        "KiB/s": "write rates in bits: 1 KiB/s is 8192 bit/s",
        "MiB/s": "write rates in bits: 1 MiB/s is 8388608 bit/s",
        "kb/s": "write kbit/s",
        "Mb/s": "write Mbit/s",
        "Gb/s": "write Gbit/s",
        "kb": "write kbit/s",
        "Mb": "write Mbit/s",
        "Gb": "write Gbit/s",
        "mbit/s": "write Mbit/s: a small m is milli",
        "mbit": "write Mbit/s: a small m is milli",
        "mbps": "write Mbit/s: a small m is milli",
        "k": "write kbit/s",
        "M": "write Mbit/s",
        "G": "write Gbit/s",
    }


class Duration(Quantity):
    """Nanoseconds."""

    noun = "time"
    example = "20 ms"
    probable = ("ms", "s")
    units: ClassVar[dict[str, int]] = {
        "ns": 1,
        "us": 10**3, "µs": 10**3, "μs": 10**3,
        "ms": 10**6,
        "s": 10**9, "sec": 10**9,
        "min": 60 * 10**9,
        "h": 3600 * 10**9,
    }  # fmt: skip
    mistaken: ClassVar[dict[str, str]] = {
        "m": "write min for minutes or ms for milliseconds",
        "sec.": "write s",
        "second": "write s",
        "seconds": "write s",
        "msec": "write ms",
        "millisecond": "write ms",
        "milliseconds": "write ms",
        "usec": "write us",
        "microseconds": "write us",
        "minute": "write min",
        "minutes": "write min",
        "hour": "write h",
        "hours": "write h",
        "d": "write hours: 1 d is 24 h",
    }

    @property
    def seconds(self) -> float:
        """The duration as a number of seconds."""
        return int(self) / 1e9

    @property
    def decimal_seconds(self) -> str:
        """The duration in seconds as exact decimal text, for command lines."""
        return format((Decimal(int(self)) / 10**9).normalize(), "f")


class CpuTime(Quantity):
    """Picoseconds: the time that a CPU takes for something as small as a byte."""

    noun = "CPU time"
    example = "0.35 ns"
    probable = ("us", "ns")
    units: ClassVar[dict[str, int]] = {
        "ps": 1,
        "ns": 10**3,
        "us": 10**6, "µs": 10**6, "μs": 10**6,
        "ms": 10**9,
        "s": 10**12,
    }  # fmt: skip
    mistaken: ClassVar[dict[str, str]] = {unit: hint for unit, hint in Duration.mistaken.items() if "sec" in unit}


class Size(Quantity):
    """Bytes; kB, MB and GB are powers of 1000, KiB, MiB and GiB powers of 1024."""

    noun = "size"
    example = "64 KiB"
    probable = ("B", "KiB")
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
        "kbit": "write sizes in bytes: 8 kbit is 1 kB",
        "Mbit": "write sizes in bytes: 8 Mbit is 1 MB",
        "kb": "write kB (1000 bytes) or KiB (1024 bytes)",
        "Mb": "write MB (1000^2 bytes) or MiB (1024^2 bytes)",
        "Gb": "write GB (1000^3 bytes) or GiB (1024^3 bytes)",
        "k": "write kB (1000 bytes) or KiB (1024 bytes)",
        "K": "write kB (1000 bytes) or KiB (1024 bytes)",
        "M": "write MB (1000^2 bytes) or MiB (1024^2 bytes)",
        "G": "write GB (1000^3 bytes) or GiB (1024^3 bytes)",
    }


class Probability(Quantity):
    """Parts per billion."""

    noun = "probability"
    example = "0.5 %"
    probable = ("%",)
    units: ClassVar[dict[str, int]] = {"ppb": 1, "ppm": 1000, "%": 10**7}
    mistaken: ClassVar[dict[str, str]] = {"percent": "write %", "pct": "write %"}
    largest = 10**9
    min_written = Decimal("0.001")

    @classmethod
    def _unit_hint(cls, number: str) -> str:
        if re.fullmatch(r"[01](\.[0-9]{1,9})?", number) is None:
            return super()._unit_hint(number)
        percent = f"{(Decimal(number) * 100).normalize():f}"
        return f'write "{number} %"' if percent == number else f'write "{number} %", or "{percent} %" for a fraction'

    @property
    def fraction(self) -> float:
        """The probability as a number from 0 to 1."""
        return int(self) / 1e9

    @property
    def as_fraction(self) -> Fraction:
        """The probability as an exact fraction."""
        return Fraction(int(self), 10**9)

    @property
    def percent_text(self) -> str:
        """The probability as exact decimal percent without the sign, for ``tc``."""
        return format((Decimal(int(self)) / 10**7).normalize(), "f")


class Packets(Quantity):
    """A number of packets of any size."""

    noun = "number of packets"
    example = "100 packets"
    probable = ("packets",)
    units: ClassVar[dict[str, int]] = {"packets": 1, "packet": 1, "pkts": 1, "pkt": 1, "p": 1}
    largest = 10**6


_QUEUE_HINT = 'write packets, bytes or time: "100 packets", "64 KiB" or "50 ms"'


@dataclass(frozen=True)
class QueueLength:
    """The capacity of a queue: packets, bytes, or the time to send it at the link's rate.

    Exactly one of the three is set.
    """

    packets: Packets | None = None
    size: Size | None = None
    time: Duration | None = None

    example: ClassVar[str] = "100 packets"

    @classmethod
    def parse(cls, text: object) -> QueueLength:
        """Parse ``"100 packets"``, ``"64 KiB"`` or ``"50 ms"``. :raises UnitError: for anything else, and for zero."""
        if isinstance(text, cls):
            return text
        split = _split_quantity(text if isinstance(text, str) else str(text))
        if split is None:
            raise UnitError("is not a queue length", hint=_QUEUE_HINT)
        number, unit = split
        if not isinstance(text, str) or unit is None:
            raise UnitError("a queue length needs a unit", hint=_QUEUE_HINT)
        if Fraction(number) == 0:
            raise UnitError("a queue cannot have a length of zero", hint='use at least "1 packet"')
        if unit in Packets.units:
            return cls(packets=Packets.parse(text))
        if unit in Size.units:
            return cls(size=Size.parse(text))
        if unit in Duration.units:
            return cls(time=Duration.parse(text))
        mistaken = {**Packets.mistaken, **Size.mistaken, **Duration.mistaken}
        hint = mistaken.get(unit) or _suggest_unit(unit, {**Packets.units, **Size.units, **Duration.units}, number)
        raise UnitError(f"'{unit}' is not a unit of a queue length", hint=hint or _QUEUE_HINT)

    def __str__(self) -> str:
        return str(next(part for part in (self.packets, self.size, self.time) if part is not None))

    def bytes_at(self, rate: Rate) -> int | None:
        """Return the length in whole bytes on a link of ``rate``, rounded down; None if it is in packets."""
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
        units = [*Packets.units, *Size.units, *Duration.units]
        return {**text_schema("queue length", units), "examples": [cls.example, "64 KiB", "50 ms"]}
