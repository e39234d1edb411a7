# SPDX-License-Identifier: MIT
"""The test beds of a study that were measured: in a results folder, or shipped with the study."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mptcplab.errors import LabError
from mptcplab.study.beds import read_beds
from mptcplab.study.cloud import MIN_BEDS_FOR_CAUSES, Cloud, CloudValue, keep_current, read_cloud
from mptcplab.study.load import SelectedTable, select

#: The file beside ``study.toml`` with what its beds gave.
CLOUD = "cloud.json"
#: What ``mptcplab reproduce --beds`` writes to the results folder of a study.
_RESULTS = "beds-*.json"


def shipped_cloud(tables: Sequence[SelectedTable]) -> Cloud | None:
    """Return the cloud that is shipped with the study of ``tables``; None if none is, or if its ranges have changed.

    Tables whose scenario has changed since are left out.
    """
    return _read(tables[0].folder / CLOUD, tables)


def find_cloud(tables: Sequence[SelectedTable], results: Path | None = None) -> Cloud | None:
    """Return the cloud with most beds in the folder ``results`` of the study, preferably in full form, else the shipped
    one; None if there is neither.
    """
    clouds = [_read(file, tables) for file in results.glob(_RESULTS)] if results is not None else []
    measured = [cloud for cloud in clouds if cloud is not None]
    if not measured:
        return shipped_cloud(tables)
    return max(measured, key=lambda cloud: (not cloud.is_quick, len(cloud.beds)))


def values_over_beds(selected: SelectedTable, results: Path | None = None) -> Mapping[tuple[str, str], CloudValue]:
    """Return the values of a table over test beds, by row and column; none of the short form, which no study has."""
    stamps = tuple(sorted(file.stat().st_mtime_ns for file in _files(selected.folder, results)))
    return _values_of(selected.folder.name, results, stamps).get(selected.number, MappingProxyType({}))


def _files(folder: Path, results: Path | None) -> list[Path]:
    shipped = folder / CLOUD
    return [*([shipped] if shipped.exists() else []), *(results.glob(_RESULTS) if results is not None else ())]


@cache
def _values_of(
    study: str,
    results: Path | None,
    stamps: tuple[int, ...],  # noqa: ARG001 a changed file is another entry of the cache
) -> dict[str, dict[tuple[str, str], CloudValue]]:
    """Return the values of all tables of a study. Reading a cloud of many beds takes seconds, and tables share it.

    A few beds in the folder, which name no parameter, do not replace many that are shipped.
    """
    tables = select(study)
    cloud = find_cloud(tables, results)
    if cloud is not None and (cloud.is_quick or len(cloud.beds) < MIN_BEDS_FOR_CAUSES):
        cloud = shipped_cloud(tables)
    values: dict[str, dict[tuple[str, str], CloudValue]] = {}
    for value in cloud.values if cloud is not None and not cloud.is_quick else ():
        values.setdefault(value.table, {})[value.row, value.column] = value
    return values


def _read(file: Path, tables: Sequence[SelectedTable]) -> Cloud | None:
    """Return the cloud of a file, without tables in an earlier form; None if nothing of it is current.

    What was measured with changed keys is of another study.
    """
    try:
        document: dict[str, Any] = json.loads(file.read_text())
        if document["changed"]:
            return None
        space = read_beds(tables[0].folder, tables[0].study)
        current = keep_current(document, tables, space)
        return read_cloud(document | {"tables": current}, tables, space) if current else None
    except (OSError, LabError, ValueError, LookupError, TypeError):
        return None
