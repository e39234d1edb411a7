# SPDX-License-Identifier: MIT
"""Traces: measured values of rate, delay and others over time, for one direction of a link.

Two formats are supported. A Mahimahi file has one whole number per line: the millisecond of an opportunity to deliver
one full packet; after the last line it starts over. A CSV file begins with a line of column names with units
(``time_s,rate_mbit_s,delay_ms``), followed by one line for each instant at which the values change. The scenario names
the columns of a file without such a line. Lines that begin with ``#`` are comments in both formats.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field, InstanceOf, model_validator
from pydantic.json_schema import SkipJsonSchema

from mptcplab.fields import Line, Misnomers, OneOf, Part, Time, text_matching, value_error
from mptcplab.network.registry import VARIABLE_KEYS
from mptcplab.units import Duration

#: Bytes that one opportunity of Mahimahi delivers: a packet of 1500 bytes with its Ethernet header.
OPPORTUNITY_BYTES = 1514
_MS_NS = 1_000_000
_SECOND_NS = 1_000_000_000
_MAX_STEPS = 20_000
_MAX_FILE_BYTES = 64 << 20
_MIN_STEP_NS = _MS_NS

#: Columns of time stamps, which count from any origin: the first row is time 0.
_STAMPS = ("timestamp_s", "timestamp_ms")
#: Column names of a CSV file: the key, and the column's unit in the key's smallest unit.
_COLUMNS: dict[str, tuple[str, int]] = {
    "time_s": ("time", 10**9),
    "time_ms": ("time", 10**6),
    "timestamp_s": ("time", 10**9),
    "timestamp_ms": ("time", 10**6),
    **{name: (key, factor) for key, variable in VARIABLE_KEYS.items() for name, factor in variable.columns.items()},
}
_MAX_NS = 1000 * 3600 * _SECOND_NS
#: The year 5138: enough for seconds since 1970, and milliseconds that are taken for seconds are refused.
_MAX_STAMP_NS = 10**11 * _SECOND_NS

ColumnName = Annotated[str, OneOf(lambda: _COLUMNS)]
Digest = Annotated[
    str,
    text_matching(
        re.compile(r"[0-9a-f]{64}\Z"), "is not a SHA-256 digest", "use the output of sha256sum, or remove it"
    ),
]


class TraceError(ValueError):
    """A defect of a trace, with a hint."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class TraceStep:
    """The values from ``at_ns`` on, each in the smallest unit of its kind."""

    at_ns: int
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class TraceSeries:
    """A trace as read: steps from 0 on, and its total duration."""

    steps: tuple[TraceStep, ...]
    period_ns: int
    sha256: str

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that the trace sets: rate, delay, jitter, loss."""
        return tuple(key for key, _ in self.steps[0].values)

    @property
    def durations_ns(self) -> list[int]:
        """The duration of each step."""
        ends = [*(step.at_ns for step in self.steps[1:]), self.period_ns]
        return [end - step.at_ns for step, end in zip(self.steps, ends, strict=True)]

    def values(self, key: str) -> list[int]:
        """Return the value of ``key`` at each step."""
        return [dict(step.values)[key] for step in self.steps]

    def mean_of(self, key: str) -> int:
        """Return the mean of ``key`` over time, rounded down."""
        held = (value * lasts for value, lasts in zip(self.values(key), self.durations_ns, strict=True))
        return sum(held) // self.period_ns


class Trace(Part):
    """A file of measured values that one direction of a link follows."""

    misnomers: ClassVar[Misnomers] = {
        "file": ("name", "path", "filename"),
        "window": ("interval", "average", "bin"),
        "end": ("at_end", "after", "loop", "repeat"),
    }

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(description="a Mahimahi or CSV file, relative to the scenario", examples=["lte.down"])
    window: Time = Field(
        default=Duration(100 * _MS_NS), description="time over which opportunities of a Mahimahi file give one rate"
    )
    columns: Annotated[tuple[ColumnName, ...], Field(min_length=2)] | None = Field(
        default=None,
        description="names of the columns of a CSV file without a first line of names",
        examples=[["timestamp_s", "rate_byte_s"]],
    )
    end: Literal["repeat", "hold"] = Field(default="repeat", description="start over, or keep the last values")
    sha256: Digest | None = Field(
        default=None, description="digest of the file; the lab refuses any other", examples=["e3b0c44298fc1c14" * 4]
    )
    #: Read when the scenario is loaded; elsewhere the digest represents it.
    series: SkipJsonSchema[InstanceOf[TraceSeries] | None] = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="after")
    def _check(self) -> Trace:
        if self.window < _MIN_STEP_NS or self.window % _MS_NS:
            raise value_error("is not a whole number of milliseconds", 'write for example window = "100 ms"', "window")
        return self

    @property
    def read(self) -> TraceSeries:
        """The content of the file."""
        assert self.series is not None, "read when the scenario was loaded"
        return self.series


#: A scenario file may give only the name; loading turns it into a table.
TraceOrFile = Trace | Line | None


@lru_cache(maxsize=64)
def parse(data: bytes, *, window_ns: int, columns: tuple[str, ...] | None = None) -> TraceSeries:
    """Parse a trace of either format; a file with ``columns`` is a CSV file without a line of names.

    :raises TraceError: with the number of the line in question.
    """
    if len(data) > _MAX_FILE_BYTES:
        raise TraceError("is too large", f"use at most {_MAX_FILE_BYTES >> 20} MiB")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise TraceError("is not text", "use a Mahimahi or CSV file") from None
    numbered = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    rows = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    digest = hashlib.sha256(data).hexdigest()
    is_mahimahi = columns is None and all(_is_whole(line) for _, line in rows[:1])
    steps, period_ns = _mahimahi(rows, window_ns) if is_mahimahi else _csv(rows, columns)
    merged = tuple(_changing_steps(steps))
    if len(merged) > _MAX_STEPS:
        hint = f"use at most {_MAX_STEPS}: a longer window, or fewer lines"
        raise TraceError(f"has {len(merged)} steps", hint)
    return TraceSeries(merged, period_ns, digest)


def _changing_steps(steps: list[TraceStep]) -> Iterator[TraceStep]:
    """Yield the steps that change a value."""
    for _, same in groupby(steps, key=lambda step: step.values):
        yield next(same)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _mahimahi(rows: list[tuple[int, str]], window_ns: int) -> tuple[list[TraceStep], int]:
    stamps = [_stamp(line, number) for number, line in rows]
    for (number, _), (index, other) in zip(rows[1:], pairwise(stamps), strict=True):
        if other < index:
            raise TraceError(f"goes back in time in line {number}", "write milliseconds in ascending order")
    if not stamps or not stamps[-1]:
        raise TraceError("has no duration", "write a last line with the duration of the trace in ms")
    period_ns = stamps[-1] * _MS_NS
    if period_ns > _MAX_NS:
        raise TraceError("is longer than 1000 hours", "write milliseconds, and a shorter trace")
    windows = -(-period_ns // window_ns)
    counts = [0] * windows
    for stamp in stamps:
        # An opportunity at the very end belongs to the last window: the next round begins at 0.
        counts[min(stamp * _MS_NS // window_ns, windows - 1)] += 1
    steps = []
    for number, count in enumerate(counts):
        start_ns = number * window_ns
        duration_ns = min(window_ns, period_ns - start_ns)
        rate = count * OPPORTUNITY_BYTES * 8 * _SECOND_NS // duration_ns
        steps.append(TraceStep(start_ns, (("rate", rate),)))
    return steps, period_ns


def _stamp(line: str, number: int) -> int:
    if not _is_whole(line) or len(line) > 12:
        raise TraceError(f"has no number of milliseconds in line {number}", "write one whole number per line, or CSV")
    return int(line)


def _csv(lines: list[tuple[int, str]], columns: tuple[str, ...] | None) -> tuple[list[TraceStep], int]:
    rows = [(number, _cells(line, number)) for number, line in lines]
    if columns is None:
        head, rows = _head(rows[0][1]), rows[1:]
    else:
        head = list(columns)
    _check_head(head)
    if len(rows) < 2:
        names = "" if columns is not None else "column names, then "
        hint = f"write {names}a line for each instant; for constant values, repeat the line at a later time"
        raise TraceError("has fewer than two instants", hint)
    steps = []
    for number, row in rows:
        if len(row) != len(head):
            hint = f"write {len(head)} values, as {'in the first line' if columns is None else '`columns` says'}"
            if len(row) == 1 and len(_parts(row)) == len(head):
                hint = "separate columns by commas, and write decimals with a point"
            raise TraceError(f"has {len(row)} values in line {number}", hint)
        values = {_COLUMNS[name][0]: _value(name, text, number) for name, text in zip(head, row, strict=True)}
        at_ns = values.pop("time")
        for key, bound in _bounds(values):
            if values[key] > values[bound]:
                raise TraceError(f"has more {key} than {bound} in line {number}", f"use a {key} of at most the {bound}")
        steps.append(TraceStep(at_ns, tuple(values.items())))
    if any(name in _STAMPS for name in head):
        steps = [TraceStep(step.at_ns - steps[0].at_ns, step.values) for step in steps]
    elif steps[0].at_ns:
        hint = f"add a line for time 0, or name the column {_STAMPS[0]}: the first line is then time 0"
        raise TraceError("does not begin at time 0", hint)
    for (number, _), (trace_step, other) in zip(rows[1:], pairwise(steps), strict=True):
        if other.at_ns - trace_step.at_ns < _MIN_STEP_NS:
            hint = "write instants in ascending order, at least 1 ms apart"
            raise TraceError(f"has an instant less than 1 ms after the one before in line {number}", hint)
        if other.at_ns > _MAX_NS:
            hint = "use a shorter trace, and the column name of the right unit"
            raise TraceError(f"has an instant more than 1000 hours after the first in line {number}", hint)
    # The last step lasts as long as the one before it.
    return steps, 2 * steps[-1].at_ns - steps[-2].at_ns


def _cells(line: str, number: int) -> list[str]:
    try:
        return next(csv.reader([line]))
    except csv.Error as error:
        hint = "separate columns by commas"
        raise TraceError(f"cannot be read in line {number}: {error}", hint) from None


def _head(cells: list[str]) -> list[str]:
    """Return the names in a first line. :raises TraceError: if it has numbers in their place."""
    if all(_is_number(text) for text in _parts(cells)):
        names = 'begin the file with a line like "time_s,rate_bit_s"'
        hint = f'{names}, or write columns = ["time_s", "rate_bit_s"] beside its name'
        raise TraceError("has numbers in its first line, which must name the columns", hint)
    return [name.strip().lower() for name in cells]


def _parts(cells: list[str]) -> list[str]:
    """Return what commas, semicolons or spaces separate."""
    return [text for cell in cells for text in re.split(r"[;\s]+", cell.strip())]


def _is_number(text: str) -> bool:
    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True


#: Marks between columns that spreadsheets write in place of commas.
OTHER_MARKS = {";": "semicolons", "\t": "tabs"}


def _check_head(head: list[str]) -> None:
    known = ", ".join(_COLUMNS)
    for name in head:
        other = next((mark for mark in OTHER_MARKS if mark in name), None)
        if other is not None:
            hint = "separate columns by commas, and write decimals with a point"
            raise TraceError(f"has columns that {OTHER_MARKS[other]} separate", hint)
        if name not in _COLUMNS:
            raise TraceError(f"has an unknown column '{name[:40]}'", f"use columns {known}")
    kinds = [_COLUMNS[name][0] for name in head]
    if len(set(kinds)) != len(kinds):
        one_each = ", ".join(dict.fromkeys(kind for kind, _ in _COLUMNS.values()))
        raise TraceError("has two columns of one kind", f"use one column for each of {one_each}")
    if "time" not in kinds or len(kinds) < 2:
        raise TraceError("lacks a column of times or of values", 'begin it with a line like "time_s,rate_mbit_s"')
    for key, bound in _bounds(kinds):
        if bound not in kinds:
            raise TraceError(f"has {key} without {bound}", f"add a column {next(iter(VARIABLE_KEYS[bound].columns))}")


def _bounds(kinds: Iterable[str]) -> list[tuple[str, str]]:
    """Return the keys that another one bounds, with that one."""
    return [
        (key, bound) for key in kinds if key in VARIABLE_KEYS and (bound := VARIABLE_KEYS[key].bounded_by) is not None
    ]


def _value(name: str, text: str, number: int) -> int:
    kind, factor = _COLUMNS[name]
    largest = VARIABLE_KEYS[kind].largest if kind in VARIABLE_KEYS else _MAX_NS
    try:
        value = Decimal(text.strip())
        is_possible = 0 <= value <= Decimal(_MAX_STAMP_NS if name in _STAMPS else largest) / factor
    except (InvalidOperation, ValueError):
        hint = f"replace {text.strip()[:40]!r} by a number"
        raise TraceError(f"has no number for {name} in line {number}", hint) from None
    if not is_possible:
        hint = f"replace {text.strip()[:40]}, which is out of range"
        raise TraceError(f"has an impossible {name} in line {number}", hint)
    return int(value * factor)
