# SPDX-License-Identifier: MIT
"""Plans and manifests as JSON: the same data as by the slower ways of the standard library."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.targets import TARGETS

from mptcplab.capture.analysis import Analysis
from mptcplab.capture.packet import packets_of_lines
from mptcplab.capture.summary import summarise
from mptcplab.files import format_json
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import USUAL_MEMORY_BYTES
from mptcplab.scenario.load import load

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").glob("*.toml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_a_plan_is_described_as_asdict_does(file: Path) -> None:
    plan = compile_plan(load(file).points[0].scenario, seed=1)
    expected = asdict(plan)
    assert expected.pop("bpf") == (), "no example has eBPF programs"
    assert expected.pop("memory_bytes") == USUAL_MEMORY_BYTES, "no example needs more"
    for program in expected["programs"]:
        if not program["accepted_statuses"]:
            del program["accepted_statuses"]
    assert plan.to_dict() == expected


def test_a_capture_is_described_as_asdict_does() -> None:
    text = next(seed for seed in TARGETS["capture"]().seeds() if seed.startswith(b"T")).removeprefix(b"T").decode()
    analysis = Analysis()
    for packet in packets_of_lines(text.splitlines(keepends=True), Path("one.pcap"), 0):
        analysis.add(packet)
    summary = summarise(analysis, ["one.pcap"])
    (connection,) = summary.connections
    assert [subflow.began for subflow in connection.subflows] == ["capable", "join"], "the seed is one connection"
    assert len({type(value) for event in connection.events for value in event.about.values()}) > 2
    assert summary.document() == asdict(summary)


@pytest.mark.parametrize("levels", range(5))
@pytest.mark.parametrize(
    "value",
    [None, 1.5, "täxt\n", [], {}, [1, [2, [3, []]]], {"b": {"d": [1, {"f": ()}], "c": {}}, "a": [{}, {"x": None}]}],
    ids=str,
)
def test_json_with_lines_has_the_same_data(value: Any, levels: int) -> None:
    assert json.loads(format_json(value, levels=levels)) == json.loads(json.dumps(value))


def test_json_has_lines_down_to_a_level() -> None:
    value = {"plan": [{"b": 1, "a": ["x", "y"]}, {}], "id": "1"}
    assert format_json(value, levels=2) == '{\n "id": "1",\n "plan": [\n  {"a": ["x", "y"], "b": 1},\n  {}\n ]\n}'
    assert format_json(value, levels=0) == json.dumps(value, sort_keys=True)
