# SPDX-License-Identifier: MIT
"""The pauses that `validation.fidelity.commands` adds to plans, and its table."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from validation.fidelity import commands, forms
from validation.fidelity.commands import CommandRow

from mptcplab.campaign import record
from mptcplab.plan.model import Plan
from mptcplab.scenario.load import load


def _plan() -> Plan:
    """Return the plan as a run of the campaign has it."""
    plan: Plan = vars(record)["compile_plan"](load(forms.files()[commands.SCENARIO]).points[-1].scenario, seed=1)
    return plan


def test_only_what_sets_a_path_up_is_late() -> None:
    plain = _plan()
    with commands.pause():
        changed = _plan()
    assert _plan() == plain, "a change must not outlive its run"
    assert changed.setup == plain.setup
    for before, after in zip(plain.events, changed.events, strict=True):
        late = [command.argv[2] for command in after.commands if command.argv[:2] == ("sh", "-c")]
        if before.kind == "up":
            assert late[0] == "sleep 0.02 && exec ip link set dev access1 up"
            assert len(late) == len(before.commands)
        else:
            assert after == before


def test_the_lab_stands_beside_itself_and_the_stock_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "commands.json"
    made = [CommandRow("virtual-6.12-slower", seed, 7.25) for seed in (1, 2)] + [
        CommandRow("virtual-6.1-slower", 1, 7.0)
    ]
    file.write_text(json.dumps({"rows": [asdict(row) for row in made]}))
    rows = [
        {"metric": "share_percent", "values": [[1], [2]]},
        {"metric": "goodput_mbps", "values": [[8.5, 8.5], [7.5]]},
    ]
    document = {"scenarios": {commands.SCENARIO: {"sides": {"stock-6.12-slower": {"rows": rows}}}}}
    monkeypatch.setattr(commands, "FILE", file)
    monkeypatch.setattr(commands, "document", lambda: document)
    (line,) = commands.table().splitlines()[2:]
    print(line)
    assert line.startswith("| 6.12 | 8.5")
    assert "| 7.25" in line
    assert line.endswith("| 2, 2, 1 |")
