# SPDX-License-Identifier: MIT
"""Results to compare, and what ``mptcplab compare`` prints of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.unit.command_output import Output, output_of

from mptcplab.metrics.rows import ResultRow
from mptcplab.metrics.subflows import MptcpCounts
from mptcplab.stats import mean_interval

A = {seed: 100.0 + seed for seed in range(1, 7)}
#: Seeds differ a lot more than the two do on one seed.
SLOWER = {seed: value - 0.5 - 0.01 * (seed % 3) for seed, value in A.items()}
MUCH_SLOWER = {seed: value - 5 for seed, value in SLOWER.items()}
#: A difference that chance makes in four of a hundred pairs of results: of itself nothing, in a family of tests.
UNLUCKY = {seed: value + shift for (seed, value), shift in zip(A.items(), (0.9, 1.9, 0.3, 1.2, 0.9, -0.2), strict=True)}


def row_of(
    settings: dict[str, str], values: Mapping[int, float], *, workload: str = "bulk", run: str = ""
) -> ResultRow:
    goodputs = tuple(values.values())
    return ResultRow(
        settings=settings,
        workload=workload,
        metrics={
            "goodput_mbps": mean_interval(goodputs),
            "duration_s": mean_interval([1.0] * len(goodputs)),
            "retransmitted_percent": mean_interval([0.0] * len(goodputs)),
        },
        mptcp="2 subflows",
        counts=(MptcpCounts(1, 1, 0),) * len(goodputs),
        shares={"link1": 1.0},
        share_values={"link1": (1.0,) * len(goodputs)},
        share_seeds=tuple(values),
        congestion="cubic",
        scheduler="default",
        kernel="7.2.1-test",
        seeds=tuple(values),
        warnings=(),
        samples={
            "goodput_mbps": goodputs,
            "duration_s": (1.0,) * len(goodputs),
            "retransmitted_percent": (0.0,) * len(goodputs),
        },
        runs=tuple(f"{run}{seed}" for seed in values),
    )


def write(folder: Path, rows: list[ResultRow]) -> Path:
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps({"rows": [row.to_json() for row in rows]}))
    return folder


def output(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> Output:
    return output_of(monkeypatch, capsys, "compare", *words)
