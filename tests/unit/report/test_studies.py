# SPDX-License-Identifier: MIT
"""The report of studies: a section for each table, both forms, all of them on one page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.unit.example_studies import measure_table
from tests.unit.report.html_page import PageText, drawing_of

from mptcplab.metrics.rows import run_result
from mptcplab.pages import build_report
from mptcplab.recording.record import Recording
from mptcplab.report.html import to_html
from mptcplab.report.table import write_json
from mptcplab.scenario.load import load
from mptcplab.study.cloud import shipped_cloud, values_over_beds
from mptcplab.study.cloud_page import count_text
from mptcplab.study.library import select
from mptcplab.study.stored_cloud import CLOUD

pytestmark = pytest.mark.slow


def test_a_study(tmp_path: Path) -> None:
    """Tables share a folder; each section has the runs of its own table, and the published values beside them."""
    folder = tmp_path / "subramani2018"
    for number, wanted in (("4.1", 1), ("4.3", 2)):
        measure_table(folder, f"subramani2018/{number}", repeats=wanted)
    first, second = build_report(folder).experiments
    assert first.title.startswith("Table 4.1")
    assert [len(column.repeat.runs) for column in (first, second)] == [2 * 7, 2 * 5 * 2]
    assert second.repeat.commands[0].line == "mptcplab reproduce subramani2018/4.3"
    assert second.notices[0].text.startswith("Intervals for n = 2")
    series = drawing_of(second, "lines").data["series"]
    assert [series["name"] for series in series] == ["TCP", "MPTCP"]
    assert series[1]["published"] == [37.37, 45.13, 60.37, 91.3, 123.53]
    # 45.1 or 45.2 Mbit/s on the first line, 15 on the second: half of their difference times Student's t for n = 2.
    assert series[1]["measured"][0] == pytest.approx([60.15, 0.05 * 12.706], abs=0.01)
    text = to_html(build_report(folder))
    assert text.count("<article") == 2
    assert text.count('id="plotly"') == 1, "once, however many sections"


def test_a_study_quotes_the_other_tables_of_its_folder(tmp_path: Path) -> None:
    folder, pages = tmp_path / "subramani2018", []
    for number in ("4.2", "reading"):
        measured = measure_table(folder, f"subramani2018/{number}", repeats=1).measured
        pages.append(to_html(build_report(folder)))
    missing = "(not measured here: mptcplab reproduce subramani2018/reading)"
    assert missing in pages[0]
    assert missing not in pages[1]
    values = [f"{measured[row, 'mptcp'].interval.mean:.1f}" for row in ("0 ms", "4 ms", "5 ms", "20 ms")]
    assert f": at multiples of 0, 4, 5 and 20 ms {', '.join(values[:3])} and {values[3]} Mbit/s." in pages[1]
    assert "Quoted from this folder: table reading, n = 1." in pages[1]


def test_both_forms_of_a_table(tmp_path: Path) -> None:
    """The full form has the section; the short one stands below it, and says where the other says something else."""
    folder = tmp_path / "subramani2018"
    measure_table(folder, "subramani2018/4.6", repeats=3)
    measure_table(folder, "subramani2018/4.6", repeats=1, quick=True)
    (section,) = build_report(folder).experiments
    assert len(section.repeat.runs) == len(load(select("subramani2018/4.6")[0].scenario, repeats=3).runs)
    full, short, _ = section.tables
    assert short.title == f"{full.title}, short form"
    assert (full.headings[-1], short.headings[-1]) == ("n", "outside the full form")
    # The made runs have a goodput that grows with the seed: 1 to 3 have the mean of 2, and an interval around it.
    assert {row[-1] for row in short.rows} == {"no"}
    assert [command.line for command in section.repeat.commands] == [
        "mptcplab reproduce subramani2018/4.6",
        "mptcplab reproduce subramani2018/4.6 --quick",
    ]


def test_all_studies_on_one_page(tmp_path: Path) -> None:
    """The scoreboard leads to every section, and says why a table has none; no run is measured twice."""
    folder, known = tmp_path / "r", {}
    judged = measure_table(folder / "subramani2018", "subramani2018/4.1", repeats=2)
    measure_table(
        folder / "nguyen2014",
        "nguyen2014/unequal",
        repeats=1,
        failed=[{"settings": {"a": "b"}, "seed": 2, "error": "e"}],
    )
    missing = {"study": "nguyen2014", "table": "queue", "form": None, "why": "the lab kernel 6.99 is not built"}
    write_json({"tables": [missing]}, folder / "scoreboard.json")
    report = build_report(folder)
    assert report.board is not None
    assert [experiment.anchor for experiment in report.experiments] == ["nguyen2014-unequal", "subramani2018-4-1"]
    rows = {str(row[0]): row for row in report.board.table.rows}
    assert not any(name.startswith("ito2016") for name in rows), "nothing of it is in the folder"
    runs = len(report.experiments[0].repeat.runs) + 1
    assert rows["nguyen2014/unequal"][-1] == f"1 of {runs} runs failed, 2 warnings"
    assert rows["nguyen2014/queue"][-1] == "not measured"
    assert "nguyen2014/queue was not measured: the lab kernel 6.99 is not built." in report.board.totals.notes
    agree = sum(cell.verdict == "agrees" for cell in judged.cells)
    assert str(agree or "") in rows["subramani2018/4.1"]
    text = to_html(report)
    read = PageText(text)
    assert set(read.addresses) >= {"#scoreboard", "#nguyen2014-unequal", "#subramani2018-4-1"}
    assert all(f'id="{address[1:]}"' in text for address in read.addresses)
    assert not [
        experiment
        for experiment in report.experiments
        if any(drawing.kind == "timeline" for drawing in experiment.drawings)
    ]
    assert f"mptcplab report {folder / 'nguyen2014'}" in text, "which command shows what is left out"
    for place in (folder / "subramani2018" / "runs").iterdir():
        known[place.name] = run_result(Recording(place))
        (place / "subflows.parquet").unlink()
    again = build_report(folder, known=known)
    assert again.experiments[1].tables == report.experiments[1].tables


def test_recordings_that_are_gone(tmp_path: Path) -> None:
    folder = tmp_path / "subramani2018"
    measure_table(folder, "subramani2018/4.1", repeats=2)
    gone, damaged, *_ = sorted((folder / "runs").iterdir())
    shutil.rmtree(gone)
    (damaged / "manifest.json").write_text("{}")
    warnings = [notice.text for notice in build_report(folder).experiments[0].notices if notice.level == "warning"]
    assert [text[:34] for text in warnings] == [
        "1 recording could not be read and ",
        "2 recordings listed in the results",
    ]


def test_a_study_over_its_possible_beds(tmp_path: Path) -> None:
    """The shipped beds have a picture, whose points lead to the sheets that are on the page, and both tables."""
    folder = tmp_path / "subramani2018"
    measure_table(folder, "subramani2018/gateway-4.2", repeats=1)
    report = build_report(folder)
    cloud = shipped_cloud(select("subramani2018"))
    assert cloud is not None
    drawing = report.pictures[-1]
    assert (drawing.kind, len(drawing.data["values"])) == ("beds", len(cloud.counted))
    assert f"one of {count_text(cloud)} possible test beds" in drawing.caption
    lines = [line for line in drawing.data["values"] if line["name"].startswith("gateway-4.2 ")]
    text = to_html(report)
    assert len(lines) == 10
    assert all(f'id="{line["anchor"]}"' in text for line in lines)
    elsewhere = [line for line in drawing.data["values"] if line not in lines]
    assert {line["anchor"] for line in elsewhere} == {""}, "only one table is on the page"
    assert {len(line["ratios"]) for line in drawing.data["values"]} <= {cloud.common, len(cloud.beds)}
    titles = [table.title for table in report.beds]
    assert titles == [
        f"subramani2018: {kind} over {count_text(cloud)} test beds" for kind in ("published values", "claims")
    ]
    assert all(title in text for title in titles)


def test_beds_of_the_folder_come_before_shipped_ones(tmp_path: Path) -> None:
    folder = tmp_path / "subramani2018"
    measure_table(folder, "subramani2018/gateway-4.2", repeats=1)
    document = json.loads((select("subramani2018")[0].folder / CLOUD).read_text())
    for entry in document["tables"].values():
        entry["values"] = {
            row: {name: cells[:2] for name, cells in columns.items()} for row, columns in entry["values"].items()
        }
    write_json(document | {"beds": document["beds"][:2]}, folder / "beds-2.json")
    assert "over 2 test beds" in build_report(folder).beds[0].title
    (selected,) = select("subramani2018/gateway-4.2")
    over_beds = values_over_beds(selected, folder)
    assert len(over_beds["8 Mbit/s", "tcp"].measured) > 2, "two beds give no class, and do not replace the shipped ones"
    write_json(document | {"changed": ["kernel=6.12"]}, folder / "beds-2.json")
    assert "over 2 test beds" not in build_report(folder).beds[0].title, "with changed keys it is another study"
