# SPDX-License-Identifier: MIT
"""Values of a study's tables over its test beds, as stored in a results folder and as shipped with the study.

``api/beds.py`` writes ``beds-N.json``, :mod:`mptcplab.study.reference` writes ``cloud.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mptcplab.errors import LabError
from mptcplab.metrics.stored import WRONG
from mptcplab.study.beds import BedSpace, SampledBed
from mptcplab.study.library import SelectedTable, digest

#: The file beside ``study.toml`` with what its test beds gave.
CLOUD = "cloud.json"
#: The key of a table in a merged document that was measured on the first test beds only.
_MEASURED_BEDS = "measured_beds"

#: The results of a table by test bed, row and column.
BedValues = Mapping[tuple[str, str], Sequence[float | None]]


@dataclass(frozen=True)
class StoredCloudTable:
    """The values of a table over all test beds, and the number of failed runs by position of the test bed.

    ``form`` is the digest of the table that was measured, ``kernels`` has the hashes of the builds by release.
    ``measured_beds`` is the number of the first test beds that it was measured on; None for all of them. ``repeated``
    has the builds on which the first ``repeated_beds`` gave the same digits again.
    """

    form: str
    values: BedValues
    failed: Mapping[int, int]
    mptcplab: str = ""
    kernels: Mapping[str, str] = field(default_factory=dict)
    measured_beds: int | None = None
    repeated: Mapping[str, str] = field(default_factory=dict)
    repeated_beds: int | None = None

    @property
    def latest_kernels(self) -> Mapping[str, str]:
        """The builds, by release, that repeated these digits; if there are none, the builds that measured them."""
        return self.repeated or self.kernels

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> StoredCloudTable:
        """Return the table. :raises KeyError: and other errors of :data:`mptcplab.metrics.stored.WRONG`."""
        repeated = entry.get("repeated", {})
        return cls(
            form=entry["form"],
            values={(row, name): cell for row, columns in entry["values"].items() for name, cell in columns.items()},
            failed={int(position): int(count) for position, count in entry["failed"].items()},
            mptcplab=entry.get("mptcplab", ""),
            kernels=dict(entry.get("kernels", {})),
            measured_beds=entry.get(_MEASURED_BEDS),
            repeated=dict(repeated.get("kernels", {})),
            repeated_beds=repeated.get("beds"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        values: dict[str, dict[str, Sequence[float | None]]] = {}
        for (row, name), beds in self.values.items():
            values.setdefault(row, {})[name] = beds
        about: dict[str, Any] = {} if self.measured_beds is None else {_MEASURED_BEDS: self.measured_beds}
        about |= {"form": self.form, "mptcplab": self.mptcplab, "kernels": self.kernels}
        if self.repeated:
            about |= {"repeated": {"kernels": self.repeated, "beds": self.repeated_beds}}
        return about | {"failed": {str(position): count for position, count in self.failed.items()}, "values": values}


@dataclass(frozen=True)
class StoredCloud:
    """The content of the file that ``mptcplab reproduce --beds`` writes for one study, and that is shipped with it.

    ``changed`` are keys that the user changed, ``space`` is the digest of the ranges that the test beds are drawn from,
    and ``tables`` has the measured tables by number.
    """

    study: str
    is_quick: bool
    changed: tuple[str, ...]
    space: str
    beds: tuple[SampledBed, ...]
    tables: Mapping[str, StoredCloudTable]

    @classmethod
    def read(cls, file: Path) -> StoredCloud:
        """Return the content of ``file``. :raises OSError: if it cannot be read."""
        return cls.from_json(json.loads(file.read_text()))

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StoredCloud:
        """Return the content. :raises KeyError: and other errors of :data:`mptcplab.metrics.stored.WRONG`."""
        return cls(
            study=document["study"],
            is_quick=document["quick"],
            changed=tuple(document["changed"]),
            space=document.get("space", ""),
            beds=tuple(SampledBed(bed["bed"], tuple(bed["coordinates"]), bed["values"]) for bed in document["beds"]),
            tables={number: StoredCloudTable.from_json(entry) for number, entry in document["tables"].items()},
        )

    def to_json(self) -> dict[str, Any]:
        """Return JSON data."""
        beds = [{"bed": bed.number, "coordinates": list(bed.coordinates), "values": bed.values} for bed in self.beds]
        return {
            "study": self.study,
            "quick": self.is_quick,
            "changed": list(self.changed),
            "space": self.space,
            "beds": beds,
            "tables": {number: table.to_json() for number, table in self.tables.items()},
        }


def bed_files(results: Path) -> list[Path]:
    """Return what ``mptcplab reproduce --beds`` wrote to the results folder of a study."""
    return sorted(results.glob("beds-*.json"))


def read_shipped_tables(folder: Path) -> Mapping[str, StoredCloudTable]:
    """Return the tables over test beds, in any form, that are shipped in the folder of a study; may be none."""
    file = folder / CLOUD
    return StoredCloud.read(file).tables if file.is_file() else {}


def read_current(file: Path, tables: Sequence[SelectedTable], space: BedSpace) -> StoredCloud | None:
    """Return the stored cloud of a file, without tables in an earlier form; None if nothing of it is current.

    What was measured with changed keys is of another study.
    """
    try:
        stored = StoredCloud.read(file)
        current = {} if stored.changed else keep_current(stored, tables, space)
        return replace(stored, tables=current) if current else None
    except (OSError, LabError, *WRONG):
        return None


def keep_current(stored: StoredCloud, tables: Sequence[SelectedTable], space: BedSpace) -> dict[str, StoredCloudTable]:
    """Return the tables that were measured in their present form, with the present ranges."""
    if stored.space != space.digest:
        return {}
    forms = {selected.number: digest(selected) for selected in tables}
    return {number: table for number, table in stored.tables.items() if table.form == forms.get(number)}


def merge_clouds(clouds: Sequence[StoredCloud]) -> StoredCloud:
    """Return one cloud of several with the same ranges: all test beds of the longest, and each table on most test beds.

    The test beds of a shorter one are the first of a longer one. A table on these has None for the others.
    """
    ordered = sorted(clouds, key=lambda cloud: len(cloud.beds))
    count = len(ordered[-1].beds)
    tables: dict[str, StoredCloudTable] = {}
    for cloud in ordered:
        known = len(cloud.beds)
        for number, table in cloud.tables.items():
            tables[number] = table if known == count else _extend(table, known, count)
    return replace(ordered[-1], tables=tables)


def _extend(table: StoredCloudTable, known: int, count: int) -> StoredCloudTable:
    """Return a table of ``known`` test beds with a place for each of ``count`` test beds."""
    values = {place: [*beds, *[None] * (count - known)] for place, beds in table.values.items()}
    return replace(table, measured_beds=known if table.measured_beds is None else table.measured_beds, values=values)
