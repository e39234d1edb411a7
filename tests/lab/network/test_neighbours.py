# SPDX-License-Identifier: MIT
"""Address resolution takes a round trip of the link from the first connection, unless neighbours are known."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.bench import Bench, note

from mptcplab.metrics.rows import ResultRow

RTT_MS = 16.0
#: A few steps of the lab kernel's clock, of 256 ns each.
RESOLUTION_MS = 0.002
#: A full frame at 50 Mbit/s. The server's first RTT sample includes its own wait, and the data is one frame apart then.
FRAME_MS = 1514 * 8 / 50e3
NETWORK = """
phases = "fixed"

[hosts.client]
[hosts.server]
[routers.r1]

[links.access1]
between = ["client", "r1"]

[links.link1]
between = ["r1", "server"]
rate = "50 Mbit/s"
delay = "8 ms"

[workloads.first]
kind = "flow"
from = "client"
to = "server"
size = "100 kB"
reverse = true
start = "1 s"

[workloads.second]
kind = "flow"
from = "client"
to = "server"
size = "100 kB"
reverse = true
start = "5 s"

[record]
captures = [{ node = "client" }, { node = "server" }]

[sweep]
neighbours = ["resolve", "known"]
"""
FAILURE = """
[[events]]
at = "3 s"
type = "down"
link = "link1"
node = "server"
mode = "interface"

[[events]]
at = "4 s"
type = "up"
link = "link1"
"""
PAGE = """
phases = "fixed"

[topology]
preset = "disjoint-paths"
paths = 1

[links.link1]
rate = "50 Mbit/s"
delay = "8 ms"

[workloads.page]
kind = "http"
from = "client"
to = "server"
size = "5 kB"
files = 6
connections = 6

[sweep]
neighbours = ["resolve", "known"]
"""
_ARP, _IPV6 = 0x0806, 0x86DD
_ICMPV6, _ADVERTISEMENT = 58, 136


def _durations_ms(rows: list[ResultRow], workload: str) -> dict[str, float]:
    """Return the duration of a transfer by the value of the key."""
    selected = (row for row in rows if row.workload == workload)
    return {row.settings["neighbours"]: 1000 * row.metrics["duration_s"].mean for row in selected}


def _answers(file: Path) -> Iterator[bytes]:
    """Yield the frames of ARP, and those in which an IPv6 neighbour answers; some ask whether an address is unique."""
    data, offset = file.read_bytes(), 24
    while offset < len(data):
        (length,) = struct.unpack_from("<8xI", data, offset)
        frame = data[offset + 16 : offset + 16 + length]
        offset += 16 + length
        (protocol,) = struct.unpack_from("!H", frame, 12)
        is_answer = protocol == _IPV6 and frame[20] == _ICMPV6 and frame[54] == _ADVERTISEMENT
        if protocol == _ARP or is_answer:
            yield frame


@pytest.mark.parametrize(("family", "round_trips"), [("ipv4", 1), ("ipv6", 2)])
def test_the_first_connection_waits_for_addresses(bench: Bench, family: str, round_trips: int) -> None:
    """With IPv4, the request gives the other side the address of the first; with IPv6, that one asks as well."""
    rows = bench.rows(NETWORK, f"family={family}")
    first, second = _durations_ms(rows, "first"), _durations_ms(rows, "second")
    waited = first["resolve"] - first["known"]
    note(f"address resolution {family} ms", waited)
    assert waited == pytest.approx(round_trips * RTT_MS, abs=FRAME_MS + RESOLUTION_MS)
    # Nothing else differs: what is left is the clock's resolution.
    assert first["known"] == pytest.approx(second["known"], abs=RESOLUTION_MS)
    assert second["resolve"] == pytest.approx(second["known"], abs=RESOLUTION_MS)


def test_all_files_of_a_first_page_wait(bench: Bench) -> None:
    """Their connections begin together, so that all of them wait for the same addresses."""
    rows = bench.rows(PAGE)
    medians = {row.settings["neighbours"]: 1000 * row.metrics["completion_p50_s"].mean for row in rows}
    for value, median in medians.items():
        note(f"page neighbours {value} ms", median)
    # All handshakes begin later, and nothing else changes.
    assert medians["resolve"] - medians["known"] == pytest.approx(RTT_MS, abs=FRAME_MS + RESOLUTION_MS)


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_nobody_asks_for_known_addresses(bench: Bench, family: str) -> None:
    resolving, knowing = bench.record(NETWORK, f"family={family}")
    asked = [sum(len([*_answers(file)]) for file in recording.captures.values()) for recording in (resolving, knowing)]
    assert asked[0] > 0
    assert asked[1] == 0


@pytest.mark.parametrize("mode", ["interface", "carrier"])
@pytest.mark.parametrize(("family", "round_trips"), [("ipv4", 1), ("ipv6", 2)])
def test_after_a_failure_both_ends_ask_again(bench: Bench, family: str, round_trips: int, mode: str) -> None:
    """Both lose what they knew, whether from the beginning or since the first connection."""
    rows = bench.rows(NETWORK + FAILURE, f"family={family}", f"events.0.mode={mode}")
    first, second = _durations_ms(rows, "first"), _durations_ms(rows, "second")
    assert second["known"] - first["known"] == pytest.approx(round_trips * RTT_MS, abs=FRAME_MS + RESOLUTION_MS)
    assert second["resolve"] == pytest.approx(second["known"], abs=RESOLUTION_MS)
