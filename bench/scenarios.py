# SPDX-License-Identifier: MIT
"""The scenarios that are measured, as a user would write them.

Receivers read every 5 ms wherever the rate leaves more than a few packets between two reads: waking a program costs
several times what carrying a packet does, and no real receiver of a bulk transfer wakes for each packet.
"""

from __future__ import annotations

_QUANTUM = "5 ms"


def two_lines(kind: str, duration: str) -> str:
    """MPTCP over two 100 Mbit/s lines, a router on each."""
    quantum = f'read_quantum = "{_QUANTUM}"' if kind == "flow" else ""
    return f"""
title = "Two lines"
topology = {{ preset = "disjoint-lines", lines = 2 }}
[links.line1]
rate = "100 Mbit/s"
[links.line2]
rate = "100 Mbit/s"
[workloads.load]
kind = "{kind}"
from = "client"
to = "server"
duration = "{duration}"
{quantum}
"""


def fast_ethernet(kind: str, duration: str) -> str:
    """Subramani's Table 4.1: Fast Ethernet cables before a shaping router each, and MPTCP's checksum on.

    That is twice the shapers, and a sum over all data; but a receiver that verifies sums gets its data in blocks of a
    mapping, and wakes up for these instead of packets.
    """
    checksum = '[transport]\nsysctl = { "net.mptcp.checksum_enabled" = 1 }\n'
    text = two_lines(kind, duration).replace("[links.line1]\n", f"{checksum}[links.line1]\n")
    for number in (1, 2):
        shaper = f'[links.line{number}]\nburst = "10 KiB"\nqueue = "1 s"\n'
        cable = f'[links.access{number}]\nrate = "100 Mbit/s"\noverhead = "24 B"\n'
        text = text.replace(f"[links.line{number}]\n", cable + shaper)
    return text


def one_line(
    rate: str,
    duration: str,
    *,
    routers: int = 1,
    connections: int = 1,
    quantum: str = _QUANTUM,
    protocol: str = "tcp",
) -> str:
    """A transfer over a chain of routers; ``line1`` is the bottleneck."""
    text = _line(f'rate = "{rate}"', duration, routers=routers, connections=connections, quantum=quantum)
    return text.replace('protocol = "tcp"', f'protocol = "{protocol}"')


def unshaped(duration: str, *, delay: str, quantum: str) -> str:
    """TCP through one router without a rate.

    Virtual time moves only when everything is idle. With neither a rate nor a delay nothing ever waits, so that a
    timed transfer would never come to its end. A delay on the data's way makes each window wait once, and costs one
    timer per packet at most; no rate is enforced anywhere.
    """
    return _line(f'forward = {{ delay = "{delay}" }}', duration, routers=1, connections=1, quantum=quantum)


def _line(link: str, duration: str, *, routers: int, connections: int, quantum: str) -> str:
    return f"""
title = "One line"
topology = {{ preset = "line", routers = {routers} }}
transport.protocol = "tcp"
[links.line1]
{link}
[workloads.load]
kind = "flow"
from = "client"
to = "server"
duration = "{duration}"
connections = {connections}
read_quantum = "{quantum}"
"""
