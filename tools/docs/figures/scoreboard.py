# SPDX-License-Identifier: MIT
"""``python -m tools.docs.figures.scoreboard --out FILE.svg``: the outcome of all studies.

Verdicts are computed anew from each study's ``full.json`` and ``cloud.json``; nothing is run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tools.docs.making.pages import ROOT, table_of

from mptcplab.study.beds import FILE
from mptcplab.study.figures import points_of, save_agreement
from mptcplab.study.inventory import SourceTable, Statement, read
from mptcplab.study.judgement import CLAIM_CLASSES, FAILS, FITTED, OPEN, VALUE_CLASSES, VerdictClass
from mptcplab.study.library import select, study_names
from mptcplab.study.measurement import REFERENCE, find_shipped
from mptcplab.study.notes import (
    NONE,
    Marks,
    claim_text,
    claim_verdict_text,
    mark_of,
    over_beds_text,
    printed_text,
    reason_notes,
    reasons_of,
    value_text,
    verdict_text,
    with_unit,
)
from mptcplab.study.stored_cloud import CLOUD, read_shipped_tables
from mptcplab.study.verdict import JudgedCell, JudgedTable, counted_tables, judge_shipped

_STUDIES = ROOT / "src" / "mptcplab" / "studies"
#: The page that lists every value, relative to the folder of pages.
_VALUES_PAGE = "studies-values.md"
#: The end of a column's head, for tables over test beds.
_OVER_BEDS = " over beds"


def files() -> tuple[Path, ...]:
    """Return the files that the tables depend on."""
    named = (_STUDIES / study / name for study in study_names() for name in ("study.toml", FILE, CLOUD, REFERENCE))
    return tuple(file for file in named if file.is_file())


@cache
def judged_tables(study: str) -> tuple[JudgedTable, ...]:
    """Return the tables of a study that count, judged by the shipped values."""
    return tuple(counted_tables(judge_shipped(study)))


def values(folder: str = "") -> str:
    """Return the number of published values of each class, by study; ``folder`` leads to the pages.

    Of the fitted values it also says how many do not agree.
    """
    cells = {name: [cell for judged in judged_tables(name) for cell in judged.counted_once] for name in study_names()}
    counts = {name: Counter(cell.counted_as for cell in cells) for name, cells in cells.items()}
    outside = {
        name: sum(verdict_text(cell).startswith(f"{FITTED},") for cell in cells) for name, cells in cells.items()
    }
    return _counts_table("published values", counts, VALUE_CLASSES, folder, ("outside", outside))


def kernels() -> str:
    """Return the latest kernel builds of what is shipped: how many tables each measured, or gave again in part.

    A table over test beds counts apart from the same table on the study's own bed.
    """
    tables: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name in study_names():
        on_own_bed = [("", table.latest_kernels, table.repeated) for table in map(find_shipped, select(name)) if table]
        stored = read_shipped_tables(select(name)[0].folder)
        over_beds = [(_OVER_BEDS, table.latest_kernels, table.repeated) for table in stored.values()]
        for where, builds, repeated in (*on_own_bed, *over_beds):
            how = f"tables {'repeated' if repeated else 'measured'}{where}"
            for build in builds.items():
                tables.setdefault(build, []).append((f"`{name}`", how))
    columns = [f"tables {how}{where}" for where in ("", _OVER_BEDS) for how in ("measured", "repeated")]
    rows = []
    for (release, key), entries in sorted(tables.items()):
        counts = Counter(how for _, how in entries)
        studies = ", ".join(dict.fromkeys(name for name, _ in entries))
        rows.append([f"`{release}`", f"`{key[:12]}`", *(str(counts[how]) for how in columns), studies])
    return table_of(["release", "build", *columns, "studies"], rows)


def claims(folder: str = "") -> str:
    """Return the number of claims of each class, by study. What lacks the values of seeds is not judged yet.

    Of the fitted claims it also says how many do not hold.
    """
    judged_claims = {
        name: [claim for judged in judged_tables(name) for claim in judged.claims] for name in study_names()
    }
    counts = {name: Counter(claim.counted_as for claim in claims) for name, claims in judged_claims.items()}
    failing = {
        name: sum(claim.counted_as == FITTED and claim.verdict == FAILS for claim in claims)
        for name, claims in judged_claims.items()
    }
    return _counts_table("claims", counts, CLAIM_CLASSES, folder, ("do not hold", failing))


def _counts_table(
    noun: str,
    counts: Mapping[str, Counter[str]],
    classes: Sequence[VerdictClass],
    folder: str,
    fitted: tuple[str, Mapping[str, int]],
) -> str:
    """Return a row for each study that has any, and for all, without empty columns.

    ``fitted`` is a part of what is fitted, in words, and its number in each study.
    """
    words, parts = fitted
    total = sum(counts.values(), Counter[str]())
    shown = [class_ for class_ in classes if total[class_.name]]
    heads = ["study", noun, *("not judged yet" if class_.head == "not judged" else class_.head for class_ in shown)]
    named = {
        f"[{name}]({folder}{_VALUES_PAGE}#{name})": (counts_of, parts[name])
        for name, counts_of in counts.items()
        if counts_of
    }
    rows = []
    for name, (counts_of, part) in {**named, "**all**": (total, sum(parts.values()))}.items():
        row = [name, str(counts_of.total())]
        for class_ in shown:
            note = f" ({part} {words})" if class_.name == FITTED and part else ""
            row.append(f"{counts_of[class_.name] or ''}{note}")
        rows.append(row)
    return table_of(heads, rows)


def values_of(study: str) -> str:
    """Return every published value of a study with its verdict, in the order of the tables."""
    marks = _marks(study)
    rows = [row for judged in judged_tables(study) if judged.cells for row in _rows_of(judged, marks)]
    heads = ["table", "row", "column", "published", "measured", "verdict", "in the run of the reason", "over test beds"]
    # No run isolates a reason in some studies.
    at = heads.index("in the run of the reason")
    kept = [index for index in range(len(heads)) if index != at or any(row[at] for row in rows)]
    return table_of([heads[index] for index in kept], [[row[index] for index in kept] for row in rows])


def _marks(study: str) -> dict[str, str]:
    """Return the mark of each reason of a study, ``[1]``, by its text. A reason of several tables has one mark."""
    texts = dict.fromkeys(text for judged in judged_tables(study) for text in reasons_of(judged))
    return {text: f"[{count}]" for count, text in enumerate(texts, start=1)}


def _rows_of(judged: JudgedTable, marks: Marks) -> list[list[str]]:
    """Return the lines of a table; the first one says where the source has it."""
    table = judged.selected.table
    names = [f"{judged.selected.number} ({table.place})", *[judged.selected.number] * (len(judged.cells) - 1)]
    return [[name, *_row_of(cell, judged, marks)] for name, cell in zip(names, judged.cells, strict=True)]


def _row_of(cell: JudgedCell, judged: JudgedTable, marks: Marks) -> list[str]:
    table = judged.selected.table
    kind = table.value_of(cell.column)
    verdict = verdict_text(cell) if cell.first is None else f"counted in {cell.first[0]}"
    return [
        cell.row,
        table.columns[cell.column].title,
        f"{printed_text(cell.published)} {table.unit_of(cell.column)}".strip(),
        with_unit(value_text(kind, cell.measured), table, cell.column) if cell.measured else NONE,
        f"{verdict}{mark_of(cell.because, marks)}",
        _evidence_text(cell, judged),
        over_beds_text(cell.over_beds) if cell.over_beds is not None and cell.over_beds.known else "",
    ]


def _evidence_text(cell: JudgedCell, judged: JudgedTable) -> str:
    """Return what the run that isolates the reason of a value gives, and whether that shows it."""
    evidence = cell.evidence
    if evidence is None:
        return ""
    if evidence.value is None:
        return f"Table {evidence.table}, not measured yet"
    value = value_text(judged.selected.table.value_of(cell.column), evidence.value)
    return f"{value} (Table {evidence.table}): {evidence.proof}"


def claims_of(study: str) -> str:
    """Return every claim of a study with its place, its verdict, and the values by which it is judged."""
    marks = _marks(study)
    rows = []
    for judged in judged_tables(study):
        table = judged.selected.table
        for claim in judged.claims:
            is_open = claim.verdict == OPEN
            verdict = "not judged yet" if is_open else f"{claim_verdict_text(claim)}{mark_of(claim.why, marks)}"
            values = "" if is_open else claim_text(claim, table)
            rows.append([judged.selected.number, claim.claim.text, claim.claim.place or table.place, verdict, values])
    return table_of(["table", "claim", "in the source", "verdict", "judged by"], rows)


def reasons_of_study(study: str) -> str:
    """Return every reason of a study with its class, by the marks of its values and claims.

    A reason of several tables is written once; each table has its own evidence for claims. Values have theirs in their
    own table.
    """
    marks, parts, written = _marks(study), [], set[str]()
    for judged in judged_tables(study):
        marks_of = {text: marks[text] for text in reasons_of(judged)}
        notes = list(reason_notes(judged, marks_of))
        if notes:
            parts.append(f"Table {judged.selected.number}:")
        for text, mark in marks_of.items():
            heads = [note for note in notes if note.startswith(f"{mark} ")]
            if text in written:
                filled = judged.fill_quotes(text)
                heads = [f"{head.removesuffix(filled)}as above." for head in heads]
            written.add(text)
            evidence = [note for note in notes if note.startswith(f"Evidence for {mark}. Claim")]
            parts.append("\n".join([f"- {' '.join(heads)}", *(f"    - {note}" for note in evidence)]))
    return ("\n\n".join(_join_items(parts)) if parts else "No value and no claim needs a reason.") + "\n"


def _join_items(parts: Sequence[str]) -> list[str]:
    """Return paragraphs, with the items of a list that follow each other in one."""
    joined: list[str] = []
    for part in parts:
        if joined and part.startswith("- ") and joined[-1].startswith("- "):
            joined[-1] += f"\n{part}"
        else:
            joined.append(part)
    return joined


def omissions_table(study: str) -> str:
    """Return what a source says and the study's data does not have, with the reason."""
    rows = []
    for entry in read(_STUDIES / study).entries:
        if entry.left_out:
            what = _describe_table(entry) if isinstance(entry, SourceTable) else _with_value(entry)
            rows.append([_one_line(text) for text in (entry.place, what, entry.left_out)])
    return table_of(["in the source", "what it says", "why it is left out"], rows)


def _describe_table(table: SourceTable) -> str:
    return f"{table.shows} ({', '.join(table.columns)})"


def _with_value(statement: Statement) -> str:
    value = f"{statement.value} {statement.unit}".strip()
    return f"{statement.says}: {value}" if value else statement.says


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def draw(out: Path) -> None:
    """Draw all published values against the measured ones."""
    points = [point for name in study_names() for judged in judged_tables(name) for point in points_of(judged)]
    with tempfile.TemporaryDirectory() as folder:
        for file in save_agreement("Published and measured values of all studies", points, Path(folder), out.stem):
            if file.suffix == out.suffix:
                out.write_bytes(file.read_bytes())


def main() -> None:
    """Draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs.figures.scoreboard", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the figure to write, as SVG or PNG")
    draw(parser.parse_args().out)


if __name__ == "__main__":
    main()
