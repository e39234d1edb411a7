# SPDX-License-Identifier: MIT
"""Traces with a rate of zero, and what is not measured where a trace changes rates."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.results_folders import make_results

from mptcplab.metrics.instants import follows_trace
from mptcplab.metrics.subflows import ends_of
from mptcplab.metrics.warnings import pause_warnings
from mptcplab.plan.compile import compile_plan
from mptcplab.recording import samples
from mptcplab.recording.record import Recording

SCENARIO = """
title = "Pauses"
topology = {{ preset = "disjoint-paths", paths = 2 }}
links.link1 = {{ delay = "10 ms", backward.trace = {{ file = "{trace}", end = "hold" }} }}
links.link2 = {{ rate = "20 Mbit/s", delay = "30 ms" }}
workloads.bulk = {{ kind = "flow", from = "server", to = "client", duration = "40 s" }}
transport.protocol = "mptcp"
"""


def _make_recording(folder: Path, rows: str) -> Recording:
    (folder / "t.csv").write_text(f"time_s,rate_mbit_s\n{rows}")
    experiment = make_results(folder / "made", SCENARIO.format(trace=folder / "t.csv"))
    (run,) = (folder / "made" / "runs").iterdir()
    keys = ("kind", "link", "direction", "value")
    plan = compile_plan(experiment.points[0].scenario, seed=1)
    rows_of = [{"instant_ns": event.at_ns, **{key: getattr(event, key) for key in keys}} for event in plan.events]
    samples.write(rows_of, run / "events.parquet")
    return Recording(run)


@pytest.mark.parametrize(
    ("rows", "longest"),
    [
        ("0,10\n5,0\n8,10\n20,0\n27.5,10\n30,8\n", "7.5 s"),
        ("0,10\n5,0\n10,10\n20,8\n", None),
        ("0,10\n5,0.5\n30,10\n35,8\n", None),
    ],
    ids=["the longest of two", "not longer than a usual timeout", "slow, but not a pause"],
)
def test_a_long_pause_has_a_warning(tmp_path: Path, rows: str, longest: str | None) -> None:
    recording = _make_recording(tmp_path, rows)
    (ends,) = ends_of(recording)
    warnings = list(pause_warnings(recording, ends, (), with_mptcp=True))
    if longest is None:
        assert warnings == []
    else:
        (warning,) = warnings
        assert warning.startswith(f"link1 has a rate of 0 by its trace, for up to {longest}: packets wait")
    # TCP uses one path, and the other's pauses do not matter to it.
    paths = recording.manifest["paths"]["bulk"]
    (other,) = [name for name, steps in paths.items() if "link1" not in {link for link, _ in steps}]
    assert list(pause_warnings(recording, ends, (other,), with_mptcp=False)) == []


def test_a_workload_follows_the_trace_of_its_paths_in_their_direction(tmp_path: Path) -> None:
    recording = _make_recording(tmp_path, "0,10\n5,1\n8,10\n")
    forward = any(side == "backward" for path in recording.manifest["paths"]["bulk"].values() for _, side in path)
    assert forward, "the data flows against the links"
    assert follows_trace(recording, "bulk")
    assert not follows_trace(recording, "another")
