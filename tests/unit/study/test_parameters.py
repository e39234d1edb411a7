# SPDX-License-Identifier: MIT
"""A study's parameters: scenarios have the values that its data names, and pages say what is ours."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.unit.example_studies import Labs, run_to_end
from tests.unit.study import class_study
from tests.unit.study.study_keys import NO_PARAMETERS, allowance, find_unnamed, keys_of, namers

from mptcplab.errors import LabError
from mptcplab.study import chosen
from mptcplab.study.library import SelectedTable, select, study_names
from mptcplab.study.parameters import check, compare_parameters
from mptcplab.study.schema import Study

ROOT = Path(__file__).resolve().parents[3]
_PARAMETER = """
[[parameters]]
name = "rate"
says = "50 Mbit/s"
place = "p. 1"
key = "{key}"
value = "{value}"
origin = "{origin}"
{more}
"""


@pytest.mark.slow
@pytest.mark.parametrize("selected", select(None), ids=lambda selected: selected.name)
def test_scenarios_have_the_values_that_the_data_names(selected: SelectedTable) -> None:
    for use in compare_parameters(selected):
        said = f"{use.parameter.name}: said {use.choice.value}, scenarios {', '.join(use.values)}"
        assert use.as_declared, said
        assert use.values or not use.parameter.key, said


@pytest.mark.parametrize("name", study_names())
def test_every_study_has_its_parameters(name: str) -> None:
    tables = select(name)
    assert tables[0].study.parameters
    names = [parameter.name for parameter in tables[0].study.parameters]
    assert len(set(names)) == len(names), "a parameter stands in the table once"
    table = chosen.parameters_table(tables)
    assert len(table.rows) == sum(1 + len(parameter.other) for parameter in tables[0].study.parameters)


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_every_key_that_a_scenario_sets_is_a_parameter(name: str) -> None:
    """The other direction: nothing decides a study's results that its table of parameters does not say."""
    tables = select(name)
    assert find_unnamed(tables, tables[0].study.parameters) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", study_names())
def test_a_parameter_that_is_taken_away_is_missed(name: str) -> None:
    tables = select(name)
    parameters = tables[0].study.parameters
    names = namers(tables, parameters).values()
    named = {parameter.name for about in names for parameter in about}
    alone = {about[0].name for about in names if len(about) == 1}
    assert named == alone, "a parameter is only said twice, so that nobody would miss it"
    # What is left has no key, or every scenario leaves its key at the default.
    assert len(alone) > len(parameters) / 2
    missed = next(parameter for parameter in parameters if parameter.key)
    assert find_unnamed(tables, [parameter for parameter in parameters if parameter != missed])


def test_every_key_that_is_no_parameter_is_set_somewhere() -> None:
    allowances = {allowance(key.key) for selected in select(None) for key in keys_of(selected.scenario)}
    assert set(NO_PARAMETERS) <= allowances


@pytest.mark.usefixtures("studies")
def test_a_key_of_a_scenario_that_nobody_names_is_found() -> None:
    file = next(table.scenario for table in select("made"))
    file.write_text(file.read_text() + '\n[routers.r1]\nsysctl = { "net.ipv4.tcp_ecn" = 1 }\n')
    tables = select("made")
    assert '1: routers.r1.sysctl."net.ipv4.tcp_ecn"' in find_unnamed(tables, tables[0].study.parameters)


def _with_parameter(
    studies: Path, key: str, value: str, *, origin: str = "stated", more: str = ""
) -> list[SelectedTable]:
    file = studies / "made" / "study.toml"
    text = _PARAMETER.format(key=key, value=value.replace('"', '\\"'), origin=origin, more=more)
    file.write_text(file.read_text() + text)
    return select("made")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("links.link1.rate", "50 Mbit/s"),
        ("links.link1.forward.rate", "50000 kbit/s"),
        ("links.link2.rate", "7 Mbit/s"),  # it is varied
        ("transport.protocol", "tcp"),  # it is varied
        ("hosts.*.transport.scheduler", "default"),
        ("transport.tcp_rmem", "default"),
        ("workloads.*.duration", "2000 ms"),
        ("repeats", "3"),
        ("", "anything"),
    ],
)
def test_a_value_that_scenarios_have(studies: Path, key: str, value: str) -> None:
    """Units and wildcards do not matter, and what the table varies is not compared."""
    check(_with_parameter(studies, key, value))


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("links.link1.rate", "40 Mbit/s", "rate should be 40 Mbit/s, but is 50 Mbit/s"),
        ("repeats", "4", "rate should be 4, but is 3"),
        ("transport.tcp_rmem", '["4 KiB", "1 MiB", "1 MiB"]', "but is default"),
        ("links.link9.rate", "40 Mbit/s", "has no key links.link9.rate"),
        ("links.link1.rate", "fast", "cannot be fast"),
    ],
)
def test_a_value_that_they_do_not_have(studies: Path, key: str, value: str, said: str) -> None:
    with pytest.raises(LabError, match="the data of study 'made' is damaged: table 1") as error:
        check(_with_parameter(studies, key, value))
    assert said in error.value.message
    assert "study.toml" in (error.value.hint or "")


def test_tables_with_another_value_are_named(studies: Path) -> None:
    other = '[[parameters.other]]\ntables = ["1"]\nvalue = "50 Mbit/s"\norigin = "after"\nwhy = "w"\n'
    tables = _with_parameter(studies, "links.link1.rate", "40 Mbit/s", more=f'tables = ["1", "more"]\n{other}')
    (first,), (more,) = (compare_parameters(table) for table in tables)
    assert (first.as_declared, first.choice.origin) == (True, "after")
    assert (more.as_declared, more.values) == (False, ("50 Mbit/s",))


def test_reproduce_refuses_another_value_before_it_measures(labs: Labs, studies: Path, tmp_path: Path) -> None:
    _with_parameter(studies, "links.link1.rate", "40 Mbit/s")
    with pytest.raises(LabError, match="should be 40 Mbit/s"):
        run_to_end(tmp_path / "r", "made/1")
    assert labs.made == 0


@pytest.mark.slow
def test_reproduce_prints_and_writes_the_parameters_once(labs: Labs, studies: Path, tmp_path: Path) -> None:
    _with_parameter(studies, "links.link1.rate", "50 Mbit/s", origin="before", more='why = "because"')
    said = run_to_end(tmp_path / "r", "made").stdout
    assert labs.made == 12
    assert said.count("made: parameters") == 1
    assert "Parameters that the study does not state. rate: 50 Mbit/s, chosen before measuring." in said
    text = (tmp_path / "r" / "made" / "parameters.md").read_text()
    assert "| rate | 50 Mbit/s | all others | chosen before measuring | 50 Mbit/s | p. 1 | because |" in text
    page = (tmp_path / "r" / "made" / "table-1.md").read_text()
    assert "Table 1, p. 2" in page


def test_sets_of_values() -> None:
    tables = [class_study.select_table(number) for number in ("1", "2", "e")]
    assert chosen.sets_of(tables) == [["1"], ["2"]], "evidence is ours, and varies them"
    assert chosen.sets_text(tables) == "The tables of the study use 2 different sets of unstated values: 1; 2."
    assert chosen.sets_text(tables[:1]) == "All tables of the study use one set of unstated values."


def test_what_a_study_states_and_the_scenarios_do_not_have() -> None:
    """It is not among the values that the study does not state."""
    text = class_study.STUDY.replace('origin = "after"', 'origin = "after"\ndeparts_from = "10 Mbit/s"')
    study = Study.model_validate(tomllib.loads(text))
    lines = list(chosen._study_lines([SelectedTable(study, Path("made"), "2", study.tables["2"])]))
    begin = lines.index("Stated, and not followed:")
    assert lines[begin + 2] == (
        "- rate: `20 Mbit/s` in 2 in place of 10 Mbit/s, chosen after measuring. the queue overflowed"
    )
    assert "Chosen after measuring:" not in lines
    stated = class_study.STUDY.replace('origin = "stated"', 'origin = "stated"\ndeparts_from = "10 Mbit/s"')
    with pytest.raises(ValidationError, match="departs from nothing"):
        Study.model_validate(tomllib.loads(stated))


def test_the_page_says_what_the_data_says() -> None:
    page = ROOT / "docs" / "studies.md"
    text = page.read_text()
    assert text == chosen.replace_part(text), "run: python -m mptcplab.study.chosen --write docs/studies.md"
    fitted = [
        parameter.name
        for name in study_names()
        for parameter in select(name)[0].study.parameters
        for choice in parameter.choices
        if choice.origin == "fitted"
    ]
    assert fitted
    assert all(f"- {name}: " in text for name in fitted)
