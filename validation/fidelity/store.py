# SPDX-License-Identifier: MIT
"""The measurements of docs/fidelity.md as files: one for each scenario, and one for what belongs to no scenario.

The file of a scenario has all of its compared sides, each with a table for every metric, in which a row is a line. What
many rows or sides have in common is in the file once: the names of columns, the settings of points and the digests of
kernels, of which the last two are named by their index. What follows exactly from the rest of a row is not written: how
many runs were compared, and that one was single. A row ends with its last cell that says something.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from validation.fidelity.lines import Table, wrap

from mptcplab.errors import LabError
from mptcplab.files import write_text
from mptcplab.metrics.paired import MIN_SHARED

FOLDER = Path(__file__).with_name("measured")
#: The file of what belongs to no scenario; names of scenarios do not begin like this.
COMMON = "_common.json"
_SUFFIX = ".json"
#: The columns of a file's tables of a metric. The last ones are empty in most rows.
_COLUMNS = (
    "settings",
    "workload",
    "a",
    "b",
    "difference",
    "half_width",
    "percent",
    "percent_half_width",
    "verdict",
    "values",
    "more",
    "beyond",
    "n",
)
#: JSON data: of a file, or of the structure that :func:`validation.fidelity.gather.gather_comparisons` returns.
Document = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class ComparedRow:
    """One metric of one workload at one point, on the side ``a`` that a side ``b`` is compared with, and on ``b``.

    ``n`` are the runs of both that were compared, ``values`` of each by seed, and ``beyond`` the segments beyond the
    connection's window that were dropped in each run. Old rows have no ``values``.
    """

    metric: str
    settings: dict[str, str]
    workload: str
    a: float | None
    b: float | None
    difference: float | None
    half_width: float | None
    percent: float | None
    percent_half_width: float | None
    verdict: str
    n: list[int]
    values: list[list[float]] | None = None
    more: int | None = None
    beyond: list[list[int]] | None = None

    @property
    def is_single(self) -> bool:
        """True if one run of ``b`` is compared, with the interval of validation/fidelity/single_runs.py."""
        return self.n[1] == 1 and self.half_width is not None

    @classmethod
    def from_document(cls, row: Document) -> ComparedRow:
        """Return a row as the comparison yields it."""
        return cls(**{key: value for key, value in row.items() if key != "single"})

    def to_document(self) -> Document:
        """Return the row as the comparison yields it."""
        document = dict(vars(self))
        for key in ("values", "more") if self.values is None else ():
            del document[key]
        if self.beyond is None:
            del document["beyond"]
        return document | ({"single": True} if self.is_single else {})

    @classmethod
    def from_json(cls, metric: str, cells: Document, settings: Sequence[dict[str, str]]) -> ComparedRow:
        """Return a row of a metric from its cells by column, of a file with these ``settings``."""
        n = cells.get("n") or _compared_runs(cells["values"])
        return cls(**cells | {"metric": metric, "settings": settings[cells["settings"]], "n": n})

    def to_json(self, settings: list[dict[str, str]]) -> list[Any]:
        """Return the row's cells; its settings are added to ``settings`` if they are new."""
        follows = self.values is not None and self.n == _compared_runs(self.values)
        cells = vars(self) | {"settings": _index(settings, self.settings), "n": None if follows else self.n}
        return _trim([cells[column] for column in _COLUMNS])


def _compared_runs(values: Sequence[Sequence[float]]) -> list[int]:
    """Return how many runs of both sides are compared: those with common seeds if there are enough, or else all."""
    numbers = [len(of_side) for of_side in values]
    return [min(numbers)] * len(numbers) if min(numbers) >= MIN_SHARED else numbers


@dataclass(frozen=True)
class ComparedSide:
    """A side of a scenario, ``against`` another. ``ran`` and ``kernels`` are digests, of the other side first."""

    against: str
    load: float
    seeds: int
    ran: list[str]
    kernels: list[str | None]
    mptcp: dict[str, str]
    rows: list[ComparedRow]

    @classmethod
    def from_document(cls, side: Document) -> ComparedSide:
        """Return a side as the comparison has it."""
        return cls(**side | {"rows": list(map(ComparedRow.from_document, side["rows"]))})

    def to_document(self) -> Document:
        """Return the side as the comparison has it."""
        return vars(self) | {"rows": [row.to_document() for row in self.rows]}

    @classmethod
    def from_json(cls, side: Document, scenario: Document) -> ComparedSide:
        """Return a side of a file, which has what ``scenario`` has once."""
        columns, settings, builds = (scenario[key] for key in ("columns", "settings", "builds"))
        rows = [
            ComparedRow.from_json(metric, cells, settings)
            for metric, table in side["rows"].items()
            for cells in _read_table(columns, table)
        ]
        kernels = [None if index is None else builds[index] for index in side["kernels"]]
        return cls(**side | {"kernels": kernels, "rows": rows})

    def to_json(self, settings: list[dict[str, str]], builds: list[str]) -> Document:
        """Return JSON data; settings and digests of kernels that are new are added to ``settings`` and ``builds``."""
        kernels = [None if digest is None else _index(builds, digest) for digest in self.kernels]
        rows = {
            metric: Table(row.to_json(settings) for row in rows)
            for metric, rows in groupby(self.rows, key=lambda row: row.metric)
        }
        return vars(self) | {"kernels": kernels, "rows": rows}


@dataclass(frozen=True)
class RefusedSide:
    """A side that executes nothing of a scenario, and the reason."""

    refused: str

    def to_json(self) -> Document:
        """Return JSON data, which are the same in a file and in a comparison."""
        return vars(self)


@dataclass(frozen=True)
class SpreadRow:
    """Mean and deviation of a goodput of the lab over ``n`` seeds, and how many are ``needed`` (None: over 10,000)."""

    settings: dict[str, str]
    workload: str
    mean: float
    percent: float
    n: int
    needed: int | None = None


@dataclass(frozen=True)
class Spread:
    """The spread of the lab's runs of a scenario; ``ran`` is the digest of what they executed."""

    ran: str
    rows: list[SpreadRow]

    @classmethod
    def from_document(cls, spread: Document) -> Spread:
        """Return a spread as the comparison has it."""
        return cls(spread["ran"], [SpreadRow(**row) for row in spread["rows"]])

    def to_document(self) -> Document:
        """Return the spread as the comparison has it."""
        return {"ran": self.ran, "rows": [dict(vars(row)) for row in self.rows]}

    @classmethod
    def from_json(cls, spread: Document, settings: Sequence[dict[str, str]]) -> Spread:
        """Return the spread of a file with these ``settings``."""
        table = _read_table(spread["columns"], spread["rows"])
        return cls(spread["ran"], [SpreadRow(**row | {"settings": settings[row["settings"]]}) for row in table])

    def to_json(self, settings: list[dict[str, str]]) -> Document:
        """Return JSON data; settings of rows are added to ``settings`` if they are new."""
        rows = [vars(row) | {"settings": _index(settings, row.settings)} for row in self.rows]
        columns = list(rows[0]) if rows else []
        return {"ran": self.ran, "columns": columns, "rows": Table(_trim(list(row.values())) for row in rows)}


@dataclass(frozen=True)
class StoredForm:
    """The short form of a scenario that ran: its digest, its points, and what was changed."""

    digest: str
    points: list[str]
    changes: list[str]


@dataclass(frozen=True)
class StoredScenario:
    """The comparisons of a scenario, and the spread of the lab's runs. Without any side there is no ``form``."""

    form: StoredForm | None
    sides: dict[str, ComparedSide | RefusedSide]
    spread: Spread | None

    @classmethod
    def from_document(cls, scenario: Document | None, spread: Document | None) -> StoredScenario:
        """Return a scenario as the comparison has it."""
        return cls(
            None if scenario is None else StoredForm(**scenario["form"]),
            {
                name: RefusedSide(**side) if "refused" in side else ComparedSide.from_document(side)
                for name, side in (scenario or {"sides": {}})["sides"].items()
            },
            None if spread is None else Spread.from_document(spread),
        )

    def to_document(self) -> Document:
        """Return the form and the sides as the comparison has them."""
        assert self.form is not None
        sides = {
            name: side.to_json() if isinstance(side, RefusedSide) else side.to_document()
            for name, side in self.sides.items()
        }
        return {"form": dict(vars(self.form)), "sides": sides}

    @classmethod
    def from_json(cls, scenario: Document) -> StoredScenario:
        """Return the scenario of a file. :raises LookupError, TypeError, ValueError: if it is of another form."""
        return cls(
            StoredForm(**scenario["form"]) if "form" in scenario else None,
            {
                name: RefusedSide(**side) if "refused" in side else ComparedSide.from_json(side, scenario)
                for name, side in scenario["sides"].items()
            },
            Spread.from_json(scenario["spread"], scenario["settings"]) if "spread" in scenario else None,
        )

    def to_json(self) -> Document:
        """Return JSON data for the file."""
        settings: list[dict[str, str]] = []
        builds: list[str] = []
        sides = {
            name: side.to_json() if isinstance(side, RefusedSide) else side.to_json(settings, builds)
            for name, side in self.sides.items()
        }
        spread = {} if self.spread is None else {"spread": self.spread.to_json(settings)}
        form = {} if self.form is None else {"form": vars(self.form)}
        shared = {"columns": _COLUMNS, "settings": settings, "builds": builds}
        return {**form, **shared, "sides": sides, **spread}


@dataclass(frozen=True)
class CommonFacts:
    """The facts that belong to no scenario.

    ``kernels`` are the names and builds of all sides, ``wire`` the parts of a file's time by side. ``limits`` has all
    scenarios in their order, with what limits each in place of rates, and ``drawn`` the names of those with random
    losses or delays.
    """

    kernels: dict[str, dict[str, str | None]]
    wire: dict[str, list[dict[str, float]]]
    limits: dict[str, str]
    drawn: list[str]

    @classmethod
    def from_json(cls, document: Document) -> CommonFacts:
        """Return what a file or a comparison has. :raises KeyError: if it lacks some of that."""
        return cls(document["kernels"], document["wire"], document["all"], document["drawn"])

    def to_json(self) -> Document:
        """Return JSON data, which are the same in the file and in a comparison."""
        return {"kernels": self.kernels, "wire": self.wire, "all": self.limits, "drawn": self.drawn}


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured; ``scenarios`` by name in their order."""

    common: CommonFacts
    scenarios: dict[str, StoredScenario]

    @classmethod
    def from_document(cls, document: Document) -> Measurements:
        """Return measurements as :func:`validation.fidelity.gather.gather_comparisons` has them, with common facts."""
        common = CommonFacts.from_json(document)
        names = _sort_names({*document["scenarios"], *document["spread"]}, common.limits)
        scenarios = {
            name: StoredScenario.from_document(document["scenarios"].get(name), document["spread"].get(name))
            for name in names
        }
        return cls(common, scenarios)

    def to_document(self) -> Document:
        """Return the measurements by kind: ``scenarios`` with their sides, and ``spread``."""
        of_sides = {name: entry.to_document() for name, entry in self.scenarios.items() if entry.form is not None}
        spread = {name: entry.spread.to_document() for name, entry in self.scenarios.items() if entry.spread}
        return {**self.common.to_json(), "scenarios": of_sides, "spread": spread}

    def write(self, folder: Path) -> None:
        """Write the files of a folder whose content changes, each atomically, and remove other scenarios' files."""
        documents = {f"{name}{_SUFFIX}": scenario.to_json() for name, scenario in self.scenarios.items()}
        texts = {name: f"{wrap(document)}\n" for name, document in documents.items()}
        texts[COMMON] = f"{wrap(self.common.to_json())}\n"
        for name, text in texts.items():
            file = folder / name
            if not file.exists() or file.read_text() != text:
                file.parent.mkdir(parents=True, exist_ok=True)
                write_text(file, text)
        _remove_others(folder, {folder / name for name in texts})


def _sort_names(names: set[str], order: Mapping[str, object]) -> list[str]:
    """Return names in the ``order`` of all scenarios; others follow."""
    return [*(name for name in order if name in names), *sorted(names - {*order})]


def _remove_others(folder: Path, kept: set[Path]) -> None:
    """Remove the files that are not ``kept``, which may be what a killed writer left, and folders without files."""
    for file in folder.rglob(f"*{_SUFFIX}*"):
        if file not in kept:
            file.unlink()
    for inner in sorted((file for file in folder.rglob("*") if file.is_dir()), reverse=True):
        if not any(inner.iterdir()):
            inner.rmdir()


def read_measurements(folder: Path = FOLDER) -> Measurements:
    """Return what a folder has. :raises LabError: naming a file that is missing or damaged."""
    common = _read(folder / COMMON, CommonFacts.from_json)
    names = {str(file.relative_to(folder).with_suffix("")) for file in folder.rglob(f"*{_SUFFIX}")}
    names.discard(Path(COMMON).stem)
    ordered = _sort_names(names, common.limits)
    return Measurements(
        common, {name: _read(folder / f"{name}{_SUFFIX}", StoredScenario.from_json) for name in ordered}
    )


def _read(file: Path, parse: Callable[[Document], T]) -> T:
    """Return what a file has. :raises LabError: if it is missing or damaged."""
    hint = f"`git checkout {file}` restores it"
    try:
        return parse(json.loads(file.read_text()))
    except FileNotFoundError as error:
        raise LabError(f"{file} is missing", hint=hint) from error
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise LabError(f"{file} is damaged: {reason}", hint=hint) from error


def _trim(cells: list[Any]) -> list[Any]:
    """Return cells without the empty ones at the end."""
    count = max((place for place, cell in enumerate(cells, 1) if cell is not None), default=0)
    return cells[:count]


def _read_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[Document]:
    """Yield the cells of each row by column. :raises ValueError: if one has more cells than there are columns."""
    for row in rows:
        if len(row) > len(columns):
            raise ValueError(f"a row has {len(row)} cells for {len(columns)} columns")
        yield dict(zip(columns, row, strict=False))


def _index(values: list[T], value: T) -> int:
    """Return the index of a value in a list, at whose end it is added if it is new."""
    if value not in values:
        values.append(value)
    return values.index(value)
