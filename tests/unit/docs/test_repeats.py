# SPDX-License-Identifier: MIT
"""How many repeats docs/kernel-developers.md advises, by a power calculation."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest

from mptcplab.metrics.compare import SIGNIFICANCE
from mptcplab.stats import Difference, detectable, paired_difference

DOCS = Path(__file__).resolve().parents[3] / "docs"
TEXT = " ".join((DOCS / "kernel-developers.md").read_text().split("### How many repeats")[1].split("###")[0].split())


def _row(head: str) -> list[float]:
    match = re.search(rf"\| {re.escape(head)} \|([^A-Za-z-]*)\|", TEXT)
    assert match is not None, head
    return [float(cell) for cell in match[1].split("|") if cell.strip()]


def repeats_needed(effect: float, significance: float) -> int:
    """How many pairs show an effect, in standard deviations of the paired differences, with a probability of 80 %."""
    return next(n for n in itertools.count(2) if _detectable_by(n, significance) <= effect)


def _detectable_by(n: int, significance: float) -> float:
    pairs = Difference(0.0, None, None, "paired t", (n, n), standard_error=1 / math.sqrt(n), freedom=n - 1)
    effect = detectable(pairs, significance)
    assert effect is not None
    return effect


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15), (1.0, 10), (1.5, 6), (2.0, 5), (20, 2)])
def test_repeats_needed_are_those_of_cohen_s_tables(effect: float, n: int) -> None:
    """Paired t test, two-sided, 5 %, power 80 %: what G*Power and Cohen (1988, table 2.4.1) give for 0.2, 0.5, 0.8."""
    assert repeats_needed(effect, 0.05) == n


@pytest.mark.parametrize(("head", "tests"), [("repeats, one row", 1), ("repeats, 10 rows in one `compare`", 10)])
def test_the_table_of_repeats(head: str, tests: int) -> None:
    effects = _row("true change, in standard deviations")
    assert len(effects) == 7
    assert _row(head) == [repeats_needed(effect, SIGNIFICANCE / tests) for effect in effects]


def _effect_of_five() -> float:
    """What five pairs show, in standard deviations of their differences."""
    made = paired_difference([0.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0])
    effect = detectable(made, SIGNIFICANCE)
    assert effect is not None
    return effect / math.sqrt(2.5)


def test_what_five_repeats_show() -> None:
    match = re.search(r"Five repeats of one row show ([0-9.]+) standard deviations", TEXT)
    assert match is not None
    assert float(match[1]) == round(_effect_of_five(), 2)


def test_the_example() -> None:
    said = re.search(
        r"a standard deviation of ([0-9.]+) %, five repeats show a change of ([0-9.]+) %\. "
        r"A change of 5 % takes ([0-9]+) repeats, 2 % ([0-9]+), and 1 % ([0-9]+)\.",
        TEXT,
    )
    assert said is not None
    deviation = float(said[1])
    expected = [round(deviation * _effect_of_five(), 1)]
    expected += [repeats_needed(change / deviation, SIGNIFICANCE) for change in (5, 2, 1)]
    assert [float(number) for number in said.groups()[1:]] == expected
