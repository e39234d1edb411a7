# SPDX-License-Identifier: MIT
"""``without``: what an extending file leaves out of its base."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.scenario.load import Experiment, load

BASE = """
title = "base"
topology = { preset = "disjoint-paths", paths = 2 }
links.link1 = { rate = "50 Mbit/s", delay = "10 ms", loss = "1 %" }
links.link2 = { rate = "20 Mbit/s", delay = "30 ms", loss = "1 %" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "2 s" }
workloads.second = { kind = "flow", from = "client", to = "server", duration = "2 s" }
events = [{ at = "1 s", type = "down", link = "link1" }]
sweep."transport.protocol" = ["tcp", "mptcp"]
sweep."links.link2.delay" = ["10 ms", "30 ms"]
"""
CALL = 'workloads.call = { kind = "voip", from = "client", to = "server", duration = "3 s" }'


def _load(tmp_path: Path, text: str, base: str = BASE) -> Experiment:
    (tmp_path / "base.toml").write_text(base)
    file = tmp_path / "over.toml"
    file.write_text(f'extends = "base.toml"\n{text}\n')
    return load(file)


def test_a_workload_and_an_axis(tmp_path: Path) -> None:
    experiment = _load(tmp_path, f'without = ["workloads.*", \'sweep."transport.protocol"\']\n{CALL}')
    assert [point.settings for point in experiment.points] == [
        {"links.link2.delay": "10 ms"},
        {"links.link2.delay": "30 ms"},
    ]
    assert list(experiment.points[0].scenario.workloads) == ["call"]


def test_keys_with_wildcards_and_a_list(tmp_path: Path) -> None:
    scenario = _load(tmp_path, 'without = ["links.link*.loss", "events", "sweep"]').points[0].scenario
    assert [scenario.links[name].forward.loss for name in ("link1", "link2")] == [0, 0]
    assert scenario.links["link1"].forward.delay == 10**7
    assert scenario.events == ()


def test_what_the_extending_file_writes_itself_stays(tmp_path: Path) -> None:
    other = 'workloads.bulk = { kind = "iperf3", from = "server", to = "client", duration = "2 s" }'
    text = f'without = ["workloads.bulk"]\n{other}'
    scenario = _load(tmp_path, text).points[0].scenario
    assert (scenario.workloads["bulk"].sender, scenario.workloads["bulk"].receiver) == ("server", "client")


def test_down_a_chain(tmp_path: Path) -> None:
    """Each file leaves out of what it extends: a name that is gone cannot be left out again."""
    (tmp_path / "middle.toml").write_text('extends = "base.toml"\nwithout = ["workloads.second"]\n')
    (tmp_path / "base.toml").write_text(BASE)
    file = tmp_path / "over.toml"
    file.write_text('extends = "middle.toml"\nwithout = ["sweep"]\n')
    (point,) = load(file).points
    assert list(point.scenario.workloads) == ["bulk"]
    file.write_text('extends = "middle.toml"\nwithout = ["workloads.second"]\n')
    with pytest.raises(Exception, match=r"is not in middle.toml"):
        load(file)


def test_lines_of_later_errors_are_those_of_the_base(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"base.toml:5: links.link2.delay"):
        _load(tmp_path, 'without = ["links.link1", "sweep"]', BASE.replace('"30 ms", loss', '"thirty", loss'))
