# SPDX-License-Identifier: MIT
"""Texts of a study quote what was measured: none goes stale, and none says a value that is not there."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mptcplab.api import reproduction
from mptcplab.cli.commands.experiments import reproduce
from mptcplab.errors import LabError
from mptcplab.stats import Interval, mean_interval
from mptcplab.study import library as study_load
from mptcplab.study.library import SelectedTable, TableJob, read_documents, select
from mptcplab.study.measurement import TableSource, Value, fill, needs, read_sources, sort_by_dependency
from mptcplab.study.output import study_document, study_table
from mptcplab.study.parts import Quote, quoted_text, quotes_of, replace_quotes
from mptcplab.study.schema import Study
from mptcplab.study.verdict import judge

#: Names as studies have them: ``4.2``, ``lia-v09``, ``8 Mbit/s``.
_words = st.lists(st.text("ab4.%-_", min_size=1, max_size=4), min_size=1, max_size=2).map(" ".join)
_rows = st.lists(st.text("ab4.%-_/", min_size=1, max_size=4), min_size=1, max_size=2).map(" ".join)
_quotes = st.builds(Quote, _words, _words, st.none() | _words, st.lists(_rows, min_size=1, max_size=3).map(tuple))
_plain = st.text(st.characters(exclude_characters="{}", exclude_categories=["Cs"]), max_size=20)


@pytest.mark.slow
@given(st.lists(st.tuples(_plain, _quotes), max_size=4), _plain)
def test_every_quote_is_read_back(parts: list[tuple[str, Quote]], rest: str) -> None:
    text = "".join(f"{before}{quote}" for before, quote in parts) + rest
    assert quotes_of(text) == [quote for _, quote in parts]
    assert replace_quotes(text, str) == text
    assert replace_quotes(text, lambda _: "") == "".join(before for before, _ in parts) + rest


def test_a_quote_may_go_over_the_end_of_a_line() -> None:
    assert quotes_of("{4.7: balia /\n cubic @\n1 %,\n5 %}") == [Quote("4.7", "balia", "cubic", ("1 %", "5 %"))]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "}",
        "{}",
        "{a}",
        "{a: b}",
        "{a: @ r}",
        "{: b @ r}",
        "{a: b @ }",
        "{a: b / @ r}",
        "{a: b / c / d @ r}",
        "{a: b @ r,}",
    ],
)
def test_other_braces_are_an_error(text: str) -> None:
    for whole in (text, f"before {text} after", "{a: b @ r} " + text):
        with pytest.raises(ValueError, match="not of the form"):
            quotes_of(whole)


@pytest.mark.parametrize("text", ["{a: b @ r", "a: b @ r}", "{{a: b @ r}}", "{a: b @ r @ s}", "{a: b @ r,}"])
def test_other_forms_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="not of the form"):
        quotes_of(text)


@given(st.floats(1e-6, 1e9), st.none() | st.floats(1e-6, 1e9))
def test_three_significant_digits(mean: float, half_width: float | None) -> None:
    text = quoted_text([Interval(mean, half_width, 1)])
    said, _, spread = text.partition(" ± ")
    assert float(said) == pytest.approx(mean, rel=0.005)
    assert "e" not in text
    assert sum(digit.isdigit() for digit in said.lstrip("0.")) >= 3
    assert (spread == "") == (half_width is None)
    if half_width is not None:
        assert len(spread.partition(".")[2]) == len(said.partition(".")[2]), "the same unit in the last place"


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ([Interval(46.489, 1.06, 3)], "Mbit/s", "46.5 ± 1.1 Mbit/s"),
        ([Interval(1.0239, 0.049, 3)], "", "1.02 ± 0.05"),
        ([Interval(185.04, None, 1), Interval(9.999, None, 1)], "s", "185 and 10.0 s"),
        (
            [Interval(0.0, None, 1), Interval(math.inf, None, 1), Interval(1.0, 0.0, 2)],
            "",
            "0.00, ∞ and 1.00 (identical)",
        ),
    ],
)
def test_how_values_are_written(values: list[Interval], unit: str, expected: str) -> None:
    assert quoted_text(values, unit) == expected


SCENARIO = """
title = "made"
[topology]
preset = "disjoint-paths"
paths = 2
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "5 s"
[sweep]
"transport.protocol" = ["tcp", "mptcp"]
"links.link*.rate" = ["8 Mbit/s", "16 Mbit/s"]
"""
_TABLE = """
title = "t"
place = "p"
scenario = "s.toml"
along = "links.link*.rate"
along_label = "rate"
unit = "Mbit/s"
rows = ["8 Mbit/s", "16 Mbit/s"]
quick = { rows = ["8 Mbit/s"] }
columns = { mptcp = "MPTCP", tcp = "TCP", ratio = { title = "r", ratio = ["mptcp", "tcp"], drawn = false } }
"""
_HEAD = 'title = "t"\nauthors = "a"\nyear = 2020\nwhere = "w"\ntest_bed = "b"\n'


def _toml(note: str) -> str:
    """Table 1 notes something, and tables later in the file are the evidence for it."""
    tables = (f'[tables."1"]\nnote = """{note}"""', '[tables."2.5"]\nkind = "Evidence"', "[tables.more]")
    return _HEAD + "".join(f"{head}{_TABLE}" for head in tables)


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "studies" / "made"
    folder.mkdir(parents=True)
    (folder / "s.toml").write_text(SCENARIO)
    monkeypatch.setattr(study_load, "_STUDIES", folder.parent)
    return folder


def _make(studies: Path, note: str) -> dict[str, SelectedTable]:
    (studies / "study.toml").write_text(_toml(note))
    return {table.number: table for table in select("made")}


@pytest.mark.parametrize(
    ("note", "hint"),
    [
        ("{3: mptcp @ 8 Mbit/s}", "{3: mptcp @ 8 Mbit/s} quotes a table that the study does not have"),
        ("{2.5: lia @ 8 Mbit/s}", "table 2.5 has no column 'lia'"),
        ("{2.5: mptcp / lia @ 8 Mbit/s}", "table 2.5 has no column 'lia'"),
        ("{2.5: mptcp @ 8 Mbit/s, 9 Mbit/s}", "table 2.5 has no row '9 Mbit/s'"),
        ("{2.5: mptcp / ratio @ 8 Mbit/s}", "divides values of different kinds"),
        ("{2.5}", "is not of the form"),
    ],
)
def test_a_wrong_quote_is_damage_of_the_study(studies: Path, note: str, hint: str) -> None:
    with pytest.raises(LabError, match="damaged") as error:
        _make(studies, note)
    assert hint in (error.value.hint or "")


def test_quotes_are_looked_for_in_every_text(studies: Path) -> None:
    text = _toml("")
    for place in ("reason", "evidence"):
        other = "evidence" if place == "reason" else "reason"
        because = f'{place} = "{{x: y @ z}}"\n{other} = "o"\n'
        claim = '[[claims]]\ntext = "c"\ntable = "1"\nof = "tcp"\nleast = 1\nwhy_bounds = "w"\n[claims.because]\n'
        for more in (f'[[tables."1".because]]\n{because}', f"{claim}{because}"):
            (studies / "study.toml").write_text(text + more)
            with pytest.raises(LabError, match="damaged"):
                select("made")


def _values(**columns: tuple[float, ...]) -> dict[tuple[str, str], Value]:
    """One row, by seed."""
    return {
        ("8 Mbit/s", name): Value(mean_interval(values), dict(enumerate(values, start=1)))
        for name, values in columns.items()
    }


def test_fill(studies: Path) -> None:
    note = """{2.5: mptcp @ 8 Mbit/s}, {2.5: mptcp / tcp @ 8 Mbit/s, 8 Mbit/s}; {2.5: mptcp @ 8 Mbit/s, 16 Mbit/s} and
    {2.5: tcp @ 16 Mbit/s}; {more: tcp @ 8 Mbit/s}."""
    table = _make(studies, note)["1"]
    sources = {"made/2.5": TableSource(_values(mptcp=(14.0, 16.0), tcp=(7.0, 8.0)))}
    # The ratio is 2 with every seed, so that its interval has no width.
    assert fill(table.table.note, table, sources) == (
        "15.0 ± 12.7 Mbit/s, 2.00 (identical) and 2.00 (identical); (not measured here: mptcplab reproduce made/2.5) "
        "and (not measured); (not measured here: mptcplab reproduce made/more)."
    )


def test_tables_measured_alike_are_named_together(studies: Path) -> None:
    tables = _make(studies, "{more: tcp @ 8 Mbit/s} {2.5: tcp @ 8 Mbit/s}")
    for same in (True, False):
        sources = {
            "made/2.5": TableSource(_values(tcp=(7.0,)), ("a=b",)),
            "made/more": TableSource(_values(tcp=(7.0,)), ("a=b",) if same else ()),
        }
        quoted = [note for note in study_table(judge(tables["1"], {}, (), sources)).notes if "Quoted" in note]
        if same:
            assert quoted == ["Quoted from this folder: tables more and 2.5, n = 1; changed: a=b."]
        else:
            assert quoted == [
                "Quoted from this folder: table more, n = 1.",
                "Quoted from this folder: table 2.5, n = 1; changed: a=b.",
            ]


def test_documents_are_sources(studies: Path, tmp_path: Path) -> None:
    tables = _make(studies, "{2.5: mptcp / tcp @ 8 Mbit/s}")
    measured = _values(mptcp=(14.0, 16.0), tcp=(7.0, 8.0))
    document = study_document(judge(tables["2.5"], measured, ["a=b"]))
    (tmp_path / "table-2.5.json").write_text(json.dumps(document))
    for name, damaged in (("x", "{"), ("y", "[]"), ("z", '{"study": "made"}')):
        (tmp_path / f"table-{name}.json").write_text(damaged)
    sources = read_sources(read_documents(tmp_path))
    assert sources == {"made/2.5": TableSource(measured, ("a=b",))}
    judged = judge(tables["1"], {}, (), sources)
    note, quoted = study_table(judged).notes[-2:]
    assert (note, quoted) == ("2.00 (identical)", "Quoted from this folder: table 2.5, n = 2; changed: a=b.")
    assert study_document(judged)["note"] == "2.00 (identical)"


_edges = st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)))


def _graph(edges: set[tuple[int, int]]) -> list[SelectedTable]:
    """Tables 0 to 5, of which the first of an edge quotes the second."""
    table: dict[str, Any] = {"title": "t", "place": "p", "scenario": "s.toml", "along": "rate", "along_label": "r"}
    table |= {"columns": {"tcp": "TCP"}, "rows": ["1"], "unit": "Mbit/s"}
    notes = {str(n): " ".join(f"{{{b}: tcp @ 1}}" for a, b in sorted(edges) if a == n) for n in range(6)}
    head = {"name": "made", "title": "t", "authors": "a", "year": 2020, "where": "w", "test_bed": "b"}
    tables = {number: {**table, "note": note} for number, note in notes.items()}
    study = Study.model_validate({**head, "tables": tables})
    return [SelectedTable(study, Path("made"), number, table) for number, table in study.tables.items()]


@given(_edges, st.permutations(range(6)))
def test_what_is_quoted_is_measured_before(edges: set[tuple[int, int]], rank: list[int]) -> None:
    acyclic = {(a, b) for a, b in edges if rank[a] > rank[b]}
    tables = _graph(acyclic)
    order = [table.number for table in sort_by_dependency(tables)]
    assert sorted(order) == [table.number for table in tables]
    assert all(order.index(str(b)) < order.index(str(a)) for a, b in acyclic)
    if not acyclic:
        assert order == [table.number for table in tables]


@given(_edges)
def test_tables_may_quote_each_other(edges: set[tuple[int, int]]) -> None:
    tables = _graph(edges)
    assert sorted(table.number for table in sort_by_dependency(tables)) == [table.number for table in tables]
    assert needs(tables[0], [table.name for table in tables]) == [f"made/{b}" for b in range(6) if (0, b) in edges]


@pytest.mark.parametrize("selected", select(None), ids=lambda selected: selected.name)
def test_the_short_form_measures_what_is_quoted(selected: SelectedTable) -> None:
    for quote in selected.study.quotes(selected.number):
        table = selected.study.tables[quote.table]
        assert set(quote.rows) <= set(table.quick.rows or table.all_rows), quote


@pytest.fixture
def measured_tables(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No lab: every table has 14 and 7 Mbit/s in its first row. The tables, as they were measured."""
    names: list[str] = []

    def measure(job: TableJob, folder: Path, *_: object) -> reproduction.TableOutcome:
        folder.mkdir(exist_ok=True)
        names.append(job.selected.number)
        return reproduction.TableOutcome(job, (), _values(mptcp=(14.0,), tcp=(7.0,)))

    monkeypatch.setattr(reproduction, "measure_table", measure)
    return names


def _run(out: Path, *arguments: str) -> str:
    done = CliRunner().invoke(reproduce, [*arguments, "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


QUOTING = "It is {2.5: mptcp / tcp @ 8 Mbit/s}, and {2.5: mptcp @ 16 Mbit/s} further on."


@pytest.mark.slow
def test_one_invocation_fills_all(studies: Path, tmp_path: Path, measured_tables: list[str]) -> None:
    """Evidence is measured first, and stands where the file has it."""
    _make(studies, QUOTING)
    document: dict[str, Any] = json.loads(_run(tmp_path, "made", "--json"))
    assert measured_tables == ["2.5", "1", "more"]
    assert [table["table"] for table in document["tables"]] == ["1", "2.5", "more"]
    assert (
        document["tables"][0]["note"] == "It is 2.00, and (not measured here: mptcplab reproduce made/2.5) further on."
    )
    assert "- It is 2.00, and" in (tmp_path / "made" / "table-1.md").read_text()


@pytest.mark.slow
def test_one_table_quotes_what_is_in_the_folder(studies: Path, tmp_path: Path, measured_tables: list[str]) -> None:
    _make(studies, QUOTING)
    assert "It is (not measured here: mptcplab reproduce made/2.5)" in " ".join(_run(tmp_path, "made/1").split())
    _run(tmp_path, "made/2.5", "--quick", "--set", "workloads.bulk.duration=9 s")
    said = " ".join(_run(tmp_path, "made/1").split())
    assert "It is 2.00, and" in said
    assert "Quoted from this folder: table 2.5, n = 1; changed: workloads.bulk.duration=9 s." in said
    assert measured_tables == ["1", "2.5", "1"]
