# SPDX-License-Identifier: MIT
"""Terminals behind OpenVPN over MPTCP on 802.11: the daemon moves a tunnel, and with it all that is inside."""

from __future__ import annotations

import json
from importlib.resources import files

from tests.lab.bench import Bench

from mptcplab.metrics.measure import measure
from mptcplab.metrics.radios import radio_links

#: A voice call's worth of datagrams in each tunnel, from server to terminal, beside the study's download by TCP.
VOICE = """
[copies.terminal.workloads."voice{n}"]
kind = "udp"
from = "client{n}"
to = "server"
reverse = true
rate = "64 kbit/s"
packet = "160 B"
start = "2 s"
duration = "8 s"
"""
SETTINGS = ("steering.policy=ratio", "steering.threshold=1.5", "workloads.down*.duration=8 s", "repeats=1")
#: What a radio link carries without the traffic of its terminal: the handshakes of a backup subflow.
IDLE_BYTES = 10_000


def _scenario() -> str:
    """The evidence ``vpn`` of the study, with more inside of its tunnels."""
    text = (files("mptcplab.studies") / "asakura2019" / "vpn.toml").read_text()
    before, record, rest = text[text.index("title") :].partition("[record]")
    return f"{before}{VOICE}\n{record}{rest}"


def test_a_tunnel_moves_with_all_that_is_inside(bench: Bench) -> None:
    """The run fails if the checksums of both ends of a download differ. Bytes are what access points sent."""
    (recording,) = bench.record(_scenario(), *SETTINGS)
    log = [json.loads(line) for line in recording.output("steering").splitlines()]
    loaded = [event for event in log if event["event"] == "moved" and event["verdict"] != "idle"]
    print(loaded)
    assert loaded, "somebody moves while the tunnels carry data"
    assert all(event["verdict"] == "moved" and event["share"] > 0.5 for event in loaded)
    assert not any(event["errors"] for event in log if event["event"] == "switch")
    sent = {radio_link.link: radio_link.tx_bytes for radio_link in radio_links(recording)}
    print(sent)
    by_terminal = [sorted((sent[f"home{n}"], sent[f"other{n}"])) for n in range(1, 5)]
    both = [terminal for terminal in by_terminal if terminal[0] > IDLE_BYTES]
    assert len(both) == len({event["terminal"] for event in loaded}), "terminals that moved used both access points"
    assert all(less > 200_000 and more > 1_000_000 for less, more in both)
    for measurement in measure(recording):
        print(measurement.workload, measurement.goodput_bps, measurement.metrics.get("lost_percent"))
        if measurement.workload.startswith("voice"):
            # What the tunnel's device drops when the download fills its queue; the move itself loses nothing.
            assert measurement.metrics["lost_percent"] < 2
        else:
            # Two terminals at each of two access points of 802.11b, of which each carries more than 4 Mbit/s.
            assert measurement.goodput_bps > 1.5e6
