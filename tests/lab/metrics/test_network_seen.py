# SPDX-License-Identifier: MIT
"""What is read of links is what went over them: disciplines, interfaces and sockets count it in three places."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.lab.bench import Bench, mptcplab

from mptcplab.engine.virtual.engine import VirtualEngine
from mptcplab.metrics.links import LINKS, DirectionCounters
from mptcplab.metrics.network import network_counters
from mptcplab.metrics.rows import run_result
from mptcplab.recording.record import Recording
from mptcplab.scenario.load import load

SCENARIO = """
title = "Every kind of link"
[topology]
preset = "disjoint-paths"
paths = 5
[transport.sysctl]
"net.ipv4.tcp_ecn" = 1
[links]
link1 = { rate = "20 Mbit/s", delay = "10 ms", loss = "1 %", queue = "30 ms" }
link2 = { rate = "10 Mbit/s", delay = "20 ms", discipline = "fq_codel", aqm = { ecn = true } }
link3 = { rate = "10 Mbit/s", delay = "20 ms", discipline = "codel" }
link4 = { rate = "5 Mbit/s", delay = "20 ms", discipline = "cake", duplicate = "1 %", loss = "0.5 %" }
link5 = { rate = "5 Mbit/s", queue = "10 packets" }
[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
duration = "6 s"
"""


@pytest.fixture(scope="module")
def recording(engines: Mapping[str, VirtualEngine], tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """One run with all of them."""
    (made,) = Bench(engines, tmp_path_factory.mktemp("links")).record(SCENARIO)
    return made


def _ends(recording: Recording, seen: DirectionCounters) -> tuple[dict[str, int], dict[str, int]]:
    """What the interface at the beginning has sent, and that at the end received."""
    link = next(link for link in recording.manifest["links"] if link["name"] == seen.link)
    nodes = link["between"] if seen.direction == "forward" else link["between"][::-1]
    ports = [
        next(port for port in recording.counter(node, "link.json") if port["ifname"] == seen.link)["stats64"]
        for node in nodes
    ]
    return ports[0]["tx"], ports[1]["rx"]


def test_disciplines_and_interfaces_agree(recording: Recording) -> None:
    """What left a discipline has arrived; what a host has sent was lost, dropped, doubled or passed on behind the wire.

    Some packets pass while the network is set up, before there are disciplines.
    """
    for seen in network_counters(recording).get(LINKS):
        sent, received = _ends(recording, seen)
        place = f"{seen.link} {seen.direction}"
        print(place, seen, sent["packets"], received["packets"])
        assert seen.packets > 100, place
        if (seen.link.startswith("link"), seen.direction) == (True, "backward"):
            doubled = 0.02 * seen.offered if seen.link == "link4" else 0
            assert -5 <= seen.offered - received["packets"] <= doubled, place
        else:
            assert (seen.packets, seen.bytes) == (received["packets"], received["bytes"]), place
        assert seen.is_as_asked, place
        assert seen.lost >= 0, place


def test_what_came_to_a_router_went_on(recording: Recording) -> None:
    """All that a router got on one side it gave to the other; ARP is of one link."""
    by_place = {(seen.link, seen.direction): seen for seen in network_counters(recording).get(LINKS)}
    for number in (1, 2, 3, 5):
        came, went = by_place[f"access{number}", "forward"], by_place[f"link{number}", "forward"]
        assert abs(came.packets - went.offered) <= 5, number
    assert by_place["link3", "forward"].dropped > 0, "CoDel drops"
    assert by_place["link5", "forward"].dropped > 0, "a full queue drops"
    assert by_place["link5", "forward"].peak_queue_packets == 10, "as many as it holds"
    assert by_place["link2", "forward"].marked > 0
    assert by_place["link4", "forward"].offered > by_place["access4", "forward"].packets, "copies came on top"


def test_marks_have_arrived(recording: Recording) -> None:
    """A mark is on a packet that the server got: its own counter, over all links."""
    marked = sum(seen.marked for seen in network_counters(recording).get(LINKS) if seen.direction == "forward")
    arrived = recording.counter("server", "nstat.json")["kernel"]["IpExtInCEPkts"]
    print(marked, arrived)
    # A copy of a marked packet has been marked once; what waits when the counters are read has not arrived.
    assert abs(marked - arrived) <= 2


def test_sockets_and_links_agree(recording: Recording) -> None:
    """A path's link carried its payload and the headers of it: 66 bytes and MPTCP's option for each 1448 or less."""
    (measured,) = run_result(recording).measured
    by_place = {(seen.link, seen.direction): seen for seen in network_counters(recording).get(LINKS)}
    payload = measured.goodput_bps * measured.duration_s / 8
    for number in (1, 2, 3, 5):
        carried = by_place[f"link{number}", "forward"].bytes
        share = measured.sockets.shares[f"access{number}>link{number}"]
        print(number, carried, share * payload)
        assert 1 < carried / (share * payload) < 1.12, number


def test_on_the_terminal_and_in_json(bench: Bench) -> None:
    file = bench.write(SCENARIO.replace('duration = "6 s"', 'duration = "1 s"'))
    with bench.reuse(load(file).runs, bench.folder / "out"):
        done = mptcplab("run", file, "--out", bench.folder / "out", "--links")
    assert done.returncode == 0, done.stderr
    assert "r1 → server" in done.stdout
    assert "10.0.4.2 signal" in done.stdout
