# SPDX-License-Identifier: MIT
"""The table of docs/fit.md is that of the recorded evaluation, and the evaluation is as good as the page promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.lab.blind import COLLECTIONS, blind_table, draw_lines, is_good

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS: list[dict[str, Any]] = json.loads((DOCS / "data" / "fit-blind.json").read_text())


def test_the_table_is_of_the_data() -> None:
    assert blind_table(RESULTS) in (DOCS / "fit.md").read_text()


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: str(result["number"]))
def test_every_line_is_within_ten_percent(result: dict[str, Any]) -> None:
    drawn = draw_lines(result["number"])
    for line, truth in zip(result["lines"], drawn, strict=True):
        assert line["truth"] == vars(truth), "the truth is what the program draws"
        assert is_good(line["errors"]), line


def test_the_change_has_the_right_direction_in_nine_of_ten() -> None:
    advice = [result["advice"] for result in RESULTS if "advice" in result]
    assert [result["number"] for result in RESULTS] == list(range(1, COLLECTIONS + 1))
    assert len(advice) == COLLECTIONS
    assert sum(entry["is_right"] for entry in advice) >= 0.9 * COLLECTIONS
