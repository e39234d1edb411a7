# SPDX-License-Identifier: MIT
"""The agent beside real hostapd: what it reports of stations, and what the daemon does with the signals."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.lab.bench import Bench, LabOutput, client, server
from validation.wifi.lab import KERNEL

from mptcplab.capture.tshark import tshark_path
from mptcplab.engine.virtual.machine import WALL_CLOCK_NS
from mptcplab.plan.compile import compile_plan
from mptcplab.plan.radios import radios_of
from mptcplab.plan.steering import AGENT, DAEMON
from mptcplab.recording.captures import PREFIX
from mptcplab.scenario.network import Network
from mptcplab.scenario.wifi import AIR
from mptcplab.steering.configuration import agent_config
from mptcplab.steering.reports import StationReport, verify
from mptcplab.steps import Program

S = 10**9
#: A terminal nearby, a terminal that walks away from the second access point, and a terminal at its edge.
SCENARIO = """
title = "Steering on 802.11"
kernel = "7.2-wifi"
phases = "fixed"
access_points.ap1 = {{ mode = "802.11b", channel = 1, position = [0, 0] }}
access_points.ap2 = {{ mode = "802.11b", channel = 6, position = [90, 0] }}
routers.core = {{}}
links.back1 = {{ between = ["ap1", "core"], delay = "1 ms", rate = "100 Mbit/s" }}
links.back2 = {{ between = ["ap2", "core"], delay = "1 ms", rate = "100 Mbit/s" }}
links.uplink = {{ between = ["core", "server"], delay = "1 ms" }}
links.home1 = {{ between = ["edge", "ap1"], radio = {{}} }}
links.other1 = {{ between = ["edge", "ap2"], radio = {{}} }}
links.home2 = {{ between = ["walker", "ap1"], radio = {{}} }}
links.other2 = {{ between = ["walker", "ap2"], radio = {{}} }}
[hosts.server.transport]
path_manager = "userspace"
endpoints = "none"
[hosts.edge]
position = [5, 0]
[hosts.walker]
position = [45, 0]
waypoints = [{{ at = "6 s", position = [45, 0] }}, {{ at = "16 s", position = [5, 0] }}]
[steering]
at = "server"
{policy}
"""
DOWNLOADS = """
[workloads.down1]
kind = "flow"
from = "edge"
to = "server"
reverse = true
duration = "18 s"
checksum = true
[workloads.down2]
kind = "flow"
from = "walker"
to = "server"
reverse = true
duration = "18 s"
checksum = true
"""
REPORTS = """
[record]
interval = "20 ms"
captures = [{ node = "server", link = "uplink", filter = "udp dst port 9100", snaplen = "4 kB" }]
"""
#: The terminal `guest` leaves after 6 s, as a program there sees it.
GUEST = """
[hosts.guest]
position = [10, 0]
[links.home3]
between = ["guest", "ap1"]
radio = {}
[links.other3]
between = ["guest", "ap2"]
radio = {}
[[events]]
at = "6 s"
type = "down"
link = "home3"
mode = "interface"
[[events]]
at = "6 s"
type = "down"
link = "other3"
mode = "interface"
"""
LEAVES_NS = 6 * S
#: The lab's clock at boot, in ns since 1970; time zero after boot.
START_NS = WALL_CLOCK_NS
ZERO_NS = 10 * S
_DUMP_S = 1
_LATE_NS = S // 100


@dataclass(frozen=True)
class Dump:
    """What `iw station dump` prints of a station at an instant since 1970."""

    at_ns: int
    rx_bytes: int
    tx_bytes: int
    signal_dbm: int


def _dumps(text: str) -> tuple[list[int], dict[str, list[Dump]]]:
    """Return the instants of all dumps, and what they have of each station."""
    instants: list[int] = []
    dumps: dict[str, list[Dump]] = {}
    for block in re.split(r"^at ", text, flags=re.MULTILINE)[1:]:
        instants.append(int(block.partition("\n")[0]))
        for station in block.split("Station ")[1:]:
            values = dict(re.findall(r"^\t([a-z ]+):\s*(-?\d+)", station, flags=re.MULTILINE))
            dump = Dump(instants[-1], *(int(values[key]) for key in ("rx bytes", "tx bytes", "signal")))
            dumps.setdefault(station.split()[0], []).append(dump)
    return instants, dumps


def _reports(output: LabOutput, keys: dict[str, bytes]) -> dict[str, list[StationReport]]:
    """Return the datagrams that went over the server's link, unsealed, by access point."""
    file = output.folder / "out" / f"{PREFIX}server-uplink.out"
    reports: dict[str, list[StationReport]] = {name: [] for name in keys}
    for payload in _payloads(file):
        (report,) = (verify(key, payload) for name, key in keys.items() if f"{name}".encode() in payload[:16])
        reports[report.access_point].append(report)
    return reports


def _payloads(file: Path) -> Iterator[bytes]:
    command = [tshark_path(), "-r", str(file), "-Y", "udp.dstport==9100", "-T", "fields", "-e", "udp.payload"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.split():
        yield bytes.fromhex(line)


def _key(programs: tuple[Program, ...], name: str) -> bytes:
    (program,) = (program for program in programs if program.name == AGENT.format(name))
    return agent_config(program.argv[2]).key


#: Keeps a connection, and sends a little.
_GUEST = """
import socket, sys, time
s = socket.create_connection((sys.argv[1], 7000))
for _ in range(80):
    s.send(b"x" * 500)
    time.sleep(0.1)
"""
_SINK = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
s.bind(("0.0.0.0", 7000))
s.listen()
one, _ = s.accept()
while one.recv(65536):
    pass
"""


#: Both programs have what their units for systemd leave them (examples/steering).
_SETPRIV = ("setpriv", "--inh-caps=-all")
_NONE = (*_SETPRIV, "--bounding-set=-all")
_ALLOWED = {
    DAEMON: (*_SETPRIV, "--bounding-set=-all,+net_admin"),
    AGENT.format("ap1"): _NONE,
    AGENT.format("ap2"): _NONE,
}
Reported = tuple[LabOutput, Network, dict[str, list[StationReport]]]


@pytest.fixture
def station_reports(bench: Bench) -> Reported:
    """Three terminals, one of which leaves; `iw` dumps stations beside the agents, more often than they report."""
    text = SCENARIO.format(policy='policy = "none"') + DOWNLOADS.replace('"18 s"', '"9 s"') + REPORTS + GUEST
    scenario = bench.experiment(text).points[0].scenario
    plan, network = compile_plan(scenario, seed=1), Network(scenario)
    script = f"while :; do echo at $(date +%s%N); iw dev {AIR} station dump; sleep {_DUMP_S}; done"
    dumps = [
        replace(server(f"dump.{name}", "sh", "-c", script, node=name), starts=("date", "iw", "sleep"))
        for name in ("ap1", "ap2")
    ]
    address = network.ports["server", "uplink"].ip
    guest = client("guest", "mptcpize", "run", "python3", "-c", _GUEST, address, node="guest")
    sink = server("sink", "python3", "-c", _SINK)
    plan = replace(plan, programs=(*plan.programs, *dumps, sink, replace(guest, starts=("python3",))))
    programs = [
        replace(program, argv=(*_ALLOWED[program.name], *program.argv), starts=(*program.starts, program.argv[0]))
        if program.name in _ALLOWED
        else program
        for program in plan.programs
    ]
    output = bench.live(replace(plan, programs=tuple(programs)), version=KERNEL)
    return output, network, _reports(output, {name: _key(plan.programs, name) for name in ("ap1", "ap2")})


@dataclass(frozen=True)
class HeardStation:
    """What ``radio watch`` saw of a station at an instant since 1970."""

    at_ns: int
    rx_bytes: int
    tx_bytes: int
    signal_dbm: int


def _read_watcher(output: LabOutput, access_point: str) -> dict[str, list[HeardStation]]:
    """Return what the watcher, a program of ours in C, printed of each station, in the order of time."""
    heard: dict[str, list[HeardStation]] = {}
    for line in map(json.loads, output.text(f"radio.{access_point}").splitlines()):
        if "event" not in line:
            values = (line[key] for key in ("rx_bytes", "tx_bytes", "signal_dbm"))
            heard.setdefault(line["station"], []).append(HeardStation(START_NS + line["at_ns"], *values))
    return heard


def test_reports_are_what_the_kernel_counts(station_reports: Reported) -> None:
    """A report lies between the samples before and after it, 20 ms apart; where nothing came between, it is equal."""
    output, _, reports = station_reports
    equal, outside = 0, list[int]()
    for access_point, some in reports.items():
        watched = _read_watcher(output, access_point)
        assert len(some) >= 19, "one each second"
        for report in some:
            for mac, station in report.stations.items():
                before = next((frame for frame in reversed(watched[mac]) if frame.at_ns <= report.time_ns), None)
                after = next((frame for frame in watched[mac] if frame.at_ns > report.time_ns), None)
                if before is None or after is None:
                    outside.append(report.time_ns - ZERO_NS - START_NS)
                    continue
                assert before.rx_bytes <= station.rx_bytes <= after.rx_bytes, (access_point, mac, report.time_ns)
                assert before.tx_bytes <= station.tx_bytes <= after.tx_bytes, (access_point, mac, report.time_ns)
                assert station.rssi_dbm in (before.signal_dbm, after.signal_dbm)
                equal += before == replace(after, at_ns=before.at_ns)
        assert max(station.tx_bytes for station in some[-1].stations.values()) > 30_000, "not all of it was idle"
    print(f"{equal} reports of idle stations; without samples around them, at {outside}")
    assert all(time_ns < -7 * S or LEAVES_NS <= time_ns < LEAVES_NS + S // 10 for time_ns in outside)
    assert equal > 20, "the bounds are exact there"


def test_reports_agree_with_iw(station_reports: Reported) -> None:
    """`iw station dump` has no finer time than its own loop of a second: what it prints does not fall, nor overtake."""
    output, _, reports = station_reports
    for access_point, some in reports.items():
        instants, dumped = _dumps(output.text(f"dump.{access_point}"))
        assert len(instants) >= 10
        assert {mac for report in some for mac in report.stations} == set(dumped)
        for mac, dumps in dumped.items():
            for dump in dumps:
                earlier = [report for report in some if report.time_ns <= dump.at_ns and mac in report.stations]
                # An agent whose question waits for a radio that is being set down reads its clock later.
                later = [report for report in some if report.time_ns > dump.at_ns + _LATE_NS and mac in report.stations]
                low = earlier[-1].stations[mac] if earlier else None
                high = later[0].stations[mac] if later else None
                assert (low.rx_bytes if low else 0) <= dump.rx_bytes <= (high.rx_bytes if high else math.inf)
                assert (low.tx_bytes if low else 0) <= dump.tx_bytes <= (high.tx_bytes if high else math.inf)


def test_signals_are_those_of_the_path_loss(station_reports: Reported) -> None:
    """16 dBm less 46.7 dB and 30 dB a decade, as whole dBm, of who stands still; the walker gets weaker at ap2."""
    _, network, reports = station_reports
    macs = {radio.links: radio.mac for radio in radios_of(network) if radio.is_station}
    for link, access_point, metres in (("home1", "ap1", 5), ("other1", "ap2", 85), ("home3", "ap1", 10)):
        heard = {
            report.stations[macs[(link,)]].rssi_dbm
            for report in reports[access_point]
            if macs[(link,)] in report.stations
        }
        assert heard == {round(16 - 46.7 - 30 * math.log10(metres))}, link
    walker = [report.stations[macs[("other2",)]].rssi_dbm for report in reports["ap2"]]
    print(walker)
    # It is 45 m away until 6 s after time zero, and 61 m at the last report, 4 s later.
    assert (walker[0], walker[-1]) == (-80, -84)


def test_a_station_that_leaves_disappears(station_reports: Reported) -> None:
    """From the reports at once, and from the daemon's terminals with the next decision, though its connection stays."""
    output, network, reports = station_reports
    (mac,) = (radio.mac for radio in radios_of(network) if radio.links == ("home3",))
    address = network.ports["guest", "home3"].ip
    left_ns = START_NS + ZERO_NS + LEAVES_NS
    for report in reports["ap1"]:
        addresses = [address for station in report.stations.values() for address in station.addresses]
        if report.time_ns > left_ns + S // 10:
            assert mac not in report.stations
            assert address not in addresses
        else:
            assert mac in report.stations
    log = [json.loads(line) for line in output.text("steering").splitlines()]
    assert {line["error"] for line in log if line["event"] == "priority"} == {0}
    decisions = [line for line in log if line["event"] == "decision"]
    after = [decision for decision in decisions if ZERO_NS + LEAVES_NS + S < decision["t_ns"] < ZERO_NS + 9 * S]
    assert len(after) >= 2
    assert any(address in decision["terminals"] for decision in decisions)
    assert not any(address in decision["terminals"] for decision in after)
    assert all(len(decision["terminals"]) == 2 for decision in after), after


@pytest.mark.parametrize("floor_dbm", [-84.5, -92.0])
def test_nobody_moves_to_an_access_point_that_hears_it_below_the_floor(bench: Bench, floor_dbm: float) -> None:
    """The walker is heard by ap2 with -80 to -89 dBm, and the terminal at the edge with -89: it moves only with a
    floor below that. Algorithm 1 with T = 1.05 moves somebody in nearly every period."""
    (recording,) = bench.record(SCENARIO.format(policy=f"threshold = 1.05\nfloor_dbm = {floor_dbm}") + DOWNLOADS)
    log = [json.loads(line) for line in recording.output("steering").splitlines()]
    away = [event for event in log if event["event"] == "switch" and event["to"] == "ap2"]
    for event in away:
        print(event)
    assert all(event["rssi_dbm"] > floor_dbm for event in away)
    zero_ns = int(recording.manifest["zero_ns"])
    names = {"edge": "10.0.4.1", "walker": "10.0.6.1"}
    moved = {name for name, address in names.items() if any(event["terminal"] == address for event in away)}
    if floor_dbm > -89:
        assert moved == {"walker"}
        # It is heard above the floor until it is 62 m from ap2, after 10.3 s. A signal is up to two periods old.
        last_s = max((event["t_ns"] - zero_ns) / S for event in away)
        assert last_s < 12.4, last_s
    else:
        assert moved == {"edge", "walker"}
