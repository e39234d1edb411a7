# SPDX-License-Identifier: MIT
"""The recorded evaluation of ``mptcplab fit`` is as good as docs/fit.md promises."""

from __future__ import annotations

from typing import Any

import pytest
from validation.blind_fit import COLLECTIONS, OPERATORS, is_good, read_results

RESULTS = read_results(OPERATORS)


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: str(result["number"]))
def test_every_line_is_within_ten_percent(result: dict[str, Any]) -> None:
    drawn = OPERATORS.draw(result["number"]).lines
    for line, truth in zip(result["lines"], drawn, strict=True):
        assert line["truth"] == vars(truth), "the truth is what the program draws"
        assert is_good(line["errors"]), line


def test_the_change_has_the_right_direction_in_nine_of_ten() -> None:
    advice = [result["advice"] for result in RESULTS if "advice" in result]
    assert [result["number"] for result in RESULTS] == list(range(1, COLLECTIONS + 1))
    assert len(advice) == COLLECTIONS
    assert sum(entry["is_right"] for entry in advice) >= 0.9 * COLLECTIONS
