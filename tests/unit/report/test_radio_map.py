# SPDX-License-Identifier: MIT
"""The map of positions: true to scale, names that cover nothing, walks."""

from __future__ import annotations

import itertools
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.manifests import recording_with

from mptcplab.report.radio_map import radio_map


def manifest(
    positions: dict[str, list[tuple[float, float]]], access_points: tuple[str, ...] = ("ap",)
) -> dict[str, Any]:
    radios: list[dict[str, Any]] = [
        {
            "node": node,
            "device": "wlan",
            "mac": "",
            "links": [],
            "program": "",
            "role": "access-point" if node in access_points else "station",
            "access_point": node if node in access_points else access_points[0],
            "mode": "802.11b",
            "channel": 1,
        }
        for node in positions
    ]
    tracks = {node: [[10**9 * at, *place] for at, place in enumerate(track)] for node, track in positions.items()}
    return {"seed": 3, "settings": [], "radios": radios, "tracks": tracks}


def draw(described: dict[str, Any]) -> ET.Element:
    picture = radio_map(recording_with(described))
    assert picture is not None
    return ET.fromstring(str(picture.svg))


def centres(svg: ET.Element) -> dict[str, tuple[float, float]]:
    """The places of nodes by what their titles begin with."""
    points = {}
    for group in svg.iter("g"):
        title, circle = group.find("title"), group.find("circle")
        assert title is not None
        assert title.text is not None
        assert circle is not None
        points[title.text.split(" ")[0]] = (float(circle.get("cx", "")), float(circle.get("cy", "")))
    return points


def test_distances_are_true_to_scale() -> None:
    svg = draw(manifest({"ap": [(0, 0)], "near": [(30, 0)], "far": [(0, 40)]}))
    at = centres(svg)
    right, up = at["near"][0] - at["ap"][0], at["ap"][1] - at["far"][1]
    assert right / up == pytest.approx(30 / 40, abs=0.01), "north is up"
    (scale,) = (path for path in svg.iter("path") if path.get("class") == "scale")
    length = float(scale.get("d", "").rpartition("h")[2])
    (metres,) = (text.text for text in svg.iter("text") if (text.text or "").endswith(" m"))
    assert length / float(str(metres).split(" ")[0]) == pytest.approx(right / 30, abs=0.05)


def test_a_walk_is_a_line_and_says_its_seed() -> None:
    described = manifest({"ap": [(0, 0)], "phone": [(5, 0), (9, 9), (1, 2)]})
    svg = draw(described)
    assert len([path for path in svg.iter("path") if path.get("class") == "walk"]) == 1
    assert "seed 3" in svg.get("aria-label", "")
    assert "moving: phone" in svg.get("aria-label", "")
    assert "seed" not in draw(manifest({"ap": [(0, 0)], "phone": [(5, 0)]})).get("aria-label", "")


def test_without_radios_there_is_none() -> None:
    assert radio_map(recording_with({"seed": 1})) is None


@given(
    st.lists(
        st.tuples(st.floats(-1000, 1000).map(lambda x: round(x, 2)), st.floats(-1000, 1000).map(lambda y: round(y, 2))),
        min_size=1,
        max_size=30,
    )
)
def test_names_never_cover_each_other(places: list[tuple[float, float]]) -> None:
    svg = draw(manifest({"ap": [(0, 0)], **{f"client{number}": [place] for number, place in enumerate(places)}}))
    width, height = (float(number) for number in re.findall(r"[\d.]+", svg.get("viewBox", ""))[2:])
    boxes = []
    for text in svg.iter("text"):
        if text.get("class") == "name":
            half = 6.5 * len(text.text or "") / 2
            x, y = float(text.get("x", "")), float(text.get("y", ""))
            boxes.append((x - half, y - 12, x + half, y + 3))
    for box, other in itertools.combinations(boxes, 2):
        apart = box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] or other[3] <= box[1]
        assert apart, (box, other)
    for x, y in centres(svg).values():
        assert 0 <= x <= width
        assert 0 <= y <= height
