# SPDX-License-Identifier: MIT
"""What ``mptcplab compare --out`` writes: unrounded numbers for programs, tables for papers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.comparisons import output, row_of, write

from mptcplab.report.table import Table, escape_latex

#: Means of four schedulers over four seeds.
MEANS = {"default": 95.0, "blest": 95.1031, "ecf": 90.0, "round_robin": 97.3}


@pytest.fixture
def results_folder(tmp_path: Path) -> Path:
    rows = [
        row_of({"transport.scheduler": name, "links.link1.delay": "5 ms"}, _values(mean, number), run=name)
        for number, (name, mean) in enumerate(MEANS.items())
    ]
    return write(tmp_path / "made", rows)


def _values(mean: float, number: int) -> dict[int, float]:
    """Four values whose differences from the values of another number vary."""
    return {seed: mean + seed + (0.01 + 0.02 * number) * (-1) ** (seed // (1 + number % 2)) for seed in range(4)}


def _lines(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text())))


def test_a_csv_has_the_numbers_of_json(
    results_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    words = (results_folder, "--by", "scheduler", "--reference", "default", "--out", file, "--json")
    _, out, _ = output(capsys, monkeypatch, *words)
    matches: list[Any] = [row for comparison in json.loads(out)["comparisons"] for row in comparison["rows"]]
    lines = _lines(file)
    assert [line["transport.scheduler"] for line in lines] == ["blest", "ecf", "round_robin"]
    for line, match in zip(lines, matches, strict=True):
        assert (line["a"], line["metric"], line["unit"]) == ("default", "goodput_mbps", "Mbit/s")
        assert (line["links.link1.delay"], line["workload"]) == ("5 ms", "bulk")
        for name in ("mean_a", "mean_b", "difference", "simultaneous_half_width", "percent", "p_corrected"):
            assert float(line[name]) == match[name], name
        middle, half = match["difference"], match["simultaneous_half_width"]
        assert (float(line["low"]), float(line["high"])) == (middle - half, middle + half)
        assert [int(line["n_a"]), int(line["n_b"])] == match["n"]
        assert (line["verdict"], line["margin_percent"]) == (match["verdict"], "1.0")


def test_a_csv_of_a_ranking_has_a_line_per_place(
    results_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.csv"
    _, out, _ = output(capsys, monkeypatch, results_folder, "--by", "scheduler", "--out", file, "--json")
    (ranking,) = json.loads(out)["rankings"]
    lines = _lines(file)
    assert [line["place"] for line in lines] == ["1", "2", "3", "4"]
    assert [line["transport.scheduler"] for line in lines] == ["round_robin", "blest", "default", "ecf"]
    assert [float(line["mean"]) for line in lines] == [place["mean"] for place in ranking["places"]]
    assert {line["best"] for line in lines} == {"round_robin"}
    assert (lines[0]["difference"], lines[0]["verdict"]) == ("", "")
    best = [place["against_best"] for place in ranking["places"][1:]]
    assert [float(line["difference"]) for line in lines[1:]] == [row["difference"] for row in best]
    assert [line["verdict"] for line in lines[1:]] == [row["verdict"] for row in best]


def test_tables_for_papers_are_the_printed_ones(
    results_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / "a.tex", tmp_path / "a.md"]
    words = ("--columns", "scheduler,B,%", "--sort", "-B", *(word for file in files for word in ("--out", file)))
    _, out, _ = output(capsys, monkeypatch, results_folder, "--by", "scheduler", "--reference", "default", *words)
    assert f"Written: {files[0]}, {files[1]}" in out
    tex, markdown = (file.read_text() for file in files)
    assert r"\begin{tabular}{lrr}" in tex
    rows = [line for line in tex.splitlines() if line.endswith(r"\\")]
    assert [row.partition(" &")[0] for row in rows] == ["scheduler", r"round\_robin", "blest", "ecf"], tex
    assert r"B Mbit/s & \% \\" in rows[0]
    assert "$-$5" in rows[-1]
    assert r"$\pm$" in rows[-1]
    assert tex.index(r"\end{tabular}") < tex.index("% B - A with its interval."), "notes are comments"
    assert "| scheduler | B Mbit/s | % |" in markdown
    assert "- B - A with its interval." in markdown


def test_latex_has_no_character_of_its_own_meaning() -> None:
    assert escape_latex("a_b & 5 % #1 {x} ~ ^ \\") == (
        r"a\_b \& 5 \% \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}"
    )
    assert escape_latex("access1>link1") == "access1$>$link1", "fonts of old encodings print another character"
    assert escape_latex("B - A") == "B $-$ A"
    assert escape_latex("-5.1 ± <0.01") == r"$-$5.1 $\pm$ $<$0.01"
    assert escape_latex('["4 KiB"]') == '{[}"4 KiB"{]}', "an option of the rule above it, at the beginning of a row"
    assert escape_latex("1-4, multi-path") == "1-4, multi-path", "hyphens"
    table = Table.build("t", ("a", "b"), [("x", "1")], ["first\nsecond"])
    assert table.to_latex().splitlines()[-2:] == ["% first", "% second"]


def test_a_file_of_another_format_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = output(capsys, monkeypatch, tmp_path / "none", "--by", "scheduler", "--out", "a.xlsx")
    assert status == 2
    assert "a.xlsx does not end with the suffix of a format" in err
    assert ".csv, .md, .tex" in err
    file = tmp_path / "none" / "a.csv"
    rows = [row_of({"transport.scheduler": name}, {1: 1.0, 2: 2.0}) for name in "ab"]
    status, _, err = output(capsys, monkeypatch, write(tmp_path / "m", rows), "--by", "scheduler", "--out", file)
    assert status == 2
    assert f"{file} cannot be written" in err
