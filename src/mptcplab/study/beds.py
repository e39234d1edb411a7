# SPDX-License-Identifier: MIT
"""The test beds that a study could have had (``beds.toml``), and complete draws of them.

A source states some parameters of its test bed and leaves others open. An open parameter is an *axis* with a range or
a list, or it is kept for a reason; both are written down before any run. A *bed* has one value on every axis. Beds are
a Sobol sequence with a fixed scrambling (SciPy), so that 64 test beds begin with the 8 test beds of a smaller command.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, model_validator

from mptcplab.errors import InputError, LabError
from mptcplab.study.parts import StudyPart
from mptcplab.study.schema import Study

FILE = "beds.toml"
#: The scrambling of the Sobol sequence. Another number gives other test beds.
_SCRAMBLING = 2026
_DIGITS = 3
_DIGEST = 16
_PLACE = "{value}"
_QUANTITY = re.compile(r"(?P<number>[0-9.]+) ?(?P<unit>.*)")
#: Units that are counted: a draw between two whole numbers of them is rounded.
_COUNTED = ("packets", "B", "")


class FixedSettings(StudyPart):
    """Keys that every test bed has: what the stated machine implies, where scenarios still have something else."""

    why: str
    set: dict[str, str]


class ShortenedRuns(StudyPart):
    """Keys that test beds set for some tables to make their runs shorter than the study's."""

    why: str
    set: dict[str, str]
    tables: tuple[str, ...] = Field(min_length=1)


class UnvariedParameters(StudyPart):
    """Parameters that the source leaves open and that are not varied."""

    names: tuple[str, ...] = Field(min_length=1)
    why: str


class OpenParameter(StudyPart):
    """A parameter that the source leaves open, and its possible values.

    ``values`` is a list, ``range`` the lowest and the highest value with the same unit, ``options`` names alternatives
    with settings of their own. All alternatives are equally likely, and ranges uniform on ``scale``. ``set`` has the
    keys and their text, with ``{value}`` in it. Default: the keys of the parameter with this name. ``tables`` defaults
    to the tables of the parameter, or to all tables of the source.
    """

    name: str
    why: str
    values: tuple[str, ...] = ()
    range: tuple[str, str] | None = None
    scale: Literal["linear", "log"] = "linear"
    options: dict[str, dict[str, str]] = Field(default_factory=dict)
    set: dict[str, str] = Field(default_factory=dict)
    tables: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> OpenParameter:
        if sum((bool(self.values), self.range is not None, bool(self.options))) != 1:
            raise ValueError(f"axis '{self.name}' has one of `values`, `range` and `options`")
        if len(self.values) == 1 or len(self.options) == 1:
            raise ValueError(f"axis '{self.name}' has only one alternative")
        if self.options and self.set:
            raise ValueError(f"axis '{self.name}': options have settings of their own in place of `set`")
        if self.range is not None:
            low, high, _ = _parse_range(self.range)
            if not low < high or (self.scale == "log" and low <= 0):
                raise ValueError(f"axis '{self.name}': {self.range[0]} to {self.range[1]} cannot be a range")
        return self

    def text(self, coordinate: float) -> str:
        """Return the value at ``coordinate``, which is uniform from 0 to 1, as scenarios write it."""
        if self.range is None:
            names = self.values or tuple(self.options)
            return names[min(int(coordinate * len(names)), len(names) - 1)]
        low, high, unit = _parse_range(self.range)
        value = low * (high / low) ** coordinate if self.scale == "log" else low + coordinate * (high - low)
        whole = unit in _COUNTED and low.is_integer() and high.is_integer()
        # Rounding must not leave the range.
        rounded = min(max(round(value) if whole else float(f"{value:.{_DIGITS}g}"), low), high)
        number = f"{rounded:.9f}".rstrip("0").rstrip(".")
        return f"{number} {unit}".strip()

    def settings(self, text: str) -> dict[str, str]:
        """Return the keys that a value sets, and their values."""
        if self.options:
            return self.options[text]
        return {key: template.replace(_PLACE, text) for key, template in self.set.items()}


class BedSpace(StudyPart):
    """The content of ``beds.toml``: what every test bed has, what differs between them, and what is not varied.

    Runs that are ``shortened`` cost less; a source's own duration would make many test beds too expensive. An axis may
    set the same key and wins.
    """

    settled: FixedSettings | None = None
    shortened: ShortenedRuns | None = None
    axes: tuple[OpenParameter, ...] = Field(min_length=1)
    kept: tuple[UnvariedParameters, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def digest(self) -> str:
        """A hash of everything that decides what a test bed sets, which reasons do not."""
        fixed = self.settled.set if self.settled is not None else {}
        shortened = [self.shortened.model_dump(exclude={"why"})] if self.shortened is not None else []
        axes = [axis.model_dump(exclude={"why"}) for axis in self.axes]
        return hashlib.sha256(json.dumps([fixed, *shortened, axes]).encode()).hexdigest()[:_DIGEST]

    def keys(self, table: str) -> set[str]:
        """Return the keys that test beds set for a table."""
        keys = set(self._fixed_settings(table))
        for axis in self.axes:
            if table in axis.tables:
                keys.update(axis.set, *axis.options.values())
        return keys

    def overrides(self, bed: SampledBed, table: str) -> list[str]:
        """Return the settings of ``bed`` for a table, as ``--set`` takes them."""
        settings = self._fixed_settings(table)
        for axis in self.axes:
            if table in axis.tables:
                settings |= axis.settings(bed.values[axis.name])
        return [f"{key}={value}" for key, value in settings.items()]

    def _fixed_settings(self, table: str) -> dict[str, str]:
        """Return the settings that all test beds have for a table."""
        settings = dict(self.settled.set) if self.settled is not None else {}
        if self.shortened is not None and table in self.shortened.tables:
            settings |= self.shortened.set
        return settings


@dataclass(frozen=True)
class SampledBed:
    """One complete test bed. ``coordinates`` are uniform from 0 to 1, ``values`` the texts, both by axis."""

    number: int
    coordinates: tuple[float, ...]
    values: dict[str, str]


def is_drawn(study: Study, number: str) -> bool:
    """Return whether test beds measure a table: whether the source has it, with values or claims that can be judged."""
    table = study.tables[number]
    return table.is_of_the_source and (bool(table.published) or any(claim.table == number for claim in study.claims))


def read_beds(folder: Path, study: Study) -> BedSpace:
    """Return the test beds of the study in ``folder``.

    :raises InputError: if the study has no ``beds.toml``.
    :raises LabError: if that is damaged.
    """
    try:
        data = tomllib.loads((folder / FILE).read_text())
    except FileNotFoundError:
        raise InputError(
            f"study {folder.name} has no test beds to draw from", hint=f"{folder / FILE} would describe them"
        ) from None
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise _damage_error(folder, error) from error
    try:
        beds = BedSpace.model_validate(data)
        return beds.model_copy(update={"axes": tuple(_fill_defaults(axis, study) for axis in beds.axes)})
    except (ValidationError, ValueError) as error:
        raise _damage_error(folder, error) from error


def draw(beds: BedSpace, count: int) -> list[SampledBed]:
    """Return the first ``count`` test beds of the sequence."""
    from scipy.stats import qmc  # late: it takes longer to import than most commands

    sequence = qmc.Sobol(len(beds.axes), scramble=True, rng=_SCRAMBLING)
    with warnings.catch_warnings():
        # The sequence is balanced at powers of two only. Users may ask for any number.
        warnings.simplefilter("ignore", UserWarning)
        coordinates = sequence.random(count)
    return [
        SampledBed(
            number,
            tuple(map(float, row)),
            {axis.name: axis.text(float(u)) for axis, u in zip(beds.axes, row, strict=True)},
        )
        for number, row in enumerate(coordinates, start=1)
    ]


def _fill_defaults(axis: OpenParameter, study: Study) -> OpenParameter:
    """Return the axis with the keys and the tables that it leaves to the parameter of its name."""
    parameter = next((known for known in study.parameters if known.name == axis.name), None)
    changes: dict[str, object] = {}
    if not axis.set and not axis.options:
        if parameter is None or not parameter.key:
            raise ValueError(f"axis '{axis.name}' sets no key, and no parameter of this name has one")
        changes["set"] = dict.fromkeys(parameter.key, _PLACE)
    unknown = [number for number in axis.tables if number not in study.tables]
    if unknown:
        raise ValueError(f"axis '{axis.name}' names table {unknown[0]}, which the study does not have")
    if not axis.tables:
        drawn = [number for number in study.tables if is_drawn(study, number)]
        if parameter is not None:
            elsewhere = {number for other in parameter.other for number in other.tables}
            drawn = [
                number for number in drawn if parameter.is_about(number, is_of_source=True) and number not in elsewhere
            ]
        changes["tables"] = tuple(drawn)
    return axis.model_copy(update=changes)


def _parse_range(ends: tuple[str, str]) -> tuple[float, float, str]:
    """Return both numbers of a range and their unit. :raises ValueError: if the units differ."""
    low, high = (_QUANTITY.fullmatch(end.strip()) for end in ends)
    if low is None or high is None or low["unit"] != high["unit"]:
        raise ValueError(f"'{ends[0]}' and '{ends[1]}' are not numbers with the same unit")
    return float(low["number"]), float(high["number"]), low["unit"]


def _damage_error(folder: Path, error: Exception) -> LabError:
    message = " ".join(str(error).split())
    return LabError(f"the test beds of study '{folder.name}' are damaged", hint=f"see {folder / FILE} ({message})")
