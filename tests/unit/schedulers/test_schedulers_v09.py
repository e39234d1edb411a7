# SPDX-License-Identifier: MIT
"""The arithmetic of `minrtt_v09`, `blest_v09` and `ecf_v09` against values that the original's functions gave.

`golden_v09.json` was recorded from the functions of out-of-tree MPTCP 0.95 (`mptcp_sched.c`, `mptcp_blest.c`,
`mptcp_ecf.c`), run in user space on random subflows: numbers only. Here the same numbers have to come out of the
kernel's `sched_v09.h`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from ctypes import CDLL, POINTER, Structure, byref, c_bool, c_int, c_uint32
from pathlib import Path
from typing import Any

import pytest
from tests.unit.compiler import compile_c

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
HEADERS = HERE.parents[2] / "kernel" / "net" / "mptcp"
CASES: list[dict[str, Any]] = json.loads((HERE / "golden_v09.json").read_text())
WARNINGS = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wsign-compare", "-std=gnu11"]


class CPath(Structure):
    """`struct v09_path`."""

    _fields_ = [
        (name, c_uint32)
        for name in ("srtt", "rttvar", "min", "max", "cwnd", "ssthresh", "in_flight", "unsent", "unacked", "mss")
    ]


class CVerdict(Structure):
    """`struct verdict` of library.c."""

    _fields_ = [("retransmit", c_bool), ("penalty", c_bool)]


_PATH = POINTER(CPath)
_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "has_room": ([_PATH], c_bool),
    "lambda": ([c_int, c_bool], c_int),
    "linger": ([_PATH], c_uint32),
    "fast_bytes": ([_PATH, c_uint32, c_int], c_uint32),
    "blocks": ([_PATH, _PATH, c_uint32, c_uint32, c_int], c_bool),
    "ecf_waits": ([_PATH, _PATH, c_uint32, POINTER(c_uint32)], c_bool),
    "blocked": ([_PATH, c_uint32, c_uint32, c_uint32, c_bool], CVerdict),
}


@pytest.fixture(scope="module")
def v09(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The functions of library.c, without their `test_`."""
    made = tmp_path_factory.mktemp("v09") / "v09.so"
    source = str(HERE / "library.c")
    command = ["gcc", *WARNINGS, "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "-fPIC", "-shared"]
    compile_c([*command, "-I", str(HEADERS), source, "-o", str(made)])
    library = CDLL(str(made))
    functions = {}
    for name, (arguments, result) in _SIGNATURES.items():
        functions[name] = getattr(library, f"test_{name}")
        functions[name].argtypes, functions[name].restype = arguments, result
    return functions


def _paths(case: Mapping[str, Any]) -> list[CPath]:
    return [CPath(*values) for values in case["paths"]]


def test_the_cases_reach_both_answers() -> None:
    """Every question has at least 20 cases of either answer: random numbers that all say no would prove nothing."""
    answers = {
        "room": [case["room"] for case in CASES],
        "blocks": [case["blocks"] for case in CASES],
        "waits": [case["ecf"][1] for case in CASES],
        "retransmits": [case["opt"]["retrans"] for case in CASES],
        "penalises": [_halve_windows(case) != _windows_before(case) for case in CASES],
    }
    counts = {name: (sum(map(bool, said)), len(said)) for name, said in answers.items()}
    print(counts)
    assert all(20 <= yes <= n - 20 for yes, n in counts.values()), counts


def test_room(v09: Mapping[str, Any]) -> None:
    for case in CASES:
        assert v09["has_room"](byref(_paths(case)[0])) == bool(case["room"]), case


def test_blest(v09: Mapping[str, Any]) -> None:
    for case in CASES:
        fast, slow = _paths(case)[:2]
        before, blocked, after = case["lambda"]
        assert v09["lambda"](before, bool(blocked)) == after, case
        linger = v09["linger"](byref(slow))
        assert linger == case["linger"], case
        assert v09["fast_bytes"](byref(fast), linger, before) == case["bytes"], case
        blocks = v09["blocks"](byref(fast), byref(slow), case["len"], case["window"], before)
        assert blocks == bool(case["blocks"]), case


def test_ecf(v09: Mapping[str, Any]) -> None:
    wrapped = 0
    for case in CASES:
        fast, slow = _paths(case)[:2]
        before, waits, after = case["ecf"]
        waiting = c_uint32(before)
        assert v09["ecf_waits"](byref(fast), byref(slow), case["backlog"], byref(waiting)) == bool(waits), case
        assert waiting.value == after, case
        window = fast.cwnd * slow.mss
        wrapped += (fast.srtt >> 3) * (max(case["backlog"], window) + window) >= 1 << 32
    print(f"{wrapped} of {len(CASES)} cases exceed 32 bits")
    assert 50 < wrapped < len(CASES) - 50, "both sides of the limit"


def test_retransmission_and_penalty(v09: Mapping[str, Any]) -> None:
    for case in CASES:
        asked, paths = case["opt"], _paths(case)
        array = (CPath * len(paths))(*paths)
        lossless = sum(1 << number for number, state in enumerate(asked["states"]) if state == 0)
        may_penalise = bool(asked["penal"]) and not asked["too_soon"]
        verdict = v09["blocked"](array, len(paths), asked["mask"], lossless, may_penalise)
        assert verdict.retransmit == bool(asked["retrans"]), case
        assert [[path.cwnd, path.ssthresh] for path in array] == asked["after"], case


def _windows_before(case: Mapping[str, Any]) -> list[list[int]]:
    return [values[4:6] for values in case["paths"]]


def _halve_windows(case: Mapping[str, Any]) -> list[list[int]]:
    after: list[list[int]] = case["opt"]["after"]
    return after
