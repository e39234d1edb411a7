# SPDX-License-Identifier: MIT
"""The measured scenarios, as a user would write them.

Receivers read in intervals in which more than a few packets arrive: waking a program costs several times as much as
carrying a packet, and no real receiver of a bulk transfer wakes for each packet. Subramani's Table 4.1 is measured as
the study runs it: there the receiver reads as data arrives.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from mptcplab.scenario.load import load
from mptcplab.study.library import select
from mptcplab.units import Rate

_QUANTUM = "5 ms"
#: What arrives between two reads, at most: in 5 ms at 100 Mbit/s. With more, the receive buffer is what limits a flow.
_BYTES_BETWEEN_READS = 62_500


def two_paths(kind: str, duration: str, *, sampled: str | None = None) -> str:
    """Return a scenario of MPTCP over two 100 Mbit/s paths, each with a router; ``sampled``: time between samples."""
    return _paths(2, kind, duration) + (f'[record]\ninterval = "{sampled}"\n' if sampled else "")


def many_paths(paths: int, duration: str) -> str:
    """Return a scenario of MPTCP with a subflow on each of ``paths`` paths of 100 Mbit/s."""
    return _paths(paths, "flow", duration)


def _paths(paths: int, kind: str, duration: str) -> str:
    quantum = f'read_quantum = "{_QUANTUM}"' if kind == "flow" else ""
    links = "".join(f'[links.link{n}]\nrate = "100 Mbit/s"\n' for n in range(1, paths + 1))
    return f"""
title = "Paths"
topology = {{ preset = "disjoint-paths", paths = {paths} }}
{links}
[workloads.load]
kind = "{kind}"
from = "client"
to = "server"
duration = "{duration}"
{quantum}
"""


def table_4_1(kind: str, duration: str) -> str:
    """Return MPTCP of Subramani's Table 4.1: the study's own scenario with another kind and duration.

    It extends the study's scenario, so that a change of the study applies here, too.
    """
    (table,) = select("subramani2018/4.1")
    file = table.scenario.resolve()
    (mptcp, *_) = [point.settings for point in load(file).points if point.settings["transport.protocol"] == "mptcp"]
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


def one_path(
    rate: str,
    duration: str,
    *,
    routers: int = 1,
    connections: int = 1,
    protocol: str = "tcp",
) -> str:
    """Return a scenario of a transfer over a chain of routers; ``link1`` is the bottleneck."""
    interval_us = connections * _BYTES_BETWEEN_READS * 8e6 / Rate.parse(rate)
    quantum = f"{min(5000, round(interval_us))} us"
    text = _chain(f'rate = "{rate}"', duration, routers=routers, connections=connections, quantum=quantum)
    return text.replace('protocol = "tcp"', f'protocol = "{protocol}"')


def star(hosts: int, rate_mbps: float, duration: str) -> str:
    """Return a scenario of pairs of hosts, each with a TCP flow of ``rate_mbps``, around one router."""
    parts = ['title = "Star"\ntransport.protocol = "tcp"\n[routers.middle]\n']
    for n in range(hosts // 2):
        parts.append(f"""
[hosts.c{n}]
[hosts.s{n}]
[links.up{n}]
between = ["c{n}", "middle"]
rate = "{rate_mbps:g} Mbit/s"
[links.down{n}]
between = ["middle", "s{n}"]
[workloads.load{n}]
kind = "flow"
from = "c{n}"
to = "s{n}"
duration = "{duration}"
read_quantum = "{_QUANTUM}"
""")
    return "".join(parts)


def unshaped_path(duration: str, *, delay: str, quantum: str) -> str:
    """Return a scenario of TCP through one router without a rate.

    Virtual time advances only when all processes are idle. With neither a rate nor a delay, no process ever waits, so a
    timed transfer would never end. A delay in the direction of the data makes each window wait once, and costs at most
    one timer per packet. No rate is enforced.
    """
    return _chain(f'forward = {{ delay = "{delay}" }}', duration, routers=1, connections=1, quantum=quantum)


def _chain(link: str, duration: str, *, routers: int, connections: int, quantum: str) -> str:
    return f"""
title = "One path"
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
