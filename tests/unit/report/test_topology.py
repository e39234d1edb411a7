# SPDX-License-Identifier: MIT
"""The picture of a network: everything is there, nothing lies on anything else, values that are swept are all named."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.gateway_network import gateway, scenario

from mptcplab.report.topology import Layout, arrange, networks
from mptcplab.scenario.load import load

WORKLOAD = '\nworkloads.bulk = { kind = "flow", from = "client", to = "server", size = "1 MB" }\n'


def _networks(tmp_path: Path, text: str) -> list[Any]:
    file = tmp_path / "a.toml"
    file.write_text(f'title = "t"\n{text}{WORKLOAD}')
    return networks([json.loads(point.scenario.model_dump_json(by_alias=True)) for point in load(file).points])


def _words(svg: str) -> list[str]:
    root = ET.fromstring(svg)
    return ["".join(element.itertext()) for element in root.iter() if element.tag == "text"]


@pytest.mark.parametrize(
    ("preset", "columns"),
    [
        ('"direct"', {"client": 0, "server": 2}),
        ('"chain", routers = 2', {"client": 0, "r1": 2, "r2": 4, "server": 6}),
        ('"disjoint-paths", paths = 3', {"client": 0, "r1": 2, "r2": 2, "r3": 2, "server": 4}),
        ('"shared-bottleneck"', {"client": 0, "client2": 0, "r1": 2, "r2": 4, "server": 6, "server2": 6}),
    ],
)
def test_presets_stand_from_left_to_right(tmp_path: Path, preset: str, columns: dict[str, int]) -> None:
    file = tmp_path / "a.toml"
    more = (
        ""
        if "shared" not in preset
        else 'workloads.more = { kind = "flow", from = "client2", to = "server2", size = "1 MB" }'
    )
    file.write_text(f'title = "t"\ntopology = {{ preset = {preset} }}{WORKLOAD}{more}')
    scenario = load(file).points[0].scenario
    links = {name: link.between for name, link in scenario.links.items()}
    loads = scenario.workloads.values()
    layout = arrange(list(scenario.nodes), links, [load.sender for load in loads], [load.receiver for load in loads])
    assert {name: column for name, (column, _) in layout.nodes.items()} == columns
    _check(layout, links)


def test_words_of_a_link(tmp_path: Path) -> None:
    links = (
        'links.link1 = { rate = "50 Mbit/s", delay = "10 ms", jitter = "2 ms", loss = "0.1 %", queue = "20 packets" }\n'
        'links.link2 = { forward = { rate = "5 Mbit/s" }, backward = { delay = "7 ms" } }\n'
    )
    (picture,) = _networks(tmp_path, f'topology = {{ preset = "disjoint-paths" }}\n{links}')
    words = _words(picture.svg)
    assert {"client", "server", "r1", "r2", "access1", "link1", "link2"} <= set(words)
    assert "50 Mbit/s · 10 ms ± 2 ms" in words
    assert "loss 0.1 % · queue 20 packets" in words
    assert [word for word in words if word[0] in "→←"] == ["→ 5 Mbit/s", "→ queue 100 ms", "← 7 ms"]
    assert words.count("no limits") == 2, "both access links"
    assert not picture.swept


def test_directions_follow_the_drawing(tmp_path: Path) -> None:
    """A link whose first end stands on the right: its forward direction points to the left."""
    text = (
        'hosts.client = {}\nhosts.server = {}\nlinks.a = { between = ["server", "client"], forward.rate = "1 Mbit/s" }'
    )
    (picture,) = _networks(tmp_path, text)
    assert "← 1 Mbit/s" in _words(picture.svg)


def test_swept_values(tmp_path: Path) -> None:
    sweep = (
        'sweep."links.link1.delay" = ["0 ms", "10 ms", "20 ms"]\n'
        'sweep."links.link2.delay" = ["1 ms", "2 ms", "3 ms", "4 ms", "5 ms"]\n'
        'sweep."links.link2.rate" = ["500 kbit/s", "1 Mbit/s"]\n'
    )
    (picture,) = _networks(
        tmp_path, f'topology = {{ preset = "disjoint-paths" }}\nlinks.link1.rate = "1 Mbit/s"\n{sweep}'
    )
    words = _words(picture.svg)
    assert "1 Mbit/s · 0, 10, 20 ms" in words
    assert "500 kbit/s, 1 Mbit/s · 1 … 5 ms" in words
    assert picture.swept
    coloured = [element.text for element in ET.fromstring(picture.svg).iter() if element.get("class") == "swept"]
    assert coloured == ["0, 10, 20 ms", "500 kbit/s, 1 Mbit/s", "1 … 5 ms"], "not the rate of link1, nor its queue"


def test_every_different_network_once(tmp_path: Path) -> None:
    sweep = 'sweep."topology.paths" = [1, 2, 3]\nsweep."transport.protocol" = ["tcp", "mptcp"]\n'
    pictures = _networks(tmp_path, f'topology = {{ preset = "disjoint-paths" }}\n{sweep}')
    assert [picture.svg.count('class="node router"') for picture in pictures] == [1, 2, 3]


def test_the_sides_of_gateways(tmp_path: Path) -> None:
    """Two points: with another program, and over TCP. Links end at the boxes, however wide the captions are."""
    made = [
        scenario(tmp_path, gateway(program, f'protocol = "{protocol}"'))
        for program, protocol in (("xray", "mptcp"), ("openvpn", "tcp"))
    ]
    (picture,) = networks([json.loads(drawing.model_dump_json(by_alias=True)) for drawing in made])
    words = _words(picture.svg)
    for side, node in (("entry", "home"), ("exit", "vps")):
        assert words[words.index(node) :][:5] == [
            node,
            "speaks TCP",
            f"{side} of bond:",
            "xray, openvpn",
            "redirect over MPTCP, tunnel over TCP",
        ]
    assert "home entry of bond:" in picture.text
    root = ET.fromstring(picture.svg)
    boxes = [element for element in root.iter() if element.tag == "rect"]
    edges = {round(float(box.attrib["x"]), 1) for box in boxes}
    edges |= {round(float(box.attrib["x"]) + float(box.attrib["width"]), 1) for box in boxes}
    ends = [
        re.findall(r"-?[0-9.]+", element.attrib["d"])
        for element in root.iter()
        if element.attrib.get("class") == "link"
    ]
    for numbers in ends:
        assert {float(numbers[0]), float(numbers[-2])} <= edges


def test_names_cannot_become_markup() -> None:
    """Recordings may come from others: a scenario is checked, a manifest is not."""
    evil = '<script>alert("1")</script>'
    direction = {
        "rate": evil,
        "delay": "0 ns",
        "jitter": "0 ns",
        "loss": "0 ppb",
        "queue": "1 s",
        "burst": None,
        "overhead": "0 B",
    }
    link = {"between": [evil, "b"], "mtu": "1500 B", "forward": direction, "backward": direction}
    loads = {"w": {"from": evil, "to": "b"}}
    (picture,) = networks([{"hosts": {evil: {}, "b": {}}, "routers": {}, "links": {evil: link}, "workloads": loads}])
    assert "<script" not in picture.svg
    assert evil in _words(picture.svg)


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Connected networks of any shape, several links between two nodes included."""
    count = draw(st.integers(2, 9))
    nodes = [f"n{number}" for number in range(count)]
    pairs = [(draw(st.integers(0, number - 1)), number) for number in range(1, count)]
    more = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] != pair[1])
    pairs += draw(st.lists(more, max_size=8))
    return nodes, {f"l{at}": (nodes[left], nodes[right]) for at, (left, right) in enumerate(pairs)}


@given(_graphs(), st.data())
def test_any_network(graph: tuple[list[str], dict[str, tuple[str, str]]], data: st.DataObject) -> None:
    nodes, links = graph
    node = st.sampled_from(nodes)
    _check(arrange(nodes, links, [data.draw(node)], [data.draw(node)]), links)


def _check(layout: Layout, links: dict[str, tuple[str, str]]) -> None:
    """Every link joins its two nodes; in a column, nodes, labels and passing links are at least a row apart."""
    columns: dict[int, set[tuple[str, float]]] = {}
    for name, (column, row) in layout.nodes.items():
        assert column % 2 == 0
        columns.setdefault(column, set()).add((name, row))
    for name, (first, second) in links.items():
        ends = (second, first) if name in layout.reversed_links else (first, second)
        course = layout.courses[name]
        assert (course[0], course[-1]) == (layout.nodes[ends[0]], layout.nodes[ends[1]])
        assert layout.labels[name] in course
        assert layout.labels[name][0] % 2 == 1
        if course[0][0] < course[-1][0]:
            assert all(right[0] - left[0] == 1 for left, right in pairwise(course)), "column by column"
        for column, row in course[1:-1]:
            columns.setdefault(column, set()).add((f"link {name}", row))
    for items in columns.values():
        rows = sorted(row for _, row in items)
        assert all(below - above > 0.999 for above, below in pairwise(rows)), items


def test_a_trace_is_named_beside_its_mean(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("time_s,rate_mbit_s\n0,10\n2,1\n3,3\n")
    (picture,) = _networks(tmp_path, 'topology = { preset = "direct" }\nlinks.link1.backward.trace = "train.csv"\n')
    assert _words(picture.svg)[0] == "link1"
    # 10 Mbit/s for two seconds, 1 for one, and 3 for as long as the step before it.
    assert "← 6 Mbit/s" in " ".join(_words(picture.svg))
    assert "← mean rate, first of other values: train.csv" in _words(picture.svg)
