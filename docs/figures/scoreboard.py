# SPDX-License-Identifier: MIT
"""``python -m docs.figures.scoreboard --out FILE.svg``: the outcome of all studies, from the values shipped with them.

Verdicts are computed anew from each study's ``full.json``; nothing is run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from docs.making.pages import ROOT, table_of

from mptcplab.study.agreement import points_of, save_agreement
from mptcplab.study.classes import OPEN, VALUE_CLASSES
from mptcplab.study.full import REFERENCE, full_form
from mptcplab.study.judged import JudgedTable, judge
from mptcplab.study.load import SelectedTable, select, study_names
from mptcplab.study.measured import TableValues, Value
from mptcplab.study.source import Source, Sources

_STUDIES = ROOT / "src" / "mptcplab" / "studies"


def files() -> tuple[Path, ...]:
    """Return the files that the table depends on."""
    return tuple(_STUDIES / name / file for name in study_names() for file in ("study.toml", REFERENCE))


def judged_tables(study: str) -> list[JudgedTable]:
    """Return the tables of a study that print values of their own, judged by the shipped values."""
    tables = select(study)
    known = {one.name: _shipped_values(one) for one in tables}
    sources: Sources = {name: Source(values) for name, values in known.items() if values}
    # Without the values of single seeds, claims about ratios cannot be judged; so none are.
    return [
        judge(_without_claims(one), known[one.name], (), sources)
        for one in tables
        if one.table.published and not one.table.again
    ]


def table() -> str:
    """Return the number of published values of each class, by study."""
    rows, total = [], Counter[str]()
    for name in study_names():
        counts = Counter(cell.counted_as for one in judged_tables(name) for cell in one.counted_once)
        total += counts
        if counts:
            rows.append(_row(name, counts))
    classes = [one for one in VALUE_CLASSES if one.name != OPEN or total[OPEN]]
    heads = ["study", "published values", *(one.head for one in classes)]
    rows.append(_row("**all**", total))
    return table_of(heads, [row[: len(heads)] for row in rows])


def _row(name: str, counts: Counter[str]) -> list[str]:
    return [name, str(counts.total()), *(str(counts[one.name] or "") for one in VALUE_CLASSES)]


def _shipped_values(selected: SelectedTable) -> TableValues:
    return {place: Value(interval) for place, interval in full_form(selected, {}).cells.items()}


def _without_claims(selected: SelectedTable) -> SelectedTable:
    study = selected.study.model_copy(update={"claims": ()})
    return SelectedTable(study, selected.folder, selected.number, selected.table)


def draw(out: Path) -> None:
    """Draw all published values against the measured ones."""
    points = [point for name in study_names() for one in judged_tables(name) for point in points_of(one)]
    with tempfile.TemporaryDirectory() as folder:
        for file in save_agreement("Published and measured values of all studies", points, Path(folder), out.stem):
            if file.suffix == out.suffix:
                out.write_bytes(file.read_bytes())


def main() -> None:
    """Draw the figure."""
    parser = argparse.ArgumentParser(prog="python -m docs.figures.scoreboard", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the figure to write, as SVG or PNG")
    draw(parser.parse_args().out)


if __name__ == "__main__":
    main()
