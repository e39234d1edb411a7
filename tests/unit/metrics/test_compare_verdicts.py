# SPDX-License-Identifier: MIT
"""The tests and verdicts of comparisons, and the family of tests that they are."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from tests.unit.comparisons import MUCH_SLOWER, SLOWER, UNLUCKY, A, output, row_of, write

from mptcplab.metrics.compare import Key, Pair, RowSide, Verdict, compare


def _match(key: Key, a: dict[int, float], b: dict[int, float]) -> Pair:
    return Pair("goodput_mbps", ("a",), ("b",), {key: RowSide(a)}, {key: RowSide(b)})


def _compare(a: dict[int, float], b: dict[int, float], count: int = 1) -> list[tuple[str, str, float | None]]:
    verdicts = compare([_match(((("n", str(number)),), "bulk"), a, b) for number in range(count)])
    return [(match.verdict, match.difference.test, match.p) for comparison in verdicts for match in comparison.matches]


def test_which_test() -> None:
    other = {seed + 100: value for seed, value in SLOWER.items()}
    assert _compare(A, MUCH_SLOWER)[0][:2] == ("differs", "paired t")
    assert _compare(A, other)[0][:2] == ("not shown", "Welch's t")
    assert _compare({1: 5.0}, {1: 6.0})[0] == ("too few runs", "paired t", None)
    assert _compare({1: 5.0}, {2: 6.0})[0] == ("too few runs", "Welch's t", None)
    assert _compare({1: 5.0}, {1: 5.0})[0][0] == "identical"
    assert _compare({1: 5.0, 2: 5.0}, {3: 5.0, 4: 5.0})[0][0] == "identical", "no seed changes anything"
    assert _compare({1: 5.0, 2: 5.0}, {1: 6.0, 2: 6.0})[0] == ("differs", "paired t", 0.0)


def test_pairs_need_both_sides_only_where_they_are_shared() -> None:
    """Three of six seeds are shared: these three are compared."""
    some = {seed: value for seed, value in SLOWER.items() if seed > 3} | {50: 7.0}
    ((match,),) = (comparison.matches for comparison in compare([_match(((), "bulk"), A, some)]))
    assert (match.difference.n, match.difference.test) == ((3, 3), "paired t")
    assert match.means[0] == pytest.approx(sum(A[seed] for seed in (4, 5, 6)) / 3)


def _shift(*shifts: float) -> dict[int, float]:
    """A, each value with a shift in percent of A's mean."""
    mean = sum(A.values()) / len(A)
    return {seed: value + shift * mean / 100 for (seed, value), shift in zip(A.items(), shifts, strict=True)}


@pytest.mark.parametrize(
    ("shifts", "verdict"),
    [
        ((5, 6, 5, 6, 5, 6), Verdict.DIFFERS),
        ((-5, -6, -5, -6, -5, -6), Verdict.DIFFERS),
        ((0.7, 1.2, 0.7, 1.2, 0.7, 1.2), Verdict.PERHAPS_NEGLIGIBLE),
        ((0.4, 0.5, 0.4, 0.5, 0.4, 0.5), Verdict.NEGLIGIBLE),
        ((0.1, -0.1, 0.2, -0.2, 0.1, 0.0), Verdict.EQUIVALENT),
        ((5, -3, 4, -4, 3, 0), Verdict.NOT_SHOWN),
    ],
)
def test_a_verdict_follows_from_its_interval(shifts: tuple[float, ...], verdict: Verdict) -> None:
    (comparison,) = compare([_match(((), "bulk"), A, _shift(*shifts))], margin_percent=1.0)
    (match,) = comparison.matches
    assert match.verdict is verdict
    assert match.percent is not None
    assert match.percent_half_width is not None
    assert match.p is not None
    low, high = match.percent - match.percent_half_width, match.percent + match.percent_half_width
    assert verdict.is_difference == (low > 0 or high < 0) == (match.p < 0.05)
    assert (verdict in (Verdict.NEGLIGIBLE, Verdict.EQUIVALENT)) == (low >= -1 and high <= 1)
    assert (match.more_runs is not None) == (verdict is Verdict.NOT_SHOWN)


def test_no_row_contradicts_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was +16.81 ± 11.38 with the verdict that no difference is shown."""
    random = Random(1)
    keys = [((("n", str(number)),), "bulk") for number in range(40)]
    pairs = [
        _match(key, {n: random.gauss(100, 9) for n in range(5)}, {n: random.gauss(100 + place, 9) for n in range(5)})
        for place, key in enumerate(keys)
    ]
    rows = [match for comparison in compare(pairs) for match in comparison.matches]
    assert {match.verdict for match in rows} >= {Verdict.NOT_SHOWN, Verdict.DIFFERS}, "there are some of both"
    for match in rows:
        assert match.half_width is not None
        assert match.verdict.is_difference == (abs(match.difference.mean) > match.half_width)
    a = write(tmp_path / "a", [row_of(dict(key[0]), side.values) for pair in pairs for key, side in pair.first.items()])
    b = write(
        tmp_path / "b", [row_of(dict(key[0]), s.values, run="b") for pair in pairs for key, s in pair.second.items()]
    )
    _, out, _ = output(capsys, monkeypatch, a, b)
    shown = re.findall(r"([+-][\d.]+) ± ([\d.]+) +([+-][\d.]+) ± ([\d.]+) .* (differs|not shown)", out)
    assert len(shown) == 40, out
    for difference, width, change, of_change, verdict in shown:
        assert (abs(float(difference)) > float(width)) == (verdict == "differs")
        assert (abs(float(change)) > float(of_change)) == (verdict == "differs")


def test_many_rows_make_each_test_stricter() -> None:
    """Unlucky once in thirty: differs alone, but not as one of ten. Rows that are equal don't count."""
    ((alone, _, p),) = _compare(A, UNLUCKY)
    assert p is not None
    assert 0.05 / 10 < p < 0.05
    assert alone.startswith("differs")
    assert {verdict for verdict, *_ in _compare(A, UNLUCKY, 10)} == {"not shown"}
    keys: list[Key] = [((("n", str(number)),), "bulk") for number in range(10)]
    mixed = compare([_match(key, A, UNLUCKY if key == keys[0] else A) for key in keys])
    assert mixed[0].matches[0].verdict.is_difference
