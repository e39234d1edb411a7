# SPDX-License-Identifier: MIT
"""Two machines with two cables, which most tests of the engine ``ssh`` use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .bed import Bed, make

#: What the machines' interfaces have before a run: everything of it must come back.
_BEFORE = """
ip address add 192.0.2.{n}/24 broadcast + dev eth1 label eth1:lab
ip address add 198.51.100.{n}/32 peer 198.51.100.{other}/32 dev eth1
ip address add 2001:db8:1::{n}/64 dev eth1
sysctl -qw net.ipv4.conf.eth1.rp_filter=2 net.ipv6.conf.eth1.accept_ra=0 net.ipv4.neigh.eth1.gc_stale_time=77
ethtool -K eth1 gro on tso off
ip link set dev eth1 up mtu 1400 gso_max_size 40000
ip link set dev eth2 up
ip address add 203.0.113.{n}/24 dev eth2
ip route add 10.50.0.0/16 via 192.0.2.{other} metric 7
ip route add default via 203.0.113.{other} dev eth2 table 77 proto static
ip route add 10.51.0.0/16 dev mgmt src 192.0.2.{n}
ip -6 route add 2001:db8:50::/48 via 2001:db8:1::{other} dev eth1 metric 9
ip rule add from 192.0.2.{n} table 77
ip neighbour add 192.0.2.99 lladdr 02:00:00:00:00:99 dev eth1 nud permanent
ip mptcp endpoint add 192.0.2.{n} dev eth1 subflow
"""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Bed]:
    """Make machines `client` and `server` with the cables eth1 and eth2, and with settings of their own."""
    with make(tmp_path) as bed:
        for name in ("client", "server"):
            bed.add(name)
        for device in ("eth1", "eth2"):
            bed.cable(("client", device), ("server", device))
        for n, name in enumerate(bed.machines, start=1):
            bed.machines[name].shell(_BEFORE.format(n=n, other=3 - n))
        yield bed
