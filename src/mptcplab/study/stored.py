# SPDX-License-Identifier: MIT
"""Values of published tables as files have them: of a study's results folder, and shipped with a study.

``api/reproduction.py`` writes ``table-NAME.json``, :mod:`mptcplab.study.reference` writes ``full.json``. Every
``from_json`` here raises an error of :data:`mptcplab.metrics.stored.WRONG` for JSON data of another form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from mptcplab.metrics.stored import WRONG, FailedRun, read_failed_run
from mptcplab.stats import Interval


@dataclass(frozen=True)
class StoredCell:
    """The measured value of a cell, and the values by seed. ``missing`` runs have none."""

    interval: Interval
    by_seed: Mapping[int, float] = field(default_factory=dict)
    missing: int = 0


#: By row and column of the table.
StoredCells = Mapping[tuple[str, str], StoredCell]


@dataclass(frozen=True)
class MeasuredRun:
    """A run of a table: the identity of its recording, and its settings."""

    identity: str
    settings: dict[str, str]


@dataclass(frozen=True)
class MeasuredTable:
    """One form of a table as a results folder has it. ``form`` is the digest of the table that was measured.

    ``runs`` is None if the file does not name the recordings, as old ones do not.
    """

    study: str
    table: str
    is_quick: bool
    changed: tuple[str, ...]
    cells: StoredCells
    form: str = ""
    mptcplab: str = ""
    kernels: Mapping[str, str] = field(default_factory=dict)
    runs: tuple[MeasuredRun, ...] | None = None
    failed: tuple[FailedRun, ...] = ()

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> MeasuredTable:
        """Return the table that ``mptcplab reproduce`` wrote."""
        runs = document.get("runs")
        return cls(
            study=str(document["study"]),
            table=str(document["table"]),
            is_quick=bool(document["quick"]),
            changed=tuple(map(str, document["changed"])),
            cells={
                (entry["row"], entry["column"]): _read_cell(Interval.from_json(entry), entry, "runs_without")
                for entry in document["measured"]
            },
            form=str(document.get("form", "")),
            mptcplab=str(document.get("mptcplab", "")),
            kernels=dict(document.get("kernels", {})),
            runs=None if runs is None else tuple(MeasuredRun(run["run"], dict(run["settings"])) for run in runs),
            failed=tuple(map(read_failed_run, document.get("failed", ()))),
        )

    @property
    def name(self) -> str:
        """The name as users write it: ``STUDY/TABLE``."""
        return f"{self.study}/{self.table}"

    @cached_property
    def seeds(self) -> set[int]:
        """The seeds of which any cell has a value."""
        return {seed for cell in self.cells.values() for seed in cell.by_seed}


@dataclass(frozen=True)
class ShippedTable:
    """The values of a table that are shipped with its study, and the kernels that they were measured on.

    ``form`` is the digest of the table that was measured: the table may have another one by now. ``mptcplab`` is the
    version that measured it, ``without`` the places without a value. ``kernels`` has the builds by release, and
    ``repeated`` those on which runs of ``repeated_seeds`` gave the same digits again.
    """

    form: str
    kernels: Mapping[str, str]
    cells: StoredCells
    mptcplab: str = ""
    without: tuple[tuple[str, str], ...] = ()
    repeated: Mapping[str, str] = field(default_factory=dict)
    repeated_seeds: tuple[int, ...] = ()

    @property
    def latest_kernels(self) -> Mapping[str, str]:
        """The builds, by release, that repeated these digits; if there are none, the builds that measured them."""
        return self.repeated or self.kernels

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> ShippedTable:
        """Return the table."""
        repeated = entry.get("repeated", {})
        return cls(
            form=str(entry["form"]),
            kernels=dict(entry["kernels"]),
            cells={
                (row, column): _read_cell(Interval(cell["mean"], cell["half_width"], cell["n"]), cell, "missing")
                for row, columns in entry["cells"].items()
                for column, cell in columns.items()
            },
            mptcplab=str(entry.get("mptcplab", "")),
            without=tuple((row, column) for row, column in entry.get("without", ())),
            repeated=dict(repeated.get("kernels", {})),
            repeated_seeds=tuple(repeated.get("seeds", ())),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the entry of ``full.json``."""
        cells: dict[str, dict[str, Any]] = {}
        for (row, column), cell in self.cells.items():
            value: dict[str, Any] = {
                "mean": cell.interval.mean,
                "half_width": cell.interval.half_width,
                "n": cell.interval.n,
            }
            value |= {"missing": cell.missing} if cell.missing else {}
            value |= {"by_seed": {str(seed): number for seed, number in cell.by_seed.items()}} if cell.by_seed else {}
            cells.setdefault(row, {})[column] = value
        repeated = {"kernels": dict(self.repeated), "seeds": list(self.repeated_seeds)}
        return {
            "form": self.form,
            "mptcplab": self.mptcplab,
            "kernels": dict(self.kernels),
            "cells": cells,
            "without": [list(place) for place in self.without],
            **({"repeated": repeated} if self.repeated else {}),
        }


def read_shipped(file: Path, number: str) -> ShippedTable | None:
    """Return a table of ``file`` by its number; None if the file has none, is missing or damaged."""
    try:
        status = file.stat()
        return _load_tables(file, status.st_mtime_ns, status.st_size).get(number)
    except (OSError, *WRONG):
        return None


@lru_cache(maxsize=1)
def _load_tables(file: Path, _modified_ns: int, _size: int) -> dict[str, ShippedTable]:
    """Return the undamaged tables of ``file``, which is read once for all tables of a study, unless it changes."""
    tables = {}
    for number, entry in json.loads(file.read_text())["tables"].items():
        with suppress(*WRONG):
            tables[number] = ShippedTable.from_json(entry)
    return tables


def _read_cell(interval: Interval, entry: Mapping[str, Any], missing: str) -> StoredCell:
    by_seed = {int(seed): value for seed, value in entry.get("by_seed", {}).items()}
    # The key is there only if runs lack the value.
    return StoredCell(interval, by_seed, entry.get(missing, 0))
