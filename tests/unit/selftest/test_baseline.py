# SPDX-License-Identifier: MIT
"""`mptcplab selftest --baseline`: what counts as a change, and which failures are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError
from mptcplab.selftest.baseline import BaselineComparison, ChangedResult, SelftestVerdicts, compare, read_baseline


def _document(*results: tuple[str, str, str], errors: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "seed": 1,
        "results": [{"test": test, "name": name, "verdict": verdict, "reason": ""} for test, name, verdict in results],
        "errors": [{"test": test, "message": "the lab was killed"} for test in errors],
        "virtual_seconds": dict.fromkeys([*(result[0] for result in results), *errors], 1.0),
    }


BEFORE = _document(("diag", "sockets", "not ok"), ("diag", "keys", "ok"), ("pm", "limits", "ok"))


def _compare(before: dict[str, Any], after: dict[str, Any]) -> BaselineComparison:
    return compare(SelftestVerdicts.from_json(before), SelftestVerdicts.from_json(after))


def test_equal_results_are_no_change_and_failures_are_known() -> None:
    comparison = _compare(BEFORE, BEFORE)
    assert comparison.changes == []
    assert comparison.known_failures == ["diag: sockets"]


def test_only_tests_that_ran_are_compared() -> None:
    comparison = _compare(BEFORE, _document(("diag", "sockets", "not ok"), ("diag", "keys", "not ok")))
    assert comparison.changes == [ChangedResult("diag", "keys", "ok", "not ok")]


def test_results_of_one_name_are_compared_in_their_order() -> None:
    first = _document(("pm", "flush", "ok"), ("pm", "flush", "not ok"))
    second = _document(("pm", "flush", "ok"), ("pm", "flush", "ok"))
    assert _compare(first, second).changes == [ChangedResult("pm", "flush", "not ok", "ok")]


def test_a_lab_that_fails_is_a_change() -> None:
    comparison = _compare(BEFORE, _document(errors=("pm",)))
    assert comparison.changes == [
        ChangedResult("pm", "limits", "ok", "absent"),
        ChangedResult("pm", "the lab", "absent", "error"),
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", json.dumps({"results": [], "errors": []})])
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "before.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not the output of `mptcplab selftest --json`"):
        read_baseline(path, seed=1)


def test_a_baseline_is_read(tmp_path: Path) -> None:
    path = tmp_path / "before.json"
    path.write_text(json.dumps(BEFORE))
    assert read_baseline(path, seed=1) == SelftestVerdicts.from_json(BEFORE)
