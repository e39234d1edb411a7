# SPDX-License-Identifier: MIT
"""Events at one end of a link: which node's interface fails, in the words of figures and of ``mptcplab show``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.command_output import output_of
from tests.unit.results_folders import make_results

from mptcplab.figure.words import event_marks
from mptcplab.plan.compile import compile_plan
from mptcplab.recording import samples
from mptcplab.recording.record import Recording
from mptcplab.scenario.load import load

SCENARIO = """
title = "Events"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "9 s" }
events = [
    { at = "5 s", type = "down", link = "link1", mode = "carrier", node = "r1" },
    { at = "1 s", type = "down", link = "link1", mode = "interface" },
    { at = "2 s", type = "up", link = "link1" },
    { at = "3 s", type = "down", link = "access2" },
    { at = "3 s", type = "address-removed", link = "access1" },
    { at = "4 s", type = "up", link = "access2", direction = "forward" },
    { at = "6 s", type = "change", link = "link2", loss = "10 ppb" },
    { at = "7 s", type = "change", link = "link2", loss = "0 %" },
]
"""


def test_marks_name_the_end_of_the_link(tmp_path: Path) -> None:
    """At link1 the only host is the server: users mean the client, and saw nothing of it."""
    experiment = make_results(tmp_path / "made", SCENARIO)
    (folder,) = (tmp_path / "made" / "runs").iterdir()
    events = compile_plan(experiment.points[0].scenario, seed=1).events
    keys = ("kind", "link", "direction", "value")
    rows = [{"instant_ns": event.at_ns, **{key: getattr(event, key) for key in keys}} for event in events]
    samples.write(rows, folder / "events.parquet")
    assert [(mark.time_s, mark.text) for mark in event_marks(Recording(folder))] == [
        (1.0, "link1: interface down at server"),
        (2.0, "link1: up"),
        (3.0, "access2: down silent; access1: address removed at client"),
        (4.0, "access2 forward: up"),
        (5.0, "link1: no carrier at r1"),
        (6.0, "link2: change loss 10 ppb"),
        (7.0, "link2: change loss 0 %"),
    ]


def test_show_names_the_end_that_an_event_leaves_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.toml"
    file.write_text(SCENARIO)
    out = output_of(monkeypatch, capsys, "show", file).out
    open_ends = [line for line in out.splitlines() if line.startswith("#")]
    assert open_ends == [
        "# events.1: the interface is set down at server, the only host at link1; `node` names another end",
        "# events.4: the address is removed at client, the only host at access1; `node` names another end",
    ]
    begin, end = out.index("\nkernel = "), out.index("\nRuns")
    copy = tmp_path / "copy.toml"
    copy.write_text(f'title = "Events"\n{out[begin:end]}')
    assert load(copy).points[0].scenario == load(file).points[0].scenario, "it names nothing that was left open"


def test_show_names_ends_of_other_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.toml"
    file.write_text(f'{SCENARIO}sweep."events.1.mode" = ["silent", "interface"]\n')
    out = output_of(monkeypatch, capsys, "show", file).out
    assert "# events.1, in other points: the interface is set down at server, the only host at link1;" in out
