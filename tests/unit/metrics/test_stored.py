# SPDX-License-Identifier: MIT
"""Files that mptcplab reads again are parsed into records, which have what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.comparisons import SLOWER, A, row_of

from mptcplab.errors import InputError
from mptcplab.metrics.compare import collect_sides
from mptcplab.metrics.stored import WRONG, StoredResults, StoredRow
from mptcplab.results.folder import ExecutingHost, read_log
from mptcplab.study.library import select, study_names
from mptcplab.study.measurement import REFERENCE
from mptcplab.study.stored import read_shipped
from mptcplab.study.stored_cloud import CLOUD, StoredCloud

_CLOUDS = [file for name in study_names() if (file := select(name)[0].folder / CLOUD).exists()]


def test_a_row_has_what_was_written() -> None:
    written = row_of({"kernel": "7.2"}, A, run="r")
    stored = StoredRow.from_json(json.loads(json.dumps(written.to_json())))
    assert stored.settings == {"kernel": "7.2"}
    assert stored.values_of("goodput_mbps") == {"bulk": A}
    assert stored.values_of("share_percent") == {"bulk over link1": dict.fromkeys(A, 100.0)}
    assert stored.values_of("outage_s") == {}, "a bulk transfer without a failure has none"
    assert (stored.seeds, stored.runs) == (tuple(A), tuple(f"r{seed}" for seed in A))
    assert stored.measured_on.startswith("7.2.1-test; ")


def test_a_metric_that_some_runs_lack_has_the_seeds_that_it_names() -> None:
    document = row_of({}, A).to_json()
    values = list(SLOWER.values())[:2]
    document["metrics"]["outage_s"] = {"n": 2, "seeds": [3, 5], "values": values, "never": [1, 2, 4, 6]}
    stored = StoredRow.from_json(document)
    assert stored.values_of("outage_s") == {"bulk": dict(zip((3, 5), values, strict=True))}
    assert stored.metrics["outage_s"].never == (1, 2, 4, 6)


@pytest.mark.parametrize(
    "change",
    [{"settings": 1}, {"goodput_mbps": {"n": 2, "values": [1.0]}}, {"seeds": ["x"]}, {"seeds": [float("inf")]}],
    ids=str,
)
def test_other_data_is_wrong(change: dict[str, Any]) -> None:
    with pytest.raises(WRONG):
        StoredResults.from_json({"rows": [row_of({}, A).to_json() | change]})


def test_values_that_are_not_finite_are_not_compared() -> None:
    """A comparison ended in an OverflowError."""
    document = row_of({}, A).to_json()
    document["goodput_mbps"]["values"][1] = float("inf")
    with pytest.raises(InputError, match="a value of goodput_mbps that is not a finite number"):
        collect_sides([StoredRow.from_json(document)], "goodput_mbps")


def test_lines_of_the_log_that_are_no_records_are_left_out(tmp_path: Path) -> None:
    lines = [
        {"run": "a", "when": "2026-01-01", "wall_seconds": 2, "host": {"kernel": "6.1", "machine": "x", "cpus": 2}},
        {"run": "b", "host": {"worker": "tcp://one", "a later key": 1}},
        {"run": 1},
        {"run": "c", "host": 3},
        [],
    ]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + '{"run": "cut')
    first, second = read_log(file)
    assert (first.run, first.wall_seconds, first.host.text) == ("a", 2.0, "Linux 6.1, x, 2 CPUs")
    assert (second.when, second.wall_seconds, second.host) == ("", None, ExecutingHost(worker="tcp://one"))


@pytest.mark.parametrize("file", _CLOUDS, ids=lambda file: file.parent.name)
def test_a_shipped_cloud_is_the_same_after_reading(file: Path) -> None:
    assert json.dumps(StoredCloud.read(file).to_json()) == json.dumps(json.loads(file.read_text()))


def test_a_damaged_reference_has_no_table(tmp_path: Path) -> None:
    file = tmp_path / REFERENCE
    for text in ("", "[]", '{"tables": {"1": {}}}', '{"tables": {"2": {"form": "f", "kernels": {}, "cells": {}}}}'):
        file.write_text(text)
        assert read_shipped(file, "1") is None
    shipped = read_shipped(file, "2")
    assert shipped is not None
    assert (shipped.form, shipped.kernels, shipped.cells) == ("f", {}, {})
