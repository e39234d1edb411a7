# SPDX-License-Identifier: MIT
"""The scenarios that are measured, as a user would write them.

Receivers read every 5 ms wherever the rate leaves more than a few packets between two reads: waking a program costs
several times what carrying a packet does, and no real receiver of a bulk transfer wakes for each packet. Subramani's
Table 4.1 is measured as the study runs it: there the receiver reads as data comes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from mptcplab.scenario.load import load
from mptcplab.study.load import select

_QUANTUM = "5 ms"


def two_lines(kind: str, duration: str) -> str:
    """MPTCP over two 100 Mbit/s lines, a router on each."""
    quantum = f'read_quantum = "{_QUANTUM}"' if kind == "flow" else ""
    return f"""
title = "Two lines"
topology = {{ preset = "disjoint-paths", paths = 2 }}
[links.link1]
rate = "100 Mbit/s"
[links.link2]
rate = "100 Mbit/s"
[workloads.load]
kind = "{kind}"
from = "client"
to = "server"
duration = "{duration}"
{quantum}
"""


def table_4_1(kind: str, duration: str) -> str:
    """MPTCP of Subramani's Table 4.1: the study's own scenario, where only kind and duration are other ones.

    Its congestion controls and whatever else it sets are not repeated here: what the study changes, this changes, too.
    """
    (table,) = select("subramani2018/4.1")
    file = table.scenario.resolve()
    (mptcp, *_) = [one.settings for one in load(file).points if one.settings["transport.protocol"] == "mptcp"]
    along = {table.table.along: duration}
    zipped = {key: value for key, value in mptcp.items() if key not in along}
    return f"""
extends = {json.dumps(str(file))}
[workloads.bulk]
kind = "{kind}"
[sweep]
{_swept(along)}
[[sweep.zip]]
{_swept(zipped)}
"""


def _swept(values: Mapping[str, str]) -> str:
    return "\n".join(f"{json.dumps(key)} = [{json.dumps(value)}]" for key, value in values.items())


def one_line(
    rate: str,
    duration: str,
    *,
    routers: int = 1,
    connections: int = 1,
    quantum: str = _QUANTUM,
    protocol: str = "tcp",
) -> str:
    """A transfer over a chain of routers; ``link1`` is the bottleneck."""
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
topology = {{ preset = "chain", routers = {routers} }}
transport.protocol = "tcp"
[links.link1]
{link}
[workloads.load]
kind = "flow"
from = "client"
to = "server"
duration = "{duration}"
connections = {connections}
read_quantum = "{quantum}"
"""
