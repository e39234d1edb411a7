# SPDX-License-Identifier: MIT
"""The picture of a network says what links and routers do beside rate, delay and random loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mptcplab.network.words import impairment_words, mtu_words
from mptcplab.report.topology import networks
from mptcplab.scenario.load import load

HEAD = 'title = "t"\ntopology = { preset = "disjoint-paths" }\n'
WORKLOAD = '[workloads.bulk]\nkind = "flow"\nfrom = "client"\nto = "server"\nsize = "1 MB"\n'


def _points(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    file = tmp_path / "a.toml"
    file.write_text(f"{HEAD}{WORKLOAD}{text}")
    return [json.loads(point.scenario.model_dump_json(by_alias=True)) for point in load(file).points]


def _line1(tmp_path: Path, text: str) -> dict[str, Any]:
    (point,) = _points(tmp_path, f"[links.link1]\n{text}")
    found: dict[str, Any] = point["links"]["link1"]
    return found


def test_plain_lines_need_no_words(tmp_path: Path) -> None:
    line = _line1(tmp_path, 'rate = "10 Mbit/s"\ndelay = "5 ms"\njitter = "1 ms"\nloss = "1 %"')
    assert impairment_words(line["forward"]) == ""
    assert mtu_words([line]) == ()


def test_everything_has_a_word(tmp_path: Path) -> None:
    text = """
delay = "5 ms"
burst_loss = { mean = "1 %", length = "5 packets" }
reorder = "2 %"
duplicate = "3 %"
corrupt = "4 %"
rate = "10 Mbit/s"
discipline = "codel"
aqm = { target = "10 ms", ecn = true }
mtu = "1400 B"
"""
    line = _line1(tmp_path, text)
    assert impairment_words(line["forward"]) == (
        "reordered 2 % · loss 1 % in bursts of 5 packets · doubled 3 % · corrupted 4 % · codel 10 ms ECN"
    )
    assert mtu_words([line]) == ("MTU 1.4 kB",)


def test_delays(tmp_path: Path) -> None:
    line = _line1(tmp_path, 'delay = "5 ms"\njitter = "1 ms"\ndistribution = "normal"\novertake = true')
    assert impairment_words(line["forward"]) == "jitter normal · overtaking"
    line = _line1(tmp_path, 'extra_delay = ["0 ms", "1 ms", "9 ms"]')
    assert impairment_words(line["forward"]) == "+ 0 … 9 ms"


def test_swept_words_and_boxes_are_all_in_the_picture(tmp_path: Path) -> None:
    text = (
        '[links.link1]\nrate = "10 Mbit/s"\n[routers.r1]\nnat = ["link1"]\n'
        '[sweep]\n"links.link1.discipline" = ["tail-drop", "codel", "cake"]\n'
        '"routers.r2.middlebox.strip" = [[], ["all"]]\n'
    )
    (picture,) = networks(_points(tmp_path, text))
    for words in ("tail-drop | codel | cake", "NAT at link1", "strips all"):
        assert words in picture.svg
        assert words in picture.text
