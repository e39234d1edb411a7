# SPDX-License-Identifier: MIT
"""Events happen at their instants, and do what they say: seen by ping, by the hosts themselves, and by TCP."""

from __future__ import annotations

import dataclasses
import itertools
import re

import pytest
from tests.lab.bench import Bench, LabOutput, client, server, tree_hash

from mptcplab.steps import Command, Counter, Event

LINE = """
[topology]
preset = "chain"
routers = 1

[links.link1]
rate = "100 Mbit/s"
delay = "10 ms"
"""
#: Sends number N at N * 10 ms after time zero, 400 in all. Prints the round-trip time in ms and the instant of answers.
PROBE = """
import select, socket, sys, time
probe = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
sent, zero = {}, time.monotonic() // 10 * 10
for number in range(600):
    until = zero + 0.01 * number
    while (left := until - time.monotonic()) > 0:
        if select.select([probe], [], [], left)[0]:
            answer = int(probe.recv(100))
            now = time.monotonic()
            print(answer, 1e3 * (now - sent[answer]), now - zero)
    if 1 <= number <= 400:
        sent[number] = time.monotonic()
        try:
            probe.sendto(str(number).encode(), (sys.argv[1], 7))
        except OSError:
            pass
"""
ECHO = """
import socket, sys
echo = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
echo.bind(("", 7))
while True:
    try:
        echo.sendto(*echo.recvfrom(100))
    except OSError:
        pass
"""
ADDRESSES = {"ipv4": "10.0.2.2", "ipv6": "fd00:6d70:7463:2::2"}


def _event(at: str, what: str, link: str = "link1", **more: str) -> str:
    lines = [
        f'at = "{at}"',
        f'type = "{what}"',
        f'link = "{link}"',
        *(f'{key} = "{value}"' for key, value in more.items()),
    ]
    return "\n".join(["[[events]]", *lines, ""])


def _probe(bench: Bench, *events: str, family: str = "ipv4", counters: tuple[Counter, ...] = ()) -> LabOutput:
    text = (f'family = "{family}"\n' if family == "ipv6" else "") + LINE + "".join(events)
    address = ADDRESSES[family]
    programs = [server("echo", "python3", "-c", ECHO, address), client("probe", "python3", "-c", PROBE, address)]
    return bench.live(bench.plan(text, programs=programs, counters=counters))


def _times(lived: LabOutput) -> dict[int, float]:
    """Round-trip times in ms by number."""
    lines = (line.split() for line in lived.text("probe").splitlines())
    return {int(number): float(time) for number, time, _ in lines}


def _instants(lived: LabOutput) -> list[float]:
    """When answers came, in s."""
    return [float(line.split()[2]) for line in lived.text("probe").splitlines()]


def _lost_numbers(lived: LabOutput) -> list[int]:
    """Numbers without an answer."""
    return sorted(set(range(1, 401)) - set(_times(lived)))


@pytest.mark.parametrize("how", ["silent", "carrier", "interface"])
@pytest.mark.parametrize("link", ["client-r1", "link1"])
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_down_and_up_at_their_instants(bench: Bench, how: str, link: str, family: str) -> None:
    """No answer comes for one second, however the link fails and comes back, and every probe is answered in time later.

    What a host sends while its own interface has no carrier is not lost, but waits for its neighbour to be found.
    """
    down, up = _event("1 s", "down", link, mode=how), _event("2 s", "up", link)
    lived = _probe(bench, down, up, family=family)
    instants, times = _instants(lived), _times(lived)
    silence, began = max((later - instant, instant) for instant, later in itertools.pairwise(instants))
    print(
        f"{family} {link} {how}: silent for {silence:.3f} s from {began:.3f} s, {len(_lost_numbers(lived))} probes lost"
    )
    # The last answer comes up to 10 ms before the failure; the first one up to 30 ms after the end, and up to 110 ms
    # later when neighbours have to be found again, one after the other, with what waits for them.
    assert 0.99 <= began <= 1.01, began
    assert 0.99 <= silence <= 1.15, silence
    assert all(abs(times[number] - 20) < 0.1 for number in range(215, 401)), (
        "it was not over with the end of the failure"
    )


def test_one_direction_fails_alone(bench: Bench) -> None:
    """All that is sent forward arrives while nothing comes back."""
    events = _event("1 s", "down", direction="backward") + _event("2 s", "up", direction="backward")
    arrived = Counter("server", "udp.json", ("nstat", "-a", "-s", "-z", "-j", "UdpInDatagrams"))
    lived = _probe(bench, events, counters=(arrived,))
    missing, got = _lost_numbers(lived), lived.counter("server", "udp.json")["kernel"]["UdpInDatagrams"]
    assert got == 400, f"the server got {got} of 400"
    assert 99 <= len(missing) <= 101, f"{len(missing)} answers of 100 are missing"


def test_change_of_delay_at_its_instant(bench: Bench) -> None:
    times = _times(
        _probe(
            bench, _event("1 s", "change", delay="30 ms"), _event("2 s", "change", delay="5 ms", direction="forward")
        )
    )
    assert len(times) == 400, "a change of delay lost packets"
    for numbers, expected in ((range(5, 97), 20), (range(102, 195), 60), (range(203, 400), 35)):
        worst = max(abs(times[number] - expected) for number in numbers)
        print(f"{expected} ms: off by at most {1e3 * worst:.0f} us")
        # The frame's own time at 100 Mbit/s, twice, is 8 us; the rest is what clocks cost to read.
        assert worst < 0.1, f"{worst} ms off {expected} ms"


def test_change_of_loss(bench: Bench) -> None:
    missing = _lost_numbers(_probe(bench, _event("1 s", "change", loss="50 %", direction="forward")))
    assert not [number for number in missing if number < 100], "lost before the change"
    # 301 draws of 1/2: mean 150.5, standard deviation 8.7; four of them on each side.
    assert 116 <= len(missing) <= 185, f"{len(missing)} of 301 lost"


def test_change_of_rate(bench: Bench) -> None:
    """A saturating flow gets the new rate from the next sample on."""
    text = f"""{LINE}
[transport]
protocol = "tcp"
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "12 s"
[record]
interval = "500 ms"
{_event("4 s", "change", rate="20 Mbit/s")}{_event("8 s", "change", rate="50 Mbit/s")}"""
    (recording,) = bench.record(text)
    table = recording.subflows.filter(recording.subflows["program"] == "bulk.server").sort("time_ns")
    frames = dict(zip(table["time_ns"] // 10**6, table["data_segs_in"], strict=True))

    def rate(start_s: float, end_s: float) -> float:
        instants = sorted(ms for ms in frames if start_s * 1e3 <= ms <= end_s * 1e3 + 20)
        return float(8 * 1514 * (frames[instants[-1]] - frames[instants[0]]) / (instants[-1] - instants[0]) / 1e3)

    for start, end, expected in ((1, 4, 100), (4.5, 8, 20), (9.5, 11.5, 50)):
        bits = rate(start, end)
        print(f"{start} s to {end} s: {bits:.3f} Mbit/s of {expected}")
        # A sample may be 10 ms late (the path's delay), of 2 s; slow start and recovery end before the windows begin.
        assert abs(bits / expected - 1) < 0.02, f"{bits} Mbit/s, expected {expected}"


def test_address_goes_and_comes(bench: Bench) -> None:
    events = _event("1 s", "address-removed", "client-r1") + _event("2 s", "address-added", "client-r1")
    missing = _lost_numbers(_probe(bench, events))
    assert 97 <= len(missing) <= 103, f"{len(missing)} of 100 are missing"


def test_what_hosts_see(bench: Bench) -> None:
    """Silent: nothing. Carrier: the interface is up without a carrier, its address and routes stay. Interface: down."""
    seen = {}
    for how in ("silent", "carrier", "interface"):
        looks = "sleep 1.5; ip -o link show dev client-r1; ip -o -4 address show dev client-r1; ip route show"
        plan = bench.plan(
            LINE + _event("1 s", "down", "client-r1", mode=how), programs=[client("look", "sh", "-c", looks)]
        )
        seen[how] = bench.live(plan).text("look")
    assert "state UP" in seen["silent"]
    assert "via 10.0.1.2" in seen["silent"]
    assert "NO-CARRIER" in seen["carrier"]
    assert "10.0.1.1/24" in seen["carrier"]
    assert "linkdown" in seen["carrier"]
    assert re.search(r"state DOWN", seen["interface"])
    assert "NO-CARRIER" not in seen["interface"]
    assert "10.0.1.1/24" in seen["interface"]
    assert "via 10.0.1.2" not in seen["interface"]


def test_a_command_that_fails_is_the_runs_failure(bench: Bench) -> None:
    plan = bench.plan(LINE, programs=[client("wait", "sleep", "3")])
    wrong = Event(10**9, "change", "link1", "both", "", (Command("r1", ("ip", "link", "set", "dev", "link7", "down")),))
    error = bench.fail(dataclasses.replace(plan, events=(wrong,)))
    assert error.message.startswith("an event's command failed: ip netns exec r1 ip link set dev link7 down: "), error
    assert "Cannot find device" in error.message


def test_events_are_recorded_and_the_same_every_time(bench: Bench) -> None:
    text = f"""{LINE}
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "3 s"
{_event("1 s", "down", mode="carrier", node="r1")}{_event("2 s", "up")}
{_event("1 h", "change", "client-r1", delay="1 ms")}
[workloads.last]
kind = "flow"
from = "client"
to = "server"
size = "1 MB"
"""
    first, other = (bench.record(text, out=out)[0] for out in (None, "again"))
    rows = first.events.rows(named=True)
    # What is due when all workloads have ended does not happen.
    assert rows == [
        {"instant_ns": 10**9, "kind": "down", "link": "link1", "direction": "both", "value": "carrier"},
        {"instant_ns": 2 * 10**9, "kind": "up", "link": "link1", "direction": "both", "value": ""},
    ]
    assert tree_hash(first.folder) == tree_hash(other.folder)
