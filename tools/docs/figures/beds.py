# SPDX-License-Identifier: MIT
"""``python -m tools.docs.figures.beds STUDY --out FILE.svg``: published values over all possible test beds of a study.

Computed from each study's ``cloud.json``; nothing is run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tools.docs.figures import scoreboard
from tools.docs.making.pages import ROOT, table_of

from mptcplab.study.beds import FILE
from mptcplab.study.cloud import (
    CLASSES,
    IN_ALL,
    IN_NONE,
    IN_SOME,
    NOT_MEASURED,
    Cloud,
    CloudValue,
    median_or_nan,
    shipped_cloud,
)
from mptcplab.study.cloud_page import count_text, save_cloud
from mptcplab.study.inventory import read
from mptcplab.study.judgement import DEPENDS, IN_BEDS, SUPPOSED, UNEXPLAINED
from mptcplab.study.library import SelectedTable, select, study_names
from mptcplab.study.measurement import REFERENCE
from mptcplab.study.stored_cloud import CLOUD

_STUDIES = ROOT / "src" / "mptcplab" / "studies"
#: Of the parameters that move the values of a table, how many are named.
_CAUSES = 3
#: How the statement of a property begins that the source does not mention.
_NOT_STATED = ("nothing", "neither")
_HEADS = ["in at least 95 % of beds", "in some", "in none"]


def files() -> tuple[Path, ...]:
    """Return the files that the tables about beds depend on."""
    named = (_STUDIES / study / name for study in study_names() for name in ("study.toml", FILE, CLOUD, REFERENCE))
    return tuple(file for file in named if file.is_file())


@cache
def _cloud(study: str) -> Cloud | None:
    return shipped_cloud(select(study))


def _clouds() -> list[tuple[list[SelectedTable], Cloud]]:
    clouds = [(select(study), _cloud(study)) for study in study_names()]
    return [(tables, cloud) for tables, cloud in clouds if cloud is not None]


def outcome() -> str:
    """Return how many values and claims of each study agree in at least 95 % of the beds, in some, and in none."""
    rows = []
    for tables, cloud in _clouds():
        verdicts = ([value.verdict for value in cloud.counted], [claim.verdict for claim in cloud.claims])
        best = f"{max(cloud.count_served())} of {len(cloud.counted)}" if cloud.counted else ""
        counts = [str(listed.count(name) or "") for listed in verdicts for name in CLASSES]
        form = ", short form" if cloud.is_quick else ""
        rows.append([tables[0].folder.name, f"{count_text(cloud)}{form}", *counts, best])
    heads = [f"{kind} {head}" for kind in ("values", "claims") for head in _HEADS]
    return table_of(["study", "beds", *heads, "most values at once"], rows)


def open_differences() -> str:
    """Return what the beds say about values whose difference no run shows, on the bed of the study's table."""
    rows = []
    for tables, cloud in _clouds():
        verdicts = {(value.table, value.row, value.column): value.verdict for value in cloud.counted}
        judged_tables = scoreboard.judged_tables(tables[0].folder.name)
        for kind in (IN_BEDS, DEPENDS, SUPPOSED, UNEXPLAINED):
            places = [
                (judged.selected.number, cell.row, cell.column)
                for judged in judged_tables
                for cell in judged.counted_once
                if cell.counted_as == kind
            ]
            if places:
                counts = Counter(verdicts.get(place, NOT_MEASURED) for place in places)
                cells = [str(counts[name] or "") for name in (IN_ALL, IN_SOME, IN_NONE, NOT_MEASURED)]
                rows.append([tables[0].folder.name, kind, str(len(places)), *cells])
    return table_of(["study", "in the study's own table", "values", *_HEADS, "not measured over beds"], rows)


def values_by_table() -> str:
    """Return the same for the values of each table, with their medians and the parameters that move them."""
    rows = []
    for tables, cloud in _clouds():
        for selected in tables:
            values = [value for value in cloud.counted if value.table == selected.number]
            if values:
                rows.append([selected.name, *_counts(values), _ratios(values), _causes(values)])
    heads = ["table", "values", *_HEADS, "measured / published (medians over beds)", "moved most often by"]
    return table_of(heads, rows)


def _counts(values: Sequence[CloudValue]) -> list[str]:
    counts = Counter(value.verdict for value in values)
    return [str(len(values)), *(str(counts[name] or "") for name in CLASSES)]


def _ratios(values: Sequence[CloudValue]) -> str:
    ratios = [median_or_nan(value.known) / value.published for value in values if value.published]
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return low if low == high else f"{low} to {high}"


def _causes(values: Sequence[CloudValue]) -> str:
    counts = Counter(name for value in values for name in value.moved_by)
    return ", ".join(f"{name} ({count})" for name, count in counts.most_common(_CAUSES))


def claims() -> str:
    """Return in how many beds each claim holds, and what moves that."""
    rows = []
    for tables, cloud in _clouds():
        for claim in cloud.claims:
            place = f"{tables[0].folder.name}/{claim.table}"
            count = f"{sum(claim.judged)} of {len(claim.judged)}" if claim.judged else "not judged"
            rows.append([place, claim.text, count, ", ".join(claim.moved_by)])
    return table_of(["table", "claim", "beds in which it holds", "moved by"], rows)


def machine(study: str) -> str:
    """Return what the machine of a study was: what its source states, what that implies, and what the lab runs.

    A line above the table says how much of it the source states.
    """
    parts = read(_STUDIES / study).machine
    stated = [part.what for part in parts if not part.stated.startswith(_NOT_STATED)]
    names = f": {', '.join(stated)}" if stated else ""
    summary = (
        f"Of {len(parts)} properties the source states {len(stated) or 'none'}{names}. The others follow from what it "
        "says, or are open."
    )
    rows = [
        [part.what, f"{part.stated} ({part.place})" if part.place else part.stated, part.implies, part.ours]
        for part in parts
    ]
    table = table_of(["", "stated", "which implies", "here"], [[_one_line(cell) for cell in row] for row in rows])
    return f"{summary}\n\n{table}"


def _one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def draw(study: str, out: Path) -> None:
    """Draw the values of a study. :raises SystemExit: if nothing of it was measured over beds."""
    cloud = _cloud(study)
    if cloud is None:
        raise SystemExit(f"no {CLOUD} is shipped with {study}")
    with tempfile.TemporaryDirectory() as folder:
        for file in save_cloud(cloud, select(study), Path(folder), out.stem):
            if file.suffix == out.suffix:
                out.write_bytes(file.read_bytes())


def main() -> None:
    """Draw the figure of a study."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs.figures.beds", description=__doc__)
    parser.add_argument("study", choices=study_names())
    parser.add_argument("--out", type=Path, required=True, help="the figure to write, as SVG or PNG")
    arguments = parser.parse_args()
    draw(arguments.study, arguments.out)


if __name__ == "__main__":
    main()
