# SPDX-License-Identifier: MIT
"""What radios heard: samples and associations of made recordings, and what is summed over them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.manifests import manifest

from mptcplab.errors import LabError
from mptcplab.figure.timelines import TimelineCurve as Curve
from mptcplab.figure.timelines import _break_at_gaps
from mptcplab.figure.words import event_marks
from mptcplab.metrics.network import NetworkCounters
from mptcplab.metrics.radios import (
    ACCESS_POINTS,
    RADIO_LINKS,
    AccessPoint,
    access_points,
    changes_of_stations,
    count_roams,
    radio_links,
    radio_samples,
    radio_warnings,
    read_associations,
)
from mptcplab.metrics.rows import RunResult, network_document, scope_rows
from mptcplab.recording.record import Recording
from mptcplab.report.network import scope_table
from mptcplab.results.columns import FRAMES, RUN
from mptcplab.results.frames import RecordedRun
from mptcplab.results.frames import build_associations_frame as associations_frame
from mptcplab.results.frames import build_radios_frame as radios_frame
from mptcplab.results.frames import build_scope_frame as scope_frame

ZERO_NS = 10 * 10**9
STATION, AP1, AP2 = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"
Line = dict[str, Any]


def radio(node: str, device: str, mac: str, access_point: str, links: list[str]) -> Line:
    role = "access-point" if node == access_point else "station"
    return {
        "node": node,
        "device": device,
        "role": role,
        "mac": mac,
        "access_point": access_point,
        "links": links,
        "program": f"radio.{node}",
    }


RADIOS = [
    radio("walker", "wifi", STATION, "ap1", ["wifi"]),
    radio("ap1", "air0", AP1, "ap1", ["wifi"]),
    radio("ap2", "air0", AP2, "ap2", []),
]


def sample(at_s: float, device: str, station: str, dbm: int | None, **counts: int | bool) -> Line:
    known = {} if dbm is None else {"signal_dbm": dbm}
    counters = dict.fromkeys(("rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "tx_retries", "tx_failed"), 0)
    return {"at_ns": ZERO_NS + round(at_s * 1e9), "device": device, "station": station, **known, **counters, **counts}


def change(at_s: float, device: str, station: str | None, event: str, **more: int) -> Line:
    """An event; if a station is disassociated, it does not name the access point."""
    peer = {} if station is None else {"station": station}
    return {"at_ns": ZERO_NS + round(at_s * 1e9), "device": device, **peer, "event": event, **more}


def make_recording(folder: Path, lines: dict[str, list[Line]], radios: list[Line] = RADIOS) -> Recording:
    (folder / "out").mkdir(parents=True)
    for node, of_node in lines.items():
        text = "".join(json.dumps(line) + "\n" for line in of_node)
        (folder / "out" / f"radio.{node}.out").write_text(text)
    described = manifest({"bulk": {"kind": "flow"}}, zero_ns=ZERO_NS, radios=radios)
    (folder / "manifest.json").write_text(json.dumps(described))
    return Recording(folder)


@pytest.fixture
def walk(tmp_path: Path) -> Recording:
    """A station that is with ap1, comes back to it, and then roams to ap2."""
    return make_recording(
        tmp_path / "walk",
        {
            "walker": [
                change(-3, "wifi", AP1, "associated"),
                sample(0, "wifi", AP1, -50),
                sample(1, "wifi", AP1, -60),
                change(1.2, "wifi", None, "disassociated", reason=4),
                change(1.4, "wifi", AP1, "associated"),
                change(1.7, "wifi", AP2, "roamed"),
                sample(2, "wifi", AP2, -70),
            ],
            "ap1": [
                sample(-1, "air0", STATION, None, rx_bytes=10),
                sample(0, "air0", STATION, -40, rx_bytes=100, tx_packets=5),
                sample(1, "air0", STATION, -45, rx_bytes=400, tx_packets=25, tx_retries=5),
                # It has associated again, so that its counters begin anew.
                sample(1.5, "air0", STATION, -47, rx_bytes=30, tx_packets=20, tx_retries=3),
            ],
            "ap2": [
                change(1.6, "air0", STATION, "associated"),
                sample(2, "air0", STATION, -71, rx_bytes=7, rx_packets=1),
                sample(2, "air0", "02:ff:00:00:00:09", -90),
            ],
        },
    )


def test_samples_name_both_ends(walk: Recording) -> None:
    samples = radio_samples(walk)
    assert [(sample.node, sample.peer, sample.link) for sample in samples if sample.time_ns == 0] == [
        ("walker", "ap1", "wifi"),
        ("ap1", "walker", "wifi"),
    ]
    assert samples[0].time_ns == -(10**9)
    assert samples[0].rssi_dbm is None
    assert not [sample for sample in samples if sample.rssi_dbm == -90], "a station that the scenario does not have"


def test_sums_count_from_time_zero_and_over_associations(walk: Recording) -> None:
    first, second = radio_links(walk)
    assert (first.station, first.access_point) == ("walker", "ap1")
    assert first.rssi_dbm == pytest.approx(-44)
    assert first.station_rssi_dbm == pytest.approx(-55)
    assert first.rx_bytes == 300 + 30
    assert (first.tx_packets, first.tx_retries) == (20 + 20, 5 + 3)
    assert first.tx_retries_percent == pytest.approx(20)
    assert (second.access_point, second.rx_bytes, second.tx_retries_percent) == ("ap2", 7, None)
    assert access_points(walk) == [AccessPoint("ap1", 330), AccessPoint("ap2", 7)]


def test_rates_of_802_11n_have_their_index(tmp_path: Path) -> None:
    """MCS 7 is 65 Mbit/s, and 72.2 with the short guard interval; a frame of management has a rate without an index."""
    high = {"tx_kbps": 72200, "tx_mcs": 7, "tx_short_guard": True}
    lines = [
        sample(-1, "air0", STATION, -50, tx_kbps=6000),
        sample(1, "air0", STATION, -50, rx_kbps=6000, **high),
        sample(2, "air0", STATION, -50, rx_kbps=65000, rx_mcs=7, tx_kbps=58500, tx_mcs=6),
    ]
    recording = make_recording(tmp_path / "n", {"walker": [], "ap1": lines, "ap2": []})
    samples = radio_samples(recording)
    assert [(sample.tx_mcs, sample.tx_short_guard) for sample in samples] == [(None, None), (7, True), (6, False)]
    assert [(sample.rx_mcs, sample.rx_short_guard) for sample in samples] == [(None, None), (None, None), (7, False)]
    (link,) = radio_links(recording)
    assert (link.rx_kbps, link.rx_mcs) == ((6000 + 65000) / 2, 7), "from time zero"
    assert (link.tx_kbps, link.tx_mcs) == ((72200 + 58500) / 2, 6.5)
    table = scope_table(scope_rows(RADIO_LINKS, [run_of(recording)]), {})
    row = dict(zip(table.headings, table.rows[0], strict=True))
    assert (row["rx MCS"], row["tx MCS"], row["rx Mbit/s"]) == ("7.00", "6.50", "35.50")
    assert len(table.notes) == 2


def test_associations_count_after_time_zero_and_roams_are_changes(walk: Recording) -> None:
    assert [radio_link.associations for radio_link in radio_links(walk)] == [1, 1]
    seen = changes_of_stations(walk)
    assert [(change.kind, change.peer, change.reason) for change in seen] == [
        ("disassociated", "ap1", 4),
        ("associated", "ap1", None),
        ("roamed", "ap2", None),
    ]
    assert count_roams(walk, {"walker"}) == 1
    assert count_roams(walk, ()) == 0
    assert len(read_associations(walk)) == 5, "associations of access points and before time zero count, too"


def test_a_station_that_never_was_associated_is_a_warning(tmp_path: Path) -> None:
    nothing: dict[str, list[Line]] = {"walker": [], "ap1": [], "ap2": []}
    (only,) = radio_links(make_recording(tmp_path / "none", nothing))
    assert (only.link, only.rssi_dbm, only.rx_bytes) == ("wifi", None, 0)
    assert list(radio_warnings([only])) == ["the radio of wifi was never associated"]


def test_runs_without_radios_have_none(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "wired", {}, radios=[])
    assert (radio_samples(recording), read_associations(recording), radio_links(recording)) == ((), (), [])


def test_incomplete_lines_are_damage(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "torn", {"walker": [], "ap1": [], "ap2": []})
    (recording.folder / "out" / "radio.ap1.out").write_text('{"at_ns":100')
    with pytest.raises(LabError, match="what radios heard in"):
        radio_samples(recording)


def run_of(walk: Recording) -> RunResult:
    network = NetworkCounters({scope.name: tuple(scope.read(walk)) for scope in (RADIO_LINKS, ACCESS_POINTS)})
    return RunResult(identity="0", settings=(), seed=1, measured=(), network=network, kernel="7.2")


def test_rows_and_table_over_seeds(walk: Recording) -> None:
    results = [run_of(walk)]
    document = network_document(results)
    assert document["radios"][0]["rssi_dbm"]["mean"] == pytest.approx(-44)
    assert [access_point["rx_bytes"]["mean"] for access_point in document["access_points"]] == [330, 7]
    assert [row.first.access_point for row in scope_rows(ACCESS_POINTS, results)] == ["ap1", "ap2"]
    table = scope_table(scope_rows(RADIO_LINKS, results), {})
    assert table.rows[0][:3] == ("wifi", "walker", "ap1")
    assert "tx MCS" not in table.headings, "only 802.11n has them"
    assert "radios" not in network_document([]), "scenarios without radios keep their documents"


def test_changes_of_stations_are_marks_in_figures(walk: Recording) -> None:
    assert [(round(mark.time_s, 3), mark.text) for mark in event_marks(walk)] == [
        (1.2, "wifi: disassociated from ap1"),
        (1.4, "wifi: associated with ap1"),
        (1.7, "wifi: roamed to ap2"),
    ]


def test_frames_have_the_documented_columns(walk: Recording) -> None:
    runs = [RecordedRun(walk, run_of(walk))]
    for name, frame in (
        ("radios", radios_frame(runs)),
        ("radio_links", scope_frame(RADIO_LINKS, runs)),
        ("associations", associations_frame(runs)),
    ):
        assert set(frame.columns) == {*RUN, *FRAMES[name]}, name
        assert frame.height


def test_a_curve_is_interrupted_where_nothing_was_heard() -> None:
    samples = np.array([0.0, 0.1, 0.2, 0.9, 1.0])
    line = Curve("wifi at walker", (0.0, 0.1, 0.2, 0.9, 1.0), (-50, -51, -52, -60, -61))
    assert _break_at_gaps(line, samples) == Curve(
        "wifi at walker", (0.0, 0.1, 0.2, 0.2, 0.9, 1.0), (-50, -51, -52, None, -60, -61)
    )
    thinned = Curve("wifi at walker", (0.0, 1.0), (-50, -61))
    assert _break_at_gaps(thinned, samples).values == (-50, None, -61)
    whole = Curve("wifi at walker", (0.0, 0.1), (-50, -51))
    assert _break_at_gaps(whole, np.array([0.0, 0.1])) == whole
