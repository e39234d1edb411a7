# SPDX-License-Identifier: MIT
"""A link's MTU is what passes it in one piece, and what TCP makes its segments of."""

from __future__ import annotations

import re

import pytest
from tests.lab.bench import Bench, client, note, ping_ms
from tests.lab.probe import LINE, TARGET

from mptcplab.metrics.rows import result_rows

#: Without fragments: whatever is too long is answered by the router before the link, and never by the target.
_ASK = "ping -n -c 1 -W 1 {target}; ping -n -c 3 -i 0.1 -W 1 -M do -s {size} {target} || true"


# A ping of n bytes is a packet of n + 8 + 20, in IPv6 n + 8 + 40.
@pytest.mark.parametrize(("family", "target", "headers"), [("ipv4", TARGET, 28), ("ipv6", "fd00:6d70:7463:3::2", 48)])
@pytest.mark.parametrize("mtu", [1280, 1400, 9000])
def test_packets_of_the_mtu_pass_and_no_longer_ones(
    bench: Bench, family: str, target: str, headers: int, mtu: int
) -> None:
    text = f'family = "{family}"\n{LINE.replace("disable_ipv6", "forwarding")}'
    wide = [f"links.{name}.mtu=9200 B" for name in ("client-r1", "r2-server")]
    programs = [
        client(name, "sh", "-c", _ASK.format(target=target, size=size), start_ns=start * 10**9)
        for name, size, start in (("fits", mtu - headers, 1), ("too-long", mtu - headers + 1, 10))
    ]
    lived = bench.live(bench.plan(text, f"links.link1.mtu={mtu} B", *wide, programs=programs))
    fits, too_long = (ping_ms(lived.text(name)) for name in ("fits", "too-long"))
    described = re.findall(r"mtu ?= ?([0-9]+)", lived.text("too-long") + lived.text("too-long", "err"))
    print(f"{family}, MTU {mtu}: {len(fits)} of 4 and {len(too_long)} of 4 answered; told an MTU of {set(described)}")
    assert len(fits) == 4
    assert len(too_long) == 1, "the short one before"
    assert set(described) == {str(mtu)}


FLOW = """
topology.preset = "chain"
topology.routers = 2
transport.protocol = "tcp"
links.link1 = { rate = "10 Mbit/s", delay = "10 ms" }

[workloads.bulk]
kind = "flow"
from = "client"
to = "server"
size = "4 MB"
"""


# Frames of MTU + 14 bytes, of which 52 are headers of IPv4 and TCP with its timestamps; where only the middle is
# narrow, the path's MTU has to be found first. The handshake, the start and the end cost up to 3 %.
@pytest.mark.parametrize(("mtu", "elsewhere"), [(1500, 1500), (1000, 1500), (576, 576), (9000, 9000)])
def test_tcp_fills_the_mtu(bench: Bench, mtu: int, elsewhere: int) -> None:
    names = {"link1": mtu, "client-r1": elsewhere, "r2-server": elsewhere}
    (recording,) = bench.record(FLOW, *(f"links.{name}.mtu={size} B" for name, size in names.items()))
    (row,) = result_rows([recording])
    (tbf,) = [row for row in recording.counter("r1", "tc.json") if (row["dev"], row["kind"]) == ("link1", "tbf")]
    mean = tbf["bytes"] / tbf["packets"]
    most = 10 * (mtu - 52) / (mtu + 14)
    print(f"MTU {mtu}: frames of {mean:.1f} bytes on average, {row.goodput_mbps.mean:.3f} of {most:.3f} Mbit/s")
    note(f"mtu {mtu} frame B", mean)
    note(f"mtu {mtu} Mbit/s", row.goodput_mbps.mean)
    assert 0.97 * (mtu + 14) < mean <= mtu + 14
    assert 0.96 * most < row.goodput_mbps.mean < most
