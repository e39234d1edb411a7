# SPDX-License-Identifier: MIT
"""The radio medium between real hostapd, wpa_supplicant and mac80211: what it shares, hides, delays and tells."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.wifi.neighbours import beside_802_11b
from validation.wifi.bianchi import DOT11A, DOT11B, DOT11G, Phy, saturation
from validation.wifi.experiments import (
    ATTEMPTS,
    COLLAPSE_BOUND,
    COLLAPSE_M,
    COLLISION_BOUND,
    GOODPUT_BOUND,
    KNEE_BOUND,
    KNEE_M,
    MPDU,
    PAYLOAD,
    RSSI_BOUND_DB,
    Measure,
    anomaly,
    distance,
    model_of,
    names,
    ring,
    saturate,
)
from validation.wifi.lab import ACCESS_POINT_B, ACCESS_POINT_G, STATION, Load, Network, measure

from mptcplab.engine.tools import radio_program

#: Two of these are out of each other's reach (-99.7 dBm), and the access point between them hears both at -90.7 dBm.
HIDDEN_M = 100


@pytest.mark.parametrize(("phy", "stations", "seconds"), [(DOT11B, 5, 8), (DOT11G, 10, 4)], ids=["b", "g"])
def test_saturation_is_bianchis(run: Measure, phy: Phy, stations: int, seconds: float) -> None:
    """The calibration has more stations and more time; some 4,000 attempts are enough for these bounds."""
    row = saturate(phy, stations, run, seconds=seconds)
    print(row)
    assert row.goodput_mbps == pytest.approx(row.model_mbps, rel=GOODPUT_BOUND)
    assert row.collision == pytest.approx(row.model_collision, rel=COLLISION_BOUND)


def test_5_ghz_has_its_own_times(run: Measure) -> None:
    network = ring(DOT11G, 1, seconds=2)
    network = replace(
        network,
        access_points={"ap": ACCESS_POINT_G.replace("channel=1", "channel=36").replace("hw_mode=g", "hw_mode=a")},
        stations={"sta0": ("legacy-5", "54")},
        networks={"sta0": STATION.replace("2412", "5180")},
        medium=f"{network.medium}\nregulatory-domain 0",
    )
    measured = run(network, "802.11a")
    model = saturation(DOT11A, 1, mpdu=MPDU, payload=PAYLOAD, attempts=ATTEMPTS[DOT11G.name])
    print("goodput", measured.goodput_mbps, "model", model)
    assert measured.after["sta0"]["mhz"] == 5180
    # Without the 6 us of 2.4 GHz, and with a SIFS of 16 us; 5,000 frames are exact to 0.3 %.
    assert sum(measured.goodput_mbps) == pytest.approx(model.goodput_mbps, rel=0.01)


def test_frames_of_802_11g_are_protected_beside_802_11b(run: Measure) -> None:
    """hostapd hears beacons of 802.11b, so that each frame of OFDM comes after a CTS at a rate that all know."""
    network = ring(DOT11G, 1, seconds=1)
    measured = run(beside_802_11b(network), "protection")
    counters = measured.radios["sta0"]
    print("goodput", measured.goodput_mbps, "protected", counters["cts_to_self"], "of", counters["attempts"])
    assert counters["cts_to_self"] == counters["attempts"]
    # Each takes 192 us and 14 bytes at 11 Mbit/s, and a SIFS.
    unprotected_us = 8 * PAYLOAD / model_of(DOT11G, 1).goodput_mbps
    expected = 8 * PAYLOAD / (unprotected_us + 203 + 10)
    assert sum(measured.goodput_mbps) == pytest.approx(expected, rel=0.02)


def test_a_slow_station_makes_all_slow(run: Measure) -> None:
    """In 802.11g, where a frame of the lowest rate does not survive collisions of equal signals."""
    row = anomaly(DOT11G, 3, run, seconds=8)
    print(row)
    assert row.fast_mbps == pytest.approx(row.model_mbps, rel=GOODPUT_BOUND)
    # Some 2,000 frames each: equal within four standard errors of the difference.
    assert row.slow_mbps == pytest.approx(row.fast_mbps, rel=0.13)
    assert row.fast_mbps < row.alone_mbps / 2


def test_the_knee_of_the_study(run: Measure) -> None:
    near, knee, behind = (distance(metres, run, seconds=3) for metres in (5, KNEE_M, COLLAPSE_M))
    print(near, knee, behind, sep="\n")
    for row in (near, knee):
        assert row.rssi_dbm == pytest.approx(row.model_rssi_dbm, abs=RSSI_BOUND_DB)
    assert KNEE_BOUND * near.goodput_mbps < knee.goodput_mbps < near.goodput_mbps
    assert behind.goodput_mbps <= COLLAPSE_BOUND * knee.goodput_mbps


def line_of_three(far_m: float, *, rts: bool = False) -> Network:
    """Two stations at both sides of an access point."""
    ends = names(2)
    limit = [("ip", "netns", "exec", name, "iw", "phy", name, "set", "rts", "500") for name in ends if rts]
    return Network(
        radios={"ap": "at 0 0", "sta0": f"at {-far_m} 0", "sta1": f"at {far_m} 0"},
        access_points={"ap": ACCESS_POINT_B},
        # At 2 Mbit/s, which the signal of 100 m allows, also while the other disturbs nothing.
        stations=dict.fromkeys(ends, ("legacy-2.4", "2")),
        loads=[Load(name, "ap") for name in ends],
        medium="basic-rates 1 2 11\ndefault noise-dbm -98",
        commands=limit,
        measured_s=5,
    )


def test_hidden_stations_collide_and_rts_helps(run: Measure) -> None:
    """Neighbours collide in one of 17 attempts. Hidden, each attempt of 7 ms meets one of the other almost always."""
    seen, hidden, asking = (
        run(line_of_three(20), "seen"),
        run(line_of_three(HIDDEN_M), "hidden"),
        run(line_of_three(HIDDEN_M, rts=True), "asking"),
    )
    probabilities = [medium.collision_probability(names(2)) for medium in (seen, hidden, asking)]
    goodput = [sum(medium.goodput_mbps) for medium in (seen, hidden, asking)]
    print("collisions", probabilities, "goodput", goodput)
    assert probabilities[0] < 0.1
    assert probabilities[1] > 0.4
    assert goodput[1] < 0.6 * goodput[0]
    assert goodput[2] > 1.2 * goodput[1]


def test_the_stronger_frame_is_captured(run: Measure) -> None:
    """Both are heard by all, one 21 dB stronger: it gets through collisions, and the weaker one pays for them."""
    network = ring(DOT11B, 2, seconds=8)
    radios = {**network.radios, "sta0": "at 2 0", "sta1": "at 10 0"}
    measured = run(replace(network, radios=radios), "capture")
    print("strong and weak", measured.goodput_mbps)
    lost = [measured.radios[name]["attempts"] - measured.radios[name]["acked"] for name in names(2)]
    print("attempts without acknowledgement", lost)
    assert lost[0] == 0
    assert lost[1] > 20


def test_channels_do_not_meet(run: Measure) -> None:
    """Two pairs, all distances alike, have the goodput of one pair each on channels 1 and 6; on one channel, half."""
    other = ACCESS_POINT_B.replace("ssid=lab", "ssid=other")
    network = Network(
        radios={"one": "at 0 0", "two": "at 0 4", "sta0": "at 3 2", "sta1": "at -3 2"},
        access_points={"one": ACCESS_POINT_B, "two": other.replace("channel=1", "channel=6")},
        stations=dict.fromkeys(names(2), ("legacy-2.4", "11")),
        loads=[Load("sta0", "one"), Load("sta1", "two")],
        medium="basic-rates 1 2 11",
        networks={"sta1": STATION.replace('"lab"', '"other"').replace("2412", "2437")},
        measured_s=4,
    )
    apart = run(network, "apart")
    same = replace(network, access_points={"one": ACCESS_POINT_B, "two": other}, networks={})
    same = replace(same, networks={"sta1": STATION.replace('"lab"', '"other"')})
    together = run(same, "together")
    alone = model_of(DOT11B, 1).goodput_mbps
    print("apart", apart.goodput_mbps, "together", together.goodput_mbps, "alone", alone)
    assert apart.collision_probability(names(2)) == 0
    assert apart.goodput_mbps == pytest.approx([alone] * 2, rel=0.02)
    assert sum(together.goodput_mbps) == pytest.approx(model_of(DOT11B, 2).goodput_mbps, rel=GOODPUT_BOUND)


def test_queues_stay_in_mac80211(run: Measure) -> None:
    """Of two stations that are sent more than fits, the medium has two frames and CoDel of mac80211 the rest."""
    network = ring(DOT11B, 2, seconds=4)
    loads = [Load("ap", name) for name in names(2)]
    measured = run(replace(network, loads=loads, queues_of=("ap",)), "queues")
    backlogs, drops = [], []
    for name, text in measured.queues["ap"].items():
        if "/stations/" not in name:
            continue
        # One line per queue: tid, ac, backlog in bytes and packets, flows, drops, marks, …
        rows = [line.split() for line in text.splitlines()[1:] if line.strip()]
        backlogs.append(max(int(row[3]) for row in rows))
        drops.append(sum(int(row[5]) for row in rows))
    print("frames in mac80211", backlogs, "at most in the medium", measured.after["ap"]["queued_max"])
    print("dropped by CoDel", drops)
    assert len(backlogs) == 2
    # The senders' buffers have room for some 28 frames each.
    assert min(backlogs) >= 10
    assert min(drops) >= 10
    assert measured.after["ap"]["queued_max"] <= 2
    assert measured.goodput_mbps[0] == pytest.approx(measured.goodput_mbps[1], rel=0.05), "a frame of each in turn"


def test_the_same_seed_gives_the_same_frames(tmp_path: Path) -> None:
    """Of a run with rate control, collisions and shadowing. Another seed gives others."""
    network = ring(DOT11G, 4, seconds=1)
    network = replace(network, stations=dict.fromkeys(names(4), ()), medium="shadowing-db 4", log=True)
    logs = []
    for index, seed in enumerate((1, 1, 2)):
        measure(network, tmp_path / str(index), seed=seed)
        logs.append((tmp_path / str(index) / "frames.log").read_bytes())
    print(len(logs[0].splitlines()), "frames")
    assert len(logs[0].splitlines()) > 1000
    assert logs[0] == logs[1]
    assert logs[0] != logs[2]


def test_a_station_joins_with_wpa2(run: Measure) -> None:
    secret = "wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=not a secret\n"
    network = ring(DOT11B, 1, seconds=2)
    network = replace(
        network,
        access_points={"ap": ACCESS_POINT_B + secret},
        networks={"sta0": '\tssid="lab"\n\tpsk="not a secret"\n\tscan_freq=2412\n'},
    )
    measured = run(network, "wpa2")
    print("goodput", measured.goodput_mbps)
    # CCMP adds 16 bytes to a frame, 1 % of its time.
    assert sum(measured.goodput_mbps) == pytest.approx(model_of(DOT11B, 1).goodput_mbps, rel=0.03)


def test_a_station_that_leaves_says_goodbye(run: Measure) -> None:
    """Its last frame is in the air before it leaves the channel. Otherwise hostapd would keep it for five minutes."""
    leave = ("ip", "-n", "sta0", "link", "set", "wlan0", "down")
    measured = run(replace(ring(DOT11B, 1, seconds=1), commands=[leave], loads=[]), "goodbye")
    assert measured.stations["ap"] == ""
    assert measured.after["sta0"]["unacked"] == 0


AP = "radio ap 02:00:00:00:00:01 at 0 0\n"


def run_in_lab(kernel: str, folder: Path, script: str, radios: str = AP) -> subprocess.CompletedProcess[str]:
    """Run a shell script that begins when the medium of these radios is ready."""
    (folder / "medium.conf").write_text(radios)
    medium = f"{radio_program()} /run/out/medium.conf > /run/ready &\nuntil [ -s /run/ready ]; do sleep 0.001; done\n"
    words = ["-m", "mptcplab", "exec", "--kernel", kernel, "--no-stdin", "--out", str(folder), "--", "sh", "-c"]
    command = [sys.executable, *words, medium + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_nothing_is_sent_without_the_medium(tmp_path: Path) -> None:
    """When it ends its radios go, so that no run continues over a medium without loss."""
    radios = "ls /sys/class/ieee80211"
    done = run_in_lab("7.2-wifi", tmp_path, f"{radios}; kill $!; wait $!; echo status $?; {radios}")
    assert done.stdout == "ap\nstatus 0\n", done


def test_a_kernel_whose_radios_do_not_push_back_is_refused(tmp_path: Path) -> None:
    name = "$(ls /sys/class/ieee80211/ap/device/net)"
    done = run_in_lab(
        "7.2", tmp_path, f"ip link set {name} up; iw dev {name} scan > /run/scan; wait $!; echo status $?"
    )
    assert "radio: the radios of this kernel do not push back: use 7.2-wifi\n" in done.stderr, done
    assert done.stdout == "status 1\n"


def test_rates_of_40_mhz_are_refused(tmp_path: Path) -> None:
    """The driver's radios know them, so that hostapd and a station can agree on them."""
    script = """
    device() { ls /sys/class/ieee80211/$1/device/net; }
    printf '%s\\n' interface=$(device ap) ssid=lab hw_mode=a channel=36 wmm_enabled=1 \\
        ieee80211n=1 'ht_capab=[HT40+]' > /run/ap.conf
    medium=$!
    hostapd /run/ap.conf > /run/ap.log &
    until grep -q AP-ENABLED /run/ap.log; do sleep 0.1; done
    ip link set $(device sta) up
    iw dev $(device sta) connect lab
    wait $medium
    echo status $?
    """
    done = run_in_lab("7.2-wifi", tmp_path, script, f"regulatory-domain 0\n{AP}radio sta 02:00:00:00:00:02 at 5 0\n")
    message = "leave ieee80211ac and HT40 out of hostapd's configuration"
    assert message in done.stderr, done
    assert done.stdout == "status 1\n"
