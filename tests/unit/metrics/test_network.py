# SPDX-License-Identifier: MIT
"""Counters of links, endpoints and middleboxes in recordings, and the warnings from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.network_counters import Counts, write_counters
from tests.unit.results_folders import TWO_LINES, make_results

from mptcplab.campaign.contract import describe_scenario
from mptcplab.metrics.links import LINKS, DirectionCounters
from mptcplab.metrics.measure import WorkloadMeasurement
from mptcplab.metrics.network import ENDPOINTS, MIDDLEBOXES, network_counters, network_warnings, unused_link_warnings
from mptcplab.metrics.rows import network_document
from mptcplab.metrics.subflows import ends_of
from mptcplab.pages import write_report
from mptcplab.recording import samples
from mptcplab.recording.record import FORMAT, Recording
from mptcplab.results import open_results
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network

SCENARIO = """
title = "two lines"
topology = { preset = "disjoint-paths" }
links.link1 = { rate = "10 Mbit/s", delay = "10 ms", loss = "1 %" }
workloads.bulk = { kind = "flow", from = "client", to = "server", duration = "1 s" }
"""
FORWARD = ("link1", "forward")


def _make_recording(folder: Path, text: str = SCENARIO, counts: Counts | None = None) -> Recording:
    """Return a recording that has only the counters of the network."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "scenario.toml"
    file.write_text(text)
    scenario = load(file).points[0].scenario
    described = json.loads(
        json.dumps({"format": FORMAT, **describe_scenario(Network(scenario), scenario.server_ports)})
    )
    write_counters(folder, described, counts)
    (folder / "manifest.json").write_text(json.dumps(described))
    return Recording(folder)


def _events(folder: Path, *events: tuple[str, str, str]) -> None:
    rows = [{"instant_ns": 1, "kind": kind, "link": link, "value": value} for kind, link, value in events]
    samples.write(rows, folder / "events.parquet")


def _counters_at(recording: Recording, place: tuple[str, str] = FORWARD) -> DirectionCounters:
    return next(
        counter for counter in network_counters(recording).get(LINKS) if (counter.link, counter.direction) == place
    )


def _warnings(recording: Recording) -> list[str]:
    # Opened again: a recording keeps its events, which tests write anew.
    return list(network_warnings(network_counters(Recording(recording.folder))))


def test_drops_by_loss_and_by_queue_are_distinguished(tmp_path: Path) -> None:
    """netem also counts the drops of the disciplines below it."""
    leaf = {"ecn_mark": 4, "tins": [{"ecn_mark": 1}, {"ecn_mark": 2}]}
    count = {"packets": 960, "bytes": 9600, "drops": 30, "below": 18, "qlen": 10, "leaf": leaf}
    rows = [
        {"time_ns": time, "link": "link1", "direction": "forward", "bytes": held, "packets": held // 1000, "drops": 0}
        for time, held in ((1, 3000), (2, 7000), (3, 0))
    ]
    samples.write(rows, tmp_path / "queues.parquet")
    seen = _counters_at(
        _make_recording(tmp_path, counts={FORWARD: count, ("access1", "forward"): {"packets": 5, "bytes": 300}})
    )
    assert (seen.packets, seen.bytes, seen.lost, seen.dropped, seen.waiting) == (960, 9600, 12, 18, 10)
    assert (seen.offered, seen.lost_percent, seen.marked) == (1000, 1.2, 7)
    assert (seen.peak_queue_bytes, seen.peak_queue_packets) == (7000, 7)
    assert seen.mean_queue_packets == pytest.approx(10 / 3), "the empty sample counts"
    assert seen.is_as_asked
    access = _counters_at(Recording(tmp_path), ("access1", "forward"))
    assert (access.packets, access.bytes, access.lost, access.dropped) == (5, 300, 0, 0), "nothing shapes it"
    assert (access.peak_queue_bytes, access.mean_queue_packets) == (None, None)


def test_where_directions_are_shaped(tmp_path: Path) -> None:
    """A router shapes what it sends and receives from hosts; directions that change later are shaped from the start."""
    text = (
        SCENARIO
        + 'events = [{ at = "0.5 s", type = "change", link = "access2", direction = "backward", loss = "9 %" }]'
    )
    links = {link["name"]: link for link in _make_recording(tmp_path, text).manifest["links"]}
    assert links["link1"]["forward"]["shaped_at"] == ["r1", "link1"]
    assert links["link1"]["backward"]["shaped_at"] == ["r1", "ifb.2"]
    assert [links["access2"][side]["shaped_at"] for side in ("forward", "backward")] == [None, ["r2", "access2"]]
    assert links["access2"]["backward"]["chances"] == {"low": 0.0, "high": 0.09, "bursts": None}


CHAIN = '{ p = "1 %", r = "9 %", 1-h = "50 %", 1-k = "10 %" }'
MORE = '[[events]]\nat = "0.5 s"\ntype = "change"\nlink = "link1"\n'


@pytest.mark.parametrize(
    ("keys", "events", "least", "most", "bursts"),
    [
        ('delay = "1 ms"', "", 0.0, 0.0, None),
        ('loss = "1 %"', "", 0.01, 0.01, None),
        ('loss = "1 %", duplicate = "25 %"', "", 0.0075, 0.01, None),
        ('loss = "1 %", delay = "1 ms", delay_limit = "9 packets"', "", 0.01, 1.0, None),
        (f"burst_loss = {CHAIN}", "", 0.14, 0.14, [0.01, 0.09, 0.5, 0.1]),
        ('loss = "2 %"', f'{MORE}loss = "1 %"\n{MORE}delay = "1 ms"', 0.01, 0.02, None),
        ('loss = "2 %"', f'{MORE}direction = "backward"\nloss = "1 %"', 0.02, 0.02, None),
        ('trace = "loss.csv"', "", 0.03, 0.05, None),
    ],
)
def test_chances_of_loss_are_those_of_all_behaviours(
    tmp_path: Path, keys: str, events: str, least: float, most: float, bursts: list[float] | None
) -> None:
    (tmp_path / "loss.csv").write_text("time_s,loss_percent\n0,5\n0.5,3\n1,4\n")
    text = SCENARIO.replace('delay = "10 ms", loss = "1 %"', keys) + events
    (link1,) = (link for link in _make_recording(tmp_path, text).manifest["links"] if link["name"] == "link1")
    assert link1["forward"]["chances"] == {"low": least, "high": most, "bursts": bursts}


@pytest.mark.parametrize(
    ("loss", "drops", "is_reported"),
    [
        ('loss = "1 %"', 100, False),
        ('loss = "1 %"', 60, True),
        ('loss = "1 %"', 140, True),
        ('duplicate = "50 %", loss = "1 %"', 60, False),
        ('delay_limit = "50 packets"', 4000, False),
        ("", 1, True),
        ('burst_loss = { mean = "1 %", length = "2 packets" }', 40, True),
        ('burst_loss = { mean = "1 %", length = "40 packets" }', 40, False),
    ],
)
def test_losses_that_chance_does_not_explain(tmp_path: Path, loss: str, drops: int, is_reported: bool) -> None:
    text = SCENARIO.replace('loss = "1 %"', loss or 'jitter = "1 ms"')
    recording = _make_recording(tmp_path, text, {FORWARD: {"packets": 10_000 - drops, "drops": drops}})
    warnings = _warnings(recording)
    assert [f"link1 forward lost {drops} of 10000 packets" in warning for warning in warnings] == [
        True
    ] * is_reported, warnings


def test_losses_of_a_link_whose_queue_was_emptied_are_not_compared(tmp_path: Path) -> None:
    recording = _make_recording(tmp_path, counts={FORWARD: {"packets": 1000, "drops": 500}})
    _events(tmp_path, ("down", "link1", "silent"), ("up", "link1", ""))
    assert len(_warnings(recording)) == 1, "silently dropped packets never reach the queue"
    _events(tmp_path, ("down", "link1", "carrier"), ("up", "link1", ""))
    assert _warnings(recording) == []
    assert _counters_at(recording).unknown == "its interface was down, which empties queues without counting"


@pytest.mark.parametrize("implicit", [{"implicit": True}, {"rawflags": "10"}])
def test_endpoints(tmp_path: Path, implicit: dict[str, Any]) -> None:
    recording = _make_recording(tmp_path)
    file = tmp_path / "counters" / "server" / "mptcp-endpoint.json"
    asked = {"address": "10.0.4.2", "id": 1, "signal": True, "dev": "link2"}
    (of_server,) = (counter for counter in network_counters(recording).get(ENDPOINTS) if counter.host == "server")
    assert of_server.asked == ("10.0.4.2 signal", "at most 8 subflows", "at most 8 announced addresses")
    file.write_text(json.dumps([asked, {"address": "10.0.2.2", "id": 2, **implicit}]))
    assert _warnings(recording) == []
    file.write_text(json.dumps([asked | {"backup": True}]))
    differs = (
        "the MPTCP endpoints of server are not those configured: missing 10.0.4.2 signal; unexpected 10.0.4.2 backup"
    )
    assert _warnings(recording) == [f"{differs} signal"]
    file.write_text("[]")
    assert _warnings(recording) == ["the MPTCP endpoints of server are not those configured: missing 10.0.4.2 signal"]
    _events(tmp_path, ("address-removed", "link2", ""))
    assert _warnings(recording) == [], "it went with its address"
    (file.parent / "mptcp-limits.json").write_text('[{"add_addr_accepted": 8, "subflows": 2}]')
    assert "missing at most 8 subflows; unexpected at most 2 subflows" in _warnings(recording)[0]


def test_middleboxes(tmp_path: Path) -> None:
    text = SCENARIO + 'routers.r1.middlebox = { strip = ["mp_join"], drop = ["add_addr"], damage = "1 %" }'
    boxes = network_counters(_make_recording(tmp_path, text)).get(MIDDLEBOXES)
    assert [(box.router, box.verb, box.option, box.packets) for box in boxes if box.router == "r1"] == [
        ("r1", "drop", "add_addr", 7),
        ("r1", "strip", "mp_join", 7),
        ("r1", "damage", "payload", 7),
    ]


def _unused_links(recording: Recording, shares: Sequence[str]) -> list[str]:
    recording = Recording(recording.folder)
    (ends,) = ends_of(recording)
    return list(unused_link_warnings(recording, ends, dict.fromkeys(shares, 1.0), network_counters(recording)))


BUSY: Counts = {("access1", "forward"): {"bytes": 10**6}, ("link1", "forward"): {"bytes": 10**6}}


def test_links_that_should_have_carried_data(tmp_path: Path) -> None:
    recording = _make_recording(tmp_path / "a", counts=BUSY)
    said = "MPTCP was in use, but no data went over access2 of client and link2 of server"
    assert _unused_links(recording, ["access1>link1"]) == [said]
    assert _unused_links(recording, ["access1>link1", "access2>link2"]) == [], "a subflow that is there tells by itself"
    _events(tmp_path / "a", ("down", "access2", "silent"))
    assert _unused_links(recording, ["access1>link1"]) == [], "the other end of the path cannot carry data either"
    second = {("access2", "forward"): {"bytes": 10**5}, ("link2", "forward"): {"bytes": 10**5}}
    assert _unused_links(_make_recording(tmp_path / "b", counts={**BUSY, **second}), ["access1>link1"]) == []


@pytest.mark.parametrize(
    "transport",
    [
        'endpoints = "none"',
        "limits = { subflows = 0 }",
        'path_manager = "userspace", modes = { access2 = "backup" }',
        'endpoints = [{ link = "access1" }, { link = "access2", flags = ["subflow", "backup"] }]',
    ],
)
def test_links_that_are_not_meant_for_data(tmp_path: Path, transport: str) -> None:
    text = SCENARIO + f"hosts.client.transport = {{ {transport} }}"
    assert _unused_links(_make_recording(tmp_path, text, counts=BUSY), ["access1>link1"]) == []


def test_links_to_a_routers_own_side_are_no_paths(tmp_path: Path) -> None:
    """The manifest has paths from each link of a workload's ends: also over the LAN and back."""
    text = """
title = "t"
hosts = { pc = {}, server = {} }
routers.r1.transport = {}
routers.r2.transport = {}
links.lan.between = ["pc", "r1"]
links.a = { between = ["r1", "r2"], rate = "10 Mbit/s" }
links.b = { between = ["r1", "r2"], rate = "10 Mbit/s" }
links.dc.between = ["r2", "server"]
workloads.bulk = { kind = "flow", from = "r1", to = "r2", size = "1 MB" }
"""
    carried = {("a", "forward"): {"bytes": 10**6}, ("b", "forward"): {"bytes": 10**6}}
    assert _unused_links(_make_recording(tmp_path / "a", text, counts=carried), ["a", "b"]) == []
    del carried["b", "forward"]
    said = "MPTCP was in use, but no data went over b of r1 and b of r2"
    assert _unused_links(_make_recording(tmp_path / "b", text, counts=carried), ["a"]) == [said]


@pytest.mark.slow
def test_results_have_it(tmp_path: Path) -> None:
    """Losses as configured are in results.json and on the page; in a result's table only if they differ."""
    make_results(tmp_path / "r", TWO_LINES.replace('loss = "0.1 %"', 'loss = "1 %"'))
    results = open_results(tmp_path / "r")
    document = network_document([run.result for run in results.recorded])
    assert len(document["links"]) == 6 * 4 * 2
    link2 = [row for row in document["links"] if (row["link"], row["direction"]) == ("link2", "forward")]
    assert [row["lost"] for row in link2] == [{"mean": 10, "ci95_half_width": 0, "n": 3, "values": [10, 10, 10]}] * 6
    assert [row["asked_loss_percent"] for row in link2] == [[1, 1]] * 6
    assert all(row["seeds"] == [1, 2, 3] and not row["seeds_outside_99.9_percent"] for row in link2)
    hosts = [(row["settings"]["transport.protocol"], row["host"]) for row in document["endpoints"]]
    assert hosts == [("mptcp", "client"), ("mptcp", "server")] * 3, "TCP has none"
    write_report(tmp_path / "r", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "The network as seen" in page
    assert "r2 → server" in page
    assert not any(
        warning
        for run in results.recorded
        for measurement in run.result.measured
        for warning in _random_loss_warnings(measurement)
    )


@pytest.mark.slow
def test_a_loss_that_differs_from_the_scenario_is_a_warning(tmp_path: Path) -> None:
    make_results(tmp_path / "r")
    some = sorted((tmp_path / "r" / "runs").iterdir())[0]
    file = some / "counters" / "r2" / "tc.json"
    described = json.loads(file.read_text())
    described[0] |= {"drops": 500}
    file.write_text(json.dumps(described))
    results = open_results(tmp_path / "r")
    (run,) = (run for run in results.recorded if run.recording.folder.name == some.name)
    assert [len(_random_loss_warnings(measurement)) for measurement in run.result.measured] == [1]
    (row,) = (row for row in network_document([run.result])["links"] if row["seeds_outside_99.9_percent"])
    assert row["lost"]["mean"] == 500
    assert any("at random" in warning for row in results.rows for warning in row.warnings)


def _random_loss_warnings(measurement: WorkloadMeasurement) -> list[str]:
    return [warning for warning in measurement.warnings if "at random" in warning]


def test_unknown_values_have_no_counters(tmp_path: Path) -> None:
    """A direction without packets has no percentage, and one without samples no peak."""
    seen = _counters_at(_make_recording(tmp_path))
    assert (seen.offered, seen.lost_percent, seen.peak_queue_packets) == (0, None, None)
    assert replace(seen, lost=1).lost_percent == 100
