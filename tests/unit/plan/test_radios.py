# SPDX-License-Identifier: MIT
"""Radio links in a plan: what the medium, hostapd and wpa_supplicant are told, and in which order they start."""

from __future__ import annotations

import math
import shlex
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.scenario_files import PATHS, WORKLOAD, Write, first_scenario

from mptcplab.campaign.radios import describe_radios
from mptcplab.node.access_point import AccessPoint
from mptcplab.node.cell import CHANNELS, Mode, RadioCell
from mptcplab.node.placed import Walk
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.model import Plan
from mptcplab.plan.radios import FOLDER, RADIO, radios_of
from mptcplab.plan.script import script
from mptcplab.scenario.load import load
from mptcplab.scenario.network import Network
from mptcplab.scenario.wifi import AIR, ROAMING
from mptcplab.units import Duration

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/wifi"
TWO = EXAMPLES / "two-access-points.toml"
ONE = EXAMPLES / "one-access-point.toml"


def _plan(file: Path, *settings: str, seed: int = 1) -> Plan:
    return compile_plan(first_scenario(load(file, overrides=settings)), seed=seed)


def _lines(plan: Plan) -> list[str]:
    """Return the set-up, a line per command."""
    return [f"{command.node or '-'} {' '.join(command.argv)}" for command in plan.setup]


def _index(lines: list[str], part: str) -> int:
    (index,) = (index for index, line in enumerate(lines) if part in line)
    return index


def test_each_step_comes_after_what_it_needs() -> None:
    lines = _lines(_plan(ONE))
    order = [
        _index(lines, f"mkdir -p {FOLDER}"),
        _index(lines, f"- {RADIO} "),
        _index(lines, "iw phy radio1 set netns name near"),
        _index(lines, f"ap ip link set dev radio3 name {AIR}"),
        _index(lines, "hostapd -B"),
        _index(lines, "near ip address add 10.0.1.1/24 dev wifi1"),
        _index(lines, "wpa_supplicant -Dnl80211 -iwifi1"),
        # Both stations start before the first is waited for.
        _index(lines, "wpa_supplicant -Dnl80211 -iwifi2"),
        _index(lines, "near does not associate with ap within 30 s"),
        _index(lines, "far does not associate with ap within 30 s"),
    ]
    assert order == sorted(order)


def test_an_access_point_has_one_interface_for_all_stations() -> None:
    lines = _lines(_plan(ONE))
    assert [line for line in lines if line.startswith("ap ip address add")] == [
        f"ap ip address add 10.0.1.2/24 dev {AIR}",
        f"ap ip address add 10.0.2.2/24 dev {AIR}",
        "ap ip address add 10.0.3.1/24 dev backhaul",
    ]


def test_the_plan_declares_its_programs() -> None:
    assert {"hostapd", "wpa_supplicant", "iw", RADIO} <= set(_plan(ONE).uses)


def test_a_scenario_without_radios_uses_none_of_them(write: Write) -> None:
    plan = _plan(write(PATHS + WORKLOAD))
    assert not {"hostapd", "wpa_supplicant", "iw", RADIO} & set(plan.uses)


def test_802_11b_is_limited_to_its_rates_at_both_ends() -> None:
    lines = _lines(_plan(TWO))
    limited = {line.split(" iw dev ")[0] + line.split(" iw dev ")[1] for line in lines if "set bitrates" in line}
    words = "set bitrates legacy-2.4 1 2 5.5 11"
    ends = {("ap1", AIR), ("ap2", AIR), ("terminal", "wifi1"), ("terminal", "wifi2")}
    assert limited == {f"{node}{device} {words}" for node, device in ends}
    assert not [line for line in _lines(_plan(ONE)) if "set bitrates" in line]


def test_a_station_goes_to_the_access_point_of_its_link() -> None:
    scenario = first_scenario(load(TWO, overrides=['access_points.*.ssid="office"']))
    macs = {radio.node: radio.mac for radio in radios_of(Network(scenario)) if not radio.is_station}
    lines = _lines(compile_plan(scenario, seed=1))
    for device, access_point, mhz in (("wifi1", "ap1", 2412), ("wifi2", "ap2", 2437)):
        line = lines[_index(lines, f"-i{device} ")]
        assert f"bssid={macs[access_point]}" in line
        assert f"scan_freq={mhz}" in line
        assert 'ssid="office"' in line


def test_the_seed_draws_shadowing_and_walks() -> None:
    walk = "hosts.terminal.walk={area=[[0,0],[40,10]]}"
    configs = [next(line for line in _lines(_plan(TWO, walk, seed=seed)) if "mkdir -p" in line) for seed in (1, 1, 2)]
    assert configs[0] == configs[1] != configs[2]
    assert "seed 1\n" in configs[0]
    moves = [[line for line in config.split("\n") if line.startswith("move radio1 ")] for config in configs]
    assert moves[0], "both radios of the terminal move"
    assert [line.replace("radio1", "radio2") for line in moves[0]] == [
        line.rstrip("'") for line in configs[0].partition("' >")[0].split("\n") if line.startswith("move radio2 ")
    ]
    assert moves[0] != moves[2]


def test_only_what_moves_has_a_program_for_it() -> None:
    def movers(*settings: str) -> list[str]:
        return [program.name for program in _plan(TWO, *settings).programs if program.name == "radios.move"]

    assert movers() == []
    assert movers('hosts.terminal.waypoints=[{at="3 s",position=[1,1]}]') == ["radios.move"]


def test_the_table_wifi_is_what_the_medium_is_told(write: Write) -> None:
    text = TWO.read_text() + "[wifi]\nexponent = 2.5\nshadowing_db = 4\nrts_bytes = 500\n"
    lines = _lines(compile_plan(first_scenario(load(write(text))), seed=3))
    config = lines[_index(lines, "mkdir -p")]
    assert "path-loss log-distance 2.5 46.7\nshadowing-db 4\n" in config
    assert sum("set rts 500" in line for line in lines) == 4, "for every radio"
    first = [_index(lines, f"- iw phy radio4 set {what}") for what in ("rts 500", "netns name ap2")]
    assert first == sorted(first), "only there `iw` finds it by its name"


def test_the_medium_announces_long_frames_of_802_11n() -> None:
    """mac80211 leaves that to the radio; it says so itself for all other frames."""

    def medium(*settings: str) -> str:
        lines = _lines(_plan(ONE, "wifi.rts_bytes=500", *settings))
        return lines[_index(lines, "mkdir -p")]

    assert "\nrts-bytes 500\n" in medium("access_points.ap.mode=802.11n")
    assert "rts-bytes" not in medium()


def test_the_manifest_has_radios_and_tracks(write: Write) -> None:
    scenario = first_scenario(load(TWO, overrides=['hosts.terminal.waypoints=[{at="3 s",position=[1,1]}]']))
    described = describe_radios(Network(scenario), 1)
    assert [(radio["node"], radio["role"], radio["channel"]) for radio in described["radios"]] == [
        ("terminal", "station", 1),
        ("terminal", "station", 6),
        ("ap1", "access-point", 1),
        ("ap2", "access-point", 6),
    ]
    assert described["tracks"]["terminal"] == [[0, 20.0, 0.0], [3 * 10**9, 1.0, 1.0]]
    assert describe_radios(Network(first_scenario(load(write(PATHS + WORKLOAD)))), 1) == {}


@pytest.mark.parametrize(
    ("mode", "channel", "mhz"),
    [
        ("802.11b", 1, 2412),
        ("802.11g", 11, 2462),
        ("802.11a", 48, 5240),
        ("802.11n", 1, 2412),
        ("802.11n", 48, 5240),
    ],
)
def test_frequencies(mode: Mode, channel: int, mhz: int) -> None:
    """The first and last channel of both bands in the standard's tables."""
    assert channel in CHANNELS[mode]
    cell = RadioCell(ssid="x", mode=mode, channel=channel, short_preamble=True, beacon_tu=100, power_dbm=16)
    assert cell.mhz == mhz


def _hostapd(*settings: str) -> list[str]:
    """Return the lines of hostapd's configuration of the one access point."""
    (line,) = (line for line in _lines(_plan(ONE, *settings)) if "hostapd -B" in line)
    (config,) = (word for word in shlex.split(line) if word.startswith("interface="))
    return config.splitlines()


@pytest.mark.parametrize(("channel", "hw_mode"), [(11, "g"), (36, "a")])
def test_802_11n_has_ht_and_wmm_in_both_bands(channel: int, hw_mode: str) -> None:
    """hostapd switches HT off without WMM. Other modes keep the channel access of DCF, which is calibrated."""
    said = _hostapd("access_points.ap.mode=802.11n", f"access_points.ap.channel={channel}")
    assert {f"hw_mode={hw_mode}", f"channel={channel}", "wmm_enabled=1", "ieee80211n=1"} <= set(said)
    assert not [line for line in said if line.startswith("ht_capab")]
    others = _hostapd()
    assert "wmm_enabled=0" in others
    assert "ieee80211n=1" not in others


def test_the_short_guard_interval_is_announced() -> None:
    settings = ("access_points.ap.mode=802.11n", "access_points.ap.guard_interval=short")
    assert "ht_capab=[SHORT-GI-20]" in _hostapd(*settings)


def test_radios_at_5_ghz_have_a_domain_that_allows_them() -> None:
    def domain(*settings: str) -> bool:
        return any("regulatory-domain 0" in line for line in _lines(_plan(ONE, *settings)))

    assert not domain("access_points.ap.mode=802.11n")
    assert domain("access_points.ap.mode=802.11n", "access_points.ap.channel=44")
    assert domain("access_points.ap.mode=802.11a")


@pytest.mark.slow
@given(
    st.tuples(*[st.floats(-500, 500, allow_nan=False)] * 4),
    st.tuples(*[st.floats(0.1, 20, allow_nan=False)] * 2),
    st.integers(0, 5),
    st.integers(0, 10**6),
)
def test_a_walk_stays_in_its_area_and_keeps_its_speed(
    corners: tuple[float, ...], speeds: tuple[float, ...], pause_s: int, seed: int
) -> None:
    if corners[:2] == corners[2:]:
        corners = (*corners[:2], corners[2] + 1, corners[3])
    walk = Walk(area=(corners[:2], corners[2:]), speed_mps=tuple(sorted(speeds)), pause=Duration(pause_s * 10**9))
    start = (corners[0], corners[1])
    end_ns = 600 * 10**9
    track = list(walk.waypoints(start, Random(seed), end_ns))
    assert track[-1].at_ns > end_ns, "it goes on to the end"
    (left, bottom), (right, top) = walk.area
    here, at_ns = start, 0
    for one_, two in pairwise([(at_ns, here), *((way.at_ns, way.position) for way in track)]):
        assert min(left, right) - 0.01 <= two[1][0] <= max(left, right) + 0.01
        assert min(bottom, top) - 0.01 <= two[1][1] <= max(bottom, top) + 0.01
        assert two[0] > one_[0]
        # Times are whole milliseconds, so that a very short way may look faster than it is.
        seconds = (two[0] - one_[0]) / 1e9 + 0.001
        assert math.dist(one_[1], two[1]) / seconds <= walk.speed_mps[1] * 1.001


AIR_EVENTS = """
[[events]]
at = "1 s"
type = "power"
node = "ap1"
power_dbm = 5

[[events]]
at = "3.5 s"
type = "move"
node = "terminal"
position = [10, 0]

[[events]]
at = "2 s"
type = "down"
link = "wifi2"

[[events]]
at = "3 s"
type = "up"
link = "wifi2"

[[events]]
at = "4 s"
type = "down"
node = "terminal"
"""


def test_events_of_radios_are_lines_of_the_medium(tmp_path: Path) -> None:
    file = tmp_path / "air.toml"
    file.write_text(TWO.read_text() + AIR_EVENTS)
    plan = _plan(file)
    (text,) = (line for line in _lines(plan) if line.startswith("- sh -c") and "medium.conf" in line)
    changes = [line for line in text.splitlines() if line.split()[0] in ("move", "power", "off", "on")]
    assert changes == [
        "move radio1 3.499999999 20.00 0.00",
        "move radio1 3.5 10.00 0.00",
        "off radio1 4",
        "move radio2 3.499999999 20.00 0.00",
        "move radio2 3.5 10.00 0.00",
        "off radio2 2",
        "on radio2 3",
        "off radio2 4",
        "power radio3 1 5",
    ]
    assert [(event.kind, event.link, event.value, event.commands) for event in plan.events] == [
        ("power", "ap1", "5 dBm", ()),
        ("down", "wifi2", "silent", ()),
        ("up", "wifi2", "", ()),
        ("move", "terminal", "to 10, 0 m", ()),
        ("radios-off", "terminal", "", ()),
    ]
    assert any(program.name == "radios.move" for program in plan.programs), "which lets these times begin"


def test_an_interface_that_is_set_down_is_no_event_of_the_air(tmp_path: Path) -> None:
    file = tmp_path / "interface.toml"
    down = '[[events]]\nat = "1 s"\nlink = "wifi1"\ntype = "down"\nmode = "interface"\n'
    file.write_text(TWO.read_text() + down + '[[events]]\nat = "2 s"\nlink = "wifi1"\ntype = "up"\n')
    plan = _plan(file)
    assert plan.events[0].commands[0].argv[-1] == "down"
    assert len(plan.events[1].commands) > 1, "addresses and routes come back"
    assert not any(program.name == "radios.move" for program in plan.programs)


def test_access_points_that_stations_roam_between_are_one_network() -> None:
    lines = _lines(_plan(EXAMPLES / "roaming.toml"))
    network = first_scenario(load(EXAMPLES / "roaming.toml"))
    assert Network(network).roaming_groups == [("ap1", "ap2")]
    order = [
        _index(lines, f"ap1 ip link add name {ROAMING} "),
        _index(lines, "- ip link add name ess0.1 netns ap1 type veth peer name ess0.1 netns ap2"),
        _index(lines, f"ap2 ip link set dev ess0.1 master {ROAMING} up"),
        _index(lines, f"ap1 ip address add 10.0.1.2/24 dev {ROAMING}"),
        _index(lines, "does not associate with ap1 or ap2 within 30 s"),
    ]
    assert order == sorted(order)
    hostapd = [line for line in lines if "hostapd -B" in line]
    assert len(hostapd) == 2, "the second one has no link of its own"
    assert all(f"bridge={ROAMING}" in line for line in hostapd)
    (supplicant,) = (line for line in lines if "wpa_supplicant -D" in line)
    assert "scan_freq=2412 2437" in supplicant
    assert 'bgscan="simple:2:-75:60"' in supplicant
    assert "\nbssid=" not in supplicant
    assert not any("bridge=" in line for line in _lines(_plan(TWO))), "others have no bridge"


@pytest.mark.parametrize(("security", "management", "frames"), [("wpa2", "WPA-PSK", 0), ("wpa3", "SAE", 2)])
def test_both_sides_have_the_passphrase(security: str, management: str, frames: int) -> None:
    settings = (f"access_points.*.security={security}", "access_points.*.passphrase=it's a secret")
    lines = _lines(_plan(EXAMPLES / "roaming.toml", *settings))
    for line in (line for line in lines if "hostapd -B" in line):
        said = shlex.split(line)
        assert any(f"wpa=2\nwpa_key_mgmt={management}\nrsn_pairwise=CCMP\n" in word for word in said), line
    (supplicant,) = (line for line in lines if "wpa_supplicant -D" in line)
    assert f"\nkey_mgmt={management}\npairwise=CCMP\n" in supplicant
    configs = [line for line in lines if "hostapd -B" in line or "wpa_supplicant -D" in line]
    assert len(configs) == 3
    for line in configs:
        assert f"\nieee80211w={frames}" in line
        assert "it'\"'\"'s a secret" in line, "quoted for the shell"
    assert not any(word in line for line in _lines(_plan(ONE)) for word in ("wpa=", "ieee80211w", "psk="))


def test_a_caption_says_that_a_network_is_protected() -> None:
    settings = ("access_points.*.security=wpa3", "access_points.*.passphrase=correct horse")
    for words, caption in (((), "802.11g, channel 1"), (settings, "802.11g, channel 1, WPA3")):
        network = Network(first_scenario(load(ONE, overrides=words)))
        described = network.nodes["ap"].description(network.context_of("ap"))
        assert AccessPoint.caption(described) == caption
        assert "correct horse" not in str(described)


def test_the_script_says_where_radios_exist(tmp_path: Path) -> None:
    wired = tmp_path / "wired.toml"
    wired.write_text(PATHS + WORKLOAD)
    assert f"# {RADIO} is tools/radio of mptcplab." in script(_plan(ONE), title="t")
    assert RADIO not in script(_plan(wired), title="t")
