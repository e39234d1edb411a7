# SPDX-License-Identifier: MIT
"""The recorded evaluations of ``mptcplab fit`` are as good as docs/fit.md promises."""

from __future__ import annotations

from typing import Any

import pytest
from validation.blind_fit import COLLECTIONS, SETS, CollectionSet, is_good, read_results

RESULTS = {name: read_results(drawn) for name, drawn in SETS.items()}
_EACH = [
    pytest.param(SETS[name], result, id=f"{name} {result['number']}")
    for name, results in RESULTS.items()
    for result in results
]


@pytest.mark.parametrize(("drawn", "result"), _EACH)
def test_every_line_is_within_ten_percent(drawn: CollectionSet, result: dict[str, Any]) -> None:
    lines = drawn.draw(result["number"]).lines
    for line, truth in zip(result["lines"], lines, strict=True):
        assert line["truth"] == vars(truth), "the truth is what the program draws"
        assert is_good(line["errors"]), line


@pytest.mark.parametrize("name", SETS)
def test_the_change_has_the_right_direction_in_nine_of_ten(name: str) -> None:
    results = RESULTS[name]
    advice = [result["advice"] for result in results if "advice" in result]
    assert [result["number"] for result in results] == list(range(1, COLLECTIONS + 1))
    assert len(advice) == COLLECTIONS
    assert sum(entry["is_right"] for entry in advice) >= 0.9 * COLLECTIONS
    assert {entry["change"] for entry in advice} <= set(SETS[name].tried)
