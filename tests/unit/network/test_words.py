# SPDX-License-Identifier: MIT
"""The picture of a network says what links and routers do beside rate, delay and random loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mptcplab.network.words import direction_words, impairment_words, mtu_words, with_trace_ranges
from mptcplab.recording.record import Recording
from mptcplab.report.network import with_traces
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
    link: dict[str, Any] = point["links"]["link1"]
    return link


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
batch = "6 ms"
rate = "10 Mbit/s"
discipline = "codel"
aqm = { target = "10 ms", ecn = true }
mtu = "1400 B"
"""
    line = _line1(tmp_path, text)
    assert impairment_words(line["forward"]) == (
        "reordered 2 % · loss 1 % in bursts of 5 packets · duplicated 3 % · corrupted 4 % · batches of 6 ms · "
        "codel 10 ms ECN"
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


def test_a_trace_is_described_by_its_mean_rate_and_the_ranges_of_its_other_values(tmp_path: Path) -> None:
    """A recording has the first loss and delay of a trace, which say little about the rest of it."""
    rows = "0,5,0.1,5\n1,5,4,5\n2,10,0,20\n3,10,0.1,5\n"
    (tmp_path / "t.csv").write_text(f"time_s,rate_mbit_s,loss_percent,delay_ms\n{rows}")
    direction = _line1(tmp_path, 'forward.trace = "t.csv"')["forward"]
    steps = ["rate 5 Mbit/s, loss 0.1 %, delay 5 ms", "rate 5 Mbit/s, loss 4 %, delay 5 ms"]
    steps += ["rate 10 Mbit/s, loss 0 ppb, delay 20 ms", "rate 10 Mbit/s, loss 0.1 %, delay 5 ms"]
    assert direction_words([with_trace_ranges(direction, steps)]) == (
        "7.5 Mbit/s · 5 to 20 ms",
        "loss 0 to 4 % · queue 100 ms",
        "mean rate, range of loss and delay: t.csv",
    )
    assert direction_words([direction])[-1] == "mean rate, first of other values: t.csv", "without the plan"


def test_a_trace_without_a_rate_has_no_mean(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,loss_percent\n0,1\n1,1\n2,3\n")
    direction = _line1(tmp_path, 'forward.trace = "t.csv"')["forward"]
    words = direction_words([with_trace_ranges(direction, ["loss 1 %", "loss 3 %"])])
    assert words[-2:] == ("loss 1 to 3 %", "range of loss: t.csv")


def test_the_steps_of_a_trace_come_from_the_plan_beside_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("time_s,rate_mbit_s,loss_percent\n0,5,0.1\n1,5,4\n2,10,0.1\n")
    links = {"link1": _line1(tmp_path, 'forward.trace = "t.csv"')}
    events = [
        {"kind": "trace", "link": "link1", "direction": "forward", "value": "rate 5 Mbit/s, loss 0.1 %"},
        {"kind": "trace", "link": "link1", "direction": "forward", "value": "rate 5 Mbit/s, loss 4 %"},
        {"kind": "loss", "link": "link1", "direction": "forward", "value": "50 %"},
    ]
    recording = Recording(tmp_path)
    assert with_traces(links, recording) == links, "no plan"
    (tmp_path / "plan.json").write_text(json.dumps({"plan": {"events": events}}))
    seen = with_traces(links, recording)["link1"]
    assert seen["forward"]["loss"] == "0.1 to 4 %"
    assert seen["backward"] == links["link1"]["backward"]
