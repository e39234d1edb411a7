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
from mptcplab.study.cloud import CLOUD
from mptcplab.study.figures import points_of, save_agreement
from mptcplab.study.judgement import CLAIM_CLASSES, OPEN, VALUE_CLASSES, Class
from mptcplab.study.library import study_names
from mptcplab.study.measurement import REFERENCE
from mptcplab.study.notes import NONE, over_beds_text, published_text, value_text, verdict_text, with_unit
from mptcplab.study.verdict import JudgedCell, JudgedTable, counted_tables, judge_shipped

_STUDIES = ROOT / "src" / "mptcplab" / "studies"
#: The page that lists every value, relative to the folder of pages.
_VALUES_PAGE = "studies-values.md"


def files() -> tuple[Path, ...]:
    """Return the files that the tables depend on."""
    named = (_STUDIES / study / name for study in study_names() for name in ("study.toml", FILE, CLOUD, REFERENCE))
    return tuple(file for file in named if file.is_file())


@cache
def judged_tables(study: str) -> tuple[JudgedTable, ...]:
    """Return the tables of a study that count, judged by the shipped values."""
    return tuple(counted_tables(judge_shipped(study)))


def values(folder: str = "") -> str:
    """Return the number of published values of each class, by study; ``folder`` leads to the pages."""
    counts = {
        name: Counter(cell.counted_as for judged in judged_tables(name) for cell in judged.counted_once)
        for name in study_names()
    }
    return _counts_table("published values", counts, VALUE_CLASSES, folder)


def claims(folder: str = "") -> str:
    """Return the number of claims of each class, by study. What lacks the values of seeds is not judged yet."""
    counts = {
        name: Counter(claim.counted_as for judged in judged_tables(name) for claim in judged.claims)
        for name in study_names()
    }
    return _counts_table("claims", counts, CLAIM_CLASSES, folder)


def _counts_table(noun: str, counts: Mapping[str, Counter[str]], classes: Sequence[Class], folder: str) -> str:
    """Return a row for each study that has any, and for all, without empty columns."""
    total = sum(counts.values(), Counter[str]())
    shown = [one for one in classes if total[one.name]]
    heads = ["study", noun, *("not judged yet" if one.head == "not judged" else one.head for one in shown)]
    named = {f"[{name}]({folder}{_VALUES_PAGE}#{name})": own for name, own in counts.items() if own}
    rows = [
        [name, str(own.total()), *(str(own[one.name] or "") for one in shown)]
        for name, own in {**named, "**all**": total}.items()
    ]
    return table_of(heads, rows)


def values_of(study: str) -> str:
    """Return every published value of a study with its verdict, in the order of the tables."""
    rows = [row for judged in judged_tables(study) if judged.cells for row in _rows_of(judged)]
    return table_of(["table", "row", "column", "published", "measured", "verdict", "over test beds"], rows)


def _rows_of(judged: JudgedTable) -> list[list[str]]:
    """Return the lines of a table; the first one says where the source has it."""
    table = judged.selected.table
    names = [f"{judged.selected.number} ({table.place})", *[judged.selected.number] * (len(judged.cells) - 1)]
    return [[name, *_row_of(cell, judged)] for name, cell in zip(names, judged.cells, strict=True)]


def _row_of(cell: JudgedCell, judged: JudgedTable) -> list[str]:
    table = judged.selected.table
    kind = table.value_of(cell.column)
    verdict = verdict_text(cell) if cell.first is None else f"counted in {cell.first[0]}"
    return [
        cell.row,
        table.columns[cell.column].title,
        f"{published_text(cell.published)} {table.unit_of(cell.column)}".strip(),
        with_unit(value_text(kind, cell.measured), table, cell.column) if cell.measured else NONE,
        verdict,
        over_beds_text(cell.over_beds) if cell.over_beds is not None and cell.over_beds.known else "",
    ]


def claims_of(study: str) -> str:
    """Return every claim of a study with its verdict."""
    rows = [
        [judged.selected.number, claim.claim.text, "not judged yet" if claim.verdict == OPEN else claim.counted_as]
        for judged in judged_tables(study)
        for claim in judged.claims
    ]
    return table_of(["table", "claim", "verdict"], rows)


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
