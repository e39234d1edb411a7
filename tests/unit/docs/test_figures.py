# SPDX-License-Identifier: MIT
"""Figures of the documentation: each is what its command draws from the table that is on the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.unit.command_output import output_of
from tools.docs.figures import beds, scoreboard
from tools.docs.making import data, pages
from tools.docs.making.pages import ROOT

TABLES = data.tables()
_MARK = re.compile(r"^<!-- figure (\S+) by (.+) -->$", re.MULTILINE)
MARKS = [(page, target, shlex.split(words)) for page in pages.pages() for target, words in _MARK.findall(page.text)]
#: Others need results, which `make docs` makes.
OF_TABLES = [mark for mark in MARKS if any(word.endswith(".csv") for word in mark[2])]
#: Drawn from what is shipped with the studies.
STUDIES = ["tools.docs.figures.scoreboard"]
BEDS = "tools.docs.figures.beds"


@pytest.mark.parametrize("name", data.FILES)
def test_data_is_that_of_the_page(name: str) -> None:
    file = data.FOLDER / f"{name}.csv"
    assert file.read_text() == data.text_of(name, TABLES), "run: python -m tools.docs.refresh for the page of the table"


def test_all_data_has_a_table() -> None:
    assert {file.stem for file in data.FOLDER.iterdir()} == set(data.FILES)


def test_readers_can_draw_every_figure_themselves() -> None:
    others = [
        target
        for _, target, words in MARKS
        if words[:2] != ["mptcplab", "figure"] and words != STUDIES and words[0] != BEDS
    ]
    assert others == [], "drawn by other commands"


@pytest.mark.slow
def test_figure_of_the_studies_is_of_the_shipped_values(tmp_path: Path) -> None:
    places = {page.file.parent / target for page, target, words in MARKS if words == STUDIES}
    made = tmp_path / "studies.svg"
    scoreboard.draw(made)
    assert places
    for place in places:
        assert made.read_bytes() == place.read_bytes(), "run: python -m tools.docs.refresh docs/studies.md --figures"


@pytest.mark.slow
@pytest.mark.parametrize(("page", "target", "words"), [mark for mark in MARKS if mark[2][0] == BEDS])
def test_figure_of_the_beds_is_of_the_shipped_values(
    page: pages.Page, target: str, words: list[str], tmp_path: Path
) -> None:
    made = tmp_path / Path(target).name
    beds.draw(words[1], made)
    shown = page.file.parent / target
    assert made.read_bytes() == shown.read_bytes(), f"run: python -m tools.docs.refresh {page.file.name} --figures"


@pytest.mark.slow
@pytest.mark.parametrize(("page", "target", "words"), OF_TABLES, ids=[target for _, target, _ in OF_TABLES])
def test_figure_is_what_its_command_draws(
    page: pages.Page,
    target: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    assert output_of(monkeypatch, capsys, *words[1:], "--out", tmp_path / "made.svg").status == 0
    shown = page.file.parent / target
    assert (tmp_path / "made.svg").read_bytes() == shown.read_bytes(), (
        f"run: python -m tools.docs.refresh {page.name} --figures"
    )
