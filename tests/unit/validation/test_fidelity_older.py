# SPDX-License-Identifier: MIT
"""What `validation.fidelity.older` changes in a transfer, one thing at a time, and its table."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from validation.fidelity import older
from validation.fidelity.older import OlderRow

from mptcplab.plan.compile import compile_plan
from mptcplab.scenario.load import load

_EXAMPLE = Path(__file__).parents[3] / "examples/transfer.toml"


def _plan(variant: str) -> str:
    side = older.VARIANTS[variant]
    with side.patched():
        return str(compile_plan(side.change(load(_EXAMPLE).points[-1].scenario), seed=1).to_dict())


def test_each_variant_changes_what_it_says() -> None:
    plain = _plan("as-it-is")
    assert "rcvlowat=32768" in plain
    assert "rcvlowat=1," in _plan("each-packet").replace("'", ",").replace(" ", ",")
    assert "4096 4000000 4000000" in _plan("send-buffer")
    assert "ksoftirqd" in _plan("softirqs")
    both = _plan("softirqs-buffer")
    assert "ksoftirqd" in both
    assert "4096 4000000 4000000" in both
    assert _plan("as-it-is") == plain, "a change must not outlive its variant"


def test_the_table_compares_kernels_by_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [("as-it-is", "stock:6.1", 1.5), ("as-it-is", "stock:6.12", 1.0), ("softirqs", "stock:6.1", 1.0)]
    file = tmp_path / "older.json"
    rows = [asdict(OlderRow(kernel, variant, seed, seconds)) for variant, kernel, seconds in made for seed in (1, 2)]
    file.write_text(json.dumps({"rows": rows}))
    monkeypatch.setattr(older, "FILE", file)
    _, _, *lines = older.table().splitlines()
    print(lines)
    (line,) = lines
    assert line.startswith("| as it is | 1500")
    assert "| 50.00" in line, "the older one takes half as much again"
