# SPDX-License-Identifier: MIT
"""Scenarios with radio links in the lab kernel: association, goodput, what is recorded, determinism."""

from __future__ import annotations

import filecmp
import itertools
import json
import math
from pathlib import Path

import pytest
from tests.lab.bench import Bench

from mptcplab.errors import LabError
from mptcplab.metrics.measure import measure
from mptcplab.metrics.radios import changes_of_stations, radio_links, radio_samples
from mptcplab.recording.record import Recording

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "wifi"


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.toml").read_text().partition("\n")[2]


def goodputs(recording: Recording) -> dict[str, float]:
    rates = {measurement.workload: measurement.goodput_bps / 1e6 for measurement in measure(recording)}
    print(rates)
    return rates


def test_a_near_station_gets_more_than_a_far_one(bench: Bench) -> None:
    (recording,) = bench.record(example("one-access-point"))
    rates = goodputs(recording)
    # Alone, a station that always sends datagrams at 54 Mbit/s has 29.6 Mbit/s (docs/wifi.md); TCP's acknowledgements
    # and the slow frames of the far station, at some 12 Mbit/s by its 10 dB of SNR, take more than a third of it.
    assert 10 < sum(rates.values()) < 20
    assert rates["near"] > 2 * rates["far"]


def test_rssi_is_that_of_the_path_loss_at_both_ends(bench: Bench) -> None:
    """16 dBm less 46.7 dB and 30 dB a decade: 5 m and 60 m."""
    (recording,) = bench.record(example("one-access-point"))
    near, far = radio_links(recording)
    print(near, far)
    for link, dbm in ((near, -51.7), (far, -84.0)):
        assert link.rssi_dbm == pytest.approx(dbm, abs=0.5), "whole dBm"
        assert link.station_rssi_dbm == pytest.approx(dbm, abs=0.5)
    received = near.rx_bytes + far.rx_bytes
    sent = sum(measurement.goodput_bps * measurement.duration_s / 8 for measurement in measure(recording))
    assert 1.0 < received / sent < 1.1, "payload, headers, and what was retransmitted"


def test_mptcp_uses_two_access_points(bench: Bench) -> None:
    (recording,) = bench.record(example("two-access-points"))
    # One 802.11b link carries 6.05 Mbit/s of datagrams nearby (docs/wifi.md), of TCP some 10 % less.
    assert 9 < goodputs(recording)["download"] < 12.1
    (measured,) = measure(recording)
    assert measured.sockets.use.carrying == {2: 1}
    assert min(measured.sockets.shares.values()) > 0.4


def test_a_station_alone_gets_as_much_as_all_that_share(bench: Bench) -> None:
    """The bed of asakura2019: 5.7 Mbit/s for one terminal, 0.8 for each of seven at the other access point."""
    text = example("many-terminals").replace('duration = "5 s"', 'duration = "3 s"')
    (recording,) = bench.record(text)
    rates = goodputs(recording)
    others = [rate for name, rate in rates.items() if name != "down1"]
    assert 4.5 < rates["down1"] < 6.05
    assert 5 < rates["down1"] / (sum(others) / len(others)) < 9


def test_two_runs_are_equal_byte_by_byte(bench: Bench) -> None:
    text = example("two-access-points").replace('duration = "5 s"', 'duration = "1 s"')
    first, second = (bench.record(text, out=name)[0] for name in ("first", "second"))
    names = sorted(str(file.relative_to(first.folder)) for file in first.folder.rglob("*") if file.is_file())
    assert any(name.startswith("out/radio.") for name in names)
    _, different, missing = filecmp.cmpfiles(first.folder, second.folder, names, shallow=False)
    assert (different, missing) == ([], [])


def test_seeds_draw_other_backoffs(bench: Bench) -> None:
    text = example("two-access-points").replace('duration = "5 s"', 'duration = "1 s"')
    rates = [goodputs(bench.record(text, seed=seed)[0])["download"] for seed in (1, 2)]
    assert rates[0] != rates[1]


def test_out_of_reach_is_one_sentence(bench: Bench) -> None:
    with pytest.raises(LabError, match="near does not associate with ap within 30 s"):
        bench.record(example("one-access-point"), "hosts.near.position=[200, 0]")


@pytest.mark.parametrize(("mode", "channel", "low"), [("802.11a", 36, 20), ("802.11g", 6, 20), ("802.11b", 11, 4.5)])
def test_every_mode_carries_tcp(bench: Bench, mode: str, channel: int, low: float) -> None:
    """More than two thirds of what datagrams have at the mode's highest rate: 29.6 and 6.2 Mbit/s (docs/wifi.md)."""
    text = example("one-access-point").replace("[60, 0]", "[0, 5]").replace('duration = "5 s"', 'duration = "1 s"')
    (recording,) = bench.record(
        text, f"access_points.ap.mode={mode}", f"access_points.ap.channel={channel}", out=f"results-{mode}"
    )
    assert sum(goodputs(recording).values()) > low
    assert {sample.rssi_dbm for sample in radio_samples(recording)} <= {-52, None}


def test_long_frames_are_announced(bench: Bench) -> None:
    """By an RTS for every attempt of a frame with data; TCP's acknowledgements are shorter."""
    text = example("one-access-point").replace('duration = "5 s"', 'duration = "1 s"')
    (recording,) = bench.record(text + "[wifi]\nrts_bytes = 500\n")
    radios = json.loads((recording.folder / "counters/near/medium.json").read_text())["radios"]
    announced = {name: (radio["rts"], radio["attempts"]) for name, radio in radios.items()}
    print(announced)
    acknowledging, attempts = announced.pop("radio3")
    assert acknowledging < 0.1 * attempts, "the access point"
    assert all(rts > 300 and rts > 0.9 * attempts for rts, attempts in announced.values()), "both stations"


EVENTS = """
[[events]]
at = "2 s"
type = "down"
link = "wifi1"

[[events]]
at = "4 s"
type = "up"
link = "wifi1"

[[events]]
at = "7 s"
type = "power"
node = "ap2"
power_dbm = 6

[[events]]
at = "8 s"
type = "move"
node = "terminal"
position = [10, 0]
"""


@pytest.fixture
def eventful(bench: Bench) -> Recording:
    """Two access points; a radio is off from 2 s to 4 s, an access point whispers from 7 s, and the terminal jumps."""
    text = example("two-access-points").replace('duration = "5 s"', 'duration = "9 s"')
    (recording,) = bench.record(f'{text}\n[record]\ninterval = "100 ms"\n{EVENTS}')
    return recording


def test_a_radio_that_is_off_disassociates_and_comes_back(eventful: Recording) -> None:
    seen = [(change.kind, change.link, change.time_ns / 1e9) for change in changes_of_stations(eventful)]
    print(seen)
    assert [(kind, link) for kind, link, _ in seen] == [("disassociated", "wifi1"), ("associated", "wifi1")]
    # mac80211 asks after 7 missed beacons of 102.4 ms, and waits for answers. A scan of a single channel takes some
    # 0.1 s, and begins after a pause of up to 5 s.
    assert 2 < seen[0][2] < 4
    assert 4 < seen[1][2] < 10


def test_the_other_access_point_carries_on(eventful: Recording) -> None:
    (measured,) = measure(eventful)
    assert measured.metrics["gap_s"] < 1.5, "a timeout of TCP, after which MPTCP sends again by the other radio"


def test_power_and_moves_are_heard_at_the_next_beacon(eventful: Recording) -> None:
    """At 20 m 16 dBm arrive as -69.7, 6 dBm as -79.7; at 10 m of ap1 and 30 m of ap2 -60.7 and -85."""

    def mean_rssi(node: str, link: str, after_s: float) -> int | None:
        times = [sample for sample in radio_samples(eventful) if (sample.node, sample.link) == (node, link)]
        return next(sample.rssi_dbm for sample in times if sample.time_ns >= after_s * 1e9)

    # Frames of data and acknowledgements arrive every few ms.
    assert [mean_rssi("terminal", "wifi2", at) for at in (6.9, 7.2, 8.2)] == [-70, -80, -85]
    assert [mean_rssi("ap2", "wifi2", at) for at in (6.9, 7.2, 8.2)] == [-70, -70, -75]
    assert mean_rssi("terminal", "wifi1", 8.2) == -61


def test_walks_of_two_seeds_differ_and_rssi_follows(bench: Bench) -> None:
    text = example("one-access-point").replace('duration = "5 s"', 'duration = "3 s"')
    walk = "hosts.far.walk={ area = [[0, 0], [80, 80]], speed_mps = [20, 30] }"
    tracks = []
    for seed in (1, 2):
        (recording,) = bench.record(text, walk, "hosts.far.position=[40, 40]", seed=seed)
        track = recording.manifest["tracks"]["far"]
        tracks.append(track)
        for sample in radio_samples(recording):
            if sample.node == "far" and sample.time_ns > 0 and sample.rssi_dbm is not None:
                # Heard up to a beacon's interval ago, at 30 m/s: 3 m.
                metres = math.dist(_position_at(track, sample.time_ns), (0, 0))
                nearest, farthest = (16 - 46.7 - 30 * math.log10(max(1, metres + off)) for off in (-3.1, 3.1))
                assert farthest - 0.6 <= sample.rssi_dbm <= nearest + 0.6
    assert tracks[0] != tracks[1]


def _position_at(track: list[list[float]], time_ns: int) -> tuple[float, float]:
    """Where a node is between its waypoints."""
    for (start_ns, *here), (end_ns, *there) in itertools.pairwise(track):
        if start_ns <= time_ns < end_ns:
            part = (time_ns - start_ns) / (end_ns - start_ns)
            return here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])
    return track[-1][1], track[-1][2]


def test_a_walker_roams_and_its_download_goes_on(bench: Bench) -> None:
    (recording,) = bench.record(example("roaming"))
    (measured,) = measure(recording)
    print(measured.metrics, changes_of_stations(recording))
    assert measured.metrics["roams"] == 1
    (at_s,) = (change.time_ns / 1e9 for change in changes_of_stations(recording) if change.kind != "disassociated")
    # It is at 30 m, where it hears -75 dBm, after 7.4 s. The mean that the kernel watches follows with some beacons'
    # delay; the other access point is stronger from 40 m on, after 9.5 s, and scans are 2 s apart.
    assert 9.5 < at_s < 14
    first, second = radio_links(recording)
    assert (first.access_point, second.access_point, second.associations) == ("ap1", "ap2", 1)
    assert min(first.rx_bytes, second.rx_bytes) > 100_000
    assert measured.metrics["duration_s"] < 21
