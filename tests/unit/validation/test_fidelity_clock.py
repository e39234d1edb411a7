# SPDX-License-Identifier: MIT
"""The clock that `validation.fidelity.clock` sets before a proxy starts, and its table."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from validation.fidelity import clock, forms
from validation.fidelity.clock import ClockRow

from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load


def _entry(second: int | None) -> tuple[str, ...]:
    point = load(forms.files()[clock.SCENARIO]).points[-1]
    if second is None:
        plan = compile_plan(point.scenario, seed=1)
    else:
        with clock.start_clock_at(second):
            plan = compile_plan(point.scenario, seed=1)
    (program,) = (program for program in plan.programs if "ss-redir" in str(program.argv))
    assert ("date" in program.uses) == (second is not None)
    return program.argv


def test_the_clock_is_set_and_then_the_proxy_starts() -> None:
    plain = _entry(None)
    assert _entry(3)[-1] == f"date --set @1735689603 >/dev/null && {shlex.join(plain)}"
    assert _entry(None) == plain, "a change must not outlive its run"


def test_a_second_has_a_line_where_all_sides_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "clock.json"
    made = [ClockRow(side, 0, 80.0 + number) for number, side in enumerate(clock.SIDES)]
    made += [ClockRow(clock.LAB, 1, 7.0)]
    file.write_text(json.dumps({"rows": [asdict(row) for row in made]}))
    monkeypatch.setattr(clock, "FILE", file)
    assert clock.table().splitlines()[2:] == ["| 0 | 80.0 | 81.0 | 82.0 |"]


@pytest.mark.parametrize(
    ("shares", "is_shown"),
    [
        ([80.0, 7.0] * 3, True),
        ([80.0] * 6, False),  # the same path at all seconds: the second decides nothing
        ([80.0, 7.0], False),  # not all seconds were tried
    ],
)
def test_the_second_is_the_reason_if_paths_follow_it(
    shares: list[float], is_shown: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "clock.json"
    monkeypatch.setattr(clock, "FILE", file)
    made = [ClockRow(side, second, share) for side in clock.SIDES for second, share in enumerate(shares)]
    file.write_text(json.dumps({"rows": [asdict(row) for row in made]}))
    assert bool(clock.reason(clock.SCENARIO)) == is_shown
    assert not clock.reason("two-paths")
    other = replace(made[0], share_percent=20.0)
    file.write_text(json.dumps({"rows": [asdict(row) for row in (other, *made[1:])]}))
    assert not clock.reason(clock.SCENARIO), "one side takes the other path"
