# SPDX-License-Identifier: MIT
"""Links that were down at an instant, for messages about failed connections."""

from __future__ import annotations

import pytest

from mptcplab.steps import down_since

CHANGES = ((2.0, "a", True), (3.0, "b", True), (4.0, "a", False), (6.0, "a", True), (7.0, "b", False))


@pytest.mark.parametrize(
    ("at_s", "down"),
    [(1.9, {}), (2, {"a": 2}), (3.5, {"a": 2, "b": 3}), (4, {"b": 3}), (6.5, {"b": 3, "a": 6}), (9, {"a": 6})],
)
def test_a_place_is_down_from_its_failure_until_it_comes_back(at_s: float, down: dict[str, float]) -> None:
    assert down_since(CHANGES, at_s) == down


def test_a_restoration_without_a_failure_changes_nothing() -> None:
    assert down_since([(1, "a", False), (2, "b", True), (3, "a", False)], 5) == {"b": 2}
