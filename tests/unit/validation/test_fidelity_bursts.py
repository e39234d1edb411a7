# SPDX-License-Identifier: MIT
"""The table of `validation.fidelity.bursts`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from validation.fidelity import bursts
from validation.fidelity.bursts import BurstRow


def test_a_path_has_its_shares_with_and_without_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "bursts.json"
    made = [
        BurstRow("requests", "screen over link1>access1", 75.0, 3),
        BurstRow("requests", "screen over link9", 1.0, 3),
    ]
    file.write_text(json.dumps({"rows": [asdict(row) for row in made]}))
    older = {"workload": "screen over link1>access1", "metric": "share_percent", "a": 100.0, "b": 70.92}
    goodput = older | {"metric": "goodput_mbps", "a": 1.0, "b": 2.0}
    stock = [goodput, older | {"a": 70.92, "b": 70.7}]
    sides = {"virtual-6.1-slower": {"rows": [goodput, older]}, "stock-6.1-slower": {"rows": stock}}
    monkeypatch.setattr(bursts, "FILE", file)
    monkeypatch.setattr(bursts, "document", lambda: {"scenarios": {"requests": {"sides": sides}}})
    _, _, *lines = bursts.table().splitlines()
    assert lines == ["| `requests` | screen over link1>access1 | 100.0 | 70.9 | 70.7 | 75.0 |"]
