# SPDX-License-Identifier: MIT
"""What the page on engines keeps of earlier machines (validation/fidelity/earlier_results.py), and classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from validation.fidelity import cells, forms, reasons, side_tables
from validation.fidelity.chance import MIN_RUNS, rank_p, spreads_of
from validation.fidelity.classes import Class, class_of, find_other_limit
from validation.fidelity.earlier_results import Present, is_of_other_build, with_earlier
from validation.fidelity.sides import PAIRS

from mptcplab.scenario.load import load

_LAB, _STOCK, _OLD = "virtual-7.2", "stock-7.2", "stock-6.12"


@dataclass(frozen=True)
class _PresentScenario(Present):
    """A scenario whose digests are given."""

    form: forms.Form = field(default=forms.Form("made", "made", (), ()), init=False)
    of_form: str
    of_runs: str

    @property
    def digest(self) -> str:
        return self.of_form

    def ran(self, side: str) -> str:
        return f"{self.of_runs} on {side}"


def _entry(side: str, ran: str = "x", kernels: tuple[str, str] = ("k", "s")) -> dict[str, Any]:
    pair = PAIRS[side]
    ran_of = [f"{ran} on {side}" for side in (pair, side)]
    return {"rows": [], "ran": ran_of, "kernels": list(kernels), "seeds": 3, "against": pair}


def _find(**scenarios: dict[str, Any]) -> dict[str, Any]:
    form = {"digest": "f", "points": [""], "changes": []}
    return {
        "kernels": {_LAB: {"name": "7.2", "digest": "k"}},
        "scenarios": {name: {"form": form, "sides": sides} for name, sides in scenarios.items()},
        "spread": {},
    }


def _present(digest: str = "f", ran: str = "x") -> dict[str, Present]:
    return {"made": _PresentScenario(digest, ran), "other": _PresentScenario(digest, ran)}


def test_a_machine_adds_to_what_others_measured() -> None:
    before = _find(made={_OLD: _entry(_OLD), _STOCK: _entry(_STOCK, kernels=("old", "s"))})
    before["kernels"] |= {_OLD: {"name": "6.12", "digest": "s"}}
    fresh = _find(made={_STOCK: _entry(_STOCK)}, other={_STOCK: _entry(_STOCK)})
    merged = with_earlier(fresh, before, _present())
    assert list(merged["scenarios"]) == ["made", "other"]
    assert merged["scenarios"]["made"]["sides"] == {_STOCK: _entry(_STOCK), _OLD: _entry(_OLD)}
    assert set(merged["kernels"]) == {_LAB, _OLD}


@pytest.mark.parametrize(("digest", "ran"), [("other", "x"), ("f", "other")])
def test_what_would_run_otherwise_now_is_dropped(digest: str, ran: str) -> None:
    before = _find(made={_OLD: _entry(_OLD)})
    before["spread"] = {"made": {"ran": f"x on {_LAB}", "rows": [1]}}
    merged = with_earlier(_find(), before, _present(digest, ran))
    assert merged["scenarios"] == {}
    assert bool(merged["spread"]) == (ran == "x"), "the spread follows from what ran alone"


def test_what_would_be_compared_with_another_side_now_is_dropped() -> None:
    """Both sides may run the same as before: the kernel is not a part of what runs."""
    entry = _entry(_OLD)
    assert _present()["made"].has(entry, _OLD)
    assert not _present()["made"].has(entry | {"against": _LAB}, _OLD)


def test_a_scenario_that_is_no_more_is_dropped() -> None:
    assert with_earlier(_find(), _find(gone={_OLD: _entry(_OLD)}), _present())["scenarios"] == {}


@pytest.mark.parametrize(("new", "expected"), [(1, "old"), (2, "new"), (3, "new")])
def test_the_build_that_most_ran_on_stands_for_a_side(new: int, expected: str) -> None:
    """A few new results would else mark all others, and of equals the newer one stands."""
    names = ("made", "other", "third", "fourth")
    before = _find(**{name: {_STOCK: _entry(_STOCK, kernels=("k", "old"))} for name in names})
    before["kernels"][_STOCK] = {"name": "7.2", "digest": "old"}
    fresh = _find(**{name: {_STOCK: _entry(_STOCK, kernels=("k", "new"))} for name in names[:new]})
    fresh["kernels"][_STOCK] = {"name": "7.2", "digest": "new"}
    merged = with_earlier(fresh, before, {name: _PresentScenario("f", "x") for name in names})
    assert merged["kernels"][_STOCK]["digest"] == expected
    marked = [
        is_of_other_build(merged["scenarios"][name]["sides"][_STOCK], _STOCK, merged["kernels"]) for name in names
    ]
    assert sum(marked) == min(new, 4 - new)


def test_captures_are_kept_until_there_are_new_ones() -> None:
    before = _find() | {"wire": {"a": [1]}}
    assert with_earlier(_find() | {"wire": {}}, before, _present())["wire"] == {"a": [1]}
    assert with_earlier(_find() | {"wire": {"a": [2]}}, before, _present())["wire"] == {"a": [2]}


@pytest.mark.parametrize(
    ("kernels", "expected"), [(["k", "s"], False), (["old", "s"], True), (["k", "old"], True), ([None, None], True)]
)
def test_a_comparison_of_another_build_is_marked(
    kernels: list[str | None], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"metric": "goodput_mbps", "settings": {}, "workload": "bulk", "a": 100.0, "b": 99.0, "percent": -1.0}
    row |= {"difference": -1.0, "half_width": 0.1, "percent_half_width": 0.1, "verdict": "differs, but negligible"}
    entry = _entry(_STOCK) | {"kernels": kernels, "rows": [row]}
    written = _find(made={_STOCK: entry})
    written["kernels"][_STOCK] = {"name": "7.2", "digest": "s"}
    assert is_of_other_build(entry, _STOCK, written["kernels"]) == expected
    monkeypatch.setattr(cells, "document", lambda: written)
    assert ("-1.0 ± 0.1 †" in side_tables.TABLES["fidelity-goodput"]()) == expected
    assert "-1.0 ± 0.1" in side_tables.TABLES["fidelity-goodput"]()


def _row(metric: str, verdict: str, size: float = 0.0, half: float = 0.1) -> dict[str, Any]:
    return {"metric": metric, "verdict": verdict, "percent": size, "percent_half_width": half} | {
        "difference": size,
        "half_width": half,
    }


@pytest.mark.parametrize(
    ("rows", "expected"),
    [([_row("goodput_mbps", "equivalent"), _row("share_percent", "equivalent")], Class.INSIDE),
     ([_row("goodput_mbps", "equivalent"), _row("share_percent", "not shown")], Class.OPEN),
     ([_row("goodput_mbps", "differs", 5.0), _row("share_percent", "not shown")], Class.OUTSIDE),
     ([_row("goodput_mbps", "equivalent"), _row("retransmitted_percent", "differs", 50.0)], Class.INSIDE),
     ([], Class.NOT_MEASURED)],
)  # fmt: skip
def test_the_worst_row_decides_on_the_class(rows: list[dict[str, Any]], expected: Class) -> None:
    """The margins are for goodput and shares."""
    rows = [row | {"settings": {}, "workload": "bulk"} for row in rows]
    assert class_of({"stock-7.2-slower": {"rows": rows}}, "") == (expected, "")
    assert class_of({"stock-7.2": {"rows": rows}}, "") == (Class.NOT_MEASURED, ""), "its CPU is not fast"


@pytest.mark.parametrize(("side", "times"), [("stock-7.2-far-slower", 16), ("stock-7.2-slowest", 64)])
@pytest.mark.parametrize(
    ("verdict", "percent", "half", "is_shown"),
    [("equivalent", 0.0, 0.1, True), ("not shown", -4.0, 22.0, True), ("not shown", -4.0, 60.0, False),
     ("not shown", 90.0, 8.0, False), ("not shown", -4.0, None, False), ("differs", -5.0, 0.5, False)],
)  # fmt: skip
def test_a_network_that_no_cpu_limits_shows_why_a_scenario_is_outside(
    verdict: str, percent: float, half: float | None, is_shown: bool, side: str, times: int
) -> None:
    """An open row shows it too, if its interval has only smaller differences than the former one."""
    of = {"settings": {}, "workload": "fetch"}
    before = [_row("goodput_mbps", "differs", -50.0, 2.0) | of]
    after = [_row("goodput_mbps", verdict, percent, 0.0) | of | {"percent_half_width": half}]
    class_name = class_of({"stock-7.2-slower": {"rows": before}, side: {"rows": after}}, "")
    reason = f"the CPU: no longer where the network is {times} times slower" if is_shown else ""
    assert class_name == (Class.OUTSIDE, reason)
    share = _row("share_percent", "differs", 9.0, 1.0) | of
    more = {"stock-7.2-slower": {"rows": [*before, share]}, side: {"rows": after}}
    assert class_of(more, "")[1] == "", "a share that is outside has to be nearer, too"


@pytest.mark.parametrize(
    ("half", "share", "is_shown"),
    [(15.0, "equivalent", True), (60.0, "equivalent", False), (15.0, "not shown", False)],
)
def test_all_flows_together_show_it_where_single_ones_are_too_few(half: float, share: str, is_shown: bool) -> None:
    names = ("fetch1", "all together", "over line1")
    alone, together, path = ({"settings": dict[str, str](), "workload": name} for name in names)
    before = [
        _row("goodput_mbps", "differs", -50.0, 29.0) | alone,
        _row("goodput_mbps", "differs", -49.0, 12.0) | together,
        _row("share_percent", "differs", 9.0, 1.0) | path,
    ]
    after = [
        _row("goodput_mbps", "not shown", 0.0, 40.0) | alone,
        _row("goodput_mbps", "not shown", -2.0, half) | together,
        _row("share_percent", share, 0.0, 20.0) | path,
    ]
    class_name = class_of({"stock-7.2-slower": {"rows": before}, "stock-7.2-far-slower": {"rows": after}}, "")
    reason = "the CPU: all flows together no longer where the network is 16 times slower" if is_shown else ""
    assert class_name == (Class.OUTSIDE, reason)


def test_why_a_scenario_is_in_no_class_of_measured_ones() -> None:
    assert class_of({"stock-7.2-slower": {"refused": "it lacks a module"}}, "") == (Class.REFUSED, "it lacks a module")
    assert class_of({"stock-7.2-slower": {"refused": "no radios"}}, "radios") == (Class.UNLIMITED, "radios")


@pytest.mark.parametrize(
    ("name", "expected"),
    [("two-paths", ""), ("wifi/two-bands", "radios"), ("gateways/slow-vps", "a node's CPU"),
     ("ssh/two-cables", "no link has a rate"), ("train", "")],
)  # fmt: skip
def test_what_limits_a_scenario(name: str, expected: str) -> None:
    assert find_other_limit(load(forms.files()[name]).points[-1].scenario) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [([1, 2, 3], [4, 5, 6], 2 / 20), ([1, 2, 3, 4], [5, 6, 7, 8], 2 / 70), ([1, 4], [2, 3], 1.0),
     ([1, 1, 1], [1, 1, 1], 1.0), ([1, 2, 3, 4, 6], [5, 7, 8, 9, 10], 4 / 252)],
)  # fmt: skip
def test_a_rank_test_is_exact(first: list[float], second: list[float], expected: float) -> None:
    """All divisions are equally probable if both sides are the same; published tables have these values."""
    assert rank_p(first, second) == pytest.approx(expected)
    assert rank_p(second, first) == pytest.approx(expected)


def test_too_few_runs_cannot_be_told_apart() -> None:
    """The smallest p of four and four runs is 2/70, which is below 5 %; with three and three it is not."""
    assert spreads_of({"values": [[1.0] * MIN_RUNS, [2.0] * MIN_RUNS]}) is not None
    assert spreads_of({"values": [[1.0] * MIN_RUNS, [2.0] * (MIN_RUNS - 1)]}) is None
    assert spreads_of({}) is None, "measured before values were kept"
    assert rank_p(range(MIN_RUNS), range(MIN_RUNS, 2 * MIN_RUNS)) < 0.05 < rank_p([1, 2, 3], [4, 5, 6])


def test_runs_that_met_the_bug_of_the_window_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the third run of the stock kernel segments were dropped, and the transfer waited."""
    row = _row("goodput_mbps", "not shown", -3.0, 9.0) | {"settings": {}, "workload": "bulk", "a": 100.0, "b": 97.0}
    row |= {"values": [[100.0, 100.0, 100.0], [100.5, 101.5, 89.0]], "beyond": [[0, 0, 0], [0, 0, 13]]}
    written = _find(made={"stock-7.2-slower": _entry("stock-7.2-slower") | {"rows": [row]}})
    monkeypatch.setattr(cells, "document", lambda: written)
    assert "| bulk | 0 of 3 | 1 of 3 | -3.0 ± 9.0 ? † | 1.00 ± 6.35 | 2 |" in reasons.window_table()
