# SPDX-License-Identifier: MIT
"""The short and the full form of a table: what each leaves in the results folder of its study.

``table-NAME.json`` is of the full form, ``table-NAME.quick.json`` of the short one, and so with all other files, so
that neither replaces the other. The document says which form it is, and wins over its name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mptcplab.scenario.extends import read
from mptcplab.study.load import SelectedTable
from mptcplab.study.schema import PublishedColumn, PublishedTable

_QUICK = ".quick"
_DIGEST = 16
#: Of a scenario, what does not decide what a table means. Runs more or less of a point make another interval of the
#: same mean.
_NOT_MEANT = {"title", "question", "repeats"}

#: Documents of a folder by the table's name (``STUDY/TABLE``) and whether it is the short form.
Documents = Mapping[tuple[str, bool], dict[str, Any]]


def file_stem(name: str, *, quick: bool) -> str:
    """What the files of a form are called, up to their last suffix; ``name`` as in ``table-4.1-jain``."""
    return f"{name}{_QUICK if quick else ''}"


def short_changes(table: PublishedTable) -> list[str]:
    """What the short form changes in the scenario, as ``--set`` takes it."""
    return [f"{key}={value}" for key, value in table.quick.change.items()]


def read_documents(folder: Path) -> dict[tuple[str, bool], dict[str, Any]]:
    """What ``mptcplab reproduce`` left in the folder of a study. A document that cannot be read is none."""
    documents: dict[tuple[str, bool], dict[str, Any]] = {}
    # Of two about the same form, the file whose name says so: older versions wrote both forms under one name.
    for file in sorted(folder.glob("table-*.json"), key=lambda file: (_QUICK in file.name, file.name)):
        try:
            document: dict[str, Any] = json.loads(file.read_text())
            documents[f"{document['study']}/{document['table']}", bool(document["quick"])] = document
        except (OSError, ValueError, LookupError, TypeError):
            continue
    return documents


def _reduction(column: PublishedColumn) -> tuple[object, ...]:
    """Return what becomes of the values of runs, unless that is their mean."""
    return () if (column.of_runs, column.times) == ("mean", 1) else (column.of_runs, column.times)


def digest(selected: SelectedTable) -> str:
    """Of all that decides what the full form of a table measures: its scenario, and what its cells are.

    :raises InputError: when the scenario cannot be read.
    """
    scenario = {key: value for key, value in read(selected.scenario).tables.items() if key not in _NOT_MEANT}
    table = selected.table
    cells = {
        name: [column.where, column.ratio, table.value_of(name), *_reduction(column)]
        for name, column in table.columns.items()
    }
    text = json.dumps([scenario, table.along, cells], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
