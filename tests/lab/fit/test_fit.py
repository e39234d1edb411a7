# SPDX-License-Identifier: MIT
"""``mptcplab fit`` on collections that its own script makes in a lab; `make fit` does all twenty of docs/fit.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from validation.blind_fit import OPERATORS, fit_collection, is_good, try_advice

#: Slow lines, which take seconds: one without random loss, and one with it.
SLOW = (13, 20)


@pytest.mark.parametrize("number", SLOW)
def test_lines_are_found_again(tmp_path: Path, number: int) -> None:
    """Rate, round trip and queue within 10 % (or a frame of the queue), and the loss within its interval."""
    _, lines = fit_collection(OPERATORS.draw(number), tmp_path)
    for line in lines:
        print(number, line["errors"], line["loss"])
        assert set(line["kinds"].values()) == {"measured"}
        assert is_good(line["errors"]), line
        assert line["loss"]["low"] <= line["truth"]["loss_ppb"] / 1e9 <= line["loss"]["high"], line


def test_the_advice_holds_on_the_true_lines(tmp_path: Path) -> None:
    observation, _ = fit_collection(OPERATORS.draw(13), tmp_path)
    advice = try_advice(tmp_path, observation, OPERATORS.tried)
    print(advice)
    assert advice["is_certain"], advice
    assert advice["is_right"], advice
