# SPDX-License-Identifier: MIT
"""``[copies]``: what a file describes once, and has several times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mptcplab.scenario import copies
from mptcplab.scenario.load import Experiment, load

_FILE = """
title = "Terminals"
[hosts.server]
[routers.ap]
[links.uplink]
between = ["ap", "server"]
rate = "50 Mbit/s"
[copies.ue]
count = 3
[copies.ue.hosts."ue{n}"]
[copies.ue.links."wifi{n}"]
between = ["ue{n}", "ap"]
delay = "{n} ms"
[copies.ue.workloads."fetch{n}"]
kind = "http"
from = "ue{n}"
to = "server"

size = "2 MB"
start = "{10+n} s"
[[copies.ue.events]]
at = "{20+n} s"
type = "down"
link = "wifi{n}"
"""


def _load(tmp_path: Path, text: str, *, overrides: Sequence[str] = ()) -> Experiment:
    file = tmp_path / "scenario.toml"
    file.write_text(text)
    return load(file, overrides=overrides)


def test_copies_equal_the_same_tables_written_out(tmp_path: Path) -> None:
    written = [_FILE[: _FILE.index("[copies")]]
    for number in (1, 2, 3):
        written += [
            f"[hosts.ue{number}]",
            f'[links.wifi{number}]\nbetween = ["ue{number}", "ap"]\ndelay = "{number} ms"',
            f'[workloads.fetch{number}]\nkind = "http"\nfrom = "ue{number}"\nto = "server"\nsize = "2 MB"',
            f'start = "{10 + number} s"',
        ]
    written += [f'[[events]]\nat = "{20 + n} s"\ntype = "down"\nlink = "wifi{n}"' for n in (1, 2, 3)]
    (made,), (long,) = _load(tmp_path, _FILE).points, _load(tmp_path, "\n".join(written)).points
    assert made.scenario == long.scenario
    assert list(made.scenario.nodes) == list(long.scenario.nodes), "nodes get their addresses in this order"


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("{n}", [1, 2, 3]),
        ("{10+n}", [11, 12, 13]),
        ("{5*n}", [5, 10, 15]),
        ("{-10+2.5*n}", [-7.5, -5, -2.5]),
        ("{0.1*n}", [0.1, 0.2, 0.3]),
        ("{100+100*n} ms", ["200 ms", "300 ms", "400 ms"]),
        ("{0.5*n} s", ["0.5 s", "1 s", "1.5 s"]),
        ("{n*2}", ["{n*2}"] * 3),
    ],
)
def test_numbers_count_in_steps(written: str, values: list[Any]) -> None:
    filled = [copies.fill_number(written, number) for number in (1, 2, 3)]
    assert filled == values
    assert [type(value) for value in filled] == [type(value) for value in values]


def test_a_value_that_is_only_a_number_is_one(tmp_path: Path) -> None:
    text = _FILE.replace('size = "2 MB"', 'size = "2 MB"\nfiles = 9\nconnections = "{1+n}"')
    (point,) = _load(tmp_path, text).points
    assert [workload.model_dump()["connections"] for workload in point.scenario.workloads.values()] == [2, 3, 4]


def test_keys_of_the_file_for_one_copy_take_precedence(tmp_path: Path) -> None:
    text = _FILE + '[links.wifi2]\ndelay = "70 ms"\n'
    (point,) = _load(tmp_path, text).points
    delays = [str(point.scenario.links[f"wifi{number}"].forward.delay) for number in (1, 2, 3)]
    assert delays == ["1 ms", "70 ms", "3 ms"]


def test_the_number_of_copies_and_keys_of_copies_can_be_swept(tmp_path: Path) -> None:
    text = _FILE + '[sweep]\n"copies.ue.count" = [1, 3]\n"links.wifi*.delay" = ["5 ms", "6 ms"]\n'
    points = _load(tmp_path, text).points
    assert [len(point.scenario.workloads) for point in points] == [1, 1, 3, 3]
    assert {str(link.forward.delay) for link in list(points[-1].scenario.links.values())[1:]} == {"6 ms"}


def test_the_command_line_sets_the_number_of_copies(tmp_path: Path) -> None:
    (point,) = _load(tmp_path, _FILE, overrides=["copies.ue.count=2"]).points
    assert list(point.scenario.workloads) == ["fetch1", "fetch2"]
