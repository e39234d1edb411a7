# SPDX-License-Identifier: MIT
"""``python -m mptcplab.study.reference --write RESULTS``: ship measured values with the studies.

For maintainers. RESULTS is the folder of ``mptcplab reproduce --all``, with everything recorded. Every study that was
measured there gets a ``full.json`` beside its ``study.toml``, with which short forms are compared elsewhere. A table
that RESULTS lacks keeps the shipped values, as long as they belong to its present form. What ``--beds`` left there
becomes ``cloud.json``, with each table as it was measured on most test beds.

``--repeat RESULTS`` compares shipped values with some of their runs that were repeated, on another kernel build for
example. RESULTS is the folder of ``mptcplab reproduce --all --set repeats=1``, or of ``reproduce STUDY --beds 1``, with
``--quick`` if the shipped test beds have the short form. If all digits of the repeated seeds or test beds are equal,
the shipped file names this build, too, if it is another one. Otherwise the table has to be measured again.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mptcplab.errors import LabError
from mptcplab.files import write_text
from mptcplab.stats import Interval
from mptcplab.study.beds import read_beds
from mptcplab.study.library import Documents, SelectedTable, digest, read_documents, select, study_names
from mptcplab.study.measurement import REFERENCE
from mptcplab.study.stored import MeasuredTable, ShippedTable, StoredCell, read_shipped
from mptcplab.study.stored_cloud import CLOUD, StoredCloud, StoredCloudTable, bed_files, merge_clouds, read_current

#: Digits of shipped numbers: enough for the tolerance of rounding in :mod:`mptcplab.study.measurement`.
_DIGITS = 7
#: Texts, innermost lists, and cells.
_STRING = r'"(?:[^"\\]|\\.)*"'
_INNERMOST = re.compile(
    rf'{_STRING}|\[(?:[^\[\]{{}}"]|{_STRING})*\]|\{{\s*"mean"[^{{}}]*(?:\{{[^{{}}]*\}}[^{{}}]*)?\}}'
)


def reference(tables: Sequence[SelectedTable], documents: Documents) -> dict[str, Any]:
    """Return the data to ship with the study of ``tables``: all known values, and why others are missing."""
    file = tables[0].folder / REFERENCE
    known: dict[str, ShippedTable] = {}
    missing = {}
    for selected_table in tables:
        measured = documents.get((selected_table.name, False))
        why = _explain_unfit(measured, selected_table)
        if measured is not None and not why:
            known[selected_table.number] = _ship(selected_table, measured)
            continue
        shipped = read_shipped(file, selected_table.number)
        if shipped is not None and shipped.form == digest(selected_table):
            known[selected_table.number] = shipped
        else:
            missing[selected_table.number] = why
    return _document(tables[0].folder.name, known, missing)


def _document(study: str, tables: Mapping[str, ShippedTable], missing: Mapping[str, str]) -> dict[str, Any]:
    """Return ``full.json`` as JSON data."""
    return {
        "study": study,
        "tables": {number: table.to_json() for number, table in tables.items()},
        "missing": dict(missing),
    }


def _explain_unfit(measured: MeasuredTable | None, selected: SelectedTable) -> str:
    """Return why this is not a measurement of the full form; empty if it is."""
    if measured is None:
        return "not measured"
    if measured.changed:
        return "measured with changed keys"
    if measured.failed:
        return "measured with failed runs"
    if measured.form != digest(selected):
        return "measured in an earlier form of the table"
    return ""


def _ship(selected: SelectedTable, measured: MeasuredTable) -> ShippedTable:
    """Return the values of ``measured`` that are known, in the digits that are shipped."""
    cells = {
        place: StoredCell(
            Interval(_round_coordinate(cell.interval.mean), _round_value(cell.interval.half_width), cell.interval.n),
            {seed: _round_coordinate(value) for seed, value in cell.by_seed.items()},
            cell.missing,
        )
        for place, cell in measured.cells.items()
        if math.isfinite(cell.interval.mean)
    }
    places = [(row, column) for row in selected.table.all_rows for column in selected.table.columns]
    return ShippedTable(
        form=measured.form,
        kernels=measured.kernels,
        cells=cells,
        mptcplab=measured.mptcplab,
        without=tuple(place for place in places if place not in cells),
    )


def _round_value(value: float | None) -> float | None:
    return None if value is None else _round_coordinate(value)


def _round_coordinate(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def repeat(results: Path) -> list[str]:
    """Note which shipped tables ``results`` repeat digit for digit. Return a line per table about it."""
    lines = []
    for name in study_names():
        tables = select(name)
        lines += _repeat_cloud(results / name, tables)
        documents = read_documents(results / name)
        file = tables[0].folder / REFERENCE
        if not (documents and file.is_file()):
            continue
        document = json.loads(file.read_text())
        shipped = {number: ShippedTable.from_json(entry) for number, entry in document["tables"].items()}
        for selected_table in tables:
            measured = documents.get((selected_table.name, False))
            table = shipped.get(selected_table.number)
            if measured is None or table is None:
                continue
            outcome = _explain_unlike_forms(table, selected_table, measured)
            if not outcome:
                outcome = _first_difference(table, measured)
                # A repetition that differs contradicts an earlier one, which may not have run the same programs.
                kernels, seeds = ({}, ()) if outcome else (measured.kernels, tuple(sorted(measured.seeds)))
                if outcome or measured.kernels != table.kernels:
                    shipped[selected_table.number] = replace(table, repeated=kernels, repeated_seeds=seeds)
            lines.append(f"{selected_table.name}: {outcome or 'repeated digit for digit'}")
        write_text(file, _text(_document(name, shipped, document["missing"])))
    return lines


def _explain_unlike_forms(shipped: ShippedTable, selected: SelectedTable, measured: MeasuredTable) -> str:
    """Return why ``measured`` cannot be compared with the shipped table; empty if it can."""
    changed = tuple(change for change in measured.changed if not change.startswith("repeats="))
    if why := _explain_unfit(replace(measured, changed=changed), selected):
        return why
    if measured.form != shipped.form:
        return "shipped in an earlier form of the table"
    return "" if measured.seeds else "without values of seeds"


def _first_difference(shipped: ShippedTable, measured: MeasuredTable) -> str:
    """Return where the seeds of ``measured`` differ from the shipped table; empty if every cell has equal digits."""
    for place, cell in shipped.cells.items():
        expected = {str(seed): value for seed, value in cell.by_seed.items() if seed in measured.seeds}
        stored = measured.cells.get(place)
        repeated = {str(seed): _round_value(value) for seed, value in stored.by_seed.items()} if stored else {}
        if expected != repeated:
            where = ", ".join(place)
            return f"differs at {where}: {expected or 'no seeds'} is shipped, {repeated or 'none'} repeated"
    return ""


def _repeat_cloud(results: Path, tables: Sequence[SelectedTable]) -> list[str]:
    """Note which shipped tables the test beds in ``results`` repeat digit for digit. Return a line per table about it.

    Each file there is compared by itself, since it may be of another build, in the order in which they were written.
    """
    folder, name = tables[0].folder, tables[0].folder.name
    files = sorted(bed_files(results), key=lambda file: file.stat().st_mtime_ns)
    if not files:
        return []
    space = read_beds(folder, tables[0].study)
    current = read_current(folder / CLOUD, tables, space)
    if current is None:
        return [f"{name}: no beds are shipped, or all in an earlier form"]
    known, lines, differing = dict(current.tables), [], set[str]()
    for file in files:
        measured = read_current(file, tables, space)
        if measured is None or measured.is_quick != current.is_quick:
            lines.append(f"{name}: {file.name} has changed keys, or another form than the shipped beds")
            continue
        for number, table in measured.tables.items():
            if number not in known:
                lines.append(f"{name}/{number}: no beds are shipped, or in an earlier form")
                continue
            total = known[number].measured_beds or len(current.beds)
            count = min(len(measured.beds), total)
            if any(at < count for at in table.failed):
                lines.append(f"{name}/{number}: {file.name} has failed runs")
                continue
            outcome = _first_different_bed(known[number], table, count)
            lines.append(f"{name}/{number}: {outcome or f'{count} of {total} beds repeated digit for digit'}")
            if outcome:
                differing.add(number)
            if number in differing:
                known[number] = replace(known[number], repeated={}, repeated_beds=None)
            else:
                known[number] = _name_build(known[number], table.kernels, count)
    if known != current.tables:
        shipped = StoredCloud.read(folder / CLOUD)  # also has the tables in an earlier form
        write_text(folder / CLOUD, _text(replace(shipped, tables={**shipped.tables, **known}).to_json()))
    return lines


def _name_build(shipped: StoredCloudTable, kernels: Mapping[str, str], count: int) -> StoredCloudTable:
    """Return the table with the build that repeated ``count`` test beds, unless it is named for as many already."""
    is_named = kernels == shipped.repeated and shipped.repeated_beds is not None and count <= shipped.repeated_beds
    if is_named or kernels == shipped.kernels:
        return shipped
    return replace(shipped, repeated=kernels, repeated_beds=count)


def _first_different_bed(shipped: StoredCloudTable, measured: StoredCloudTable, count: int) -> str:
    """Return where the first ``count`` test beds differ from the shipped ones; empty if every cell has equal digits."""
    nothing: list[float | None] = [None] * count
    for place in dict.fromkeys((*shipped.values, *measured.values)):
        before, now = (table.values.get(place, nothing)[:count] for table in (shipped, measured))
        for number, (expected, repeated) in enumerate(zip(before, now, strict=True), 1):
            if expected != repeated:
                where = ", ".join(place)
                return f"differs in bed {number} at {where}: {expected} is shipped, {repeated} repeated"
    return ""


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
    """Ship the results of a study's test beds: the full form if there is one, each table on most of them. Return notes.

    A table with failed runs is not shipped. A table that the results lack keeps the shipped test beds, as long as they
    belong to its present form.
    """
    folder, name = tables[0].folder, tables[0].folder.name
    files = bed_files(results)
    if not files:
        return []
    space = read_beds(folder, tables[0].study)
    shipped, *measured = [read_current(file, tables, space) for file in (folder / CLOUD, *files)]
    read = [cloud for cloud in measured if cloud is not None]
    failed = sorted({number for cloud in read for number, table in cloud.tables.items() if table.failed})
    lines = [f"{name}: no beds of {', '.join(failed)}, which have failed runs"] if failed else []
    fit = [cloud for cloud in map(_without_failures, read) if cloud.tables]
    if not fit:
        return [*lines, f"{name}: no current beds without failed runs in {results}"]
    known = [*([shipped] if shipped is not None else []), *fit]
    cloud = merge_clouds([each for each in known if not each.is_quick] or known)
    beds = [replace(bed, coordinates=tuple(map(_round_coordinate, bed.coordinates))) for bed in cloud.beds]
    write_text(folder / CLOUD, _text(replace(cloud, beds=tuple(beds)).to_json()))
    return [*lines, f"{name}: {len(beds)} beds in {folder / CLOUD}"]


def _without_failures(cloud: StoredCloud) -> StoredCloud:
    return replace(cloud, tables={number: table for number, table in cloud.tables.items() if not table.failed})


def _text(entry: Mapping[str, Any]) -> str:
    """Return JSON with a line per cell, so that a changed cell is a changed line."""
    return _INNERMOST.sub(_join_lines, json.dumps(entry, indent=1)) + "\n"


def _join_lines(part: re.Match[str]) -> str:
    """Return a list or a cell on one line. Texts, which may contain brackets, stay as they are."""
    return part[0] if part[0].startswith('"') else json.dumps(json.loads(part[0]))


def main(arguments: list[str]) -> None:
    """Write the references, or compare them with repeated runs."""
    actions = {"--write": write, "--repeat": repeat}
    if len(arguments) != 2 or arguments[0] not in actions:
        sys.exit("usage: python -m mptcplab.study.reference --write RESULTS | --repeat RESULTS")
    try:
        print("\n".join(actions[arguments[0]](Path(arguments[1]))))
    except LabError as error:
        sys.exit(error.message)


if __name__ == "__main__":
    main(sys.argv[1:])
