# SPDX-License-Identifier: MIT
"""Scenarios whose access points have the mode 802.11n: association with HT, goodput, rates as nl80211 reports them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import Bench
from validation.wifi.aggregates import DATA_BITS, DOT11N
from validation.wifi.experiments import Measure
from validation.wifi.ht import model_of_aggregates, ring_n

from mptcplab.metrics.measure import measure
from mptcplab.metrics.radios import changes_of_stations, radio_links, radio_samples
from mptcplab.recording.record import Recording

from .test_scenarios import example, goodputs

#: What datagrams of a lone station have at MCS 7 with the long guard interval, by the model.
DATAGRAMS_MBPS = model_of_aggregates(1).goodput_mbps
HT = "access_points.*.mode=802.11n"
SHORT = "access_points.*.guard_interval=short"
PASSPHRASE = "access_points.*.passphrase=correct horse"


def near_stations(duration: str = "2 s") -> str:
    """Return the scenario of two stations, both at 5 m, with a backhaul that is not a bottleneck."""
    text = example("one-access-point").replace('duration = "5 s"', f'duration = "{duration}"')
    return text.replace("[60, 0]", "[0, 5]").replace("100 Mbit/s", "1 Gbit/s")


def counters_of(recording: Recording) -> dict[str, Any]:
    """Return the medium's counters of all radios."""
    (file,) = recording.folder.glob("counters/*/medium.json")
    radios: dict[str, Any] = json.loads(file.read_text())["radios"]
    return radios


@pytest.mark.parametrize("channel", [6, 36])
def test_two_uploads_share_what_aggregates_give(bench: Bench, channel: int) -> None:
    """TCP's acknowledgements and its start take up to a quarter of what datagrams have; 802.11g has 25 Mbit/s.

    In 2 s the start and chance take up to 2 % more: with three seeds the sum was 43.8 to 47 Mbit/s.
    """
    (recording,) = bench.record(
        near_stations("10 s"), HT, f"access_points.ap.channel={channel}", out=f"results-{channel}"
    )
    total = sum(goodputs(recording).values())
    assert 0.75 * DATAGRAMS_MBPS < total < DATAGRAMS_MBPS
    counters = counters_of(recording)
    lengths = {name: counter["aggregated_mpdus"] / max(1, counter["aggregates"]) for name, counter in counters.items()}
    print(total, lengths)
    # Of 20 frames of data from the stations; acknowledgements of TCP are short, and up to 64 fit.
    assert min(lengths.values()) > 10


def test_rates_are_recorded_with_their_mcs(bench: Bench) -> None:
    (recording,) = bench.record(near_stations(), HT, out="results-long")
    samples = [
        radio_sample
        for radio_sample in radio_samples(recording)
        if radio_sample.node == "ap" and radio_sample.time_ns > 10**9
    ]
    rates = Counter((sample.rx_kbps, sample.rx_mcs, sample.rx_short_guard) for sample in samples)
    print(rates)
    assert rates.most_common(1)[0][0] == (65000, 7, False)
    assert {(kbps, mcs) for kbps, mcs, _ in rates if mcs is not None} <= {
        (bits * 1000 // 4, mcs) for mcs, bits in enumerate(DATA_BITS)
    }
    for link in radio_links(recording):
        assert link.rx_mcs is not None
        assert link.rx_mcs > 6
        assert link.rx_kbps is not None
        assert 58_000 < link.rx_kbps <= 65_000


def test_the_short_guard_interval_is_used_where_it_is_allowed(bench: Bench) -> None:
    for name, settings in (("long", ()), ("short", (SHORT,))):
        (recording,) = bench.record(near_stations(), HT, *settings, out=f"results-{name}")
        rates = [counter["rates"] for counter in counters_of(recording).values()]
        attempts = sum(rate["mcs7-sgi"]["attempts"] for rate in rates if "mcs7-sgi" in rate)
        print(name, goodputs(recording), attempts)
        assert attempts > 1000 if name == "short" else attempts == 0
        assert any(radio_sample.rx_short_guard for radio_sample in radio_samples(recording)) == (name == "short")


def test_the_short_guard_interval_is_as_fast_as_the_model_says(run: Measure) -> None:
    """A symbol takes 3.6 us in place of 4, and 23 MPDUs fit into 4 ms in place of 20."""
    short = replace(DOT11N, short_guard=True)
    measured = run(ring_n(1, seconds=2, ht=short), "short")
    counters = measured.radios["sta0"]
    print(measured.goodput_mbps, counters["mpdus_by_aggregate"])
    assert sum(measured.goodput_mbps) == pytest.approx(model_of_aggregates(1, short).goodput_mbps, rel=0.01)
    assert sum(measured.goodput_mbps) > 1.08 * DATAGRAMS_MBPS


def test_mptcp_uses_both_bands(bench: Bench) -> None:
    (recording,) = bench.record(example("two-bands"))
    (measured,) = measure(recording)
    print(measured.goodput_bps, measured.sockets.shares)
    assert measured.sockets.use.carrying == {2: 1}
    assert 1.4 * DATAGRAMS_MBPS < measured.goodput_bps / 1e6 < 2.2 * DATAGRAMS_MBPS
    assert min(measured.sockets.shares.values()) > 0.35


@pytest.mark.parametrize("security", ["wpa2", "wpa3"])
def test_protected_networks_have_ht(bench: Bench, security: str) -> None:
    """CCMP adds 16 bytes to each frame of 1538; without HT, 802.11g has less than half."""
    settings = (HT, f"access_points.ap.security={security}", PASSPHRASE)
    (recording,) = bench.record(near_stations(), *settings, out=f"results-{security}")
    assert 0.7 * DATAGRAMS_MBPS < sum(goodputs(recording).values()) < DATAGRAMS_MBPS
    log = (recording.folder / "counters/near/wpa_supplicant-wifi1.log").read_text()
    assert "[PTK=CCMP GTK=CCMP]" in log
    kernel = recording.folder / "kernel.txt"
    assert not kernel.exists() or "WARNING" not in kernel.read_text()


def test_long_aggregates_are_announced(bench: Bench) -> None:
    """By an RTS. The access point's aggregates have acknowledgements of TCP, and are longer than 500 bytes, too."""
    (recording,) = bench.record(near_stations("1 s") + "[wifi]\nrts_bytes = 500\n", HT, out="results-rts")
    announced = {name: (counter["rts"], counter["attempts"]) for name, counter in counters_of(recording).items()}
    print(announced)
    assert all(rts > 100 and rts > 0.8 * attempts for rts, attempts in announced.values())


def test_a_far_station_takes_a_lower_mcs(bench: Bench) -> None:
    """At 40 m it hears -78.8 dBm, 15 dB above the noise: 16-QAM at most."""
    (recording,) = bench.record(near_stations(), HT, "hosts.far.position=[40, 0]", out="results-far")
    links = {link.station: link for link in radio_links(recording)}
    print(links)
    near_mcs, far_mcs = links["near"].rx_mcs, links["far"].rx_mcs
    assert near_mcs is not None
    assert far_mcs is not None
    assert near_mcs > 6
    assert 2 < far_mcs < 5
    rates = goodputs(recording)
    assert 1 < rates["far"] < rates["near"]


def test_a_walker_roams_between_access_points_of_802_11n(bench: Bench) -> None:
    (recording,) = bench.record(example("roaming"), HT, out="results-roaming")
    (measured,) = measure(recording)
    print(measured.metrics, changes_of_stations(recording))
    assert measured.metrics["roams"] == 1
    first, second = radio_links(recording)
    assert min(first.tx_bytes, second.tx_bytes) > 1_000_000
    assert (
        min(counter["aggregates"] for name, counter in counters_of(recording).items() if name in ("radio2", "radio3"))
        > 100
    )


def test_the_same_seed_gives_the_same_recording(bench: Bench) -> None:
    first, second = (bench.record(near_stations("500 ms"), HT, out=name)[0] for name in ("first", "second"))
    names = [file.relative_to(first.folder) for file in first.folder.rglob("*") if file.is_file()]
    assert any(name.parts[0] == "out" for name in names)
    for name in names:
        assert _content(first, name) == _content(second, name), name


def _content(recording: Recording, name: Path) -> bytes:
    return (recording.folder / name).read_bytes()
