# SPDX-License-Identifier: MIT
"""Judge published values and claims over many test beds (:mod:`mptcplab.study.beds`): in which of them they agree.

Each bed has one run for each cell, so the spread over beds contains that of chance. A value *agrees in at least 95 % of
the beds*, *in some*, or *in none*. For the values in between, the page names the parameters that move them: the axes
whose PAWN index (Pianosi and Wagener 2015, from SALib) is above the largest of as many random columns as are needed for
a level of 2 %.

Everything is computed from the document that `mptcplab reproduce --beds` writes, so that it can be computed again from
what is shipped with a study.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from mptcplab.stats import Interval
from mptcplab.study.beds import Bed
from mptcplab.study.claims import judge_claims
from mptcplab.study.classes import HOLDS, OPEN
from mptcplab.study.load import SelectedTable
from mptcplab.study.measured import TableValues, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The file beside ``study.toml`` with what its beds gave.
CLOUD = "cloud.json"
IN_ALL, IN_SOME, IN_NONE = "agrees in at least 95 % of beds", "agrees in some beds", "agrees in no bed"
CLASSES = (IN_ALL, IN_SOME, IN_NONE)
NOT_MEASURED = "not measured"
_ALMOST_ALL = 0.95
#: With fewer beds, no statement about what moves a value is made.
MIN_BEDS_FOR_CAUSES = 32
#: Random columns that axes are compared with: the largest of 49 is exceeded by chance in 2 % of the cases.
_RANDOM_COLUMNS = 49
_SLICES = 5
_SEED = 1
_MAX_CAUSES = 3
_DIGITS = 7


@dataclass(frozen=True)
class CloudValue:
    """One published value over all beds. ``measured`` has None for beds without it; ``moved_by`` names axes.

    ``tolerance`` is in percent of ``published``. ``counts`` is false where another table has the value, too.
    """

    table: str
    row: str
    column: str
    published: float
    tolerance: float
    measured: tuple[float | None, ...]
    moved_by: tuple[str, ...] = ()
    counts: bool = True

    @property
    def known(self) -> list[float]:
        """The measured values of the beds that have the value."""
        return [one for one in self.measured if one is not None]

    @property
    def within(self) -> list[bool]:
        """Whether the value is in the band, bed by bed; a bed without it does not agree."""
        band = abs(self.published) * self.tolerance / 100
        return [one is not None and abs(one - self.published) <= band for one in self.measured]

    @property
    def verdict(self) -> str:
        """The class of the value."""
        return class_of(self.within) if self.known else NOT_MEASURED


@dataclass(frozen=True)
class CloudClaim:
    """One claim over all beds: ``holds`` has None for beds in which it cannot be judged."""

    table: str
    text: str
    holds: tuple[bool | None, ...]

    @property
    def verdict(self) -> str:
        """The class of the claim."""
        known = [one for one in self.holds if one is not None]
        return class_of(known) if known else NOT_MEASURED


@dataclass(frozen=True)
class Calibration:
    """The bed that serves most of one half of the values, and how many of the other half it serves.

    The halves are fixed: values in the order of the data, every second one. ``expected`` is the mean over all beds of
    the values of the other half that a bed serves: what a bed that was chosen blindly would do.
    """

    bed: int
    chosen_by: int
    of_chosen_by: int
    judged: int
    of_judged: int
    expected: float


@dataclass(frozen=True)
class Cloud:
    """All values and claims of a study over all its beds."""

    study: str
    beds: tuple[Bed, ...]
    values: tuple[CloudValue, ...]
    claims: tuple[CloudClaim, ...]
    is_quick: bool

    @property
    def counted(self) -> list[CloudValue]:
        """The values that count: each published value once."""
        return [one for one in self.values if one.counts and one.known]

    def served(self) -> list[int]:
        """Return how many values each bed serves at once."""
        return [sum(column) for column in zip(*(one.within for one in self.counted), strict=True)]

    def calibration(self) -> Calibration | None:
        """Return what a calibration with half of the values would be worth; None if there are too few values."""
        first, second = self.counted[::2], self.counted[1::2]
        if not second:
            return None
        scores = [sum(one.within[at] for one in first) for at in range(len(self.beds))]
        best = scores.index(max(scores))
        other = [sum(one.within[at] for one in second) for at in range(len(self.beds))]
        mean = sum(other) / len(other)
        return Calibration(self.beds[best].number, scores[best], len(first), other[best], len(second), mean)


def class_of(within: Sequence[bool]) -> str:
    """Return the class of something that agrees in some beds and not in others."""
    share = sum(within) / len(within)
    if share >= _ALMOST_ALL:
        return IN_ALL
    return IN_SOME if share else IN_NONE


def cloud_entry(selected: SelectedTable, measured: Sequence[TableValues]) -> dict[str, Any]:
    """Return the data of a table for the document: the values of all beds, and whether its claims hold in each."""
    values = {
        row: {name: [_rounded(one.get((row, name))) for one in measured] for name in columns}
        for row, columns in selected.table.published.items()
        if any((row, name) in one for one in measured for name in columns)
    }
    judged = [judge_claims(selected, as_certain(one), {}) for one in measured]
    claims = {
        claims[0].claim.text: [None if one.verdict == OPEN else one.verdict == HOLDS for one in claims]
        for claims in zip(*judged, strict=True)
    }
    return {"values": values, "claims": claims}


def as_certain(measured: TableValues) -> dict[tuple[str, str], Value]:
    """Return the values as if they had no uncertainty: a bed has one run, and claims are judged by what it gave."""
    return {
        place: Value(Interval(one.interval.mean, 0.0, 2), dict.fromkeys((0, 1), one.interval.mean), missing=one.missing)
        for place, one in measured.items()
    }


def read_cloud(document: Mapping[str, Any], tables: Sequence[SelectedTable]) -> Cloud:
    """Return the cloud of a document that `reproduce --beds` has written for ``tables`` of one study."""
    beds = tuple(Bed(one["bed"], tuple(one["coordinates"]), one["values"]) for one in document["beds"])
    axes = {name: set(about) for name, about in document["axes"].items()}
    causes = _Causes(beds, axes)
    values, claims = [], []
    # The test bed that measures a table again is nearer to the study's.
    replaced = {one.table.again for one in tables if one.number in document["tables"]}
    for selected in tables:
        entry = document["tables"].get(selected.number, {"values": {}, "claims": {}})
        counts = selected.number not in replaced
        values += [causes.complete(one) for one in _values(selected, entry["values"], counts=counts)]
        claims += [CloudClaim(selected.number, text, tuple(holds)) for text, holds in entry["claims"].items()]
    return Cloud(document["study"], beds, tuple(values), tuple(claims), document["quick"])


def shipped_cloud(tables: Sequence[SelectedTable]) -> Cloud | None:
    """Return the cloud that is shipped with the study of ``tables``; None if none is."""
    try:
        document = json.loads((tables[0].folder / CLOUD).read_text())
    except OSError:
        return None
    return read_cloud(document, tables)


def _values(
    selected: SelectedTable, entry: Mapping[str, Mapping[str, Sequence[float | None]]], *, counts: bool
) -> Iterator[CloudValue]:
    table = selected.table
    for row, columns in entry.items():
        for column, measured in columns.items():
            published = table.published[row][column].mean
            first = table.first_of(row, column) is None
            yield CloudValue(
                selected.number, row, column, published, table.tolerance, tuple(measured), counts=counts and first
            )


class _Causes:
    """Finds the axes that move a value."""

    def __init__(self, beds: Sequence[Bed], axes: Mapping[str, set[str]]) -> None:
        self._axes, self._count = axes, len(beds)
        if self._count < MIN_BEDS_FOR_CAUSES:
            return
        import numpy as np

        random = np.random.default_rng(_SEED).random((self._count, _RANDOM_COLUMNS))
        self._columns: NDArray[np.float64] = np.hstack([np.array([bed.coordinates for bed in beds]), random])

    def complete(self, value: CloudValue) -> CloudValue:
        """Return ``value`` with the axes that move it."""
        if len(value.known) < MIN_BEDS_FOR_CAUSES or max(value.known) - min(value.known) == 0:
            return value
        at = [place for place, one in enumerate(value.measured) if one is not None]
        strengths = self._strengths(self._columns[at], value.known)
        noise = max(strengths[len(self._axes) :])
        named = zip(self._axes, strengths, strict=False)
        found = [(strength, name) for name, strength in named if value.table in self._axes[name] and strength > noise]
        moved_by = tuple(name for _, name in sorted(found, reverse=True)[:_MAX_CAUSES])
        return CloudValue(
            value.table,
            value.row,
            value.column,
            value.published,
            value.tolerance,
            value.measured,
            moved_by,
            value.counts,
        )

    def _strengths(self, columns: NDArray[np.float64], values: Sequence[float]) -> list[float]:
        import numpy as np
        from SALib.analyze import pawn

        count = columns.shape[1]
        problem = {"num_vars": count, "names": [str(at) for at in range(count)], "bounds": [[0.0, 1.0]] * count}
        found = pawn.analyze(problem, columns, np.array(values), S=_SLICES, seed=_SEED)
        return [float(one) for one in found["median"]]


def middle(values: Sequence[float]) -> float:
    """Return the median of the values, nan for none."""
    return median(values) if values else math.nan


def _rounded(value: Value | None) -> float | None:
    if value is None or not math.isfinite(value.interval.mean):
        return None
    return float(f"{value.interval.mean:.{_DIGITS}g}")
