# SPDX-License-Identifier: MIT
"""Points of a sweep at which an event changes nothing: what the others are compared with."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.errors import InputError
from mptcplab.scenario.load import Experiment, load

SCENARIO = """
title = "A lossy while"
[topology]
preset = "disjoint-paths"
[links.link1]
rate = "20 Mbit/s"
[links.link2]
rate = "10 Mbit/s"
delay = "20 ms"
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "10 s"
[[events]]
at = "2 s"
{type}
link = "link2"
loss = "{loss}"
[[events]]
at = "4 s"
type = "change"
link = "link2"
loss = "0 %"
{sweep}
"""
CHANGE = 'type = "change"'


def _load(
    folder: Path, loss: str = "1 %", sweep: str = "", *, kind: str = CHANGE, overrides: tuple[str, ...] = ()
) -> Experiment:
    file = folder / "s.toml"
    file.write_text(SCENARIO.format(loss=loss, sweep=sweep, type=kind))
    return load(file, overrides=overrides)


@pytest.mark.parametrize(
    ("sweep", "overrides"),
    [
        ('[sweep]\n"events.0.loss" = ["0 %", "1 %"]', ()),
        ('[sweep]\n"links.link2.forward.loss" = ["0 %", "1 %"]', ()),
        ('[sweep]\n"events.0.loss" = ["0 %", "1 %"]', ("events.0.loss=0 %",)),
        ("", ("events.0.loss=0 %",)),
        ('[sweep]\n"events.1.at" = ["1 s", "4 s"]', ()),
    ],
)
def test_a_point_without_a_change_is_a_baseline(tmp_path: Path, sweep: str, overrides: tuple[str, ...]) -> None:
    """Also the event that ends what the first one would have begun, and the point repeated alone."""
    points = _load(tmp_path, sweep=sweep, overrides=overrides).points
    assert len(points) == (2 if sweep and not overrides else 1)


@pytest.mark.parametrize(
    "sweep",
    [
        "",
        '[sweep]\n"links.link2.delay" = ["20 ms", "40 ms"]',
        '[sweep]\n"links.link1.loss" = ["0 %", "1 %"]',
        '[[events]]\nat = "1 s"\ntype = "change"\nlink = "link1"\nloss = "2 %"\n'
        '[sweep]\n"events.2.loss" = ["1 %", "2 %"]',
        '[[events]]\nat = "6 s"\ntype = "change"\nlink = "link2"\nloss = "2 %"\n'
        '[sweep]\n"events.2.loss" = ["1 %", "2 %"]',
    ],
    ids=["no sweep", "another key", "another link", "an event of another link", "a later event"],
)
def test_a_change_to_the_same_in_the_file_is_a_mistake(tmp_path: Path, sweep: str) -> None:
    with pytest.raises(InputError, match=r'events\[0\].loss = "0 %": changes nothing'):
        _load(tmp_path, "0 %", sweep)


def test_a_swept_key_of_a_link_without_a_table_is_no_excuse(tmp_path: Path) -> None:
    """A sweep that makes the link's table varies the key it names, and no other."""
    file = tmp_path / "s.toml"
    text = SCENARIO.replace('[links.link2]\nrate = "10 Mbit/s"\ndelay = "20 ms"\n', "")
    file.write_text(text.format(loss="0 %", type=CHANGE, sweep='[sweep]\n"links.link2.delay" = ["20 ms", "40 ms"]'))
    with pytest.raises(InputError, match="changes nothing"):
        load(file)


def test_the_list_of_events_is_a_swept_value(tmp_path: Path) -> None:
    """The way for failures, which have no value that changes nothing."""
    sweep = """
    [[sweep.zip]]
    name = ["without", "with"]
    events = [[], [{at = "2 s", type = "down", link = "link2"}, {at = "4 s", type = "up", link = "link2"}]]
    """
    points = _load(tmp_path, sweep=sweep).points
    assert [(point.settings, len(point.scenario.events)) for point in points] == [
        ({"name": "without"}, 0),
        ({"name": "with"}, 2),
    ]


def test_an_event_with_a_value_is_a_change(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="type: is missing") as caught:
        _load(tmp_path, kind="")
    assert caught.value.hint == 'add type = "change" to this [[events]]'
