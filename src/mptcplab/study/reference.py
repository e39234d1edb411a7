# SPDX-License-Identifier: MIT
"""``python -m mptcplab.study.reference --write RESULTS``: ship measured values with the studies.

For maintainers. RESULTS is the folder of ``mptcplab reproduce --all``, with everything recorded. Every study that was
measured there gets a ``full.json`` beside its ``study.toml``, with which short forms are compared elsewhere. A table
that RESULTS lacks keeps the shipped values, as long as they belong to its present form. What ``--beds`` left there
becomes ``cloud.json``, with each table as it was measured on most beds.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mptcplab.errors import LabError
from mptcplab.files import write_text
from mptcplab.study.beds import read_beds
from mptcplab.study.cloud import CLOUD, merge_documents, read_current
from mptcplab.study.library import Documents, SelectedTable, digest, read_documents, select, study_names
from mptcplab.study.measurement import REFERENCE, read_reference

#: Digits of shipped numbers: enough for the tolerance of rounding in :mod:`mptcplab.study.measurement`.
_DIGITS = 7
#: Texts, innermost lists, and cells.
_STRING = r'"(?:[^"\\]|\\.)*"'
_INNERMOST = re.compile(
    rf'{_STRING}|\[(?:[^\[\]{{}}"]|{_STRING})*\]|\{{\s*"mean"[^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)?\}}'
)


def reference(tables: Sequence[SelectedTable], documents: Documents) -> dict[str, Any]:
    """Return the data to ship with the study of ``tables``: all known values, and why others are missing."""
    shipped = read_reference(tables[0]).get("tables", {})
    known, missing = {}, {}
    for selected_table in tables:
        document = documents.get((selected_table.name, False))
        why = _explain_unfit(document, selected_table)
        if document is not None and not why:
            known[selected_table.number] = _entry(selected_table, document)
        elif shipped.get(selected_table.number, {}).get("form") == digest(selected_table):
            known[selected_table.number] = shipped[selected_table.number]
        else:
            missing[selected_table.number] = why
    return {"study": tables[0].folder.name, "tables": known, "missing": missing}


def _explain_unfit(document: Mapping[str, Any] | None, selected: SelectedTable) -> str:
    """Return why a document is not a measurement of the full form; empty if it is."""
    if document is None:
        return "not measured"
    if document["changed"]:
        return "measured with changed keys"
    if document.get("failed"):
        return "measured with failed runs"
    if document.get("form") != digest(selected):
        return "measured in an earlier form of the table"
    return ""


def _entry(selected: SelectedTable, document: Mapping[str, Any]) -> dict[str, Any]:
    cells: dict[str, dict[str, Any]] = {}
    for entry in document["measured"]:
        if math.isfinite(entry["mean"]):
            value = {
                "mean": _round_value(entry["mean"]),
                "half_width": _round_value(entry["ci95_half_width"]),
                "n": entry["n"],
            }
            value |= {"missing": entry["runs_without"]} if entry["runs_without"] else {}
            value["by_seed"] = {seed: _round_value(each) for seed, each in entry["by_seed"].items()}
            cells.setdefault(entry["row"], {})[entry["column"]] = value
    places = [(row, column) for row in selected.table.all_rows for column in selected.table.columns]
    return {
        "form": document["form"],
        "mptcplab": document["mptcplab"],
        "kernels": document["kernels"],
        "cells": cells,
        "without": [list(place) for place in places if place[1] not in cells.get(place[0], {})],
    }


def _round_value(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def write(results: Path) -> list[str]:
    """Write the values in ``results``. Return a line per study about it."""
    lines = []
    for name in study_names():
        tables = select(name)
        lines += _write_cloud(results / name, tables)
        documents = read_documents(results / name)
        if not documents:
            lines.append(f"{name}: nothing in {results / name}")
            continue
        entry = reference(tables, documents)
        file = tables[0].folder / REFERENCE
        write_text(file, _text(entry))
        missing = "".join(f"; {number}: {why}" for number, why in entry["missing"].items())
        lines.append(f"{name}: {len(entry['tables'])} of {len(tables)} tables in {file}{missing}")
    return lines


def _write_cloud(results: Path, tables: Sequence[SelectedTable]) -> list[str]:
    """Ship what the beds of a study gave: the full form if there is one, each table on most beds. Return a line on it.

    A table that the results lack keeps the shipped beds, as long as they belong to its present form.
    """
    folder, name = tables[0].folder, tables[0].folder.name
    files = sorted(results.glob("beds-*.json"))
    if not files:
        return []
    space = read_beds(folder, tables[0].study)
    documents = [read_current(file, tables, space) for file in (folder / CLOUD, *files)]
    shipped, *measured = documents
    fit = [document for document in measured if document is not None and not _has_failures(document)]
    if not fit:
        return [f"{name}: no current beds without failed runs in {results}"]
    known = [*([shipped] if shipped is not None else []), *fit]
    document = merge_documents([entry for entry in known if not entry["quick"]] or known)
    for bed in document["beds"]:
        bed["coordinates"] = [_round_value(coordinate) for coordinate in bed["coordinates"]]
    write_text(folder / CLOUD, _text(document))
    return [f"{name}: {len(document['beds'])} beds in {folder / CLOUD}"]


def _has_failures(document: Mapping[str, Any]) -> bool:
    return any(entry["failed"] for entry in document["tables"].values())


def _text(entry: Mapping[str, Any]) -> str:
    """Return JSON with a line per cell, so that a changed cell is a changed line."""
    return _INNERMOST.sub(_join_lines, json.dumps(entry, indent=1)) + "\n"


def _join_lines(part: re.Match[str]) -> str:
    """Return a list or a cell on one line. Texts, which may contain brackets, stay as they are."""
    return part[0] if part[0].startswith('"') else json.dumps(json.loads(part[0]))


def main(arguments: list[str]) -> None:
    """Write the references."""
    if arguments[:1] != ["--write"] or len(arguments) != 2:
        sys.exit("usage: python -m mptcplab.study.reference --write RESULTS")
    try:
        print("\n".join(write(Path(arguments[1]))))
    except LabError as error:
        sys.exit(error.message)


if __name__ == "__main__":
    main(sys.argv[1:])
